//! Examples of every call's request and answer, recorded from `make demo`. A test checks them against the schemas.

use serde_json::Value;
use utoipa::Modify;
use utoipa::openapi::content::Content;
use utoipa::openapi::{OpenApi, RefOr};

/// By operation id: `response`, and `request` for a call with a body.
const TEXT: &str = include_str!("examples.json");

/// Adds the examples to the document.
pub(super) struct Examples;

impl Modify for Examples {
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
