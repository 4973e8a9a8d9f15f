//! Pools of which only their own answers told what they are: vaults that somebody named. No quote uses one before the EVM agreed.

use braid_execution::MAX_AMOUNT;
use braid_market::Market;
use braid_primitives::{Address, ExecutionBlock, PoolId, TokenId, U256};
use braid_protocols::{Pool, SwapError};
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
        pools.filter(|(_, pool)| guess(pool).is_some_and(|guess| !self.guessed.is_sound(&guess)))
    }

    /// Pools of some tokens that were guessed and are not proven.
    pub fn unproven_of(&self, published: &Published, tokens: &[TokenId]) -> Vec<Address> {
        let of_them = |pool: &Pool| tokens.iter().any(|token| pool.coin_index(*token).is_some());
        self.unproven(published)
            .map(|(_, pool)| pool)
            .filter(|pool| of_them(pool))
            .map(|pool| pool.key.contract)
            .collect()
    }

    /// Whether a pool was guessed and is not proven.
    pub(super) fn is_unproven(&self, market: &Market, pool: Address) -> bool {
        guess_of(market, pool).is_some_and(|guess| !self.guessed.is_sound(&guess))
    }

    /// A small swap of a guessed pool that should be checked now.
    pub(super) fn next_guess(&self, published: &Published) -> Option<Probe> {
        let market = &published.head.market;
        let due = |pool: &Pool| {
            let due = guess(pool).is_some_and(|guess| self.guessed.is_due(&guess, market.block().number));
            due && !self.quarantine.holds(market, pool.key.contract)
        };
        let (_, pool) = self.unproven(published).find(|(_, pool)| due(pool))?;
        Some(of_the_round(published, pool, 0))
    }

    /// Notes what a check says of a guessed pool; of others nothing. `proves` where the check was of all that there is to check.
    pub(super) fn take_guess(&self, market: &Market, pool: Address, verdict: &Verdict, proves: bool) {
        let Some(guess) = guess_of(market, pool) else { return };
        match verdict {
            Verdict::Agrees if !proves => {}
            Verdict::Agrees => {
                if self.guessed.is_found_sound(guess) {
                    tracing::info!(%pool, form = guess.1, "a vault on no list does what its model says: quotes may use it");
                }
            }
            Verdict::Differs(_) => self.guessed.is_found_at_fault(&guess),
            Verdict::Unknown(why) => self.guessed.is_not_known(guess, why.clone(), market.block().number),
        }
    }
}

fn guess(pool: &Pool) -> Option<(Address, &'static str)> {
    Some((pool.key.contract, pool.product.guessed_as(pool)?))
}

fn guess_of(market: &Market, pool: Address) -> Option<(Address, &'static str)> {
    guess(market.pool_id(pool).and_then(|id| market.pool(id))?)
}

/// Makes swaps of a pool of two coins both ways, a small one and half of the most that the model lets through: it agrees if there is one and
/// each pays what the model says.
pub(super) fn check_all(fork: &Fork, market: &Market, probe: &Probe) -> Verdict {
    let Some(pool) = market.pool_id(probe.pool).and_then(|id| market.pool(id)) else {
        return Verdict::Unknown("the market does not have the pool".into());
    };
    let at = market.block().next();
    let back = Probe { coin_in: probe.coin_out, coin_out: probe.coin_in, ..*probe };
    let mut told = Verdict::Unknown("the model pays nothing either way".into());
    for probe in [*probe, back].into_iter().flat_map(|probe| probes(pool, &at, probe)) {
        told = check::check(fork, market, &probe);
        if told != Verdict::Agrees {
            break;
        }
    }
    told
}

/// Swaps one way that the model pays for: of about so much, and of half of the most.
fn probes(pool: &Pool, at: &ExecutionBlock, probe: Probe) -> Vec<Probe> {
    let swap = |amount_in| pool.swap(at, probe.coin_in, probe.coin_out, amount_in);
    let most = match swap(MAX_AMOUNT) {
        Err(SwapError::LimitExceeded { limit, .. }) => limit,
        Err(SwapError::InsufficientLiquidity { consumed, .. }) => consumed,
        _ => U256::ZERO,
    };
    let amounts = [probe.amount_in, most / U256::from(2)];
    let pays = |amount_in: &U256| swap(*amount_in).is_ok_and(|swap| !swap.amount_out.is_zero());
    amounts.into_iter().filter(pays).map(|amount_in| Probe { amount_in, ..probe }).collect()
}

/// What a pool answers otherwise than its model foretells, now or later, as if nobody touched it until then.
///
/// # Errors
/// When the state cannot be had.
pub(super) fn unforetold(fork: &Fork, market: &Market, pool: &Pool) -> Result<Option<Difference>, SimulationError> {
    let now = market.block();
    let record = pool.product;
    if record.guessed_as(pool).is_none() {
        return Ok(None);
    }
    let mut overlay = Overlay::new(fork);
    for later in LATER_SECONDS {
        let number = now.number.saturating_add(later / BLOCK_SECONDS);
        let at = ExecutionBlock { number, timestamp: now.timestamp.saturating_add(later) };
        for predictions in record.predictions(pool, &at) {
            let answer = view_in(&mut overlay, predictions.call.to, predictions.call.data, at)?;
            let answer = answer.and_then(|answer| U256::try_from_be_slice(&answer));
            if answer != Some(predictions.answer) {
                let said = answer.map_or("a revert".into(), |answer| answer.to_string());
                let why = format!("a preview in {later} s would be {said}, the model says {}", predictions.answer);
                return Ok(Some(Difference { why, token: None }));
            }
        }
    }
    Ok(None)
}
