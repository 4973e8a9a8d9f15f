//! The audit's memory, and its turns.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use braid_execution::proxy;
use braid_market::Market;
use braid_primitives::{Address, PoolId, PoolKey, TokenId};
use braid_protocols::Pool;
use braid_routing::{PoolFilter, Prepared};
use braid_simulation::{Caller, Simulator, Terms, Unavailable};
use braid_store::quarantine::TokenAtFault;
use braid_store::replicas::stream::Findings;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::check::{check, check_again, check_both_ways};
use crate::conduct::{self, AUDITOR, Conduct};
use crate::outliers::{Doubtful, Outliers};
use crate::quarantine::Quarantine;
use crate::queue::Queue;
use crate::tokens::{Tokens, unit_swap};
use crate::vaults::Vaults;
use crate::verdict::{Difference, Probe, Verdict};

/// The audit's budget.
#[derive(Clone, Copy, Debug)]
pub struct AuditConfig {
    /// Pause between two checks of one swap each; zero turns the audit off.
    pub every: Duration,
    /// Most checks at one block.
    pub per_block: u32,
    /// Most calls of the node a block on average, but for the checks that a quote waits for.
    pub calls_per_block: u32,
    /// Longest time for one check.
    pub check_time: Duration,
    /// Longest time that a quote waits for the check of tokens that none before went through.
    pub first_wait: Duration,
}

impl AuditConfig {
    /// Whether anything is checked at all.
    pub fn is_on(&self) -> bool {
        self.every != Duration::ZERO && self.per_block != 0
    }
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(1),
            per_block: 16,
            calls_per_block: 20,
            check_time: Duration::from_secs(10),
            first_wait: Duration::from_millis(1_500),
        }
    }
}

/// Most messages to the node that one check may take.
const MESSAGES_PER_CHECK: u32 = 20;

/// For how many blocks at most a costly check keeps others from being made.
const MOST_BLOCKS_OWED: u32 = 16;

/// What the checks of a block took.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    block: u64,
    checks: u32,
    /// Calls of the node, those included that earlier blocks took beyond what they may.
    calls: u32,
}

/// Tokens, and for each the pools to look at before others.
pub type Wanted = BTreeMap<TokenId, Vec<PoolId>>;

/// What was checked, what was found, and what is to be checked next.
pub struct Audit {
    /// How much may be done.
    pub config: AuditConfig,
    /// Pools that no quote uses.
    pub quarantine: Quarantine,
    /// What is known of tokens.
    pub tokens: Tokens,
    /// What is known of guessed pools.
    pub guessed: Vaults,
    /// What the EVM said of pools that pay more than all others explain.
    pub outliers: Outliers,
    simulator: Arc<Simulator>,
    queue: Mutex<Queue>,
    counts: [AtomicU64; 3],
    /// The block of the last checks, and what they took.
    spent: Mutex<Spent>,
    messages: AtomicU64,
    /// Whether another service's audit tells what is known.
    adopted: AtomicBool,
}

impl Audit {
    /// An audit that knows nothing yet, and checks in `simulator`.
    pub fn new(simulator: Arc<Simulator>, config: AuditConfig) -> Self {
        Self {
            config,
            quarantine: Quarantine::default(),
            tokens: Tokens::default(),
            guessed: Vaults::default(),
            outliers: Outliers::default(),
            simulator,
            queue: Mutex::default(),
            counts: Default::default(),
            spent: Mutex::default(),
            messages: AtomicU64::new(0),
            adopted: AtomicBool::new(false),
        }
    }

    /// Whether anything is checked: it is turned on, and there is a node to take state from.
    pub fn is_on(&self) -> bool {
        self.config.is_on() && self.simulator.is_available()
    }

    /// Whether it is known of tokens which may be quoted: by checks of our own, or by another service's.
    pub fn verifies(&self) -> bool {
        self.is_on() || self.adopted.load(Ordering::Relaxed)
    }

    /// Numbers of which one changes whenever [`Audit::findings`] do.
    pub fn versions(&self) -> [u64; 3] {
        [self.quarantine.version(), self.tokens.0.version(), self.guessed.0.version()]
    }

