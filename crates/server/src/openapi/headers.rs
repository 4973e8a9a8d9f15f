//! The headers of answers, described once and referenced by the answers that have them.

use utoipa::Modify;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{OpenApi, Ref, RefOr};

/// Adds the headers to the document.
pub(super) struct ResponseHeaders;

/// Name, type and description of each header.
const HEADERS: [(&str, Type, &str); 6] = [
    (
        "X-Request-Id",
        Type::String,
        "Id of the request in the service's log: the caller's own if it has at most 128 letters, digits and `-_.:`.",
    ),
    (
        "RateLimit-Policy",
        Type::String,
        "The caller's limit, if the call was counted: `\"keyed\";q=600;w=60` is 600 calls in 60 s.",
    ),
    ("RateLimit", Type::String, "Remaining calls, and seconds until the limit is reset: `\"keyed\";r=599;t=60`."),
    ("Retry-After", Type::Integer, "Seconds after which to retry."),
    ("WWW-Authenticate", Type::String, "Always `ApiKey header=\"X-API-Key\"`."),
    ("ETag", Type::String, "Identifies this text; a request with it in `If-None-Match` is answered 304."),
];

impl Modify for ResponseHeaders {
    fn modify(&self, document: &mut OpenApi) {
        for (path, item) in &mut document.paths.paths {
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
                describe(path, operation);
            }
        }
        let headers = HEADERS.into_iter().map(|(name, kind, about)| {
            let schema = ObjectBuilder::new().schema_type(kind);
            (name.to_owned(), RefOr::T(HeaderBuilder::new().schema(Some(schema)).description(Some(about)).build()))
        });
        document.components.get_or_insert_default().headers.extend(headers);
    }
}

fn describe(path: &str, operation: &mut Operation) {
    let is_counted = path.starts_with("/v1/");
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        let own: &[&str] = match status.as_str() {
            "401" => &["WWW-Authenticate"],
            "429" | "503" => &["Retry-After"],
            // a token or pool of the quote is still being checked
            "422" if path == "/v1/quote" => &["Retry-After"],
            "200" | "304" if path == "/openapi.json" => &["ETag"],
            _ => &[],
        };
        let counted: &[&str] = if is_counted && status != "401" { &["RateLimit-Policy", "RateLimit"] } else { &[] };
        for name in [&["X-Request-Id"], counted, own].concat() {
            let reference = Ref::new(format!("#/components/headers/{name}"));
            response.headers.insert(name.to_owned(), RefOr::Ref(reference));
        }
    }
}
