//! The workshop: what holds Braid to recorded facts. Nothing here runs in the service.
//!
//! The program `braid-lab` adds what measures Braid and makes markets up.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

pub mod recorded;
mod states;
pub mod vectors;
