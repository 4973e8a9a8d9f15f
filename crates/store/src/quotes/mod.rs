//! Stores quotes: found at once, on disk a moment later, deleted after they end.
//!
//! Quotes live for minutes, never change and end in the order in which they came. They are appended to files of a
//! minute each, and a whole file is deleted after its last quote ended, which costs the same however many quotes it
//! holds.

mod disk;
mod record;
mod segment;
mod shared;
mod store;
mod writer;

pub use record::QuoteRecord;
pub use store::{DiskState, QUOTE_DIR, QuoteStore};
