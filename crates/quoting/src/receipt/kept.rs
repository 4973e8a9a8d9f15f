//! What answers were made of, kept in memory while their quotes are open.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use braid_ethereum::Head;
use braid_primitives::B256;
use moka::Expiry;
use moka::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use super::document::Receipt;
use super::evidence::Evidence;
use crate::problem::{Code, Problem};
use crate::stored::StoredQuote;

/// Bytes of evidence that are kept, markets not counted: those are shared between the quotes of a block.
const MOST_BYTES: u64 = 64 << 20;

/// Most market files in memory at once, those on their way to slow clients too.
const MOST_FILES: usize = 4;

/// After how long to ask for a market file again: one of 30 MB takes a second or more to most clients.
const FILE_WAIT_S: u64 = 5;

/// After how long to ask for a receipt again: a market is named once per block, in less than a second.
const NAMES_WAIT_S: u64 = 1;

/// Lets evidence go with its quote, and with it the quote's market.
struct WithTheQuote;

impl Expiry<Uuid, Arc<Evidence>> for WithTheQuote {
    fn expire_after_create(&self, _: &Uuid, evidence: &Arc<Evidence>, _: Instant) -> Option<Duration> {
        Some(evidence.lasts)
    }
}

/// Evidence by quote, for as long as a quote can be open, and at most so much of it. It does not outlive the process.
#[derive(Debug)]
pub struct Receipts {
    kept: Cache<Uuid, Arc<Evidence>>,
    /// The market that was named last, and its names. Held while one is worked out, which reads the whole market.
    named: Mutex<Option<(Arc<Head>, B256, B256)>>,
    /// Market files that may be in memory at once.
    files: Arc<Semaphore>,
}

/// The content of a market file. It takes some 30 MB on mainnet, so that there are few at once: keep it until the last
/// byte is on its way.
#[derive(Debug)]
pub struct MarketFile {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Gives the room back.
    pub room: OwnedSemaphorePermit,
}

impl Default for Receipts {
    fn default() -> Self {
        let cache = Cache::builder().max_capacity(MOST_BYTES).weigher(|_, evidence: &Arc<Evidence>| evidence.bytes());
        let cache = cache.expire_after(WithTheQuote);
        Self { kept: cache.build(), named: Mutex::default(), files: Arc::new(Semaphore::new(MOST_FILES)) }
    }
}

impl Receipts {
    /// Keeps what an answer was made of.
    pub fn keep(&self, id: Uuid, evidence: Evidence) {
        self.kept.insert(id, Arc::new(evidence));
    }

    /// Writes the receipt of a quote. It may read the whole market: call it where blocking is fine.
    ///
    /// # Errors
    /// `RECEIPT_UNAVAILABLE` when this process did not give the quote or no longer has what it was made of,
    /// `OVERLOADED` while another receipt is worked out.
    pub fn receipt(&self, id: Uuid, quote: &StoredQuote) -> Result<String, Problem> {
        let evidence = self.evidence(id)?;
        let (digest, order) = self.names(&evidence.head)?;
        Receipt::write(&evidence, quote, digest, order)
    }

    /// Writes the market of a quote as the content of a market file, in the order in which the quote was solved. Call
    /// it where blocking is fine.
    ///
    /// # Errors
    /// `RECEIPT_UNAVAILABLE` as [`Receipts::receipt`], `OVERLOADED` while as many files as there may be are on their
    /// way.
    pub fn market(&self, id: Uuid) -> Result<MarketFile, Problem> {
        let evidence = self.evidence(id)?;
        let room = Arc::clone(&self.files).try_acquire_owned().map_err(|_| {
            let detail = format!("{MOST_FILES} market files are on their way, as many as at once: try again in {FILE_WAIT_S} s, while the quote is open");
            Problem::new(Code::Overloaded, detail).retry_after(FILE_WAIT_S)
        })?;
        Ok(MarketFile { bytes: evidence.head.market.to_bytes().map_err(Problem::internal)?, room })
    }

    fn evidence(&self, id: Uuid) -> Result<Arc<Evidence>, Problem> {
        self.kept.get(&id).ok_or_else(|| {
            let detail = "this process does not have the receipt: the quote was given before a restart, or by another replica. \
                          Ask for a new quote, and then at once for its receipt";
            Problem::new(Code::ReceiptUnavailable, detail)
        })
    }

    fn names(&self, head: &Arc<Head>) -> Result<(B256, B256), Problem> {
        let mut last = self.named.try_lock().map_err(|_| {
            let detail =
                format!("another receipt is being worked out: try again in {NAMES_WAIT_S} s, while the quote is open");
            Problem::new(Code::Overloaded, detail).retry_after(NAMES_WAIT_S)
        })?;
        if let Some((named, digest, order)) = last.as_ref()
            && Arc::ptr_eq(named, head)
        {
            return Ok((*digest, *order));
        }
        let (digest, order) = (head.market.digest().map_err(Problem::internal)?, head.market.order_digest());
        *last = Some((Arc::clone(head), digest, order));
        Ok((digest, order))
    }
}
