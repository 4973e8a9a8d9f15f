//! What clients send: each body and each query is declared once, and from that follow how it is read, with all mistakes reported at once, and
//! what the document says of it.

mod accounts;
mod build;
mod declare;
mod document;
pub mod kind;
mod market;
mod parse;
#[cfg(test)]
mod properties;
mod quote;

pub use accounts::{AllowanceEntry, AllowancesRequest, BalancesRequest};
pub use build::BuildRequest;
pub use declare::Request;
pub use document::Field;
pub use market::{ChainQuery, PricesQuery, TokensQuery};
pub use parse::{AskedToken, parse_quote_id};
pub use quote::{InputEntry, Listed, MAX_ENTRIES, MAX_TTL_S, OutputEntry, PartnerFeeRequest, QuoteRequest};

/// The names of all bodies' schemas.
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
