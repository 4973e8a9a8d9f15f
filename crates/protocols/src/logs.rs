//! Decoding of logs.

use alloy_primitives::{B256, Log};
use alloy_sol_types::SolEvent;

use crate::DecodeError;

/// Decodes a log of an event.
///
/// # Errors
/// [`DecodeError::Log`] if it is malformed.
pub(crate) fn decode<E: SolEvent>(log: &Log) -> Result<E, DecodeError> {
    E::decode_log_data_validate(&log.data).map_err(|_| malformed::<E>(log))
}

/// Builds the error for a log that is not what its event claims, or has impossible values.
pub(crate) fn malformed<E: SolEvent>(log: &Log) -> DecodeError {
    DecodeError::Log { event: E::SIGNATURE.split('(').next().unwrap_or_default(), emitter: log.address }
}

/// Tells whether a log is of one of these events, by `topic0`.
pub(crate) fn is_one_of(log: &Log, topics: &[B256]) -> bool {
    log.topics().first().is_some_and(|topic0| topics.contains(topic0))
}
