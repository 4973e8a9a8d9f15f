//! Problems: errors for clients, with a stable code and every wrong field.

mod code;
mod field;

pub use code::{Code, Meaning};
pub use field::{FieldCode, FieldError};

use braid_simulation::WorkError;
use braid_store::{NoAnswer, StoreError};

/// An error for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Stable code.
    pub code: Code,
    /// One sentence for a person. Never holds a path of this machine, an upstream URL or a backtrace.
    pub detail: String,
    /// Every wrong field.
    pub errors: Vec<FieldError>,
    /// Seconds after which to retry, if known.
    pub retry_after_s: Option<u64>,
}

impl Problem {
    /// Returns a problem without fields.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let retry_after_s = code.is_unavailable().then_some(1);
        Self { code, detail: detail.into(), errors: Vec::new(), retry_after_s }
    }

    /// Returns the problem of a fault of the service. Logs the cause, which the client does not see.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "internal error");
        Self::new(Code::Internal, "the service failed: report the request_id, under which its log has the cause")
    }

    /// Returns the problem of an unknown quote id.
    pub fn no_such_quote() -> Self {
        Self::new(Code::QuoteNotFound, "no quote has this id: ask for a new quote")
    }

    /// Returns a problem with one field.
    pub fn field(code: Code, error: FieldError) -> Self {
        let detail = error.detail.clone();
        Self { errors: vec![error], ..Self::new(code, detail) }
    }

    /// Returns the problem of one or more wrong fields. If all of them map to one code of their own, it is the problem's code.
    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let own = errors.first().and_then(|error| error.code.problem());
        let code = own.filter(|code| errors.iter().all(|error| error.code.problem() == Some(*code)));
        let detail = match errors.len() {
            1 => "1 field is invalid".into(),
            n => format!("{n} fields are invalid"),
        };
        Self { errors, ..Self::new(code.unwrap_or(Code::ValidationFailed), detail) }
    }

    /// Returns whether the same request may succeed later: by its code, or because a time to retry is known.
    pub fn is_retryable(&self) -> bool {
        self.code.meaning().retryable || self.retry_after_s.is_some()
    }

    /// Sets the seconds after which to retry.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Backlog { .. } => {
                let detail = "the service's disk is too slow and its queue of quotes is full: retry";
                Self::new(Code::Overloaded, detail)
            }
            // logged when it was detected
            StoreError::NoKeys(_) => Self::new(Code::Internal, "the service's API keys cannot be read"),
            StoreError::Unreadable { .. } => {
                tracing::error!(%error, "a quote cannot be read");
                Self::new(Code::Internal, "the service's disk cannot be read: report the request_id")
            }
            other => Self::internal(other),
        }
    }
}

impl From<NoAnswer> for Problem {
    fn from(_: NoAnswer) -> Self {
        Self::new(Code::NotReady, "the service's shared store does not answer: retry")
    }
}

impl From<WorkError> for Problem {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::Overloaded => Self::new(Code::Overloaded, error.to_string()),
            WorkError::Failed => Self::internal(error),
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
