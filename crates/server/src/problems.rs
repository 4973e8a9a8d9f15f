//! Problems in the document: which statuses a call may answer with, from the one list of codes.

use std::collections::BTreeMap;

use braid_quoting::model::words::ProblemCode;
use braid_quoting::{Code, FieldCode, FieldError, Problem};
use serde_json::Value;
use utoipa::openapi::example::{Example, ExampleBuilder};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

use crate::http::problem::{body, status};

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
    code: ProblemCode,
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
    code: ProblemCode,
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

/// Problems of `GET /v1/quote/{quote_id}/receipt` and of its market.
#[derive(Debug)]
pub struct ReceiptProblems;

/// Problems of `POST /v1/build`.
#[derive(Debug)]
pub struct BuildProblems;

/// Problems of market data that is asked for by path and query.
#[derive(Debug)]
pub struct ReadProblems;

/// Problems of market data that is asked for with a body.
#[derive(Debug)]
pub struct AskProblems;

/// Problems of calls that are not counted and need nothing.
#[derive(Debug)]
pub struct PlainProblems;

const ANY: [Code; 1] = [Code::MalformedRequest];
const COMMON: [Code; 4] = [Code::MalformedRequest, Code::RateLimited, Code::Internal, Code::DeadlineExceeded];
const BODY: [Code; 4] = [Code::MalformedJson, Code::RequestTimeout, Code::PayloadTooLarge, Code::UnsupportedMediaType];
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

impl IntoResponses for ReceiptProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let own = [Code::QuoteNotFound, Code::QuoteExpired, Code::ReceiptUnavailable, Code::Overloaded];
        responses(&[&COMMON, &KEY, &own])
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
        responses(&[&COMMON, &MARKET, &[Code::ValidationFailed]])
    }
}

impl IntoResponses for AskProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses(&[&COMMON, &BODY, &MARKET, &[Code::ValidationFailed]])
    }
}

impl IntoResponses for PlainProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses(&[&ANY])
    }
}

/// One response per status, naming its codes, with an example of each.
fn responses(groups: &[&[Code]]) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status: BTreeMap<String, Vec<Code>> = BTreeMap::new();
    for code in groups.iter().copied().flatten() {
        by_status.entry(status(*code).as_u16().to_string()).or_default().push(*code);
    }
    let response = |codes: Vec<Code>| {
        let line = |code: &Code| format!("`{}`: {}.", code.meaning().name, code.meaning().title);
        let lines: Vec<String> = codes.iter().map(line).collect();
        let examples = codes.iter().map(|code| (code.meaning().name, RefOr::T(example(*code))));
        let schema = Some(Ref::from_schema_name("ProblemBody"));
        let content = ContentBuilder::new().schema(schema).examples_from_iter(examples).build();
        let response = ResponseBuilder::new().description(lines.join(" "));
        RefOr::T(response.content("application/problem+json", content).build())
    };
    by_status.into_iter().map(|(status, codes)| (status, response(codes))).collect()
}

/// A problem as the service writes it.
fn example(code: Code) -> Example {
    let (path, problem) = sample(code);
    let value = body(&problem, path, "019a0c1e-7d3a-7c55-9d1f-2f6f5f0a9b11");
    ExampleBuilder::new().summary(code.meaning().title).value(Some(value)).build()
}

/// Where and how each problem meets a client.
fn sample(code: Code) -> (&'static str, Problem) {
    let plain = |path: &'static str, detail: &str| (path, Problem::new(code, detail));
    let field = |path: &'static str, pointer: &str, field: FieldCode, detail: &str| {
        (path, Problem::invalid(vec![FieldError::new(pointer, field, detail)]))
    };
    let (quote, build) = ("/v1/quote", "/v1/build");
    match code {
        Code::MalformedRequest => plain("", "the request is not HTTP/1.1"),
        Code::RequestTimeout => plain(quote, "the body did not come within 10 s"),
        Code::UriTooLong => plain("", "the request line is longer than 64 KiB"),
        Code::HeadersTooLarge => plain("", "the headers are too many, or longer than 64 KiB together"),
        Code::MalformedJson => plain(quote, "the body is not JSON: expected value at line 1 column 12"),
        Code::ApiKeyMissing => plain(quote, "send your API key in the header X-API-Key, or as Authorization: Bearer"),
        Code::ApiKeyInvalid => plain(quote, "the API key is unknown, revoked or expired"),
        Code::NotFound => plain("/v2/quote", "there is nothing at this path"),
        Code::QuoteNotFound => plain(build, "no quote has this id"),
        Code::ReceiptUnavailable => plain(
            "/v1/quote/019a0c1e-7d3a-7c55-9d1f-2f6f5f0a9b11/receipt",
            "what this quote was made of is not in memory: it was given before a restart, or by another replica; ask for a new quote and then at once for its receipt",
        ),
        Code::MethodNotAllowed => plain(quote, "this path does not take this method"),
        Code::QuoteStale => plain(
            build,
            "the newest market pays 332 of 0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2, the quote's minimum is 340; ask for a new quote",
        ),
        Code::QuoteExpired => plain(build, "the quote expired at 2026-01-31T12:00:00.000Z; ask for a new one"),
        Code::PayloadTooLarge => plain(quote, "the body may have 131072 bytes at most"),
        Code::UnsupportedMediaType => plain(quote, "send the body with content-type: application/json"),
        Code::ValidationFailed => {
            field(quote, "/outputs", FieldCode::RatioSumInvalid, "ratio_bps must sum to 10000, got 9999")
        }
        Code::NoRouteFound => field(
            quote,
            "/outputs/0/address",
            FieldCode::NoRouteFound,
            "no chain of allowed pools, within max_hops and max_steps, leads to this output",
        ),
        Code::InsufficientLiquidity => plain(quote, "the market cannot take the whole amount"),
        Code::AmountTooSmall => plain(quote, "the amount is so small that an output would round to zero"),
        Code::TokenNotFound => field(
            quote,
            "/inputs/0/address",
            FieldCode::TokenNotFound,
            "no pool that Braid knows holds 0x00000000000000000000000000000000000000AA",
        ),
        Code::TokenUnsupported => plain(quote, "the token cannot be swapped"),
        Code::OutputPriceUnavailable => field(
            quote,
            "/outputs/1/address",
            FieldCode::OutputPriceUnavailable,
            "this output has no reference price, which several outputs need each",
        ),
        Code::PartnerFeeExceedsCap => {
            field(quote, "/partner_fee/partner_fee_bps", FieldCode::PartnerFeeExceedsCap, "expected 1 to 300, got 301")
        }
        Code::Permit2SignatureInvalid => field(
            build,
            "/permit2_signature",
            FieldCode::Permit2SignatureInvalid,
            "signed by 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, expected the taker",
        ),
        Code::RateLimited => plain(quote, "600 calls a minute are allowed here; the next window starts in 12 s"),
        Code::Internal => plain(quote, "the service failed; the request id names this failure in its log"),
        Code::NotReady => plain(quote, "the market is not there yet"),
        Code::MarketStale => plain(quote, "the newest block is 640 s old"),
        Code::Overloaded => plain(quote, "more work waits than the service accepts"),
        Code::DeadlineExceeded => plain(quote, "no answer within 15 s"),
    }
}
