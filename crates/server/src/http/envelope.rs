//! The outermost layer: gives every request an id, writes problems and common headers, and logs one line.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use braid_quoting::{Code, Problem};
use tracing::Instrument as _;
use uuid::Uuid;

use super::body::closing;
use super::limits::Standing;
use super::problem::{Refusal, render};
use crate::connections::state::HealthOnly;
use crate::metrics::Metrics;

/// Header of the request id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest request id of a caller that is kept, in bytes.
const MAX_ID_LEN: usize = 128;

/// Longest path in logs and problems, in bytes.
const MAX_PATH_BYTES: usize = 128;

/// Longest method in logs, in bytes.
const MAX_METHOD_BYTES: usize = 16;

/// Values that inner layers pass to the outermost one.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<OnceLock<Standing>>);

impl Notes {
    /// Sets the caller's standing, for the answer's headers.
    pub fn standing(&self, standing: Standing) {
        let _ = self.0.set(standing);
    }
}

/// Adds an id to every request and common headers to every answer, as the outermost layer.
pub async fn envelope(State(metrics): State<Arc<Metrics>>, mut request: Request, next: Next) -> Response {
    let id = request_id(request.headers().get(REQUEST_ID));
    let route =
        request.extensions().get::<MatchedPath>().map_or_else(|| "other".into(), |path| path.as_str().to_owned());
    let mut line = Line {
        started: Instant::now(),
        method: shortened(request.method().as_str(), MAX_METHOD_BYTES),
        path: shortened(request.uri().path(), MAX_PATH_BYTES),
        route: route.clone(),
        id: id.clone(),
        status: CLOSED,
        code: None,
        metrics,
    };
    let notes = Notes::default();
    request.extensions_mut().insert(notes.clone());

    let span =
        tracing::info_span!(target: "trace", "request", otel.kind = "server", http.route = route, request_id = id);
    let mut response = next.run(request).instrument(span).await;
    let problem = response.extensions_mut().remove::<Refusal>().map(|Refusal(problem)| problem);
    let problem = problem.or_else(|| problem_of(&response));
    if let Some(problem) = &problem {
        response = with_body(problem, response, &line.path, &id);
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    if let Some(standing) = notes.0.get() {
        standing.write(headers);
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    (line.status, line.code) = (response.status().as_u16(), problem.map(|problem| problem.code.meaning().name));
    response
}

/// Status in metrics and logs of a request without an answer, since its client went away or the service stopped; nginx
/// logs the same.
const CLOSED: u16 = 499;

/// What metrics and the log say of a request; written when dropped.
struct Line {
    started: Instant,
    method: String,
    path: String,
    route: String,
    id: String,
    status: u16,
    code: Option<&'static str>,
    metrics: Arc<Metrics>,
}

impl Drop for Line {
    fn drop(&mut self) {
        let Self { started, method, path, route, id, status, code, metrics } = &*self;
        let took = started.elapsed();
        metrics.count(route, *status, *code, took);
        let code = code.unwrap_or_default();
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if path == "/health" || path == "/ready" {
            tracing::debug!(%method, path, status, code, took_us, request_id = id, "request");
        } else {
            tracing::info!(%method, path, status, code, took_us, request_id = id, "request");
        }
    }
}

/// Writes a problem's answer, with the headers that inner layers set (CORS, Allow).
fn with_body(problem: &Problem, inner: Response, path: &str, id: &str) -> Response {
    let mut response = render(problem, path, id);
    for (name, value) in inner.headers() {
        if *name != header::CONTENT_LENGTH && !response.headers().contains_key(name) {
            response.headers_mut().append(name.clone(), value.clone());
        }
    }
    response
}

/// Returns the problem for an error response that is not a [`Refusal`], such as one of the HTTP library.
fn problem_of(response: &Response) -> Option<Problem> {
    let status = response.status();
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return None;
    }
    let code = match status {
        StatusCode::NOT_FOUND => Code::NotFound,
        StatusCode::METHOD_NOT_ALLOWED => Code::MethodNotAllowed,
        StatusCode::PAYLOAD_TOO_LARGE => Code::PayloadTooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::UnsupportedMediaType,
        status if status.is_client_error() => Code::MalformedRequest,
        status => return Some(Problem::internal(format_args!("an answer of status {status} without a problem"))),
    };
    Some(Problem::new(code, code.meaning().title))
}

/// Cuts a client's text after `max_bytes`.
fn shortened(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let cut = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= max_bytes).last().unwrap_or(0);
    format!("{}…", &text[..cut])
}

/// Refuses other requests than health and metrics on a connection beyond the limits, as a layer.
pub async fn health_only(request: Request, next: Next) -> Response {
    let is_limited = request.extensions().get::<HealthOnly>().is_some();
    if !is_limited || ["/health", "/ready", "/metrics"].contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let detail = "the service has reached its limit of connections: retry";
    closing(Refusal(Problem::new(Code::Overloaded, detail)).into_response())
}

/// Returns the caller's request id if it has at most 128 letters, digits and `-_.:`, otherwise a new one.
fn request_id(asked: Option<&HeaderValue>) -> String {
    let sane = |text: &&str| {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        (1..=MAX_ID_LEN).contains(&text.len()) && text.bytes().all(token)
    };
    let asked = asked.and_then(|value| value.to_str().ok()).filter(sane);
    asked.map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

/// Answers a panic in a handler with `INTERNAL`, and logs its message.
pub fn panicked(cause: Box<dyn std::any::Any + Send + 'static>) -> Response {
    let text = cause.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| cause.downcast_ref::<String>().cloned()).unwrap_or_else(|| "of unknown kind".into());
    Refusal(Problem::internal(format_args!("panic: {text}"))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_text_is_cut_between_letters() {
        assert_eq!(shortened("/v1/quote", 128), "/v1/quote");
        assert_eq!(shortened("äöü", 3), "ä…");
        assert_eq!(shortened(&"x".repeat(60_000), 128).chars().count(), 129);
    }

    #[test]
    fn a_sane_id_is_kept_and_anything_else_replaced() {
        let id = |text: &str| request_id(HeaderValue::from_str(text).ok().as_ref());
        assert_eq!(id("abc-123_x.y:z"), "abc-123_x.y:z");
        for odd in ["", "a b", "<script>", &"x".repeat(129)] {
            assert_eq!(Uuid::parse_str(&id(odd)).unwrap().get_version_num(), 7, "{odd:?}");
        }
    }
}
