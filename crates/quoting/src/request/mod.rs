//! Requests: each body and query is declared once. The declaration gives the parser, which reports all mistakes at once,
//! and the OpenAPI schema.

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
pub use quote::{
    DEFAULT_HOPS, InputEntry, Listed, MAX_ENTRIES, MAX_HOPS, MAX_TTL_S, OutputEntry, PartnerFeeRequest, QuoteRequest,
};

/// Names of the schemas of all bodies.
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
