//! A stored quote.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A stored quote. The store does not look into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuoteRecord {
    /// The record may be dropped after this time, unix milliseconds.
    pub keep_until_ms: u64,
    /// The quote as the server wrote it.
    pub body: Arc<[u8]>,
}
