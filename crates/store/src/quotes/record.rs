//! A stored quote.

use std::sync::Arc;

/// A stored quote. The store does not look into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuoteRecord {
    /// The record may be dropped after this time, unix milliseconds.
    pub keep_until_ms: u64,
    /// The quote as its owner wrote it.
    pub body: Arc<[u8]>,
}
