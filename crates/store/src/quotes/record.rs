//! A stored quote.

use std::sync::Arc;

/// A stored quote, whose content the store does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuoteRecord {
    /// Time after which it may be deleted, in unix milliseconds.
    pub keep_until_ms: u64,
    /// Content, as the caller encoded it.
    pub body: Arc<[u8]>,
}
