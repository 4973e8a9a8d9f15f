//! Every problem that the service can answer with.

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

    /// Name, title and whether to retry: the one place that says so.
    pub const fn meaning(self) -> Meaning {
        let (name, title, retryable) = match self {
            Self::MalformedJson => ("MALFORMED_JSON", "The body is not JSON", false),
            Self::ApiKeyMissing => ("API_KEY_MISSING", "An API key is needed", false),
            Self::ApiKeyInvalid => ("API_KEY_INVALID", "The API key is not valid", false),
            Self::NotFound => ("NOT_FOUND", "There is nothing at this path", false),
            Self::QuoteNotFound => ("QUOTE_NOT_FOUND", "There is no such quote", false),
            Self::MethodNotAllowed => ("METHOD_NOT_ALLOWED", "This path does not take this method", false),
            Self::QuoteStale => ("QUOTE_STALE", "The market has moved past the quote's minimum", false),
            Self::QuoteExpired => ("QUOTE_EXPIRED", "The quote has expired", false),
            Self::PayloadTooLarge => ("PAYLOAD_TOO_LARGE", "The body is too large", false),
            Self::UnsupportedMediaType => ("UNSUPPORTED_MEDIA_TYPE", "The body must be application/json", false),
            Self::ValidationFailed => ("VALIDATION_FAILED", "Request validation failed", false),
            Self::NoRouteFound => ("NO_ROUTE_FOUND", "No route was found", false),
            Self::InsufficientLiquidity => ("INSUFFICIENT_LIQUIDITY", "The market cannot take the amount", false),
            Self::AmountTooSmall => ("AMOUNT_TOO_SMALL", "The amount is too small", false),
            Self::TokenNotFound => ("TOKEN_NOT_FOUND", "The token is not known", false),
            Self::TokenUnsupported => ("TOKEN_UNSUPPORTED", "The token cannot be swapped", false),
            Self::OutputPriceUnavailable => ("OUTPUT_PRICE_UNAVAILABLE", "An output has no reference price", false),
            Self::PartnerFeeExceedsCap => ("PARTNER_FEE_EXCEEDS_CAP", "The partner fee is above the cap", false),
            Self::Permit2SignatureInvalid => ("PERMIT2_SIGNATURE_INVALID", "The Permit2 signature is not valid", false),
            Self::RateLimited => ("RATE_LIMITED", "Too many calls", true),
            Self::Internal => ("INTERNAL", "The service failed", true),
            Self::NotReady => ("NOT_READY", "The market is not there yet", true),
            Self::MarketStale => ("MARKET_STALE", "The market is too old", true),
            Self::Overloaded => ("OVERLOADED", "The service is at its limit", true),
            Self::DeadlineExceeded => ("DEADLINE_EXCEEDED", "The answer took too long", true),
        };
        Meaning { name, title, retryable }
    }

    /// Whether the service cannot answer now and soon may.
    pub const fn is_unavailable(self) -> bool {
        matches!(self, Self::NotReady | Self::MarketStale | Self::Overloaded)
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
    fn names_are_unique() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.meaning().name).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
