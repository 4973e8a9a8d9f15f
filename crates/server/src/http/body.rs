//! Receives a request's body before any other check, and parses it as JSON.
//!
//! A client that is answered while it sends sees a broken connection instead of the answer. So the body is received first,
//! whatever the request. The part above the limit is discarded, up to a bound.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use braid_quoting::json::{self, Json};
use braid_quoting::{Code, Problem, request};
use http_body_util::BodyExt as _;

use super::problem::Refusal;
use crate::connections::state::{ConnectionState, Phase};

/// Limits of a body.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimit {
    /// Largest body that is read, in bytes.
    pub bytes: usize,
    /// Longest time for all of it.
    pub timeout: Duration,
}

/// Most bytes of a body that are received, and discarded above [`BodyLimit::bytes`]. The connection of a client that sends
/// more is closed with the answer.
const MAX_RECEIVED_BYTES: usize = 16 << 20;

/// A received body.
#[derive(Clone, Debug)]
enum Received {
    Whole(Bytes),
    TooLarge(usize),
    CutOff,
}

/// Receives the body, as a layer.
pub async fn receive(State(limit): State<BodyLimit>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    // such a client waits for permission to send its body
    let expects_continue = parts.headers.get(header::EXPECT).is_some_and(|value| value == "100-continue");
    let is_refused = declared > if expects_continue { limit.bytes } else { MAX_RECEIVED_BYTES };
    let (received, is_whole) = if is_refused {
        (Received::TooLarge(limit.bytes), false)
    } else {
        match tokio::time::timeout(limit.timeout, read(body, limit.bytes)).await {
            Ok(read) => read,
            Err(_) => {
                let detail =
                    format!("the body did not arrive within {} s: send it faster or smaller", limit.timeout.as_secs());
                return closing(Refusal(Problem::new(Code::RequestTimeout, detail)).into_response());
            }
        }
    };
    if let Some(state) = parts.extensions.get::<Arc<ConnectionState>>() {
        state.enter(Phase::Work);
    }
    parts.extensions.insert(received);
    let response = next.run(Request::from_parts(parts, Body::empty())).await;
    if is_whole { response } else { closing(response) }
}

/// Adds `Connection: close` to an answer.
pub(super) fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Receives a body; `true` if all of it was received.
async fn read(mut body: Body, limit_bytes: usize) -> (Received, bool) {
    let mut bytes = Vec::new();
    let mut seen = 0usize;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return (Received::CutOff, false) };
        let Some(data) = frame.data_ref() else { continue };
        seen = seen.saturating_add(data.len());
        if seen > MAX_RECEIVED_BYTES {
            return (Received::TooLarge(limit_bytes), false);
        }
        if seen <= limit_bytes {
            bytes.extend_from_slice(data);
        }
    }
    let received = if seen > limit_bytes { Received::TooLarge(limit_bytes) } else { Received::Whole(bytes.into()) };
    (received, true)
}

/// A valid request, with its JSON body.
#[derive(Debug)]
pub struct Valid<T> {
    /// The request.
    pub request: T,
    /// Text of its body.
    pub body: Bytes,
}

impl<S: Send + Sync, T: request::Request> FromRequestParts<S> for Valid<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let received = parts.extensions.remove::<Received>();
        let received = received.ok_or_else(|| Problem::internal("a handler reads a body that was not received"))?;
        let body = if let Received::Whole(bytes) = &received { bytes.clone() } else { Bytes::new() };
        Ok(Self { request: T::parse(&read_json(&parts.headers, received)?)?, body })
    }
}

/// Parses a received body as JSON.
///
/// # Errors
/// `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE` or `MALFORMED_JSON`.
fn read_json(headers: &HeaderMap, received: Received) -> Result<Json, Problem> {
    let malformed = |detail: String| Problem::new(Code::MalformedJson, detail);
    if !is_json(headers) {
        return Err(Problem::new(Code::UnsupportedMediaType, "send the body with content-type: application/json"));
    }
    if is_encoded(headers) {
        let detail = "send the body as it is, without content-encoding: compressed bodies are not read";
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    match received {
        Received::Whole(bytes) => {
            json::parse(&bytes).map_err(|error| malformed(format!("the body is not JSON: {error}")))
        }
        Received::TooLarge(limit) => {
            Err(Problem::new(Code::PayloadTooLarge, format!("the body is too large: at most {limit} bytes are read")))
        }
        Received::CutOff => Err(malformed("the connection ended before the body was complete".into())),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let essence = declared.split(';').next().unwrap_or("").trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn is_encoded(headers: &HeaderMap) -> bool {
    let plain = |value: &HeaderValue| value.is_empty() || value.as_bytes().eq_ignore_ascii_case(b"identity");
    !headers.get_all(header::CONTENT_ENCODING).into_iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn code(headers: &[(header::HeaderName, &'static str)], body: &'static str) -> Option<Code> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        let (received, is_whole) = read(Body::from(body), 10).await;
        assert!(is_whole);
        read_json(&headers, received).err().map(|problem| problem.code)
    }

    #[tokio::test]
    async fn only_declared_json_is_read() {
        for good in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
            assert_eq!(code(&[(header::CONTENT_TYPE, good)], "{}").await, None, "{good}");
        }
        assert_eq!(code(&[], "{}").await, Some(Code::UnsupportedMediaType));
        for bad in ["", "text/plain", "application/jsonp", "application/xml"] {
            assert_eq!(code(&[(header::CONTENT_TYPE, bad)], "{}").await, Some(Code::UnsupportedMediaType), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn only_plain_bodies_are_read() {
        for (coding, expected) in [
            ("identity", None),
            ("gzip", Some(Code::UnsupportedMediaType)),
            ("zstd", Some(Code::UnsupportedMediaType)),
            ("", None),
        ] {
            let headers = [(header::CONTENT_TYPE, "application/json"), (header::CONTENT_ENCODING, coding)];
            assert_eq!(code(&headers, "{}").await, expected, "{coding:?}");
        }
    }

    #[tokio::test]
    async fn the_limit_is_exact() {
        let json = [(header::CONTENT_TYPE, "application/json")];
        assert_eq!(code(&json, "[1,2,3,45]").await, None);
        assert_eq!(code(&json, "[1,2,3,456]").await, Some(Code::PayloadTooLarge));
        assert_eq!(code(&json, "").await, Some(Code::MalformedJson));
    }
}
