//! Tests of the program `braid`: its commands, their output and exit codes. Also tests of the whole repository.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod cli;
mod market;
mod mcp;
mod proxy;
mod service;
mod swap;
mod takeover;
mod tree;
