//! Pools of which only their own answers told what they are: vaults that somebody named. No quote uses one before the EVM agreed.

use std::borrow::Cow;

use braid_market::Market;
use braid_primitives::{PoolId, PoolKey};
use braid_protocols::Pool;
use braid_routing::Prepared;

use crate::ledger::Ledger;
use crate::quarantine::Quarantine;
use crate::queue::of_the_round;
use crate::verdict::{Probe, Verdict};

/// Finds a market's pools of which only their own answers told what they are. Looks at many pools: call it once per block.
pub(crate) fn guessed_pools(market: &Market) -> Vec<PoolId> {
    market.dependent_pools().filter(|(_, pool)| guess(pool).is_some()).map(|(id, _)| id).collect()
}

/// What is known of guessed pools, each as what it was guessed to be.
#[derive(Debug, Default)]
pub struct Vaults(pub(crate) Ledger<Guess>);

/// A pool, and what it was guessed to be.
pub(crate) type Guess = (PoolKey, Cow<'static, str>);

impl Vaults {
    /// How many do what their models say.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Those of a market's guessed pools that are not proven.
    pub(crate) fn unproven<'a>(
        &'a self,
        market: &'a Market,
        guessed: &'a [PoolId],
    ) -> impl Iterator<Item = (PoolId, &'a Pool)> {
        let pools = guessed.iter().filter_map(|id| Some((*id, market.pool(*id)?)));
        pools.filter(|(_, pool)| guess(pool).is_some_and(|guess| !self.0.is_sound(&guess)))
    }

    /// Whether a pool was guessed and is not proven.
    pub(crate) fn is_unproven(&self, market: &Market, pool: PoolKey) -> bool {
        guess_of(market, pool).is_some_and(|guess| !self.0.is_sound(&guess))
    }

    /// A small swap of a guessed pool that should be checked now.
    pub(crate) fn next(&self, prepared: &Prepared, guessed: &[PoolId], quarantine: &Quarantine) -> Option<Probe> {
        let market = prepared.market();
        let due = |pool: &Pool| {
            let due = guess(pool).is_some_and(|guess| self.0.is_due(&guess, market.block().number));
            due && !quarantine.holds(market, pool.key)
        };
        let (_, pool) = self.unproven(market, guessed).find(|(_, pool)| due(pool))?;
        Some(of_the_round(prepared, pool, 0))
    }

    /// Notes what a check says of a guessed pool; of others nothing. `proves` where the check was of all that there is to check.
    pub(crate) fn note(&self, market: &Market, pool: PoolKey, verdict: &Verdict, proves: bool) {
        let Some(guess) = guess_of(market, pool) else { return };
        match verdict {
            Verdict::Agrees if !proves => {}
            Verdict::Agrees => {
                let form = guess.1.clone();
                if self.0.is_found_sound(guess) {
                    tracing::info!(%pool, form = &*form, "a vault on no list does what its model says: quotes may use it");
                }
            }
            Verdict::Differs(_) => self.0.is_found_at_fault(&guess),
            Verdict::Unknown(why) => self.0.is_not_known(guess, why.clone(), market.block().number),
        }
    }
}

fn guess(pool: &Pool) -> Option<Guess> {
    Some((pool.key, pool.product.guessed_as(pool)?.into()))
}

fn guess_of(market: &Market, pool: PoolKey) -> Option<Guess> {
    guess(market.pool_id(pool).and_then(|id| market.pool(id))?)
}
