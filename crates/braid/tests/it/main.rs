//! The program as it is run: its commands, what they say and how they end; and what holds for the whole repository.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod cli;
mod market;
mod proxy;
mod swap;
mod tree;
