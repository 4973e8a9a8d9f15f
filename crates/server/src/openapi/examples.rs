//! Examples of every call's request and answer, as the service of `make demo` wrote them. A test holds them to the schemas.

use serde_json::Value;
use utoipa::Modify;
use utoipa::openapi::content::Content;
use utoipa::openapi::{OpenApi, RefOr};

/// By operation id: `request` where there is a body, `response`.
const TEXT: &str = include_str!("examples.json");

/// Puts the examples into the document.
pub(super) struct Shown;

impl Modify for Shown {
    fn modify(&self, document: &mut OpenApi) {
        let examples: Value = serde_json::from_str(TEXT).unwrap_or_default();
        for item in document.paths.paths.values_mut() {
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
                let Some(own) = operation.operation_id.as_deref().and_then(|id| examples.get(id)) else { continue };
                if let (Some(request), Some(RefOr::T(body))) = (own.get("request"), &mut operation.request_body) {
                    put(body.content.get_mut("application/json"), request);
                }
                if let (Some(answer), Some(RefOr::T(response))) =
                    (own.get("response"), operation.responses.responses.get_mut("200"))
                {
                    put(response.content.get_mut("application/json"), answer);
                }
            }
        }
    }
}

fn put(content: Option<&mut RefOr<Content>>, example: &Value) {
    if let Some(RefOr::T(content)) = content {
        content.example = Some(example.clone());
    }
}
