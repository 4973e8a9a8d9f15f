//! A quote as it is kept: the answer, word for word, and what a build needs of it.

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

/// How long an answer waits for the disk. A disk that takes longer is not waited for again before it has taken
/// something.
const DISK_PATIENCE: Duration = Duration::from_millis(100);

/// What is kept of a quote.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredQuote {
    /// From then on the quote cannot be built, unix milliseconds.
    pub expires_at_ms: u64,
    /// What a build needs.
    pub plan: Plan,
    /// The answer.
    pub answer: Box<RawValue>,
}

/// What a build needs of a quote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Who sends the transaction.
    pub taker: Address,
    /// The order that the Permit2 message binds. A build with plain allowances replaces its deadline.
    pub order: Order,
    /// The terms of the Permit2 message.
    pub permit: Permit,
    /// The program, whatever the authorization.
    pub program: Program,
    /// The route.
    pub steps: Vec<StoredStep>,
    /// The tier that prices gas.
    pub gas_priority: GasTier,
    /// Whether to read the taker's balances and allowances again.
    pub check_allowances: bool,
    /// Seconds that the request asked for to build and sign; 0 where it left them to the service.
    #[serde(default)]
    pub ttl_s: u16,
    /// Which approvals answers list.
    #[serde(default)]
    pub approvals_listed: Listed,
    /// The address that the client used for ether.
    pub ether_shown_as: Address,
}

impl Plan {
    /// Returns the plan of a draft.
    pub(crate) fn of(draft: &Draft) -> Self {
        let market = &draft.asked.published.head.market;
        let stored = |step: &braid_routing::Step| {
            let pool = market.pool(step.pool)?.key;
            Some(StoredStep { pool, coin_in: step.coin_in, coin_out: step.coin_out, share: step.share })
        };
        Self {
            taker: draft.asked.request.taker,
            order: draft.found.order.clone(),
            permit: draft.permit,
            program: draft.found.program.clone(),
            steps: draft.found.solution.route.steps.iter().filter_map(stored).collect(),
            gas_priority: draft.asked.request.gas_priority,
            check_allowances: draft.asked.request.check_allowances(),
            ttl_s: draft.asked.request.ttl_s.unwrap_or_default(),
            approvals_listed: draft.asked.request.listed(),
            ether_shown_as: Shown::by(&draft.asked.request).ether(),
        }
    }
}

/// The quotes that were given, for as long as they are known.
#[derive(Clone, Debug)]
pub struct StoredQuotes {
    /// Where they are kept.
    pub store: Arc<QuoteStore>,
    /// The other services that may build them, if there are any.
    pub replicas: Option<Replicas>,
    /// Tells which are over.
    pub clock: Arc<dyn Clock>,
    /// How long an expired quote is still known as expired, in milliseconds.
    pub memory_ms: u64,
}

impl StoredQuotes {
    /// Keeps a quote in memory, on its way to the disk.
    ///
    /// # Errors
    /// `OVERLOADED` when the disk does not keep up and the memory for quotes is full.
    pub fn keep(&self, id: Uuid, quote: &StoredQuote) -> Result<QuoteRecord, Problem> {
        let text = serde_json::to_vec(quote).map_err(Problem::internal)?;
        let body = compact::encode(&text).map_err(Problem::internal)?;
        let keep_until_ms = quote.expires_at_ms.saturating_add(self.memory_ms);
        let record = QuoteRecord { keep_until_ms, body: Arc::from(body) };
        self.store.put(id, record.clone())?;
        Ok(record)
    }

    /// Waits for the disk to take a quote, so that it can be built after any crash; false where it does not in time.
    async fn is_safe(&self, id: Uuid) -> bool {
        self.store.stored(id, DISK_PATIENCE).await
    }

    /// Gives a quote to the other services; false where they do not take it in time, true also where there are none.
    pub(crate) async fn share(&self, id: Uuid, record: &QuoteRecord) -> bool {
        let Some(replicas) = &self.replicas else { return true };
        replicas.share_quote(id, record, self.clock.now_ms()).await
    }

    /// Waits until a quote is where it can be built from after any crash, and by any of the services; what has to be
    /// said where it is not in time.
    pub async fn settle(&self, id: Uuid, record: &QuoteRecord) -> Vec<Warning> {
        let (safe, shared) = tokio::join!(self.is_safe(id), self.share(id, record));
        let unsafe_here = (!safe).then(warnings::not_on_disk);
        unsafe_here.into_iter().chain((!shared).then(warnings::not_shared)).collect()
    }

    /// Finds an open quote.
    ///
    /// # Errors
    /// `QUOTE_NOT_FOUND` or `QUOTE_EXPIRED`.
    pub async fn open(&self, id: Uuid) -> Result<StoredQuote, Problem> {
        let record = match self.store.recent(id) {
            Some(record) => Some(record),
            None => {
                let store = Arc::clone(&self.store);
                let own = tokio::task::spawn_blocking(move || store.get(id)).await.map_err(Problem::internal)??;
                match (own, &self.replicas) {
                    (None, Some(replicas)) => replicas.shared_quote(id).await,
                    (own, _) => own,
                }
            }
        };
        let now_ms = self.clock.now_ms();
        let kept = record.filter(|record| now_ms < record.keep_until_ms);
        let record = kept.ok_or_else(Problem::no_such_quote)?;
        // Another version's quotes are not known to this one.
        let text = compact::decode(&record.body).ok_or_else(Problem::no_such_quote)?;
        let quote: StoredQuote = serde_json::from_slice(&text).map_err(Problem::internal)?;
        if now_ms >= quote.expires_at_ms {
            let detail = format!("the quote expired at {}; ask for a new one", rfc3339(quote.expires_at_ms));
            return Err(Problem::new(Code::QuoteExpired, detail));
        }
        Ok(quote)
    }
}
