//! The outermost layer: gives every request an id, writes problems, stamps every answer, logs one line.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use braid_quoting::{Code, Problem};
use uuid::Uuid;

use super::limits::Standing;
use super::problem::{Refusal, render};
use crate::metrics::Metrics;

/// Header of the request id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest request id of a caller's that is kept.
const MAX_ID_LEN: usize = 128;

/// What inner layers leave for the outermost one.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<OnceLock<Standing>>);

impl Notes {
    /// Leaves the caller's standing for the answer's headers.
    pub fn standing(&self, standing: Standing) {
        let _ = self.0.set(standing);
    }
}

/// The layer.
pub async fn envelope(State(metrics): State<Arc<Metrics>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers().get(REQUEST_ID));
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route =
        request.extensions().get::<MatchedPath>().map_or_else(|| "other".into(), |path| path.as_str().to_owned());
    let notes = Notes::default();
    request.extensions_mut().insert(notes.clone());

    let mut response = next.run(request).await;
    let problem = response.extensions_mut().remove::<Refusal>().map(|Refusal(problem)| problem);
    if let Some(problem) = &problem {
        response = written(problem, response, &path, &id);
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    if let Some(standing) = notes.0.get() {
        standing.write(headers);
    }
    let status = response.status().as_u16();
    let code = problem.map_or("", |problem| problem.code.meaning().name);
    metrics.count(&route, status, started.elapsed());
    let took_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    if path == "/health" || path == "/ready" {
        tracing::debug!(%method, path, status, code, took_us, request_id = id, "request");
    } else {
        tracing::info!(%method, path, status, code, took_us, request_id = id, "request");
    }
    response
}

/// The problem's answer with the headers that inner layers have set (CORS, Allow).
fn written(problem: &Problem, inner: Response, path: &str, id: &str) -> Response {
    let mut response = render(problem, path, id);
    for (name, value) in inner.headers() {
        if *name != axum::http::header::CONTENT_LENGTH && !response.headers().contains_key(name) {
            response.headers_mut().append(name.clone(), value.clone());
        }
    }
    response
}

/// The caller's id if it is a sane token, a new one otherwise.
fn request_id(asked: Option<&HeaderValue>) -> String {
    let sane = |text: &&str| {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        (1..=MAX_ID_LEN).contains(&text.len()) && text.bytes().all(token)
    };
    let asked = asked.and_then(|value| value.to_str().ok()).filter(sane);
    asked.map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

/// The answer to a panic in a handler: the client learns nothing, the log learns all.
pub fn panicked(cause: Box<dyn std::any::Any + Send + 'static>) -> Response {
    let text = cause.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| cause.downcast_ref::<String>().cloned()).unwrap_or_else(|| "of unknown kind".into());
    Refusal(Problem::internal(format_args!("panic: {text}"))).into_response()
}

/// The answer to a path that does not exist.
pub async fn not_found() -> Refusal {
    Refusal(Problem::new(Code::NotFound, "there is nothing at this path"))
}

/// The answer to a method that a path does not take.
pub async fn method_not_allowed() -> Refusal {
    Refusal(Problem::new(Code::MethodNotAllowed, "this path does not take this method"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sane_id_is_kept_and_anything_else_replaced() {
        let id = |text: &str| request_id(HeaderValue::from_str(text).ok().as_ref());
        assert_eq!(id("abc-123_x.y:z"), "abc-123_x.y:z");
        for odd in ["", "a b", "<script>", &"x".repeat(129)] {
            assert_eq!(Uuid::parse_str(&id(odd)).unwrap().get_version_num(), 7, "{odd:?}");
        }
    }
}
