//! The build request.

use braid_primitives::Bytes;
use uuid::Uuid;

use crate::json::{Item, Json, Object, Reader};
use crate::problem::{FieldCode, Problem};

/// The fields that a build request may have.
pub const BUILD_FIELDS: &[&str] = &["quote_id", "permit2_signature", "simulate", "deadline"];

/// Longest signature that is read, in bytes: room for contract wallets with many owners.
const MAX_SIGNATURE_BYTES: usize = 8_192;

/// A build request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildRequest {
    /// The quote to build.
    pub quote_id: Uuid,
    /// The taker's signature of the quote's typed data; without one the transaction uses plain allowances.
    pub permit2_signature: Option<Bytes>,
    /// Whether a simulation is asked for.
    pub simulate: bool,
    /// The last second at which the transaction may run, unix seconds.
    pub deadline_s: Option<u64>,
}

impl BuildRequest {
    /// Reads a request.
    ///
    /// # Errors
    /// A problem that names every wrong field.
    pub fn read(body: &Json) -> Result<Self, Problem> {
        let mut reader = Reader::default();
        let request = reader.object(body, "", BUILD_FIELDS).and_then(|object| read(&mut reader, &object));
        reader.finish(request)
    }
}

fn read(r: &mut Reader, object: &Object<'_>) -> Option<BuildRequest> {
    let quote_id = r.required(object, "quote_id").and_then(|item| quote_id(r, &item));
    let permit2_signature = object.get("permit2_signature").map(|item| signature(r, &item));
    let simulate = object.get("simulate").map(|item| r.flag(&item));
    let deadline_s = object.get("deadline").map(|item| r.integer::<u64>(&item, 1, i128::from(u64::MAX)));
    Some(BuildRequest {
        quote_id: quote_id?,
        permit2_signature: flip(permit2_signature)?,
        simulate: simulate.unwrap_or(Some(false))?,
        deadline_s: flip(deadline_s)?,
    })
}

/// Absent is fine, wrong is not.
fn flip<T>(field: Option<Option<T>>) -> Option<Option<T>> {
    match field {
        None => Some(None),
        Some(Some(value)) => Some(Some(value)),
        Some(None) => None,
    }
}

fn quote_id(r: &mut Reader, item: &Item<'_>) -> Option<Uuid> {
    let text = r.text(item)?;
    let id = parse_quote_id(text);
    if id.is_none() {
        r.wrong(&item.pointer, FieldCode::QuoteIdInvalid, "expected the quote_id of a quote, a UUID");
    }
    id
}

/// Reads a UUID in its usual form, with dashes.
pub fn parse_quote_id(text: &str) -> Option<Uuid> {
    (text.len() == 36).then(|| Uuid::try_parse(text).ok()).flatten()
}

fn signature(r: &mut Reader, item: &Item<'_>) -> Option<Bytes> {
    let Json::Text(text) = item.value else {
        r.mistyped(item, "a string");
        return None;
    };
    let plain = text.starts_with("0x") && text.len() <= 2 + 2 * MAX_SIGNATURE_BYTES;
    let bytes = if plain { text.parse::<Bytes>().ok() } else { None };
    if bytes.as_ref().is_none_or(|bytes| bytes.is_empty()) {
        let detail = format!("expected 0x and the hex digits of 1 to {MAX_SIGNATURE_BYTES} bytes");
        r.wrong(&item.pointer, FieldCode::HexInvalid, detail);
        return None;
    }
    bytes
}
