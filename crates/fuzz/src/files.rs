//! Fuzzes the readers of files and of the Redis server's data. A checksum would reject nearly all of the fuzzer's
//! inputs at once. So its bytes are used in two ways: as the text inside a valid frame, and as the whole file.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Keccak256, U256};
use braid_market::Market;
use braid_store::replicas::stream::{Findings, StreamState};

use crate::samples;

/// The number of bytes before the text: magic, version, length and checksum.
const TEXT_AT: usize = 52;

/// Builds a file that contains this text.
fn framed(magic: &[u8; 8], version: u32, text: &[u8]) -> Vec<u8> {
    let body = zstd::encode_all(text, 1).unwrap_or_default();
    let mut bytes = magic.to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend((body.len() as u64).to_le_bytes());
    let mut hasher = Keccak256::new();
    hasher.update(&bytes);
    hasher.update(&body);
    bytes.extend(hasher.finalize());
    bytes.extend(body);
    bytes
}

fn text_of(bytes: &[u8]) -> Vec<u8> {
    zstd::decode_all(bytes.get(TEXT_AT..).unwrap_or_default()).unwrap_or_default()
}

pub(crate) fn market_file(data: &[u8]) {
    let _ = Market::from_bytes(data);
    if let Ok(market) = Market::from_bytes(&framed(b"BRAIDMKT", braid_market::file::VERSION, data)) {
        let again = market.to_bytes().and_then(|bytes| Market::from_bytes(&bytes));
        assert!(again.is_ok_and(|again| again.pools() == market.pools()), "what was read can be written and read");
        swap_all(&market);
    }
}

/// Makes swaps in every accepted pool, because quotes may use the pools of a file.
fn swap_all(market: &Market) {
    for pool in market.pools().iter().take(8) {
        let at = market.block().next();
        for amount in [1_u64, 1_000_000, u64::MAX] {
            let _ = pool.swap(&at, 0, 1, U256::from(amount));
        }
    }
}

pub(crate) fn market_seeds() -> Vec<Vec<u8>> {
    let bytes = samples::market().to_bytes().unwrap_or_default();
    vec![text_of(&bytes), bytes]
}

fn told() -> Option<StreamState> {
    StreamState::new(Arc::new(samples::market()), [1, 2, 3, 4], Arc::new(Findings::default()), Duration::ZERO).ok()
}

pub(crate) fn stream(data: &[u8]) {
    let Some(told) = told() else { return };
    for bytes in [data, &framed(b"BRAIDBLK", 1, data)] {
        if let Ok(next) = told.after(bytes) {
            assert!(next.market.digest().is_ok());
        }
    }
    let _ = StreamState::from_snapshot(&framed(b"BRAIDMKT", braid_market::file::VERSION, data));
}

pub(crate) fn stream_seeds() -> Vec<Vec<u8>> {
    let Some(told) = told() else { return Vec::new() };
    let market = Arc::clone(&told.market);
    let pool = market.pools().first().map(|pool| pool.as_ref().clone());
    let next = market.next(samples::block(8), Arc::clone(market.tokens()), pool);
    let entry = next
        .ok()
        .and_then(|next| told.next(Arc::new(next), [5; 4], Arc::new(Findings::default()), Duration::ZERO).ok());
    let snapshot = told.to_snapshot("here".into()).unwrap_or_default();
    let entry = entry.map(|(_, entry)| entry).unwrap_or_default();
    vec![text_of(&entry), text_of(&snapshot), entry]
}
