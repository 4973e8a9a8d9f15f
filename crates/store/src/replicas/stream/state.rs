//! The state of every service at one place of the stream, and the entries that lead from one state to the next.

use std::sync::Arc;
use std::time::Duration;

use braid_market::file::{Form, pack, unpack};
use braid_market::{Delta, FileError, Market};
use serde::{Deserialize, Serialize};

use super::findings::{Findings, FindingsChange};
use crate::market::sum::Sum;
use crate::market::{pool_key, show_sum};

/// Largest entry that is written or read, in bytes. A block that changes 300 of 10,000 generated pools takes 34 kB.
pub const MAX_ENTRY_BYTES: usize = 32 << 20;

const ENTRY: Form = Form { magic: b"BRAIDBLK", version: 1 };

/// A market, the gas price after its block, and the findings of the publisher's self-audit.
#[derive(Clone, Debug)]
pub struct StreamState {
    /// The market.
    pub market: Arc<Market>,
    /// Tip of each tier in wei per gas, cheapest first.
    pub tips_wei: [u64; 4],
    /// Findings of the self-audit.
    pub findings: Arc<Findings>,
    /// Age of the market when it was published.
    pub age: Duration,
    /// Sum over every pool and token: equal for all services that applied the same entries.
    sum: Sum,
}

/// An entry of the stream.
#[derive(Serialize, Deserialize)]
struct Entry {
    delta: Delta,
    tips_wei: [u64; 4],
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<FindingsChange>,
    age_ms: u64,
    sum: String,
}

/// Content of a snapshot besides the market.
#[derive(Serialize, Deserialize)]
struct SnapshotExtra {
    place: String,
    tips_wei: [u64; 4],
    findings: Findings,
    age_ms: u64,
    sum: String,
}

impl StreamState {
    /// Makes a state from a whole market. Reads all of it: call it where blocking is fine.
    ///
    /// # Errors
    /// [`FileError::Body`], if a pool cannot be written as text.
    pub fn new(
        market: Arc<Market>,
        tips_wei: [u64; 4],
        findings: Arc<Findings>,
        age: Duration,
    ) -> Result<Self, FileError> {
        let nothing = Market::empty(*market.block(), Arc::default());
        let sum = sum_after(Sum::default(), &nothing, &market.delta_since(&nothing))?;
        Ok(Self { market, tips_wei, findings, age, sum })
    }

    /// Returns the next state, and the entry that leads to it.
    ///
    /// # Errors
    /// [`FileError`], if the entry cannot be encoded, or is larger than [`MAX_ENTRY_BYTES`].
    pub fn next(
        &self,
        market: Arc<Market>,
        tips_wei: [u64; 4],
        findings: Arc<Findings>,
        age: Duration,
    ) -> Result<(Self, Vec<u8>), FileError> {
        let delta = market.delta_since(&self.market);
        let sum = sum_after(self.sum, &self.market, &delta)?;
        let change = (!Arc::ptr_eq(&findings, &self.findings)).then(|| findings.since(&self.findings));
        let bytes =
            pack(&ENTRY, &Entry { delta, tips_wei, findings: change, age_ms: in_ms(age), sum: show_sum(sum.0) })?;
        if bytes.len() > MAX_ENTRY_BYTES {
            return Err(FileError::TooLarge { most: MAX_ENTRY_BYTES as u64 });
        }
        Ok((Self { market, tips_wei, findings, age, sum }, bytes))
    }

    /// Applies an entry.
    ///
    /// # Errors
    /// [`FileError`], if the bytes are no entry, or one that leads from another state.
    pub fn after(&self, entry: &[u8]) -> Result<Self, FileError> {
        let Entry { delta, tips_wei, findings, age_ms, sum } = unpack(&ENTRY, entry)?;
        if delta.tokens_kept > self.market.tokens().len() {
            return Err(FileError::Body { why: format!("it keeps {} tokens, more than there are", delta.tokens_kept) });
        }
        let own = sum_after(self.sum, &self.market, &delta)?;
        check_sum(own, &sum)?;
        let market = Arc::new(self.market.after(delta)?);
        let findings = match findings {
            Some(change) => Arc::new(self.findings.after(change)),
            None => Arc::clone(&self.findings),
        };
        Ok(Self { market, tips_wei, findings, age: Duration::from_millis(age_ms), sum: own })
    }

    /// Encodes a snapshot: a market file that also holds its place in the stream.
    ///
    /// # Errors
    /// [`FileError::Body`], if it cannot be written as text.
    pub fn to_snapshot(&self, place: String) -> Result<Vec<u8>, FileError> {
        let findings = self.findings.as_ref().clone();
        let (tips_wei, age_ms) = (self.tips_wei, in_ms(self.age));
        let extra = SnapshotExtra { place, tips_wei, findings, age_ms, sum: show_sum(self.sum.0) };
        self.market.to_bytes_with(Some(&extra))
    }

    /// Decodes a snapshot and its place.
    ///
    /// # Errors
    /// [`FileError`], which says what is wrong with the bytes.
    pub fn from_snapshot(bytes: &[u8]) -> Result<(Self, String), FileError> {
        let (market, extra) = Market::from_bytes_with::<SnapshotExtra>(bytes)?;
        let Some(SnapshotExtra { place, tips_wei, findings, age_ms, sum }) = extra else {
            return Err(FileError::Body { why: "it does not hold its place in the stream".into() });
        };
        let state = Self::new(Arc::new(market), tips_wei, Arc::new(findings), Duration::from_millis(age_ms))?;
        check_sum(state.sum, &sum)?;
        Ok((state, place))
    }
}

fn check_sum(own: Sum, expected: &str) -> Result<(), FileError> {
    let own = show_sum(own.0);
    if own == expected {
        return Ok(());
    }
    Err(FileError::Body { why: format!("the market's sum is {own}, expected {expected}") })
}

/// Returns the sum over the market that a delta leads to, from the sum over the older market.
fn sum_after(mut sum: Sum, older: &Market, delta: &Delta) -> Result<Sum, FileError> {
    let changed = delta.changed.iter().map(|pool| pool.key);
    let mut replaced: Vec<_> = delta.removed.iter().copied().chain(changed).collect();
    replaced.sort_unstable();
    replaced.dedup();
    for pool in replaced.into_iter().filter_map(|key| older.pool(older.pool_id(key)?)) {
        sum.remove("pools", &pool_key(pool.key), &text(pool)?);
    }
    for pool in &delta.changed {
        sum.add("pools", &pool_key(pool.key), &text(pool)?);
    }
    for (id, token) in older.tokens().iter().skip(delta.tokens_kept) {
        sum.remove("tokens", &id.index().to_be_bytes(), &text(token)?);
    }
    for (id, token) in (delta.tokens_kept..).zip(&delta.tokens) {
        sum.add("tokens", &id.to_be_bytes(), &text(token)?);
    }
    Ok(sum)
}

fn in_ms(age: Duration) -> u64 {
    u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
}

fn text(value: &impl Serialize) -> Result<Vec<u8>, FileError> {
    serde_json::to_vec(value).map_err(|error| FileError::Body { why: error.to_string() })
}
