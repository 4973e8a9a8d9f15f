//! Problems as clients see them: RFC 9457 with a stable code and every wrong field.

mod code;
mod field;

pub use code::{Code, Meaning};
pub use field::{FieldCode, FieldError};

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};

/// A problem on its way to the client. The outermost layer adds the path and the request id and writes the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What went wrong.
    pub code: Code,
    /// One sentence for a person. Never holds a path of this machine, an upstream URL or a backtrace.
    pub detail: String,
    /// Every wrong field.
    pub errors: Vec<FieldError>,
    /// Seconds after which to try again, where the service knows.
    pub retry_after_s: Option<u64>,
}

impl Problem {
    /// A problem without fields.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let retry_after_s = (code.meaning().status == axum::http::StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        Self { code, detail: detail.into(), errors: Vec::new(), retry_after_s }
    }

    /// A fault of the service: the cause goes to the log, not to the client.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "internal error");
        Self::new(Code::Internal, "the service failed; the request id names this failure in its log")
    }

    /// A problem with one field.
    pub fn field(code: Code, error: FieldError) -> Self {
        let detail = error.detail.clone();
        Self { errors: vec![error], ..Self::new(code, detail) }
    }

    /// The problem of one or more wrong fields. Where all of them say the same thing that has a code of its own, that is
    /// the problem's code.
    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let own = errors.first().and_then(|error| error.code.problem());
        let code = own.filter(|code| errors.iter().all(|error| error.code.problem() == Some(*code)));
        let detail = match errors.len() {
            1 => "1 field is invalid".into(),
            n => format!("{n} fields are invalid"),
        };
        Self { errors, ..Self::new(code.unwrap_or(Code::ValidationFailed), detail) }
    }

    /// Sets the seconds after which to try again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// The body, with what only the outermost layer knows.
    pub fn body(&self, instance: &str, request_id: &str) -> Value {
        let meaning = self.code.meaning();
        let message = match self.errors.first() {
            Some(first) if first.detail != self.detail => format!("{}: {}", self.detail, first),
            _ => self.detail.clone(),
        };
        let details = if self.errors.is_empty() { json!({}) } else { json!({ "errors": self.errors }) };
        json!({
            "type": self.code.urn(),
            "title": meaning.title,
            "status": meaning.status.as_u16(),
            "code": meaning.name,
            "detail": self.detail,
            "instance": instance,
            "request_id": request_id,
            "retryable": meaning.retryable,
            "errors": self.errors,
            "error": { "code": meaning.name, "message": message, "details": details },
        })
    }

    /// The answer, with what only the outermost layer knows.
    pub fn render(&self, instance: &str, request_id: &str) -> Response<Body> {
        let meaning = self.code.meaning();
        let body = self.body(instance, request_id);
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = meaning.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::ApiKeyMissing || self.code == Code::ApiKeyInvalid {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("ApiKey header=\"X-API-Key\""));
        }
        response
    }
}

impl IntoResponse for Problem {
    /// Leaves the writing of the body to the outermost layer.
    fn into_response(self) -> axum::response::Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.code.meaning().status;
        response.extensions_mut().insert(self);
        response
    }
}

impl From<braid_store::StoreError> for Problem {
    fn from(error: braid_store::StoreError) -> Self {
        match error {
            braid_store::StoreError::Backlog { .. } => {
                Self::new(Code::Overloaded, "quotes come faster than the disk takes them")
            }
            other => Self::internal(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_kind_of_mistake_with_its_own_code_names_the_problem() {
        let cap = FieldError::new("/partner_fee/partner_fee_bps", FieldCode::PartnerFeeExceedsCap, "x");
        let other = FieldError::new("/taker", FieldCode::Required, "y");
        assert_eq!(Problem::invalid(vec![cap.clone()]).code, Code::PartnerFeeExceedsCap);
        assert_eq!(Problem::invalid(vec![cap, other.clone()]).code, Code::ValidationFailed);
        assert_eq!(Problem::invalid(vec![other]).code, Code::ValidationFailed);
    }
}
