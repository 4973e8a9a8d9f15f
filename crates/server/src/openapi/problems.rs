//! Problems in the document: which statuses a call may answer with, from the one list of codes.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

use crate::problem::{Code, FieldError};

/// A problem (RFC 9457).
#[derive(Clone, Debug, ToSchema)]
#[allow(dead_code, reason = "documents what the problem layer writes")]
pub struct ProblemBody {
    /// URN of the kind of problem.
    r#type: String,
    /// One line for a person.
    title: String,
    /// HTTP status.
    status: u16,
    /// Stable code.
    code: String,
    /// What is wrong this time.
    detail: String,
    /// The path that was asked.
    instance: String,
    /// Names the request in the service's log.
    request_id: String,
    /// Whether the same request may succeed later.
    retryable: bool,
    /// Every wrong field.
    errors: Vec<FieldError>,
    /// Code and message again, for clients that read this shape.
    error: ProblemRepeated,
}

/// Code and message of a problem.
#[derive(Clone, Debug, ToSchema)]
#[allow(dead_code, reason = "documents what the problem layer writes")]
pub struct ProblemRepeated {
    /// Stable code.
    code: String,
    /// What is wrong, with the first field's detail.
    message: String,
    /// `{"errors": […]}` where fields are wrong, empty otherwise.
    details: Value,
}

/// Problems of `POST /v1/quote`.
#[derive(Debug)]
pub struct QuoteProblems;

/// Problems of `GET /v1/quote/{quote_id}`.
#[derive(Debug)]
pub struct StoredProblems;

/// Problems of `POST /v1/build`.
#[derive(Debug)]
pub struct BuildProblems;

/// Problems of market data.
#[derive(Debug)]
pub struct ReadProblems;

const COMMON: [Code; 3] = [Code::RateLimited, Code::Internal, Code::DeadlineExceeded];
const BODY: [Code; 3] = [Code::MalformedJson, Code::PayloadTooLarge, Code::UnsupportedMediaType];
const KEY: [Code; 2] = [Code::ApiKeyMissing, Code::ApiKeyInvalid];
const MARKET: [Code; 3] = [Code::NotReady, Code::MarketStale, Code::Overloaded];

impl IntoResponses for QuoteProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let own = [
            Code::ValidationFailed,
            Code::NoRouteFound,
            Code::InsufficientLiquidity,
            Code::AmountTooSmall,
            Code::TokenNotFound,
            Code::TokenUnsupported,
            Code::OutputPriceUnavailable,
            Code::PartnerFeeExceedsCap,
        ];
        responses(&[&COMMON, &BODY, &KEY, &MARKET, &own])
    }
}

impl IntoResponses for StoredProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses(&[&COMMON, &KEY, &[Code::QuoteNotFound, Code::QuoteExpired]])
    }
}

impl IntoResponses for BuildProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let own = [
            Code::ValidationFailed,
            Code::Permit2SignatureInvalid,
            Code::QuoteNotFound,
            Code::QuoteExpired,
            Code::QuoteStale,
        ];
        responses(&[&COMMON, &BODY, &KEY, &MARKET, &own])
    }
}

impl IntoResponses for ReadProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses(&[&COMMON, &BODY, &MARKET, &[Code::ValidationFailed]])
    }
}

/// One response per status, naming its codes.
fn responses(groups: &[&[Code]]) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for code in groups.iter().copied().flatten() {
        let meaning = code.meaning();
        let line = format!("`{}`: {}.", meaning.name, meaning.title);
        by_status.entry(meaning.status.as_u16().to_string()).or_default().push(line);
    }
    let response = |lines: Vec<String>| {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("ProblemBody"))).build();
        let response = ResponseBuilder::new().description(lines.join(" "));
        RefOr::T(response.content("application/problem+json", content).build())
    };
    by_status.into_iter().map(|(status, lines)| (status, response(lines))).collect()
}
