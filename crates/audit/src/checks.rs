//! Runs checks in the EVM, and takes notice of what they find.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use braid_execution::proxy;
use braid_market::Market;
use braid_primitives::{Address, Block, PoolId, PoolKey, TokenId};
use braid_routing::Prepared;
use braid_simulation::{Caller, Fork, SimulationError, Terms, Unavailable};
use braid_store::quarantine::TokenAtFault;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::audit::Audit;
use crate::budget::Kind;
use crate::check::{check, check_again, check_both_ways};
use crate::outliers::Doubtful;
use crate::tokens::unit_swap;
use crate::transfers::{self, AUDITOR, Transfers};
use crate::verdict::{Difference, Probe, Verdict};

/// Most messages to the node for one check that no quote waits for.
const MESSAGES_PER_CHECK: u32 = 20;

/// Tokens to check, each with the pools to look at before others.
pub type Wanted = BTreeMap<TokenId, Vec<PoolId>>;

impl Audit {
    /// Checks a swap and a token, as far as the block's budget allows; `doubt` takes pools that should be read again.
    pub async fn round(&self, prepared: &Prepared, doubtful: &Doubtful, doubt: &mpsc::Sender<PoolKey>) {
        let block = prepared.market().block().number;
        let calls = || self.simulator.background_calls();
        if self.budget.allows_check(&self.config, block, Kind::Swap) {
            let before = calls();
            self.turn(MESSAGES_PER_CHECK, prepared, doubtful, Some(doubt)).await;
            self.budget.add_calls(&self.config, calls() - before);
        }
        if self.budget.allows_check(&self.config, block, Kind::Token) {
            let before = calls();
            self.turn_of_token(MESSAGES_PER_CHECK, prepared.market()).await;
            self.budget.add_calls(&self.config, calls() - before);
        }
    }

    /// Makes one check within a number of messages to the node: of an unverified vault that is due, else of an outlier,
    /// else of a pool in quarantine that is due or of the queue, in turns. `None` when there is nothing to check, or no node
    /// to check with.
    pub async fn turn(
        &self,
        messages: u32,
        prepared: &Prepared,
        doubtful: &Doubtful,
        doubt: Option<&mpsc::Sender<PoolKey>>,
    ) -> Option<(Probe, Verdict)> {
        if !self.simulator.is_available() {
            return None;
        }
        let market = prepared.market();
        let block = *market.block();
        let (probe, at_fault) = self.next_probe(prepared, doubtful)?;
        // One swap does not verify a vault, in quarantine or not. A token at fault is checked first: swaps of a vault may
        // succeed though the token's transfers do not.
        let verifies = at_fault.is_none() && self.vaults.is_unverified(market, probe.pool);
        if market.pool_id(probe.pool).is_none() {
            self.quarantine.release(probe.pool);
            return None;
        }
        let terms = Terms { messages, hints: touched(market, &probe), ..self.terms(Caller::SERVICE) };
        let checked_market = Arc::clone(market);
        let checked = self.run(&block, terms, move |fork| {
            Ok(match at_fault {
                Some(token) => check_again(fork, &checked_market, &probe, token),
                None if verifies => check_both_ways(fork, &checked_market, &probe),
                None => check(fork, &checked_market, &probe),
            })
        });
        let verdict = match checked.await {
            Err(Unavailable::Spent) => {
                // Its turn comes again in the next block, which begins with the state that was read for this one.
                self.used(probe);
                return None;
            }
            checked => checked.unwrap_or_else(|why| Verdict::Unknown(why.to_string())),
        };
        self.vaults.note(market, probe.pool, &verdict, verifies);
        self.outliers.note(market, &probe, &verdict);
        self.note(probe, at_fault, &verdict, block.number, doubt);
        Some((probe, verdict))
    }

