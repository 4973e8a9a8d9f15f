//! Errors of fields.

use std::fmt;

use serde::Serialize;
use utoipa::ToSchema;

use super::Code;

/// A wrong field: its pointer, a code, and an explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FieldError {
    /// JSON pointer (RFC 6901) into the request.
    pub pointer: String,
    /// Stable code.
    pub code: FieldCode,
    /// Explanation, with the received and the expected value.
    pub detail: String,
}

impl FieldError {
    /// Returns a wrong field.
    pub fn new(pointer: impl Into<String>, code: FieldCode, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), code, detail: detail.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.pointer.is_empty() { "body" } else { &self.pointer };
        write!(f, "{at}: {}", self.detail)
    }
}

/// The kinds of mistakes in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FieldCode {
    /// The field is needed and absent or null.
    Required,
    /// The value is of another JSON type.
    InvalidType,
    /// There is no such field.
    UnknownField,
    /// The object names the field twice.
    DuplicateField,
    /// Not 0x and 40 hex digits.
    AddressInvalid,
    /// Mixed case that is not the address's EIP-55 checksum.
    AddressChecksumInvalid,
    /// The address may not be used here.
    AddressForbidden,
    /// A chain other than 1.
    ChainUnsupported,
    /// Not a decimal integer string between 1 and 2^256 - 1.
    AmountInvalid,
    /// A number outside its range.
    OutOfRange,
    /// Shares do not sum to 10000.
    RatioSumInvalid,
    /// Too few or too many entries.
    LengthInvalid,
    /// The token is named twice.
    TokenDuplicate,
    /// The token is input and output at once.
    TokenOnBothSides,
    /// Not one of the allowed words.
    ValueUnknown,
    /// An exact output is asked for beside other outputs, or for several inputs.
    ExactOutputUnsupported,
    /// The field contradicts an exact output, whose input has no amount and which has no share.
    AmountConflict,
    /// Not a UUID.
    QuoteIdInvalid,
    /// Not 0x and an even number of hex digits.
    HexInvalid,
    /// The market has no such token.
    TokenNotFound,
    /// The token's transfers do not move the exact amount, or are unverified.
    TokenUnsupported,
    /// The partner fee is above the cap.
    PartnerFeeExceedsCap,
    /// The signature is not the taker's for this quote.
    Permit2SignatureInvalid,
    /// The output has no reference price.
    OutputPriceUnavailable,
    /// No route reaches the output.
    NoRouteFound,
    /// The deadline cannot be used.
    DeadlineInvalid,
}

impl FieldCode {
    /// Returns the problem's code for this mistake, if it has one of its own.
    pub const fn problem(self) -> Option<Code> {
        match self {
            Self::TokenNotFound => Some(Code::TokenNotFound),
            Self::TokenUnsupported => Some(Code::TokenUnsupported),
            Self::PartnerFeeExceedsCap => Some(Code::PartnerFeeExceedsCap),
            Self::Permit2SignatureInvalid => Some(Code::Permit2SignatureInvalid),
            Self::OutputPriceUnavailable => Some(Code::OutputPriceUnavailable),
            Self::NoRouteFound => Some(Code::NoRouteFound),
            _ => None,
        }
    }
}
