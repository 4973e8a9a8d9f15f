//! Every problem that the service can answer with.

use axum::http::StatusCode;

/// A problem's stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The body is not JSON.
    MalformedJson,
    /// `X-API-Key` is absent where it is needed.
    ApiKeyMissing,
    /// `X-API-Key` is unknown or revoked.
    ApiKeyInvalid,
    /// No such path.
    NotFound,
    /// No quote has this id.
    QuoteNotFound,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The newest market no longer reaches the quote's minimum.
    QuoteStale,
    /// The quote's time is over.
    QuoteExpired,
    /// The body is larger than the service reads.
    PayloadTooLarge,
    /// The body is not declared as JSON.
    UnsupportedMediaType,
    /// One or more fields are wrong.
    ValidationFailed,
    /// No allowed chain of pools leads to an output.
    NoRouteFound,
    /// There are pools, but they cannot take the amount.
    InsufficientLiquidity,
    /// An output would round to zero.
    AmountTooSmall,
    /// The market has no such token.
    TokenNotFound,
    /// The token is known and cannot be swapped.
    TokenUnsupported,
    /// Several outputs need a reference price each; this one has none.
    OutputPriceUnavailable,
    /// The partner fee is above the cap.
    PartnerFeeExceedsCap,
    /// The Permit2 signature is not the taker's for this quote.
    Permit2SignatureInvalid,
    /// The caller's calls of this minute are used up.
    RateLimited,
    /// A fault of the service.
    Internal,
    /// The market is not there yet.
    NotReady,
    /// The market is too old to quote on.
    MarketStale,
    /// More work waits than the service accepts.
    Overloaded,
    /// The answer took too long.
    DeadlineExceeded,
}

/// What a code means to a client.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// HTTP status.
    pub status: StatusCode,
    /// The code as clients read it.
    pub name: &'static str,
    /// One line for a person.
    pub title: &'static str,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 25] = [
        Self::MalformedJson,
        Self::ApiKeyMissing,
        Self::ApiKeyInvalid,
        Self::NotFound,
        Self::QuoteNotFound,
        Self::MethodNotAllowed,
        Self::QuoteStale,
        Self::QuoteExpired,
        Self::PayloadTooLarge,
        Self::UnsupportedMediaType,
        Self::ValidationFailed,
        Self::NoRouteFound,
        Self::InsufficientLiquidity,
        Self::AmountTooSmall,
        Self::TokenNotFound,
        Self::TokenUnsupported,
        Self::OutputPriceUnavailable,
        Self::PartnerFeeExceedsCap,
        Self::Permit2SignatureInvalid,
        Self::RateLimited,
        Self::Internal,
        Self::NotReady,
        Self::MarketStale,
        Self::Overloaded,
        Self::DeadlineExceeded,
    ];

    /// Status, name, title and whether to retry: the one place that says so.
    pub const fn meaning(self) -> Meaning {
        use StatusCode as S;
        let (status, name, title, retryable) = match self {
            Self::MalformedJson => (S::BAD_REQUEST, "MALFORMED_JSON", "The body is not JSON", false),
            Self::ApiKeyMissing => (S::UNAUTHORIZED, "API_KEY_MISSING", "An API key is needed", false),
            Self::ApiKeyInvalid => (S::UNAUTHORIZED, "API_KEY_INVALID", "The API key is not valid", false),
            Self::NotFound => (S::NOT_FOUND, "NOT_FOUND", "There is nothing at this path", false),
            Self::QuoteNotFound => (S::NOT_FOUND, "QUOTE_NOT_FOUND", "There is no such quote", false),
            Self::MethodNotAllowed => {
                (S::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "This path does not take this method", false)
            }
            Self::QuoteStale => (S::CONFLICT, "QUOTE_STALE", "The market has moved past the quote's minimum", false),
            Self::QuoteExpired => (S::GONE, "QUOTE_EXPIRED", "The quote has expired", false),
            Self::PayloadTooLarge => (S::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", "The body is too large", false),
            Self::UnsupportedMediaType => {
                (S::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", "The body must be application/json", false)
            }
            Self::ValidationFailed => {
                (S::UNPROCESSABLE_ENTITY, "VALIDATION_FAILED", "Request validation failed", false)
            }
            Self::NoRouteFound => (S::UNPROCESSABLE_ENTITY, "NO_ROUTE_FOUND", "No route was found", false),
            Self::InsufficientLiquidity => {
                (S::UNPROCESSABLE_ENTITY, "INSUFFICIENT_LIQUIDITY", "The market cannot take the amount", false)
            }
            Self::AmountTooSmall => (S::UNPROCESSABLE_ENTITY, "AMOUNT_TOO_SMALL", "The amount is too small", false),
            Self::TokenNotFound => (S::UNPROCESSABLE_ENTITY, "TOKEN_NOT_FOUND", "The token is not known", false),
            Self::TokenUnsupported => {
                (S::UNPROCESSABLE_ENTITY, "TOKEN_UNSUPPORTED", "The token cannot be swapped", false)
            }
            Self::OutputPriceUnavailable => {
                (S::UNPROCESSABLE_ENTITY, "OUTPUT_PRICE_UNAVAILABLE", "An output has no reference price", false)
            }
            Self::PartnerFeeExceedsCap => {
                (S::UNPROCESSABLE_ENTITY, "PARTNER_FEE_EXCEEDS_CAP", "The partner fee is above the cap", false)
            }
            Self::Permit2SignatureInvalid => {
                (S::UNPROCESSABLE_ENTITY, "PERMIT2_SIGNATURE_INVALID", "The Permit2 signature is not valid", false)
            }
            Self::RateLimited => (S::TOO_MANY_REQUESTS, "RATE_LIMITED", "Too many calls", true),
            Self::Internal => (S::INTERNAL_SERVER_ERROR, "INTERNAL", "The service failed", true),
            Self::NotReady => (S::SERVICE_UNAVAILABLE, "NOT_READY", "The market is not there yet", true),
            Self::MarketStale => (S::SERVICE_UNAVAILABLE, "MARKET_STALE", "The market is too old", true),
            Self::Overloaded => (S::SERVICE_UNAVAILABLE, "OVERLOADED", "The service is at its limit", true),
            Self::DeadlineExceeded => (S::GATEWAY_TIMEOUT, "DEADLINE_EXCEEDED", "The answer took too long", true),
        };
        Meaning { status, name, title, retryable }
    }

    /// The URN that names the kind of problem.
    pub fn urn(self) -> String {
        format!("urn:braid:problem:{}", self.meaning().name.to_ascii_lowercase().replace('_', "-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_only_waiting_helps_where_retryable() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.meaning().name).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let meaning = code.meaning();
            let waits = meaning.status.is_server_error() || meaning.status == StatusCode::TOO_MANY_REQUESTS;
            assert_eq!(meaning.retryable, waits, "{}", meaning.name);
        }
    }
}
