//! What the audit knows, and what quotes must avoid for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use braid_market::Market;
use braid_primitives::{Address, PoolId, PoolKey, TokenId};
use braid_protocols::Pool;
use braid_routing::PoolFilter;
use braid_simulation::Simulator;
use braid_store::replicas::stream::Findings;
use parking_lot::Mutex;

use crate::budget::Budget;
use crate::config::AuditConfig;
use crate::outliers::{Doubtful, Outliers};
use crate::quarantine::Quarantine;
use crate::queue::Queue;
use crate::tokens::Tokens;
use crate::vaults::Vaults;
use crate::verdict::Probe;

/// What was checked, what was found, and what is to be checked next.
pub struct Audit {
    /// The budget.
    pub config: AuditConfig,
    /// Pools that no quote uses.
    pub quarantine: Quarantine,
    /// Tokens whose transfers were verified.
    pub tokens: Tokens,
    /// Unverified vaults that the EVM agreed with.
    pub vaults: Vaults,
    /// What the EVM paid for swaps of pools that pay more than all others explain.
    pub outliers: Outliers,
    pub(crate) simulator: Arc<Simulator>,
    pub(crate) queue: Mutex<Queue>,
    /// Checks that agreed, differed, and had no result.
    pub(crate) counts: [AtomicU64; 3],
    pub(crate) budget: Budget,
    /// Messages to the node.
    pub(crate) messages: AtomicU64,
    /// Whether the findings are those of another service's audit.
    adopted: AtomicBool,
}

impl Audit {
    /// An audit without findings that checks in `simulator`.
    pub fn new(simulator: Arc<Simulator>, config: AuditConfig) -> Self {
        Self {
            config,
            quarantine: Quarantine::default(),
            tokens: Tokens::default(),
            vaults: Vaults::default(),
            outliers: Outliers::default(),
            simulator,
            queue: Mutex::default(),
            counts: Default::default(),
            budget: Budget::default(),
            messages: AtomicU64::new(0),
            adopted: AtomicBool::new(false),
        }
    }

    /// Returns whether anything is checked: the audit is turned on, and there is a node to read state from.
    pub fn is_on(&self) -> bool {
        self.config.is_on() && self.simulator.is_available()
    }

    /// Returns whether quotes need verified tokens: this audit or another service's checks them.
    pub fn verifies(&self) -> bool {
        self.is_on() || self.adopted.load(Ordering::Relaxed)
    }

    /// Returns numbers of which one changes whenever [`Audit::findings`] do.
    pub fn versions(&self) -> [u64; 3] {
        [self.quarantine.version(), self.tokens.0.version(), self.vaults.0.version()]
    }

    /// Returns everything that was found, for services that cannot audit.
    pub fn findings(&self) -> Findings {
        let proven = self.vaults.0.all().into_iter().map(|(pool, form)| (pool, form.into_owned()));
        Findings {
            verifies: self.is_on(),
            quarantine: self.quarantine.records(),
            sound: self.tokens.0.all().into_iter().collect(),
            proven: proven.collect(),
        }
    }

    /// Replaces the findings by those of another service.
    pub fn adopt(&self, findings: &Findings) {
        self.quarantine.adopt(&findings.quarantine);
        self.tokens.0.adopt(findings.sound.iter().copied());
        self.vaults.0.adopt(findings.proven.iter().map(|(pool, form)| (*pool, form.clone().into())));
        self.adopted.store(findings.verifies, Ordering::Relaxed);
    }

    /// Adds another service's findings. Pools that it had in quarantine stay there until a check of this audit releases
    /// them.
    pub fn inherit(&self, findings: &Findings) {
        self.quarantine.inherit(&findings.quarantine);
        self.tokens.0.inherit(findings.sound.iter().copied());
        self.vaults.0.inherit(findings.proven.iter().map(|(pool, form)| (*pool, form.clone().into())));
    }

    /// Returns why a token is not verified.
    pub fn why_unknown(&self, token: Address) -> String {
        if self.adopted.load(Ordering::Relaxed) {
            return "the service that follows the node has not checked it yet".into();
        }
        self.tokens.why(token)
    }

    /// Notes a swap that a quote makes, to be checked later.
    pub fn used(&self, probe: Probe) {
        self.queue.lock().used(probe);
    }

    /// Returns how many checks agreed, differed, and had no result.
    pub fn counts(&self) -> [u64; 3] {
        self.counts.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Returns the messages to the node, including those of checks that quotes waited for.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Excludes pools in quarantine, unverified vaults, and outliers that lately could not be verified from a quote;
    /// returns how many pools.
    pub fn exclude(&self, market: &Market, doubtful: &Doubtful, filter: &mut PoolFilter) -> u32 {
        let mut count = self.quarantine.exclude(market, filter);
        let vaults = self.vaults.unverified(market, &doubtful.vaults).map(|(id, _)| id);
        for id in vaults.chain(self.outliers.unknown(market, &doubtful.outliers)) {
            if market.pool(id).is_some_and(|pool| filter.allows(id, pool.product)) {
                filter.exclude_pool(id);
                count += 1;
            }
        }
        count
    }

    /// Excludes every outlier from a quote whose route is not checked any more.
    pub fn exclude_outliers(&self, doubtful: &Doubtful, filter: &mut PoolFilter) {
        if self.is_on() {
            doubtful.exclude_outliers(filter);
        }
    }

    /// Returns the swaps of a route through outliers that the EVM has to confirm first; none if it cannot be asked.
    pub fn unpaid_swaps(&self, market: &Market, doubtful: &Doubtful, swaps: impl Iterator<Item = Probe>) -> Vec<Probe> {
        if self.is_on() { self.outliers.unpaid_swaps(market, &doubtful.outliers, swaps) } else { Vec::new() }
    }

    /// Returns the unverified vaults among `vaults` that trade one of some tokens.
    pub fn unverified_vaults_of(&self, market: &Market, vaults: &[PoolId], tokens: &[TokenId]) -> Vec<PoolKey> {
        let trades = |pool: &&Pool| tokens.iter().any(|token| pool.coin_index(*token).is_some());
        let pools = self.vaults.unverified(market, vaults).map(|(_, pool)| pool);
        pools.filter(trades).map(|pool| pool.key).collect()
    }
}
