//! What clients send, validated: all mistakes of a request are reported at once.

mod build;
mod fields;
#[cfg(test)]
mod properties;
mod quote;

pub use braid_execution::PartnerFee;
pub(crate) use build::parse_quote_id;
pub use build::{BUILD_FIELDS, BuildRequest};
pub use fields::{AskedToken, Rules};
pub use quote::{InputEntry, MAX_ENTRIES, OutputEntry, QUOTE_FIELDS, QuoteRequest};
