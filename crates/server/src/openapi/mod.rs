//! The OpenAPI 3.1 document, generated from the types of requests and answers.

mod examples;
mod headers;

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use utoipa::openapi::schema::ArrayItems;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{Modify, OpenApi};

use crate::http::problem::{ProblemBody, ProblemRepeated};
use crate::http::static_text::StaticText;
use crate::problems::PlainProblems;
use crate::{data, health, receipt, swap};
use examples::Examples;
use headers::ResponseHeaders;

/// The document.
#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "Braid",
        description = "Finds the best way to swap tokens on Ethereum and turns it into one unsigned transaction.\n\nA build needs an API key in the header `X-API-Key`, or as `Authorization: Bearer`. So does a quote, unless the service allows quotes without a key, under a lower limit per address. If it does not, it answers 401 `API_KEY_MISSING`. Market data needs no key; a valid key raises its limit. `/health`, `/ready`, `/metrics` and this document are neither counted nor limited.\n\nAny request may be answered 404 `NOT_FOUND`, 405 `METHOD_NOT_ALLOWED`, 408 `REQUEST_TIMEOUT`, 414 `URI_TOO_LONG` or 431 `HEADERS_TOO_LARGE` as well.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    servers((url = "/", description = "The service that serves this document.")),
    tags(
        (name = "swap", description = "Quotes and transactions."),
        (name = "market", description = "Data of the market, the chain and accounts."),
        (name = "service", description = "The service itself.")
    ),
    paths(
        swap::quote,
        swap::stored_quote,
        swap::route_picture,
        receipt::receipt,
        receipt::market,
        swap::build,
        data::chains::get,
        data::protocols::get,
        data::tokens::get,
        data::prices::get,
        data::network::get,
        data::accounts::balances,
        data::accounts::allowances,
        health::health,
        health::ready,
        crate::metrics::get_metrics,
        get
    ),
    components(schemas(ProblemBody, ProblemRepeated)),
    modifiers(&ApiKeyHeader, &DataReferences, &AlwaysPresent, &ResponseHeaders, &NoDescriptions, &Examples)
)]
pub struct Document;

/// Adds the header with the API key.
struct ApiKeyHeader;

impl Modify for ApiKeyHeader {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        if let Some(components) = &mut document.components {
            let scheme = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-API-Key")));
            components.add_security_scheme("api_key", scheme);
        }
    }
}

/// Replaces the inline schema in `{"data": …}` by a reference to the answer's own schema.
struct DataReferences;

impl Modify for DataReferences {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let schemas = document.components.iter_mut().flat_map(|components| &mut components.schemas);
        for (name, schema) in schemas {
            let (Some(inner), RefOr::T(Schema::Object(object))) = (name.strip_prefix("Data_"), schema) else {
                continue;
            };
            match object.properties.get_mut("data") {
                Some(RefOr::T(Schema::Array(list))) => {
                    let item = Ref::from_schema_name(inner.trim_start_matches("Vec_"));
                    list.items = ArrayItems::RefOrSchema(Box::new(item.into()));
                }
                Some(data) => *data = Ref::from_schema_name(inner).into(),
                None => {}
            }
        }
    }
}

/// Marks every field of an answer as required: answers always write all fields.
struct AlwaysPresent;

impl Modify for AlwaysPresent {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let schemas = document.components.iter_mut().flat_map(|components| &mut components.schemas);
        for (name, schema) in schemas {
            if let (false, RefOr::T(Schema::Object(object))) =
                (braid_quoting::request::NAMES.contains(&name.as_str()), schema)
            {
                object.required = object.properties.keys().cloned().collect();
            }
        }
    }
}

/// Removes operations' descriptions, which are the handlers' Rust documentation. Summaries describe them to clients.
struct NoDescriptions;

impl Modify for NoDescriptions {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        for item in document.paths.paths.values_mut() {
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
                operation.description = None;
            }
        }
    }
}

/// Returns the document's text, as served and committed.
pub fn text() -> String {
    Document::openapi().to_pretty_json().unwrap_or_default() + "\n"
}

static DOCUMENT: LazyLock<StaticText> = LazyLock::new(|| StaticText::new("application/json", text()));

/// A page that shows the document to a person, without other resources.
static PAGE: LazyLock<StaticText> =
    LazyLock::new(|| StaticText::new("text/html; charset=utf-8", include_str!("page.html")));

/// `GET /docs`.
pub async fn page(headers: HeaderMap) -> Response {
    let mut response = PAGE.answer(&headers).await;
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'";
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

/// `GET /openapi.json`.
#[utoipa::path(get, operation_id = "openapi", path = "/openapi.json", tag = "service", summary = "This document", security(()),
    responses((status = 200, description = "The API as an OpenAPI 3.1 document.", body = serde_json::Value),
        (status = 304, description = "The client has the document: `If-None-Match` has its `ETag`."), PlainProblems))]
pub async fn get(headers: HeaderMap) -> Response {
    DOCUMENT.answer(&headers).await
}
