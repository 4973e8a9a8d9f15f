//! What clients send, validated: all mistakes of a request are reported at once.

mod build;
mod fields;
#[cfg(test)]
mod properties;
mod quote;

pub use braid_execution::PartnerFee;
pub use build::{BUILD_FIELDS, BuildRequest, parse_quote_id};
pub use fields::{AskedToken, Rules};
pub use quote::{InputEntry, MAX_ENTRIES, OutputEntry, QUOTE_FIELDS, QuoteRequest};
