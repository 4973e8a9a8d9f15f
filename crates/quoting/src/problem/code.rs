//! The codes of problems.

/// A code's meaning to a client.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// The code as clients read it.
    pub name: &'static str,
    /// One line for a person.
    pub title: &'static str,
    /// True if the same request may succeed later.
    pub retryable: bool,
}

/// Declares the codes: name, title, retryable.
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $code:ident = $name:literal, $title:literal, $retryable:literal;)+) => {
        /// A problem's stable code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {$(
            $(#[doc = $doc])+
            $code,
        )+}

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$code),+];

            /// Returns the code's meaning to a client.
            pub const fn meaning(self) -> Meaning {
                match self {
                    $(Self::$code => Meaning { name: $name, title: $title, retryable: $retryable },)+
                }
            }
        }
    };
}

codes! {
    /// The request is not HTTP/1.1 as the service reads it.
    MalformedRequest = "MALFORMED_REQUEST", "The request is not HTTP/1.1", false;
    /// The body is not JSON.
    MalformedJson = "MALFORMED_JSON", "The body is not JSON", false;
    /// The call needs an API key and has none.
    ApiKeyMissing = "API_KEY_MISSING", "An API key is needed", false;
    /// `X-API-Key` is unknown or revoked.
    ApiKeyInvalid = "API_KEY_INVALID", "The API key is not valid", false;
    /// No such path.
    NotFound = "NOT_FOUND", "No such path", false;
    /// No quote has this id.
    QuoteNotFound = "QUOTE_NOT_FOUND", "No such quote", false;
    /// The path exists, the method does not.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", "Method not allowed", false;
    /// The newest market no longer keeps the quote's minimum or maximum.
    QuoteStale = "QUOTE_STALE", "The market has moved past the quote's minimum", false;
    /// The request did not come in time.
    RequestTimeout = "REQUEST_TIMEOUT", "The request did not come in time", true;
    /// The quote's lifetime is over.
    QuoteExpired = "QUOTE_EXPIRED", "The quote has expired", false;
    /// The inputs of the quote are not in memory.
    ReceiptUnavailable = "RECEIPT_UNAVAILABLE", "The receipt is not available", false;
    /// The body is larger than the service reads.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", "The body is too large", false;
    /// The request line is longer than the service reads.
    UriTooLong = "URI_TOO_LONG", "The request line is too long", false;
    /// The body is not declared as JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", "The body must be application/json", false;
    /// One or more fields are wrong.
    ValidationFailed = "VALIDATION_FAILED", "Request validation failed", false;
    /// No path through allowed pools leads to an output.
    NoRouteFound = "NO_ROUTE_FOUND", "No route was found", false;
    /// There are pools, but they cannot take the amount.
    InsufficientLiquidity = "INSUFFICIENT_LIQUIDITY", "The market cannot take the amount", false;
    /// An output would round to zero.
    AmountTooSmall = "AMOUNT_TOO_SMALL", "The amount is too small", false;
    /// The market has no such token.
    TokenNotFound = "TOKEN_NOT_FOUND", "The token is not known", false;
    /// The token is known and cannot be swapped.
    TokenUnsupported = "TOKEN_UNSUPPORTED", "The token cannot be swapped", false;
    /// Several outputs need a reference price each; this one has none.
    OutputPriceUnavailable = "OUTPUT_PRICE_UNAVAILABLE", "An output has no reference price", false;
    /// The partner fee is above the cap.
    PartnerFeeExceedsCap = "PARTNER_FEE_EXCEEDS_CAP", "The partner fee is above the cap", false;
    /// The Permit2 signature is not the taker's for this quote.
    Permit2SignatureInvalid = "PERMIT2_SIGNATURE_INVALID", "The Permit2 signature is not valid", false;
    /// The headers are more than the service reads.
    HeadersTooLarge = "HEADERS_TOO_LARGE", "The headers are too large", false;
    /// The caller's calls of this minute are used up.
    RateLimited = "RATE_LIMITED", "Too many calls", true;
    /// A fault of the service.
    Internal = "INTERNAL", "The service failed", true;
    /// The market is not ready yet.
    NotReady = "NOT_READY", "The market is not ready yet", true;
    /// The market is too old to quote on.
    MarketStale = "MARKET_STALE", "The market is too old", true;
    /// The service is at its limit of work, connections or memory.
    Overloaded = "OVERLOADED", "The service is at its limit", true;
    /// The answer took too long.
    DeadlineExceeded = "DEADLINE_EXCEEDED", "The answer took too long", true;
}

impl Code {
    /// Returns whether the service cannot answer now and may soon.
    pub const fn is_unavailable(self) -> bool {
        matches!(self, Self::NotReady | Self::MarketStale | Self::Overloaded)
    }

    /// Returns the URN of the kind of problem.
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
