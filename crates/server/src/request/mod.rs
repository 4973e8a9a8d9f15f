//! What clients send, validated: all mistakes of a request are reported at once.

mod build;
mod fields;
mod quote;

pub use braid_execution::PartnerFee;
pub use build::BuildRequest;
pub(crate) use build::parse_quote_id;
pub use fields::{AskedToken, Rules};
pub use quote::{InputEntry, MAX_ENTRIES, OutputEntry, QuoteRequest};
