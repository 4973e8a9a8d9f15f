//! Writes problems as RFC 9457 bodies, with a stable code and every wrong field.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use braid_quoting::model::words::ProblemCode;
use braid_quoting::problem::Meaning;
use braid_quoting::{Code, FieldError, Problem};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// A problem as the answer of a handler. The outermost layer adds path and request id, and writes the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub Problem);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for Refusal {
    /// Leaves the writing of the body to the outermost layer.
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status(self.0.code);
        response.extensions_mut().insert(self);
        response
    }
}

/// Returns the HTTP status of a code.
pub const fn status(code: Code) -> StatusCode {
    match code {
        Code::MalformedJson | Code::MalformedRequest => StatusCode::BAD_REQUEST,
        Code::ApiKeyMissing | Code::ApiKeyInvalid => StatusCode::UNAUTHORIZED,
        Code::NotFound | Code::QuoteNotFound | Code::ReceiptUnavailable => StatusCode::NOT_FOUND,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
        Code::QuoteStale => StatusCode::CONFLICT,
        Code::QuoteExpired => StatusCode::GONE,
        Code::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UriTooLong => StatusCode::URI_TOO_LONG,
        Code::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::ValidationFailed
        | Code::NoRouteFound
        | Code::InsufficientLiquidity
        | Code::AmountTooSmall
        | Code::TokenNotFound
        | Code::TokenUnsupported
        | Code::OutputPriceUnavailable
        | Code::PartnerFeeExceedsCap
        | Code::Permit2SignatureInvalid => StatusCode::UNPROCESSABLE_ENTITY,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Code::NotReady | Code::MarketStale | Code::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
    }
}

/// A problem (RFC 9457).
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ProblemBody {
    /// URN of the kind of problem.
    r#type: String,
    /// One line for a person.
    title: &'static str,
    /// HTTP status.
    status: u16,
    /// Stable code.
    #[schema(value_type = ProblemCode)]
    code: &'static str,
    /// Explanation of this occurrence.
    detail: String,
    /// Path of the request.
    instance: String,
    /// Id of the request in the service's log.
    request_id: String,
    /// True if the same request may succeed later: after `Retry-After`, if the answer has it.
    retryable: bool,
    /// Every wrong field.
    errors: Vec<FieldError>,
    /// Code and message again, for clients that read this shape.
    error: ProblemRepeated,
}

/// Code and message of a problem.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ProblemRepeated {
    /// Stable code.
    #[schema(value_type = ProblemCode)]
    code: &'static str,
    /// `detail`, with that of the first wrong field.
    message: String,
    /// `{"errors": […]}` if fields are wrong, otherwise empty.
    details: Value,
}

impl ProblemBody {
    /// Returns the body of a problem; `instance` is the request's path.
    pub fn new(problem: &Problem, instance: &str, request_id: &str) -> Self {
        let Problem { code, detail, errors, .. } = problem;
        let Meaning { name, title, .. } = code.meaning();
        let message = match errors.first() {
            Some(first) if first.detail != *detail => format!("{detail}: {first}"),
            _ => detail.clone(),
        };
        let details = if errors.is_empty() { json!({}) } else { json!({ "errors": errors }) };
        Self {
            r#type: code.urn(),
            title,
            status: status(*code).as_u16(),
            code: name,
            detail: detail.clone(),
            instance: instance.to_owned(),
            request_id: request_id.to_owned(),
            retryable: problem.is_retryable(),
            errors: errors.clone(),
            error: ProblemRepeated { code: name, message, details },
        }
    }

    /// Returns the body's text.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Writes a problem's answer; `instance` is the request's path.
pub fn render(problem: &Problem, instance: &str, request_id: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(ProblemBody::new(problem, instance, request_id).text()));
    *response.status_mut() = status(problem.code);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = problem.retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if matches!(problem.code, Code::ApiKeyMissing | Code::ApiKeyInvalid) {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("ApiKey header=\"X-API-Key\""));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_retryable_if_its_status_is() {
        for code in Code::ALL.iter().copied() {
            let waiting = [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT];
            let waits = status(code).is_server_error() || waiting.contains(&status(code));
            assert_eq!(code.meaning().retryable, waits, "{}", code.meaning().name);
            assert_eq!(code.is_unavailable(), status(code) == StatusCode::SERVICE_UNAVAILABLE);
        }
    }
}
