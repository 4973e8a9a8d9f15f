//! Problems in the OpenAPI document: the statuses that a call may answer with, from the list of codes.

use std::collections::BTreeMap;

use braid_quoting::{Code, FieldCode, FieldError, Problem};
use utoipa::IntoResponses;
use utoipa::openapi::example::{Example, ExampleBuilder};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use crate::http::problem::{ProblemBody, status};

const COMMON: [Code; 4] = [Code::MalformedRequest, Code::RateLimited, Code::Internal, Code::DeadlineExceeded];
const BODY: [Code; 4] = [Code::MalformedJson, Code::RequestTimeout, Code::PayloadTooLarge, Code::UnsupportedMediaType];
const KEY: [Code; 2] = [Code::ApiKeyMissing, Code::ApiKeyInvalid];
const MARKET: [Code; 3] = [Code::NotReady, Code::MarketStale, Code::Overloaded];
const OPEN: [Code; 2] = [Code::QuoteNotFound, Code::QuoteExpired];

/// Declares the problems that a kind of call may answer with.
macro_rules! problems {
    ($($(#[doc = $doc:literal])+ $calls:ident: $($group:expr),+;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug)]
        pub struct $calls;

        impl IntoResponses for $calls {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                responses(&[$(&$group),+])
            }
        }
    )+};
}

problems! {
    /// Problems of `POST /v1/quote`.
    QuoteProblems: COMMON, BODY, KEY, MARKET, [
        Code::ValidationFailed,
        Code::NoRouteFound,
        Code::InsufficientLiquidity,
        Code::AmountTooSmall,
        Code::TokenNotFound,
        Code::TokenUnsupported,
        Code::OutputPriceUnavailable,
        Code::PartnerFeeExceedsCap,
    ];
    /// Problems of `GET /v1/quote/{quote_id}`.
    StoredProblems: COMMON, KEY, OPEN, [Code::NotReady];
    /// Problems of `GET /v1/quote/{quote_id}/receipt` and of its market.
    ReceiptProblems: COMMON, KEY, OPEN, [Code::ReceiptUnavailable, Code::NotReady, Code::Overloaded];
    /// Problems of `POST /v1/build`.
    BuildProblems: COMMON, BODY, KEY, MARKET, [Code::ValidationFailed, Code::Permit2SignatureInvalid], OPEN, [Code::QuoteStale];
    /// Problems of market data requested by path and query.
    ReadProblems: COMMON, MARKET, [Code::ValidationFailed];
    /// Problems of market data requested with a body.
    AskProblems: COMMON, BODY, MARKET, [Code::ValidationFailed];
    /// Problems of calls without a rate limit.
    PlainProblems: [Code::MalformedRequest];
}

/// Describes one response per status, naming its codes, with an example of each.
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

/// Returns an example of a problem's body.
fn example(code: Code) -> Example {
    let (path, problem) = sample(code);
    let body = ProblemBody::new(&problem, path, "019a0c1e-7d3a-7c55-9d1f-2f6f5f0a9b11");
    ExampleBuilder::new().summary(code.meaning().title).value(serde_json::to_value(body).ok()).build()
}

/// Returns an example of each problem, with the path of the call.
fn sample(code: Code) -> (&'static str, Problem) {
    let plain = |path: &'static str, detail: &str| (path, Problem::new(code, detail));
    let field = |path: &'static str, pointer: &str, field: FieldCode, detail: &str| {
        (path, Problem::invalid(vec![FieldError::new(pointer, field, detail)]))
    };
    let (quote, build) = ("/v1/quote", "/v1/build");
    match code {
        Code::MalformedRequest => plain("", "the request is not HTTP/1.1"),
        Code::RequestTimeout => plain(quote, "the body did not arrive within 10 s: send it faster or smaller"),
        Code::UriTooLong => plain("", "the request line is longer than 64 KiB"),
        Code::HeadersTooLarge => plain("", "the headers are too many, or longer than 64 KiB together"),
        Code::MalformedJson => plain(quote, "the body is not JSON: expected value at line 1 column 12"),
        Code::ApiKeyMissing => plain(quote, "send your API key in the header X-API-Key, or as Authorization: Bearer"),
        Code::ApiKeyInvalid => plain(quote, "the API key is unknown, revoked or expired"),
        Code::NotFound => plain("/v2/quote", "no such path; GET /docs lists the calls"),
        Code::QuoteNotFound => plain(build, "no quote has this id: ask for a new quote"),
        Code::ReceiptUnavailable => plain(
            "/v1/quote/019a0c1e-7d3a-7c55-9d1f-2f6f5f0a9b11/receipt",
            "this process does not have the receipt: the quote was given before a restart or by another replica, or the receipts of newer quotes took its room. Ask for a new quote, and then at once for its receipt",
        ),
        Code::MethodNotAllowed => plain(quote, "this path does not take this method; GET /docs lists the calls"),
        Code::QuoteStale => plain(
            build,
            "the newest market pays 332 of 0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2, the quote's minimum is 340; ask for a new quote",
        ),
        Code::QuoteExpired => plain(build, "the quote expired at 2026-01-31T12:00:00.000Z; ask for a new one"),
        Code::PayloadTooLarge => plain(quote, "the body is too large: at most 131072 bytes are read"),
        Code::UnsupportedMediaType => plain(quote, "send the body with content-type: application/json"),
        Code::ValidationFailed => {
            field(quote, "/outputs", FieldCode::RatioSumInvalid, "ratio_bps must sum to 10000, got 9999")
        }
        Code::NoRouteFound => field(
            quote,
            "/outputs/0/address",
            FieldCode::NoRouteFound,
            "no path through allowed pools, within max_hops and max_steps, leads to this output",
        ),
        Code::InsufficientLiquidity => plain(quote, "the market cannot take the whole amount: sell less"),
        Code::AmountTooSmall => plain(quote, "an output would round to zero: use a larger amount"),
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
            "this output has no reference price, which a quote with several outputs needs: ask for it alone",
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
        Code::RateLimited => plain(quote, "600 calls per minute are allowed here; the next window starts in 12 s"),
        Code::Internal => plain(quote, "the service failed: report the request_id, under which its log has the cause"),
        Code::NotReady => plain(quote, "the market is still being read: retry, or poll /ready"),
        Code::MarketStale => plain(quote, "the newest market is 640 s old and the node announces no newer one: retry"),
        Code::Overloaded => plain(quote, "more work waits than the service accepts"),
        Code::DeadlineExceeded => plain(quote, "no answer within 15 s: retry"),
    }
}
