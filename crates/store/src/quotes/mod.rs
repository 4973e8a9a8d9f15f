//! Quotes: found at once by whoever asks, on disk a moment later, gone when nobody can ask any more.

mod disk;
mod record;
mod shared;
mod store;
mod writer;

pub use record::QuoteRecord;
pub use store::{QUOTE_FILE, QuoteStore};
