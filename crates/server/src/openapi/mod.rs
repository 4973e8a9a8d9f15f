//! The contract as an OpenAPI 3.1 document, generated from the types that write the answers.

mod examples;

use std::sync::LazyLock;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::openapi::{RefOr, Required, Schema};
use utoipa::{Modify, OpenApi};

use crate::problems::{ProblemBody, ProblemRepeated};
use crate::{data, health, swap};
use examples::Shown;

/// The document.
#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "Braid",
        description = "Finds the best way to swap tokens on Ethereum and turns it into one unsigned transaction.",
        license(name = "MIT OR Apache-2.0")
    ),
    paths(
        swap::quote,
        swap::stored_quote,
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
        crate::metrics::get,
        get
    ),
    components(schemas(ProblemBody, ProblemRepeated)),
    modifiers(&ApiKeyHeader, &AlwaysPresent, &EmptyIsAbsent, &PlainWords, &Shown)
)]
pub struct Document;

/// The header that carries the key.
struct ApiKeyHeader;

impl Modify for ApiKeyHeader {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        if let Some(components) = &mut document.components {
            let scheme = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-API-Key")));
            components.add_security_scheme("api_key", scheme);
        }
    }
}

/// Every field of an answer is always written, `null` or not: all of them are required, and none may be added.
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

/// An optional parameter of a query may be empty, as in `?limit=&offset=`: that is as if it were left out.
struct EmptyIsAbsent;

impl Modify for EmptyIsAbsent {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let gets = document.paths.paths.values_mut().filter_map(|item| item.get.as_mut());
        for parameter in gets.flat_map(|operation| operation.parameters.iter_mut().flatten()) {
            let RefOr::T(parameter) = parameter else { continue };
            if parameter.parameter_in == ParameterIn::Query && parameter.required == Required::False {
                let extensions = parameter.extensions.get_or_insert_default();
                extensions.insert("allowEmptyValue".into(), true.into());
            }
        }
    }
}

/// Operations are told by their summaries: what the handlers' documentation says of Rust is not for clients.
struct PlainWords;

impl Modify for PlainWords {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        for item in document.paths.paths.values_mut() {
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
                operation.description = None;
            }
        }
    }
}

static TEXT: LazyLock<String> = LazyLock::new(text);

/// The document as it is served and committed.
pub fn text() -> String {
    Document::openapi().to_pretty_json().unwrap_or_default() + "\n"
}

/// The reference for a person: one page that reads the document and needs nothing else.
const PAGE: &str = include_str!("page.html");

/// `GET /docs`.
pub async fn page() -> Response {
    let mut response = axum::response::Html(PAGE).into_response();
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'";
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

/// `GET /openapi.json`.
#[utoipa::path(get, operation_id = "openapi", path = "/openapi.json", tag = "service", summary = "This document",
    responses((status = 200, description = "The contract as OpenAPI 3.1.", body = serde_json::Value)))]
pub async fn get() -> Response {
    let mut response = TEXT.as_str().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