    /// Everything that was found, for services that cannot audit.
    pub fn findings(&self) -> Findings {
        let proven = self.guessed.0.sound().into_iter().map(|(pool, form)| (pool, form.into_owned()));
        Findings {
            verifies: self.is_on(),
            quarantine: self.quarantine.records(),
            sound: self.tokens.0.sound().into_iter().collect(),
            proven: proven.collect(),
        }
    }

    /// Takes another service's findings for ours.
    pub fn adopt(&self, findings: &Findings) {
        self.quarantine.adopt(&findings.quarantine);
        self.tokens.0.adopt(findings.sound.iter().copied());
        self.guessed.0.adopt(findings.proven.iter().map(|(pool, form)| (*pool, form.clone().into())));
        self.adopted.store(findings.verifies, Ordering::Relaxed);
    }

    /// Adds another service's findings to ours. Pools that it had in quarantine stay there until a check of ours lifts them.
    pub fn inherit(&self, findings: &Findings) {
        self.quarantine.inherit(&findings.quarantine);
        self.tokens.0.inherit(findings.sound.iter().copied());
        self.guessed.0.inherit(findings.proven.iter().map(|(pool, form)| (*pool, form.clone().into())));
    }

    /// Why a token is not known to be sound.
    pub fn why_unknown(&self, token: Address) -> String {
        if self.adopted.load(Ordering::Relaxed) {
            return "the service that follows the node has not checked it yet".into();
        }
        self.tokens.why(token)
    }

