//! Stores quotes: the unchanged answer, and the plan from which a transaction is built.

mod compact;

use std::sync::Arc;
use std::time::Duration;

use braid_execution::{Order, Permit, Program};
use braid_primitives::{Address, GasTier};
use braid_store::{QuoteRecord, QuoteStore, Replicas};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::clock::{Clock, rfc3339};
use crate::draft::Draft;
use crate::model::Warning;
use crate::problem::{Code, Problem};
use crate::reprice::StoredStep;
use crate::request::Listed;
use crate::shown::Shown;
use crate::warnings;

/// Longest wait for the disk before a quote is answered. After a timeout no answer waits until the disk has written
/// something.
const DISK_WAIT: Duration = Duration::from_millis(100);

/// A stored quote.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredQuote {
    /// Time from which the quote cannot be built, unix milliseconds.
    pub expires_at_ms: u64,
    /// Input of a build.
    pub plan: Plan,
    /// The answer.
    pub answer: Box<RawValue>,
}

/// Everything that a build needs of a quote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Account that sends the transaction.
    pub taker: Address,
    /// The order that the Permit2 message binds. A build with plain allowances replaces its deadline.
    pub order: Order,
    /// The terms of the Permit2 message.
    pub permit: Permit,
    /// The program; it does not depend on the authorization.
    pub program: Program,
    /// The route.
    pub steps: Vec<StoredStep>,
    /// The tier that prices gas.
    pub gas_priority: GasTier,
    /// True if a build reads the taker's balances and allowances.
    pub check_allowances: bool,
    /// The request's `ttl_s`, in seconds; 0 if it set none.
    #[serde(default)]
    pub ttl_s: u16,
    /// The approvals that answers list.
    #[serde(default)]
    pub approvals_listed: Listed,
    /// The address that the client used for ether.
    pub ether_shown_as: Address,
}

impl Plan {
    /// Returns the plan of a draft.
    pub(crate) fn of(draft: &Draft) -> Self {
        let market = &draft.input.published.head.market;
        let stored = |step: &braid_routing::Step| {
            let pool = market.pool(step.pool)?.key;
            Some(StoredStep { pool, coin_in: step.coin_in, coin_out: step.coin_out, share: step.share })
        };
        Self {
            taker: draft.input.request.taker,
            order: draft.found.order.clone(),
            permit: draft.permit,
            program: draft.found.program.clone(),
            steps: draft.found.solution.route.steps.iter().filter_map(stored).collect(),
            gas_priority: draft.input.request.gas_priority,
            check_allowances: draft.input.request.check_allowances(),
            ttl_s: draft.input.request.ttl_s.unwrap_or_default(),
            approvals_listed: draft.input.request.listed(),
            ether_shown_as: Shown::by(&draft.input.request).ether(),
        }
    }
}

/// Stored quotes, until their memory time after expiry is over.
#[derive(Clone, Debug)]
pub struct StoredQuotes {
    /// Memory and disk.
    pub store: Arc<QuoteStore>,
    /// Other services that may build the quotes, if there are any.
    pub replicas: Option<Replicas>,
    /// Clock for expiry.
    pub clock: Arc<dyn Clock>,
    /// Time for which an expired quote is answered with `QUOTE_EXPIRED`, in milliseconds.
    pub memory_ms: u64,
}

impl StoredQuotes {
    /// Keeps a quote in memory and queues it for the disk.
    ///
    /// # Errors
    /// `OVERLOADED` if the disk does not keep up and the queue is full.
    pub(crate) fn keep(&self, id: Uuid, quote: &StoredQuote) -> Result<QuoteRecord, Problem> {
        let text = serde_json::to_vec(quote).map_err(Problem::internal)?;
        let body = compact::encode(&text).map_err(Problem::internal)?;
        let keep_until_ms = quote.expires_at_ms.saturating_add(self.memory_ms);
        let record = QuoteRecord { keep_until_ms, body: Arc::from(body) };
        self.store.put(id, record.clone())?;
        Ok(record)
    }

    /// Waits until a quote is on disk and survives a crash; `false` after a timeout.
    async fn is_on_disk(&self, id: Uuid) -> bool {
        self.store.stored(id, DISK_WAIT).await
    }

    /// Shares a quote with the other services; `false` after a timeout, `true` if there are none.
    pub(crate) async fn share(&self, id: Uuid, record: &QuoteRecord) -> bool {
        let Some(replicas) = &self.replicas else { return true };
        replicas.share_quote(id, record, self.clock.now_ms()).await
    }

    /// Waits until a quote is on disk and shared with the other services. Returns a warning for each that took too long.
    pub(crate) async fn settle(&self, id: Uuid, record: &QuoteRecord) -> Vec<Warning> {
        let (on_disk, shared) = tokio::join!(self.is_on_disk(id), self.share(id, record));
        let not_on_disk = (!on_disk).then(warnings::not_on_disk);
        not_on_disk.into_iter().chain((!shared).then(warnings::not_shared)).collect()
    }

    /// Finds an open quote.
    ///
    /// # Errors
    /// `QUOTE_NOT_FOUND`, `QUOTE_EXPIRED`, or `NOT_READY` if only the server that services share could have it and does not answer.
    pub async fn open(&self, id: Uuid) -> Result<StoredQuote, Problem> {
        let record = match self.store.recent(id) {
            Some(record) => Some(record),
            None => {
                let store = Arc::clone(&self.store);
                let own = tokio::task::spawn_blocking(move || store.get(id)).await.map_err(Problem::internal)?;
                match (own.map_err(Problem::from), &self.replicas) {
                    (Ok(None), Some(replicas)) => replicas.shared_quote(id).await?,
                    // the disk failed, and may have it
                    (Err(problem), Some(replicas)) => Some(replicas.shared_quote(id).await?.ok_or(problem)?),
                    (own, _) => own?,
                }
            }
        };
        let now_ms = self.clock.now_ms();
        let kept = record.filter(|record| now_ms < record.keep_until_ms);
        let record = kept.ok_or_else(Problem::no_such_quote)?;
        // a quote that another version compressed cannot be read
        let text = compact::decode(&record.body).ok_or_else(Problem::no_such_quote)?;
        let quote: StoredQuote = serde_json::from_slice(&text).map_err(Problem::internal)?;
        if now_ms >= quote.expires_at_ms {
            let detail = format!("the quote expired at {}; ask for a new one", rfc3339(quote.expires_at_ms));
            return Err(Problem::new(Code::QuoteExpired, detail));
        }
        Ok(quote)
    }
}
