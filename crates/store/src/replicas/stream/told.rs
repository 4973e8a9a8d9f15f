//! What every service has at one place of the stream.

use std::sync::Arc;
use std::time::Duration;

use braid_market::file::{Form, pack, unpack};
use braid_market::{Delta, FileError, Market};
use serde::{Deserialize, Serialize};

use super::findings::{Findings, FindingsChange};
use crate::market::sum::Sum;
use crate::market::{pool_key, show_sum};

/// Largest entry that is written or read, in bytes: a block that changes 300 of 10,000 generated pools takes 34 kB.
pub const MAX_ENTRY_BYTES: usize = 32 << 20;

const ENTRY: Form = Form { magic: b"BRAIDBLK", version: 1 };

/// A market, what gas costs after its block, and what the self-audit of whoever published it found.
#[derive(Clone, Debug)]
pub struct Told {
    /// The market.
    pub market: Arc<Market>,
    /// Tip of each tier in wei per gas, cheapest first.
    pub tips_wei: [u64; 4],
    /// What the self-audit found.
    pub findings: Arc<Findings>,
    /// How old the market was when it was told.
    pub age: Duration,
    /// Over every pool and token: whoever applied the same entries has the same one.
    sum: Sum,
}

/// An entry of the stream: what leads from one place to the next.
#[derive(Serialize, Deserialize)]
struct Entry {
    delta: Delta,
    tips_wei: [u64; 4],
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<FindingsChange>,
    age_ms: u64,
    sum: String,
}

/// What a snapshot holds beside the market.
#[derive(Serialize, Deserialize)]
struct Beside {
    place: String,
    tips_wei: [u64; 4],
    findings: Findings,
    age_ms: u64,
    sum: String,
}

impl Told {
    /// What there is to tell, from the beginning. It reads the whole market: call it where blocking is fine.
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

    /// What comes next, and the entry that leads there.
    ///
    /// # Errors
    /// [`FileError`], if it cannot be written, or is larger than an entry may be.
    pub fn next(
        &self,
        market: Arc<Market>,
        tips_wei: [u64; 4],
        findings: Arc<Findings>,
        age: Duration,
    ) -> Result<(Self, Vec<u8>), FileError> {
        let delta = market.delta_since(&self.market);
        let sum = sum_after(self.sum, &self.market, &delta)?;
        let news = (!Arc::ptr_eq(&findings, &self.findings)).then(|| findings.since(&self.findings));
        let bytes = pack(&ENTRY, &Entry { delta, tips_wei, findings: news, age_ms: in_ms(age), sum: show_sum(sum.0) })?;
        if bytes.len() > MAX_ENTRY_BYTES {
            return Err(FileError::TooLarge { most: MAX_ENTRY_BYTES as u64 });
        }
        Ok((Self { market, tips_wei, findings, age, sum }, bytes))
    }

    /// What an entry leads to.
    ///
    /// # Errors
    /// [`FileError`], where the bytes are no entry, or it leads from elsewhere.
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

    /// All of it as bytes: a market file that also says at which place of the stream it stands.
    ///
    /// # Errors
    /// [`FileError::Body`], if it cannot be written as text.
    pub fn to_snapshot(&self, place: String) -> Result<Vec<u8>, FileError> {
        let findings = self.findings.as_ref().clone();
        let (tips_wei, age_ms) = (self.tips_wei, in_ms(self.age));
        let beside = Beside { place, tips_wei, findings, age_ms, sum: show_sum(self.sum.0) };
        self.market.to_bytes_with(Some(&beside))
    }

    /// What a snapshot holds, and its place.
    ///
    /// # Errors
    /// [`FileError`], which says what is wrong with the bytes.
    pub fn from_snapshot(bytes: &[u8]) -> Result<(Self, String), FileError> {
        let (market, beside) = Market::from_bytes_with::<Beside>(bytes)?;
        let Some(Beside { place, tips_wei, findings, age_ms, sum }) = beside else {
            return Err(FileError::Body { why: "it does not say at which place of the stream it stands".into() });
        };
        let told = Self::new(Arc::new(market), tips_wei, Arc::new(findings), Duration::from_millis(age_ms))?;
        check_sum(told.sum, &sum)?;
        Ok((told, place))
    }
}

fn check_sum(own: Sum, told: &str) -> Result<(), FileError> {
    let own = show_sum(own.0);
    if own == told {
        return Ok(());
    }
    Err(FileError::Body { why: format!("the market's sum is {own}, expected {told}") })
}

/// The sum over the market that a difference leads to, from that over the market it is from.
fn sum_after(mut sum: Sum, older: &Market, delta: &Delta) -> Result<Sum, FileError> {
    let changed = delta.changed.iter().map(|pool| pool.key);
    let mut left: Vec<_> = delta.removed.iter().copied().chain(changed).collect();
    left.sort_unstable();
    left.dedup();
    for pool in left.into_iter().filter_map(|key| older.pool(older.pool_id(key)?)) {
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
