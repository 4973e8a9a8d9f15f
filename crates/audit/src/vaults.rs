//! Unverified vaults: pools whose rule only their own answers show. No quote uses one before the EVM agreed with its
//! model.

use std::borrow::Cow;

use braid_market::Market;
use braid_primitives::{PoolId, PoolKey};
use braid_protocols::Pool;
use braid_routing::Prepared;

use crate::quarantine::Quarantine;
use crate::queue::small_swap;
use crate::verdict::{Probe, Verdict};
use crate::verified::Verified;

/// Returns a market's vaults that are on no list. Looks at many pools: call it once per block.
pub(crate) fn unlisted_vaults(market: &Market) -> Vec<PoolId> {
    market.dependent_pools().filter(|(_, pool)| guess(pool).is_some()).map(|(id, _)| id).collect()
}

/// Unlisted vaults that the EVM agreed with, each with the form that was guessed.
#[derive(Debug, Default)]
pub struct Vaults(pub(crate) Verified<Guess>);

/// A vault, and the form that was guessed from its answers.
pub(crate) type Guess = (PoolKey, Cow<'static, str>);

impl Vaults {
    /// Returns how many agreed with their models.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Returns the unverified ones among `vaults`, with their ids.
    pub(crate) fn unverified<'a>(
        &'a self,
        market: &'a Market,
        vaults: &'a [PoolId],
    ) -> impl Iterator<Item = (PoolId, &'a Pool)> {
        let pools = vaults.iter().filter_map(|id| Some((*id, market.pool(*id)?)));
        pools.filter(|(_, pool)| guess(pool).is_some_and(|guess| !self.0.contains(&guess)))
    }

    /// Returns whether a pool is an unverified vault.
    pub(crate) fn is_unverified(&self, market: &Market, pool: PoolKey) -> bool {
        guess_of(market, pool).is_some_and(|guess| !self.0.contains(&guess))
    }

    /// Returns a small swap of an unverified vault whose check is due.
    pub(crate) fn next(&self, prepared: &Prepared, vaults: &[PoolId], quarantine: &Quarantine) -> Option<Probe> {
        let market = prepared.market();
        let due = |pool: &Pool| {
            let due = guess(pool).is_some_and(|guess| self.0.is_due(&guess, market.block().number));
            due && !quarantine.holds(market, pool.key)
        };
        let (_, pool) = self.unverified(market, vaults).find(|(_, pool)| due(pool))?;
        Some(small_swap(prepared, pool, 0))
    }

    /// Notes the verdict on a pool if it is an unlisted vault. Agreement verifies it only if the check was complete
    /// (`verifies`).
    pub(crate) fn note(&self, market: &Market, pool: PoolKey, verdict: &Verdict, verifies: bool) {
        let Some(guess) = guess_of(market, pool) else { return };
        match verdict {
            Verdict::Agrees if !verifies => {}
            Verdict::Agrees => {
                let form = guess.1.clone();
                if self.0.note_verified(guess) {
                    tracing::info!(%pool, form = &*form, "the EVM agrees with the model of a vault on no list: quotes may use it");
                }
            }
            Verdict::Differs(_) => self.0.note_fault(&guess),
            Verdict::Unknown(why) => self.0.note_unknown(guess, why.clone(), market.block().number),
        }
    }
}

/// Returns the guess about a pool; `None` if it is no unlisted vault.
fn guess(pool: &Pool) -> Option<Guess> {
    Some((pool.key, pool.product.guessed_as(pool)?.into()))
}

fn guess_of(market: &Market, pool: PoolKey) -> Option<Guess> {
    guess(market.pool_id(pool).and_then(|id| market.pool(id))?)
}
