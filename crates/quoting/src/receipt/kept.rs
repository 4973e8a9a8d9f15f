//! Keeps the inputs of answers in memory while their quotes are open.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use braid_ethereum::Head;
use braid_primitives::B256;
use moka::Expiry;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use super::document::Receipt;
use super::evidence::Evidence;
use crate::problem::{Code, Problem};
use crate::stored::StoredQuote;

/// Most bytes of evidence in memory, without markets, which the quotes of a block share.
const MAX_BYTES: u64 = 64 << 20;

/// Most market files in memory at once, including those being sent to slow clients.
const MAX_FILES: usize = 4;

/// `Retry-After` when too many market files are being sent, in seconds: sending 30 MB takes most clients a second or more.
const FILE_WAIT_S: u64 = 5;

/// `Retry-After` while another receipt is computed, in seconds: the digests of a market take less than one.
const DIGEST_WAIT_S: u64 = 1;

/// Drops evidence, and with it the quote's market, when its quote expires.
struct QuoteExpiry;

impl Expiry<Uuid, Arc<Evidence>> for QuoteExpiry {
    fn expire_after_create(&self, _: &Uuid, evidence: &Arc<Evidence>, _: Instant) -> Option<Duration> {
        Some(evidence.ttl)
    }
}

/// Evidence by quote, in bounded memory, while a quote can be open: that of the newest quotes. It does not outlive the
/// process.
#[derive(Debug)]
pub struct Receipts {
    kept: Cache<Uuid, Arc<Evidence>>,
    /// The latest market with its digest and order digest. Locked while these are computed, which reads the whole market.
    digests: Mutex<Option<(Arc<Head>, B256, B256)>>,
    /// Slots for market files in memory.
    files: Arc<Semaphore>,
}

/// The content of a market file, some 30 MB on mainnet. Keep it until the last byte is sent: few may be in memory at
/// once.
#[derive(Debug)]
pub struct MarketFile {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Slot that the file occupies until it is dropped.
    pub slot: OwnedSemaphorePermit,
}

impl Default for Receipts {
    fn default() -> Self {
        let cache = Cache::builder().max_capacity(MAX_BYTES).weigher(|_, evidence: &Arc<Evidence>| evidence.bytes());
        // Evicts the oldest: the default policy refuses new entries of a full cache, and the newest quote would have no receipt.
        let cache = cache.eviction_policy(EvictionPolicy::lru()).expire_after(QuoteExpiry);
        Self { kept: cache.build(), digests: Mutex::default(), files: Arc::new(Semaphore::new(MAX_FILES)) }
    }
}

impl Receipts {
    /// Keeps the inputs of an answer.
    pub(crate) fn keep(&self, id: Uuid, evidence: Evidence) {
        self.kept.insert(id, Arc::new(evidence));
    }

    /// Writes the receipt of a quote. It may read the whole market: call it on a thread for blocking
    /// work.
    ///
    /// # Errors
    /// `RECEIPT_UNAVAILABLE` if this process does not have the quote's evidence, `OVERLOADED` while another receipt is
    /// computed.
    pub fn receipt(&self, id: Uuid, quote: &StoredQuote) -> Result<String, Problem> {
        let evidence = self.evidence(id)?;
        let (digest, order) = self.digests(&evidence.head)?;
        Receipt::write(&evidence, quote, digest, order)
    }

    /// Writes the market of a quote as a market file, with the pools in the order of the solve. Call it on a thread for
    /// blocking work.
    ///
    /// # Errors
    /// `RECEIPT_UNAVAILABLE` as [`Receipts::receipt`], `OVERLOADED` while the most market files are in memory.
    pub fn market(&self, id: Uuid) -> Result<MarketFile, Problem> {
        let evidence = self.evidence(id)?;
        let slot = Arc::clone(&self.files).try_acquire_owned().map_err(|_| {
            let detail = format!("{MAX_FILES} market files are being sent, the most at once: try again in {FILE_WAIT_S} s, while the quote is open");
            Problem::new(Code::Overloaded, detail).retry_after(FILE_WAIT_S)
        })?;
        Ok(MarketFile { bytes: evidence.head.market.to_bytes().map_err(Problem::internal)?, slot })
    }

    fn evidence(&self, id: Uuid) -> Result<Arc<Evidence>, Problem> {
        self.kept.get(&id).ok_or_else(|| {
            let detail = "this process does not have the receipt: the quote was given before a restart or by another replica, or the receipts \
                          of newer quotes took its room. Ask for a new quote, and then at once for its receipt";
            Problem::new(Code::ReceiptUnavailable, detail)
        })
    }

    fn digests(&self, head: &Arc<Head>) -> Result<(B256, B256), Problem> {
        let mut last = self.digests.try_lock().map_err(|_| {
            let detail =
                format!("another receipt is being computed: try again in {DIGEST_WAIT_S} s, while the quote is open");
            Problem::new(Code::Overloaded, detail).retry_after(DIGEST_WAIT_S)
        })?;
        if let Some((known, digest, order)) = last.as_ref()
            && Arc::ptr_eq(known, head)
        {
            return Ok((*digest, *order));
        }
        let (digest, order) = (head.market.digest().map_err(Problem::internal)?, head.market.order_digest());
        *last = Some((Arc::clone(head), digest, order));
        Ok((digest, order))
    }
}

#[cfg(test)]
mod tests {
    use braid_ethereum::FeeData;
    use braid_market::{Market, Tokens};
    use braid_primitives::Bytes;
    use braid_routing::PoolFilter;

    use super::*;
    use crate::draft::ServiceExclusions;
    use crate::solve::SolveLimits;
    use crate::testing::block;

    /// Filled by requests of 128 KiB, mostly spaces, the cache once refused the receipt of each further quote.
    #[test]
    fn the_newest_quote_always_has_its_receipt() {
        let block = block(1_700_000_000);
        let market = Arc::new(Market::empty(block, Arc::new(Tokens::new())));
        let head = Arc::new(Head { market, fees: FeeData::new(&block, None), received_at: Instant::now() });
        let request = Bytes::from(vec![b' '; 128 << 10]);
        let receipts = Receipts::default();
        let full = MAX_BYTES / (128 << 10);
        for number in 0..2 * u128::from(full) {
            let id = Uuid::from_u128(number);
            let evidence = Evidence {
                request: request.clone(),
                head: Arc::clone(&head),
                exclusions: ServiceExclusions {
                    filter: PoolFilter::default(),
                    pool_count: 0,
                    unverified: Vec::new(),
                    verifies_transfers: true,
                },
                excluded_by_follower: 0,
                limits: SolveLimits { ttl_ms: 120_000, max_steps: 40 },
                measured_gas: None,
                ttl: Duration::from_mins(2),
            };
            receipts.keep(id, evidence);
            assert!(receipts.evidence(id).is_ok(), "quote {number} has no receipt");
        }
        receipts.kept.run_pending_tasks();
        assert!(receipts.kept.weighted_size() <= MAX_BYTES);
        let newest = Uuid::from_u128(2 * u128::from(full) - 1);
        assert!(receipts.evidence(newest).is_ok());
        let told = receipts.evidence(Uuid::from_u128(0)).unwrap_err();
        assert_eq!(told.code, Code::ReceiptUnavailable);
    }
}
