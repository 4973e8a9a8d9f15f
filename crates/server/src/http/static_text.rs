//! Serves a text that never changes in a process: encodes it once per coding.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use std::hash::{DefaultHasher, Hasher as _};
use tokio::sync::OnceCell;
use tower::ServiceExt as _;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

use super::coding::{Coding, accepted};

/// A text with its media type.
pub(crate) struct StaticText {
    kind: &'static str,
    text: Bytes,
    tag: HeaderValue,
    encoded: [OnceCell<Bytes>; Coding::ALL.len()],
}

impl StaticText {
    pub(crate) fn new(kind: &'static str, text: impl Into<Bytes>) -> Self {
        let text = text.into();
        let mut hasher = DefaultHasher::new();
        hasher.write(&text);
        // weak: the same for every coding
        let tag = HeaderValue::from_str(&format!("W/\"{:016x}\"", hasher.finish()));
        Self { kind, text, tag: tag.unwrap_or(HeaderValue::from_static("W/\"\"")), encoded: Default::default() }
    }

    /// Answers with the text in a coding that the request accepts, or with 304 if `If-None-Match` has its tag.
    pub(crate) async fn answer(&self, headers: &HeaderMap) -> Response {
        let known = headers.get_all(header::IF_NONE_MATCH).into_iter().filter_map(|line| line.to_str().ok());
        let own = self.tag.to_str().unwrap_or("").trim_start_matches("W/");
        let is_known = |tag: &str| tag == "*" || tag.trim_start_matches("W/") == own;
        let mut response = if known.flat_map(|line| line.split(',')).any(|tag| is_known(tag.trim())) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let coding = accepted(headers);
            let bytes = self.encoded[coding as usize].get_or_init(|| encode(self.text.clone(), coding)).await;
            let mut response = Response::new(Body::from(bytes.clone()));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
            if coding != Coding::Identity {
                response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
            }
            response
        };
        let headers = response.headers_mut();
        headers.insert(header::ETAG, self.tag.clone());
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        response
    }
}

/// Encodes a text with the layer that encodes all other answers.
async fn encode(text: Bytes, coding: Coding) -> Bytes {
    let plain = text.clone();
    let router = Router::new().fallback(move || std::future::ready(plain.clone()));
    let router: Router = router.layer(CompressionLayer::new().quality(CompressionLevel::Best));
    let request = Request::builder().header(header::ACCEPT_ENCODING, coding.name()).body(Body::empty());
    let Ok(request) = request else { return text };
    let Ok(response) = router.oneshot(request).await;
    to_bytes(response.into_body(), usize::MAX).await.unwrap_or(text)
}
