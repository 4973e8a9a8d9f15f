//! Pools of which only their own answers told what they are: vaults that somebody named. No quote uses one before the EVM agreed.

use braid_market::Market;
use braid_primitives::{Address, ExecutionBlock, PoolId, TokenId, U256};
use braid_protocols::Pool;
use braid_routing::PoolFilter;
use braid_simulation::evm::{Overlay, view_in};
use braid_simulation::{Fork, SimulationError};

use super::check::{self, Difference, Verdict};
use super::queue::of_the_round;
use super::{Audit, Probe};
use crate::feed::Published;

/// How long after the market's block it is asked what the model foretells, in seconds: whatever moves by itself has moved by then.
const LATER_SECONDS: [u64; 5] = [12, 3_600, 86_400, 30 * 86_400, 365 * 86_400];

/// Seconds between two blocks.
const BLOCK_SECONDS: u64 = 12;

impl Audit {
    /// Leaves out of a quote what is in quarantine and what was guessed and is not proven; says how many pools.
    pub fn leave_out(&self, published: &Published, filter: &mut PoolFilter) -> u32 {
        let market = &published.head.market;
        let mut count = self.quarantine.leave_out(market, filter);
        for (id, pool) in self.unproven(published) {
            if filter.allows(id, pool.product) {
                filter.exclude_pool(id);
                count += 1;
            }
        }
        count
    }

    fn unproven<'a>(&'a self, published: &'a Published) -> impl Iterator<Item = (PoolId, &'a Pool)> {
        let pools = published.guessed.iter().filter_map(|id| Some((*id, published.head.market.pool(*id)?)));
        pools.filter(|(_, pool)| !self.guessed.is_sound(pool.address))
    }

    /// Pools of some tokens that were guessed and are not proven.
    pub fn unproven_of(&self, published: &Published, tokens: &[TokenId]) -> Vec<Address> {
        let of_them = |pool: &Pool| tokens.iter().any(|token| pool.coin_index(*token).is_some());
        self.unproven(published).map(|(_, pool)| pool).filter(|pool| of_them(pool)).map(|pool| pool.address).collect()
    }

    /// Whether a pool was guessed and is not proven.
    pub(super) fn is_unproven(&self, market: &Market, pool: Address) -> bool {
        is_guessed(market, pool) && !self.guessed.is_sound(pool)
    }

    /// A swap in either direction of a guessed pool that should be checked now.
    pub(super) fn next_guess(&self, published: &Published) -> Option<[Probe; 2]> {
        let market = &published.head.market;
        let block = market.block().number;
        let due =
            |pool: &Pool| self.guessed.is_due(pool.address, block) && !self.quarantine.holds(market, pool.address);
        let (_, pool) = self.unproven(published).find(|(_, pool)| due(pool))?;
        Some([0, 1].map(|lap| of_the_round(published, pool, lap)))
    }

    /// Notes what a check says of a guessed pool; of others nothing.
    pub(super) fn take_guess(&self, market: &Market, pool: Address, verdict: &Verdict) {
        if !is_guessed(market, pool) {
            return;
        }
        match verdict {
            Verdict::Agrees => {
                if self.guessed.is_found_sound(pool) {
                    tracing::info!(%pool, "a vault that was named does what its model says: quotes may use it");
                }
            }
            Verdict::Differs(_) => self.guessed.is_found_at_fault(pool),
            Verdict::Unknown(why) => self.guessed.is_not_known(pool, why.clone(), market.block().number),
        }
    }
}

fn is_guessed(market: &Market, pool: Address) -> bool {
    let pool = market.pool_id(pool).and_then(|id| market.pool(id));
    pool.is_some_and(|pool| pool.product.protocol().is_guessed(pool))
}

/// Makes swaps of one pool: it agrees if one of them does and none differs.
pub(super) fn check_all(fork: &Fork, market: &Market, probes: &[Probe]) -> Verdict {
    let mut told = Verdict::Unknown("there is nothing to try".into());
    for probe in probes {
        match check::check(fork, market, probe) {
            Verdict::Differs(difference) => return Verdict::Differs(difference),
            Verdict::Unknown(why) if told != Verdict::Agrees => told = Verdict::Unknown(why),
            Verdict::Agrees => told = Verdict::Agrees,
            Verdict::Unknown(_) => {}
        }
    }
    told
}

/// What a pool answers otherwise than its model foretells, now or later, as if nobody touched it until then.
///
/// # Errors
/// When the state cannot be had.
pub(super) fn unforetold(fork: &Fork, market: &Market, pool: &Pool) -> Result<Option<Difference>, SimulationError> {
    let now = market.block();
    let record = pool.product.protocol();
    if !record.is_guessed(pool) {
        return Ok(None);
    }
    let mut overlay = Overlay::new(fork);
    for later in LATER_SECONDS {
        let number = now.number.saturating_add(later / BLOCK_SECONDS);
        let at = ExecutionBlock { number, timestamp: now.timestamp.saturating_add(later) };
        for foretold in record.foretold(pool, &at) {
            let answer = view_in(&mut overlay, foretold.call.to, foretold.call.data, at)?;
            let answer = answer.and_then(|answer| U256::try_from_be_slice(&answer));
            if answer != Some(foretold.answer) {
                let said = answer.map_or("a revert".into(), |answer| answer.to_string());
                let why = format!("a preview in {later} s would be {said}, the model says {}", foretold.answer);
                return Ok(Some(Difference { why, token: None }));
            }
        }
    }
    Ok(None)
}
