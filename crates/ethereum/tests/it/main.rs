//! The follower on a real local chain with the real contracts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]

mod acts;
mod following;
mod proxy;
mod reading;
mod support;
mod surviving;
mod wire;
