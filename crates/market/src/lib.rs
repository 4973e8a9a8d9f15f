//! The immutable market: every pool and token at one block.
//!
//! A [`Market`] is built once per block from its predecessor and the changed pools; it shares all other pools. Readers
//! hold an `Arc<Market>` from start to end and never wait for the writer.
//!
//! This crate does no I/O, except reading and writing market files at a given path.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod delta;
mod digest;
pub mod file;
pub mod market;
mod shared;
#[cfg(test)]
mod testing;
pub mod tokens;

pub use delta::Delta;
pub use file::FileError;
pub use market::{Changes, Market, MarketError};
pub use tokens::Tokens;
