//! Checks of Braid against recorded facts. Nothing in this crate runs in the service.
//!
//! The program `braid-lab` adds measurements of Braid and generates markets.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

pub mod recorded;
mod states;
pub mod vectors;
