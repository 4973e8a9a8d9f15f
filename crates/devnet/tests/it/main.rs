//! The local chain, the processes on it, and the demo.
#![allow(clippy::unwrap_used, clippy::panic)]

mod demo;
mod process;
mod world;
