//! Quotes: found at once by whoever asks, on disk a moment later, gone when nobody can ask any more.
//!
//! They live for minutes, are never changed and go in the order in which they came. So they are appended to files of a
//! minute each, and a whole file is deleted when its last quote is over: giving room back costs the same however many quotes there are.

mod disk;
mod record;
mod segment;
mod shared;
mod store;
mod writer;

pub use record::QuoteRecord;
pub use store::{DiskState, QUOTE_DIR, QuoteStore};
