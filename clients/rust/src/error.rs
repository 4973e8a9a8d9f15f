//! What can go wrong, as values.

use std::fmt;

use serde::Deserialize;

/// A call without an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The service says what is wrong.
    #[error("{0}")]
    Problem(Box<Problem>),
    /// Nothing answered in time.
    #[error("no answer: {0}")]
    NoAnswer(#[source] reqwest::Error),
    /// The service did not learn of a block in time.
    #[error("the service does not know block {block_number} yet")]
    NotReached {
        /// The block's number.
        block_number: u64,
    },
    /// The quote is of other tokens, amounts or accounts than were asked for.
    #[error("the quote is of something else than was asked for")]
    OtherQuote,
    /// Something else answered, a proxy for instance.
    #[error("status {status} with something other than an answer of Braid's")]
    NotBraid {
        /// HTTP status.
        status: u16,
    },
}

impl Error {
    /// The service's code, where it gave one.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Problem(problem) => Some(problem.code),
            Self::NoAnswer(_) | Self::NotReached { .. } | Self::OtherQuote | Self::NotBraid { .. } => None,
        }
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Problem(problem) => problem.retryable,
            Self::NoAnswer(_) | Self::NotReached { .. } => true,
            Self::OtherQuote => false,
            Self::NotBraid { status } => *status == 429 || *status >= 500,
        }
    }
}

/// The body of an error answer (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// Stable code.
    pub code: Code,
    /// HTTP status.
    pub status: u16,
    /// What is wrong this time.
    pub detail: String,
    /// Every wrong field.
    pub errors: Vec<FieldError>,
    /// Names the request in the service's log.
    pub request_id: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Seconds after which to try again, where the service said so.
    #[serde(skip)]
    pub retry_after_s: Option<u64>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code, self.detail)?;
        self.errors.iter().try_for_each(|error| write!(f, "; {} {}", error.pointer, error.detail))
    }
}

/// A wrong field.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct FieldError {
    /// JSON pointer into the request.
    pub pointer: String,
    /// Stable code, as `OUT_OF_RANGE`.
    pub code: String,
    /// What is wrong.
    pub detail: String,
}

/// A problem's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Code {
    /// The request is not HTTP/1.1 as the service reads it.
    MalformedRequest,
    /// The body is not JSON.
    MalformedJson,
    /// `X-API-Key` is absent where it is needed.
    ApiKeyMissing,
    /// `X-API-Key` is unknown or revoked.
    ApiKeyInvalid,
    /// No such path.
    NotFound,
    /// What the quote was made of is not kept any more.
    ReceiptUnavailable,
    /// No quote has this id.
    QuoteNotFound,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The newest market no longer reaches the quote's minimum.
    QuoteStale,
    /// The request did not come in time.
    RequestTimeout,
    /// The quote's time is over.
    QuoteExpired,
    /// The body is larger than the service reads.
    PayloadTooLarge,
    /// The request line is longer than the service reads.
    UriTooLong,
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
    /// The headers are more than the service reads.
    HeadersTooLarge,
    /// The caller's calls of this minute are used up.
    RateLimited,
    /// A fault of the service.
    Internal,
    /// The market is not ready yet.
    NotReady,
    /// The market is too old to quote on.
    MarketStale,
    /// More work waits than the service accepts.
    Overloaded,
    /// The answer took too long.
    DeadlineExceeded,
    /// A code of a newer service.
    #[serde(other)]
    Unknown,
}
