//! The self-audit: what models say of pools is compared with what the EVM does, while the service runs.
//!
//! One swap at a time, within a budget: mostly of pools that quotes used lately, in between of all pools in turn. The swap goes
//! through the proxy, on the state of the market's own block, in the block after it. A pool that pays anything but what the
//! model says is in quarantine: no quote uses it. It is tried again after 1, 2, 4, … blocks, and is out as soon as it agrees.
//!
//! Tokens are checked before a quote goes through them: those with most pools first, and those of a quote's route while it waits.
//! So are pools of which only their own answers told what they are, vaults that somebody named.

mod check;
mod conduct;
mod first;
mod guessed;
mod ledger;
mod quarantine;
mod queue;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use braid_primitives::{Address, Block};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

pub use check::{Difference, Verdict};
pub use first::Wanted;
pub use ledger::Ledger;
pub use quarantine::Quarantine;
pub use queue::Probe;
use queue::Queue;

use crate::app::App;
use crate::config::AuditConfig;

/// The audit's memory.
#[derive(Debug, Default)]
pub struct Audit {
    queue: Mutex<Queue>,
    /// Pools that no quote uses.
    pub quarantine: Quarantine,
    /// What is known of tokens.
    pub tokens: Ledger<Address>,
    /// What is known of guessed pools, each as what it was guessed to be.
    pub guessed: Ledger<(Address, &'static str)>,
    counts: [AtomicU64; 3],
    /// The block of the last checks, and how many there were.
    spent: Mutex<(u64, u32)>,
}

impl Audit {
    /// Takes up what was in quarantine when the service last ran, and keeps it there from now on.
    pub fn keep_in(&self, dir: &Path) {
        self.quarantine.keep_in(dir);
    }

    /// Notes a swap that a quote makes.
    pub fn used(&self, probe: Probe) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).used(probe);
    }

    /// How many checks agreed, differed, and could not be made.
    pub fn counts(&self) -> [u64; 3] {
        [0, 1, 2].map(|kind: usize| self.counts.get(kind).map_or(0, |count| count.load(Ordering::Relaxed)))
    }

    /// Makes one check: of a guessed pool of which nothing is known, else of the pools in quarantine one that is due, else of the
    /// queue. `None` when there was nothing to check, or nothing to check with.
    pub async fn turn(&self, app: &App, doubt: Option<&mpsc::Sender<Address>>) -> Option<(Probe, Verdict)> {
        let published = app.feed.current(&app.config).ok()?;
        let node = app.node.as_ref()?;
        let market = Arc::clone(&published.head.market);
        let block: Block = *market.block();
        let guess = self.next_guess(&published);
        let due = guess.is_none().then(|| self.quarantine.due(block.number)).flatten();
        let at_fault = due.and_then(|probe| self.quarantine.token_of(probe.pool));
        let probe = guess.or(due).or_else(|| {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.next(&published, |pool| self.quarantine.holds(&market, pool) || self.is_unproven(&market, pool))
        })?;
        // one swap does not prove what was guessed, in quarantine or not
        let proves = self.is_unproven(&market, probe.pool);
        if market.pool_id(probe.pool).is_none() {
            self.quarantine.lift(probe.pool);
            return None;
        }
        let fork = app.forks.of(node, &block);
        let job = {
            let market = Arc::clone(&market);
            move || match at_fault {
                _ if proves => guessed::check_all(&fork, &market, &probe),
                Some(token) => check::check_again(&fork, &market, &probe, token),
                None => check::check(&fork, &market, &probe),
            }
        };
        let verdict = app.simulating.run(job).await.unwrap_or_else(|problem| Verdict::Unknown(problem.detail));
        self.take_guess(&market, probe.pool, &verdict, proves);
        self.take(probe, &verdict, block.number, doubt);
        Some((probe, verdict))
    }

    fn take(&self, probe: Probe, verdict: &Verdict, block: u64, doubt: Option<&mpsc::Sender<Address>>) {
        let kind = match verdict {
            Verdict::Agrees => {
                if let Some(token) = self.quarantine.token_of(probe.pool) {
                    self.tokens.is_found_sound(token);
                }
                self.quarantine.lift(probe.pool);
                0
            }
            Verdict::Differs(difference) => {
                if let Some(fault) = &difference.token {
                    self.tokens.is_found_at_fault(&fault.token);
                }
                self.quarantine.hold(probe, difference, block);
                // If it is our state that is wrong, reading the pool again mends it.
                if let Some(doubt) = doubt {
                    let _ = doubt.try_send(probe.pool);
                }
                1
            }
            Verdict::Unknown(why) => {
                tracing::debug!(pool = %probe.pool, why, "a pool could not be checked");
                self.quarantine.put_off(probe.pool, block);
                2
            }
        };
        if let Some(count) = self.counts.get(kind) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the budget allows one more check at a block; counts it.
    fn may_spend(&self, block: u64, config: &AuditConfig) -> bool {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if spent.0 != block {
            *spent = (block, 0);
        }
        spent.1 += 1;
        spent.1 <= config.per_block
    }
}

/// Audits for as long as the service runs; `doubt` takes pools that should be read again.
pub async fn run(app: Arc<App>, doubt: mpsc::Sender<Address>) {
    let config = app.config.audit;
    if !config.is_on() {
        return;
    }
    let mut ticks = tokio::time::interval(config.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let block = app.feed.latest().map(|published| published.head.block().number);
        if block.is_some_and(|block| app.audit.may_spend(block, &config)) {
            app.audit.turn(&app, Some(&doubt)).await;
        }
        // a token's turn comes between the swaps', out of the same budget
        if block.is_some_and(|block| app.audit.may_spend(block, &config)) {
            app.audit.turn_of_token(&app).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_so_many_checks_and_the_next_one_as_many_again() {
        let (audit, config) = (Audit::default(), AuditConfig { per_block: 2, ..AuditConfig::default() });
        let spent = [7, 7, 7, 8, 8, 8].map(|block| audit.may_spend(block, &config));
        assert_eq!(spent, [true, true, false, true, true, false]);
    }
}
