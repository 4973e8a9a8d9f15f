//! Tests that recompute recorded markets and swaps, and tests of the command line.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs, unreachable_pub)]

mod beyond;
mod cli;
mod crossing;
mod recorded;
mod sampled;
mod support;
mod vectors;
mod vectors_curve;