    /// Returns the swap to check next, and the token at fault if it is one of a pool in quarantine for a token's sake.
    fn next_probe(&self, prepared: &Prepared, doubtful: &Doubtful) -> Option<(Probe, Option<Address>)> {
        let market = prepared.market();
        let excluded = |pool| self.quarantine.holds(market, pool) || self.vaults.is_unverified(market, pool);
        let vault = self.vaults.next(prepared, &doubtful.vaults, &self.quarantine);
        let unproven = vault.or_else(|| self.outliers.next(market, &doubtful.outliers, excluded));
        if let Some(probe) = unproven {
            return Some((probe, None));
        }
        let due = self.quarantine.due(market.block().number);
        let mut queue = self.queue.lock();
        let used = if due.is_some() && queue.gives_way() { None } else { queue.next(prepared, excluded) };
        match (used, due) {
            (Some(probe), _) => Some((probe, None)),
            (None, due) => due.map(|probe| (probe, self.quarantine.token_of(probe.pool))),
        }
    }

    /// Checks the unverified token with most pools, within a number of messages to the node; `None` when there is none.
    pub async fn turn_of_token(&self, messages: u32, market: &Arc<Market>) -> Option<TokenId> {
        let token = self.tokens.next(market, &self.quarantine)?;
        let terms = Terms { messages, ..self.terms(Caller::SERVICE) };
        self.check_token(market, token, Vec::new(), terms).await;
        Some(token)
    }

