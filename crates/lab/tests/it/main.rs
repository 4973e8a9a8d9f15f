//! Recorded markets and recorded swaps, recomputed; and what the command line answers.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs, unreachable_pub)]

mod cli;
mod recorded;
mod sampled;
mod support;
mod vectors;
mod vectors_curve;
