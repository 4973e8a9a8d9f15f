//! Tests of the local chain, its processes, and the demo.
#![allow(clippy::unwrap_used, clippy::panic)]

mod demo;
mod process;
mod world;