    /// Checks tokens side by side; a check that takes longer than `deadline` goes on after this returns.
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
            checks.spawn(async move { audit.check_token(&market, token, pools, audit.terms(caller)).await });
        }
        join_until(checks, deadline).await;
    }

    /// Checks swaps through outliers side by side; a check that takes longer than `deadline` goes on after this
    /// returns.
    pub async fn check_outliers_first(
        self: &Arc<Self>,
        caller: Caller,
        market: &Arc<Market>,
        probes: Vec<Probe>,
        deadline: Instant,
    ) {
        let mut checks = JoinSet::new();
        for probe in probes {
            let (audit, market) = (Arc::clone(self), Arc::clone(market));
            checks.spawn(async move { audit.check_outlier(&market, probe, audit.terms(caller)).await });
        }
        join_until(checks, deadline).await;
    }

    /// Checks a swap through an outlier, unless another request just did.
    async fn check_outlier(&self, market: &Arc<Market>, probe: Probe, terms: Terms) {
        let Some(turns) = self.outliers.turns(market, &probe) else { return };
        let _turn = turns.lock().await;
        if self.outliers.is_paid(market, &probe) || self.quarantine.holds(market, probe.pool) {
            return;
        }
        let terms = Terms { hints: touched(market, &probe), ..terms };
        let checked_market = Arc::clone(market);
        let checked = self.run(market.block(), terms, move |fork| Ok(check(fork, &checked_market, &probe))).await;
        let verdict = checked.unwrap_or_else(|why| Verdict::Unknown(why.to_string()));
        self.outliers.note(market, &probe, &verdict);
        self.note(probe, None, &verdict, market.block().number, None);
    }

    /// Checks a token's transfers.
    async fn check_token(&self, market: &Arc<Market>, token: TokenId, pools: Vec<PoolId>, terms: Terms) {
        let Some(address) = market.tokens().get(token).map(|known| known.address) else { return };
        if !self.simulator.is_available() {
            return;
        }
        let block = *market.block();
        let hints = transfers::holders(market, token, address, &pools).into_iter().chain([address, AUDITOR]);
        let terms = Terms { hints: hints.collect(), ..terms };
        let (checked_market, first) = (Arc::clone(market), pools.clone());
        let checked = self.run(&block, terms, move |fork| transfers::of_token(fork, &checked_market, token, &first));
        match checked.await.unwrap_or_else(|why| Transfers::Unknown(why.to_string())) {
            Transfers::Exact => {
                self.tokens.0.note_verified(address);
            }
            Transfers::Unknown(why) => {
                tracing::debug!(token = %address, why, "the token's transfers could not be verified");
                self.tokens.0.note_unknown(address, why, block.number);
            }
            faulty => {
                if let Some(fault) = faulty.fault(address) {
                    self.note_fault(market, token, &pools, fault);
                }
            }
        }
    }

    /// Notes a token at fault with one of its pools, those in `first` before others. A pool that is in quarantine for another
    /// reason stays there for that one; a token without a pool of its own is checked again like one without a result.
    fn note_fault(&self, market: &Market, token: TokenId, first: &[PoolId], fault: TokenAtFault) {
        let (address, block) = (fault.token, market.block().number);
        let is_free = |pool| self.quarantine.is_free_for(pool, address);
        let Some(probe) = unit_swap(market, token, first, is_free) else {
            self.tokens.0.note_unknown(address, format!("it {}", fault.does), block);
            return;
        };
        self.tokens.0.note_fault(&address);
        self.quarantine.hold(probe, &Difference::of_token(fault), block);
    }

    /// Runs a job in the simulator, and counts its messages.
    async fn run<T: Send + 'static>(
        &self,
        block: &Block,
        terms: Terms,
        job: impl Fn(&Fork) -> Result<T, SimulationError> + Send + Sync + 'static,
    ) -> Result<T, Unavailable> {
        let (result, messages) = self.simulator.run(block, terms, job).await;
        self.messages.fetch_add(messages.into(), Ordering::Relaxed);
        result
    }

    /// Returns the terms of one check.
    fn terms(&self, caller: Caller) -> Terms {
        Terms::by(caller, Instant::now() + self.config.check_time)
    }

    /// Takes notice of a verdict. `checked` is the token at fault whose transfers were checked before the swap.
    fn note(
        &self,
        probe: Probe,
        checked: Option<Address>,
        verdict: &Verdict,
        block: u64,
        doubt: Option<&mpsc::Sender<PoolKey>>,
    ) {
        let [agreed, differed, unknown] = &self.counts;
        let count = match verdict {
            Verdict::Agrees => {
                let at_fault = self.quarantine.token_of(probe.pool);
                // A swap says nothing for a token that was found at fault meanwhile.
                if at_fault == checked {
                    if let Some(token) = at_fault {
                        self.tokens.0.note_verified(token);
                    }
                    self.quarantine.release(probe.pool);
                }
                agreed
            }
            Verdict::Differs(difference) => {
                if let Some(fault) = &difference.token {
                    self.tokens.0.note_fault(&fault.token);
                }
                self.quarantine.hold(probe, difference, block);
                // If our state of the pool is wrong, reading it again mends it. A full queue is left alone.
                if let Some(doubt) = doubt {
                    let _ = doubt.try_send(probe.pool);
                }
                differed
            }
            Verdict::Unknown(why) => {
                tracing::debug!(pool = %probe.pool, why, "the pool could not be verified");
                self.quarantine.put_off(probe.pool, block);
                unknown
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits for checks until a deadline; those that take longer go on by themselves.
async fn join_until(mut checks: JoinSet<()>, deadline: Instant) {
    let all = async { while checks.join_next().await.is_some() {} };
    if timeout_at(deadline, all).await.is_err() {
        checks.detach_all();
    }
}

/// Returns the accounts that a check of a swap touches.
fn touched(market: &Market, probe: &Probe) -> Vec<Address> {
    let pool = market.pool_id(probe.pool).and_then(|id| market.pool(id));
    let coins = pool.into_iter().flat_map(|pool| &pool.coins);
    let tokens = coins.filter_map(|id| market.tokens().get(*id)).map(|token| token.address);
    let contracts = pool.into_iter().flat_map(|pool| [pool.key.contract, pool.holder()]);
    tokens.chain(contracts).chain([AUDITOR, proxy::address()]).collect()
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;
    use braid_simulation::{Bounds, Simulator, WorkPool};

    use super::*;
    use crate::config::AuditConfig;
    use crate::testing::{ETHER, prepared};

    /// Returns an audit without a node.
    fn audit() -> Audit {
        let threads = WorkPool::new(1, Bounds { jobs: 1, wait: std::time::Duration::ZERO });
        Audit::new(Arc::new(Simulator::new(None, Arc::new(threads))), AuditConfig::default())
    }

    fn swap() -> Probe {
        Probe { pool: Address::repeat_byte(1).into(), coin_in: 0, coin_out: 1, amount_in: U256::from(5) }
    }

    /// A quote's check may find the fault while a swap of the same pool is checked.
    #[test]
    fn a_swap_that_agrees_does_not_clear_a_token_that_was_found_at_fault() {
        let (audit, held, token) = (audit(), swap(), Address::with_last_byte(9));
        let fault = TokenAtFault { token, does: "takes 1.00% of a transfer".into() };
        audit.quarantine.hold(held, &Difference::of_token(fault), 1);
        audit.note(held, None, &Verdict::Agrees, 2, None);
        assert!(audit.quarantine.fault_of(token).is_some() && !audit.tokens.is_sound(token));
        audit.note(held, Some(token), &Verdict::Agrees, 3, None);
        assert!(audit.quarantine.fault_of(token).is_none() && audit.tokens.is_sound(token));
    }

    /// Aave's first tokens share the pool of Curve that is the only one of each, and all of them rebase.
    #[test]
    fn tokens_at_fault_that_share_their_pools_are_all_noted() {
        let (audit, now) = (audit(), prepared(7, 900 * ETHER));
        let market = now.market();
        let [weth, token] = [TokenId(1), TokenId(2)];
        let address = |id| market.tokens().get(id).unwrap().address;
        let note = |id| {
            audit.note_fault(market, id, &[], TokenAtFault { token: address(id), does: "rebases".into() });
        };
        [weth, token, weth, token].into_iter().for_each(note);
        assert_eq!([weth, token].map(|id| audit.quarantine.fault_of(address(id)).is_some()), [true; 2]);
        assert_eq!(audit.quarantine.records().len(), 2);

        // Every pool is in quarantine for the first token.
        for pool in [1, 2, 3] {
            let held = Probe { pool: Address::repeat_byte(pool).into(), ..swap() };
            let fault = TokenAtFault { token: address(weth), does: "rebases".into() };
            audit.quarantine.hold(held, &Difference::of_token(fault), 7);
        }
        note(token);
        assert!(audit.quarantine.fault_of(address(weth)).is_some());
        assert_eq!(audit.tokens.why(address(token)), "it rebases");
        assert!(!audit.tokens.0.is_due(&address(token), 7) && audit.tokens.0.is_due(&address(token), 8));
    }

    #[test]
    fn a_token_at_fault_does_not_replace_the_difference_of_a_pool() {
        let (audit, now, held) = (audit(), prepared(7, 900 * ETHER), swap());
        let difference = Difference { why: "it pays less".into(), token: None };
        audit.quarantine.hold(held, &difference, 1);
        let (id, token) = (TokenId(2), now.market().tokens().get(TokenId(2)).unwrap().address);
        audit.note_fault(now.market(), id, &[], TokenAtFault { token, does: "rebases".into() });
        assert!(audit.quarantine.fault_of(token).is_some());
        let records = audit.quarantine.records();
        assert_eq!(records.iter().map(|record| record.token.is_some()).collect::<Vec<_>>(), [false, true]);
        assert_eq!((records[0].pool, &records[0].why), (held.pool, &difference.why));
    }

    #[test]
    fn pools_in_quarantine_do_not_keep_other_pools_from_being_checked() {
        let (audit, now, held) = (audit(), prepared(7, 900 * ETHER), swap());
        audit.quarantine.hold(held, &Difference { why: "it pays less".into(), token: None }, 1);
        let next = || audit.next_probe(&now, &Doubtful::default()).unwrap().0;
        let checked = [(); 4].map(|()| next() == held);
        assert_eq!(checked, [true, false, true, false], "it is due all the time");
    }
}