    /// Notes a swap that a quote makes.
    pub fn used(&self, probe: Probe) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).used(probe);
    }

    /// How many checks agreed, differed, and could not be made.
    pub fn counts(&self) -> [u64; 3] {
        [0, 1, 2].map(|kind: usize| self.counts.get(kind).map_or(0, |count| count.load(Ordering::Relaxed)))
    }

    /// How many messages to the node the audit took, the checks that quotes waited for included.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Leaves out of a quote what is in quarantine, guessed pools that are not proven, and outliers of which it could not be told lately
    /// whether they pay; says how many pools.
    pub fn leave_out(&self, market: &Market, doubtful: &Doubtful, filter: &mut PoolFilter) -> u32 {
        let mut count = self.quarantine.leave_out(market, filter);
        let unproven = self.guessed.unproven(market, &doubtful.guessed).map(|(id, _)| id);
        for id in unproven.chain(self.outliers.untold(market, &doubtful.outliers)) {
            if market.pool(id).is_some_and(|pool| filter.allows(id, pool.product)) {
                filter.exclude_pool(id);
                count += 1;
            }
        }
        count
    }

    /// Swaps of a route through outliers, of which the EVM has to be asked first; none where it cannot be asked.
    pub fn unpaid(&self, market: &Market, doubtful: &Doubtful, swaps: impl Iterator<Item = Probe>) -> Vec<Probe> {
        if self.is_on() { self.outliers.unpaid(market, &doubtful.outliers, swaps) } else { Vec::new() }
    }

    /// Leaves out of a quote every outlier that the EVM was not seen to pay.
    pub fn leave_out_unpaid(&self, market: &Market, doubtful: &Doubtful, filter: &mut PoolFilter) {
        if self.is_on() {
            self.outliers.unseen(market, &doubtful.outliers).into_iter().for_each(|pool| filter.exclude_pool(pool));
        }
    }

    /// Pools of some tokens that were guessed and are not proven.
    pub fn unproven_of(&self, market: &Market, guessed: &[PoolId], tokens: &[TokenId]) -> Vec<PoolKey> {
        let of_them = |pool: &&Pool| tokens.iter().any(|token| pool.coin_index(*token).is_some());
        let pools = self.guessed.unproven(market, guessed).map(|(_, pool)| pool);
        pools.filter(of_them).map(|pool| pool.key).collect()
    }

    /// Checks a swap and then a token, as far as the block's budget goes; `doubt` takes pools that should be read again.
    pub async fn round(&self, prepared: &Prepared, doubtful: &Doubtful, doubt: &mpsc::Sender<PoolKey>) {
        let block = prepared.market().block().number;
        if self.may_spend(block) {
            let before = self.simulator.background_calls();
            self.turn_within(MESSAGES_PER_CHECK, prepared, doubtful, Some(doubt)).await;
            self.note_calls(self.simulator.background_calls() - before);
        }
        if self.may_spend(block)
            && let Some(token) = self.tokens.next(prepared.market(), &self.quarantine)
        {
            let before = self.simulator.background_calls();
            let terms = Terms { messages: MESSAGES_PER_CHECK, ..self.terms(Caller::SERVICE) };
            self.check_token(prepared.market(), token, Vec::new(), terms).await;
            self.note_calls(self.simulator.background_calls() - before);
        }
    }

    /// Makes one check: of a guessed pool of which nothing is known, else of an outlier that was not asked about, else of the pools in
    /// quarantine one that is due, else of the queue. `None` when there was nothing to check, or nothing to check with.
    pub async fn turn(
        &self,
        prepared: &Prepared,
        doubtful: &Doubtful,
        doubt: Option<&mpsc::Sender<PoolKey>>,
    ) -> Option<(Probe, Verdict)> {
        self.turn_within(u32::MAX, prepared, doubtful, doubt).await
    }

    /// As [`Audit::turn`], within so many messages to the node.
    async fn turn_within(
        &self,
        messages: u32,
        prepared: &Prepared,
        doubtful: &Doubtful,
        doubt: Option<&mpsc::Sender<PoolKey>>,
    ) -> Option<(Probe, Verdict)> {
        if !self.simulator.is_available() {
            return None;
        }
        let market = Arc::clone(prepared.market());
        let block = *market.block();
        let aside = |pool| self.quarantine.holds(&market, pool) || self.guessed.is_unproven(&market, pool);
        let first = self.guessed.next(prepared, &doubtful.guessed, &self.quarantine);
        let first = first.or_else(|| self.outliers.next(&market, &doubtful.outliers, aside));
        let due = first.is_none().then(|| self.quarantine.due(block.number)).flatten();
        let at_fault = due.and_then(|probe| self.quarantine.token_of(probe.pool));
        let queued = || self.queue.lock().unwrap_or_else(PoisonError::into_inner).next(prepared, aside);
        let probe = first.or(due).or_else(queued)?;
        // one swap does not prove what was guessed, in quarantine or not
        let proves = self.guessed.is_unproven(&market, probe.pool);
        if market.pool_id(probe.pool).is_none() {
            self.quarantine.lift(probe.pool);
            return None;
        }
        let job = {
            let market = Arc::clone(&market);
            move |fork: &_| {
                Ok(match at_fault {
                    _ if proves => check_both_ways(fork, &market, &probe),
                    Some(token) => check_again(fork, &market, &probe, token),
                    None => check(fork, &market, &probe),
                })
            }
        };
        let terms = Terms { messages, hints: touched(&market, &probe), ..self.terms(Caller::SERVICE) };
        let (checked, took) = self.simulator.run(&block, terms, job).await;
        self.messages.fetch_add(took.into(), Ordering::Relaxed);
        if checked == Err(Unavailable::Spent) {
            // its turn comes again in the next block, with what was read of this one to go by
            self.used(probe);
            return None;
        }
        let verdict = checked.unwrap_or_else(|why| Verdict::Unknown(why.to_string()));
        self.guessed.note(&market, probe.pool, &verdict, proves);
        self.outliers.note(&market, &probe, &verdict);
        self.take(probe, &verdict, block.number, doubt);
        Some((probe, verdict))
    }

    /// Checks the token with most pools of those that nothing is known of; `None` when there is none.
    pub async fn turn_of_token(&self, market: &Arc<Market>) -> Option<TokenId> {
        let token = self.tokens.next(market, &self.quarantine)?;
        self.check_token(market, token, Vec::new(), self.terms(Caller::SERVICE)).await;
        Some(token)
    }

    /// Checks tokens side by side; one whose check takes longer than until `deadline` goes on being checked behind the caller.
    pub async fn check_first(
        self: &Arc<Self>,
        caller: Caller,
        market: &Arc<Market>,
        wanted: Wanted,
        deadline: Instant,
    ) {
        let block = market.block().number;
        let due = |token| market.tokens().get(token).is_some_and(|token| self.tokens.0.is_due(&token.address, block));
        let mut checks = JoinSet::new();
        for (token, pools) in wanted.into_iter().filter(|(token, _)| due(*token)) {
            let (audit, market) = (Arc::clone(self), Arc::clone(market));
            checks.spawn(async move {
                let terms = audit.terms(caller);
                audit.check_token(&market, token, pools, terms).await
            });
        }
        let all = async { while checks.join_next().await.is_some() {} };
        if timeout_at(deadline, all).await.is_err() {
            checks.detach_all();
        }
    }

    /// Asks the EVM about swaps side by side; one that takes longer than until `deadline` goes on being asked about behind the caller.
    pub async fn ask_first(
        self: &Arc<Self>,
        caller: Caller,
        market: &Arc<Market>,
        probes: Vec<Probe>,
        deadline: Instant,
    ) {
        let mut checks = JoinSet::new();
        for probe in probes {
            let (audit, market) = (Arc::clone(self), Arc::clone(market));
            checks.spawn(async move { audit.ask_about(&market, probe, audit.terms(caller)).await });
        }
        let all = async { while checks.join_next().await.is_some() {} };
        if timeout_at(deadline, all).await.is_err() {
            checks.detach_all();
        }
    }

    /// Asks the EVM about a swap, unless somebody else just did.
    async fn ask_about(&self, market: &Arc<Market>, probe: Probe, terms: Terms) {
        let Some(turns) = self.outliers.turns(market, &probe) else { return };
        let _turn = turns.lock().await;
        if self.outliers.is_paid(market, &probe) || self.quarantine.holds(market, probe.pool) {
            return;
        }
        let job = {
            let market = Arc::clone(market);
            move |fork: &_| Ok(check(fork, &market, &probe))
        };
        let terms = Terms { hints: touched(market, &probe), ..terms };
        let (checked, took) = self.simulator.run(market.block(), terms, job).await;
        self.messages.fetch_add(took.into(), Ordering::Relaxed);
        let verdict = checked.unwrap_or_else(|why| Verdict::Unknown(why.to_string()));
        self.outliers.note(market, &probe, &verdict);
        self.take(probe, &verdict, market.block().number, None);
    }

    /// Checks a token.
    async fn check_token(&self, market: &Arc<Market>, token: TokenId, pools: Vec<PoolId>, terms: Terms) {
        let Some(address) = market.tokens().get(token).map(|known| known.address) else { return };
        if !self.simulator.is_available() {
            return;
        }
        let block = *market.block();
        let hints = conduct::holders(market, token, address, &pools).into_iter().chain([address, AUDITOR]);
        let terms = Terms { hints: hints.collect(), ..terms };
        let job = {
            let (market, pools) = (Arc::clone(market), pools.clone());
            move |fork: &_| conduct::of_token(fork, &market, token, &pools)
        };
        let (checked, took) = self.simulator.run(&block, terms, job).await;
        self.messages.fetch_add(took.into(), Ordering::Relaxed);
        let conduct = match checked {
            Ok(conduct) => conduct,
            Err(unavailable) => Conduct::Unknown(unavailable.to_string()),
        };
        match conduct {
            Conduct::Whole => {
                self.tokens.0.is_found_sound(address);
            }
            Conduct::Unknown(why) => {
                tracing::debug!(token = %address, why, "a token could not be verified");
                self.tokens.0.is_not_known(address, why, block.number);
            }
            conduct => {
                let Some(does) = conduct.fault() else { return };
                let Some(probe) = unit_swap(market, token, &pools) else { return };
                let why = format!("{address} {does}");
                let difference = Difference { why, token: Some(TokenAtFault { token: address, does }) };
                self.tokens.0.is_found_at_fault(&address);
                self.quarantine.hold(probe, &difference, block.number);
            }
        }
    }

    /// The terms of one check.
    fn terms(&self, caller: Caller) -> Terms {
        Terms::by(caller, Instant::now() + self.config.check_time)
    }

    fn take(&self, probe: Probe, verdict: &Verdict, block: u64, doubt: Option<&mpsc::Sender<PoolKey>>) {
        let kind = match verdict {
            Verdict::Agrees => {
                if let Some(token) = self.quarantine.token_of(probe.pool) {
                    self.tokens.0.is_found_sound(token);
                }
                self.quarantine.lift(probe.pool);
                0
            }
            Verdict::Differs(difference) => {
                if let Some(fault) = &difference.token {
                    self.tokens.0.is_found_at_fault(&fault.token);
                }
                self.quarantine.hold(probe, difference, block);
                // If it is our state that is wrong, reading the pool again mends it.
                if let Some(doubt) = doubt {
                    let _ = doubt.try_send(probe.pool);
                }
                1
            }
            Verdict::Unknown(why) => {
                tracing::debug!(pool = %probe.pool, why, "a pool could not be verified");
                self.quarantine.put_off(probe.pool, block);
                2
            }
        };
        if let Some(count) = self.counts.get(kind) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether one more check may be made at a block; counts it.
    fn may_spend(&self, block: u64) -> bool {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if spent.block != block {
            // what a check took beyond a block's share is paid by the blocks after it
            let passed = u32::try_from(block.saturating_sub(spent.block)).unwrap_or(u32::MAX);
            let paid = self.config.calls_per_block.saturating_mul(passed);
            *spent = Spent { block, checks: 0, calls: spent.calls.saturating_sub(paid) };
        }
        if spent.calls >= self.config.calls_per_block || spent.checks >= self.config.per_block {
            return false;
        }
        spent.checks += 1;
        true
    }

    fn note_calls(&self, took: u64) {
        let most = self.config.calls_per_block.saturating_mul(MOST_BLOCKS_OWED);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.calls = spent.calls.saturating_add(u32::try_from(took).unwrap_or(u32::MAX)).min(most);
    }
}

