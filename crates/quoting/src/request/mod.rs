//! What clients send: each request is declared once, and from that follow how it is read, with all mistakes reported at once, and
//! what the document says of it.

mod accounts;
mod build;
mod describe;
pub mod kind;
mod parse;
#[cfg(test)]
mod properties;
mod quote;

pub use accounts::{AllowanceEntry, AllowancesRequest, BalancesRequest};
pub use build::BuildRequest;
pub use describe::Body;
pub use parse::{AskedToken, parse_quote_id};
pub use quote::{InputEntry, Listed, MAX_ENTRIES, MAX_TTL_S, OutputEntry, PartnerFeeRequest, QuoteRequest};

/// The names of all requests' schemas.
pub const NAMES: [&str; 8] = [
    QuoteRequest::NAME,
    InputEntry::NAME,
    OutputEntry::NAME,
    PartnerFeeRequest::NAME,
    BuildRequest::NAME,
    BalancesRequest::NAME,
    AllowancesRequest::NAME,
    AllowanceEntry::NAME,
];