/// The accounts that a check of a swap touches.
fn touched(market: &Market, probe: &Probe) -> Vec<Address> {
    let pool = market.pool_id(probe.pool).and_then(|id| market.pool(id));
    let coins = pool.into_iter().flat_map(|pool| &pool.coins);
    let tokens = coins.filter_map(|id| market.tokens().get(*id)).map(|token| token.address);
    let contracts = pool.into_iter().flat_map(|pool| [pool.key.contract, pool.holder()]);
    tokens.chain(contracts).chain([AUDITOR, proxy::address()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_simulation::{Bounds, WorkPool};

    #[test]
    fn a_block_has_so_many_checks_and_the_next_one_as_many_again() {
        let threads = WorkPool::new(1, Bounds { jobs: 0, wait: Duration::ZERO });
        let simulator = Simulator::new(None, Arc::new(threads));
        let config = AuditConfig { per_block: 2, calls_per_block: 5, ..AuditConfig::default() };
        let audit = Audit::new(Arc::new(simulator), config);
        let may = [7, 7, 7, 8, 8, 8].map(|block| audit.may_spend(block));
        assert_eq!(may, [true, true, false, true, true, false]);
        assert!(audit.may_spend(9));
        audit.note_calls(4);
        assert!(audit.may_spend(9));
        audit.note_calls(13);
        let may = [9, 10, 11, 12, 12].map(|block| audit.may_spend(block));
        assert_eq!(may, [false, false, false, true, true], "what was taken beyond a block's share is paid first");
        audit.note_calls(u64::MAX);
        let next = (13..99).find(|block| audit.may_spend(*block));
        assert_eq!(next, Some(12 + u64::from(MOST_BLOCKS_OWED)), "one costly check does not end the audit");
    }
}
