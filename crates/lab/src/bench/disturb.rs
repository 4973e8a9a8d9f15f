//! Markets that no constant was tuned for: a market disturbed in the ways in which mainnet's state can be unusual.
//!
//! The same market, kind and seed give the same pools. Only pairs and concentrated pools of Uniswap's kinds are
//! disturbed, which are most pools; the others do not change.

use std::collections::HashMap;
use std::sync::Arc;

use braid_market::Market;
use braid_primitives::{Address, TokenId};
use braid_protocols::uniswap_v3::{self, Tick, tick_math};
use braid_protocols::{Pool, PoolState, uniswap_v2};
use eyre::{Result, eyre};

use super::generate::Random;

/// A way to disturb a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// A tenth of the pools have their states at another block
    Stale,
    /// The balance of one token of ten pairs changed, by a factor of 0.5 to 2, as a rebasing token's does
    Rebased,
    /// In half of its pools, one of the eight tokens with the most pools is 1 to 10% dearer
    Shocked,
    /// A hundred additional pairs worth a few dollars, at prices that are off by up to 50%
    Dusted,
    /// Every pool has a twentieth of its liquidity
    Thin,
    /// A third of the concentrated pools have no liquidity up to the next tick on either side of the price
    Gaps,
    /// All but thin together: a shock, and the others for 30% as many pools
    Mixed,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] =
        [Self::Stale, Self::Rebased, Self::Shocked, Self::Dusted, Self::Thin, Self::Gaps, Self::Mixed];

    /// Returns the name used in tables.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Rebased => "rebased",
            Self::Shocked => "shocked",
            Self::Dusted => "dusted",
            Self::Thin => "thin",
            Self::Gaps => "gaps",
            Self::Mixed => "mixed",
        }
    }
}

/// The number of tokens that count as hubs: those with the most pools.
const HUBS: usize = 8;
/// The number of pairs whose balance changes.
const REBASED: usize = 10;
/// The factors by which one of their balances changes.
const REBASES: [f64; 6] = [0.5, 0.8, 0.95, 1.05, 1.25, 2.0];
/// The number of pairs that are added.
const DUST: usize = 100;
/// The divisor of a thin market's liquidity.
const THIN: u128 = 20;
/// The share of each disturbance in a mixed market.
const MIXED: f64 = 0.3;

/// Disturbs the market. `other` is the same chain at another block. A stale market requires it; a mixed one uses it if
/// it is given.
pub(crate) fn disturbed(market: &Market, kind: Kind, seed: u64, other: Option<&Market>) -> Result<Market> {
    let mut changed = Changed::new(market);
    let mut random = Random::new(seed);
    let mixed = kind == Kind::Mixed;
    let share = if mixed { MIXED } else { 1.0 };
    if kind == Kind::Stale || mixed {
        match other {
            Some(other) => changed.stale(&mut random, other, 0.1 * share),
            None if mixed => {}
            None => return Err(eyre!("a stale market needs the same chain at another block")),
        }
    }
    if kind == Kind::Rebased || mixed {
        changed.rebased(&mut random, count(REBASED, share));
    }
    if kind == Kind::Shocked || mixed {
        changed.shocked(&mut random);
    }
    if kind == Kind::Dusted || mixed {
        changed.dusted(&mut random, count(DUST, share), seed);
    }
    if kind == Kind::Thin {
        changed.pools.iter_mut().for_each(thin);
    }
    if kind == Kind::Gaps || mixed {
        changed.gaps(&mut random, share / 3.0);
    }
    let next = market.next(*market.block(), Arc::clone(market.tokens()), changed.pools);
    next.map_err(|error| eyre!("cannot make a {} market: {error}", kind.title()))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "small counts")]
fn count(of: usize, share: f64) -> usize {
    (of as f64 * share).round() as usize
}

/// The pools of a market while they are changed.
struct Changed {
    pools: Vec<Pool>,
    /// The tokens with the most pools, in descending order of their number.
    hubs: Vec<TokenId>,
}

impl Changed {
    fn new(market: &Market) -> Self {
        let pools: Vec<Pool> = market.pools().iter().map(|pool| Pool::clone(pool)).collect();
        let mut hubs: Vec<TokenId> = market.tokens().iter().map(|(id, _)| id).collect();
        hubs.sort_by_key(|id| (std::cmp::Reverse(market.pools_of(*id).len()), *id));
        hubs.truncate(HUBS);
        Self { pools, hubs }
    }

    /// Returns the positions of the pairs with reserves on both sides.
    fn pairs(&self) -> Vec<usize> {
        let is_pair = |pool: &Pool| matches!(&pool.state, PoolState::UniswapV2(s) if s.reserve0 > 0 && s.reserve1 > 0);
        (0..self.pools.len()).filter(|at| is_pair(&self.pools[*at])).collect()
    }

    fn stale(&mut self, random: &mut Random, other: &Market, share: f64) {
        let there: HashMap<_, _> = other.pools().iter().map(|pool| (pool.key, pool)).collect();
        for pool in &mut self.pools {
            let same = there.get(&pool.key).filter(|other| other.product == pool.product && is_disturbed(pool));
            if let Some(other) = same.filter(|_| random.chance(share)) {
                pool.state = other.state.clone();
            }
        }
    }

    fn rebased(&mut self, random: &mut Random, count: usize) {
        let mut pairs = self.pairs();
        for _ in 0..count.min(pairs.len()) {
            let at = pairs.swap_remove(random.below(pairs.len()));
            let factor = random.pick(&REBASES);
            if let PoolState::UniswapV2(state) = &mut self.pools[at].state {
                scale(state, [factor, 1.0]);
            }
        }
    }

    fn shocked(&mut self, random: &mut Random) {
        let hub = random.pick(&self.hubs);
        let dearer = 1.0 + random.between(0.01, 0.1);
        for pool in &mut self.pools {
            let Some(side) = pool.coins.iter().position(|coin| *coin == hub) else { continue };
            if random.chance(0.5) {
                continue;
            }
            let factor = if side == 0 { dearer } else { 1.0 / dearer };
            match &mut pool.state {
                PoolState::UniswapV2(state) => scale(state, [factor.powf(-0.5), factor.powf(0.5)]),
                PoolState::UniswapV3(state) => shift_price(state, factor),
                _ => {}
            }
        }
    }

    fn dusted(&mut self, random: &mut Random, count: usize, seed: u64) {
        let popular = |at: &usize| self.pools[*at].coins.iter().any(|coin| self.hubs.contains(coin));
        let models: Vec<usize> = self.pairs().into_iter().filter(popular).collect();
        for number in 0..count.min(models.len() * count) {
            let mut pool = self.pools[random.pick(&models)].clone();
            let size = 10_f64.powf(-random.between(3.0, 6.0));
            let off = random.between(0.5, 1.5);
            if let PoolState::UniswapV2(state) = &mut pool.state {
                scale(state, [size, size * off]);
            }
            let mut bytes = [0xD0; 20];
            bytes[4..12].copy_from_slice(&seed.to_be_bytes());
            bytes[12..].copy_from_slice(&u64::try_from(number).unwrap_or(u64::MAX).to_be_bytes());
            pool.key = Address::from(bytes).into();
            self.pools.push(pool);
        }
    }

    fn gaps(&mut self, random: &mut Random, share: f64) {
        for pool in &mut self.pools {
            if let PoolState::UniswapV3(state) = &mut pool.state
                && state.liquidity > 0
                && random.chance(share)
            {
                empty_around_price(state);
            }
        }
    }
}

fn is_disturbed(pool: &Pool) -> bool {
    matches!(pool.state, PoolState::UniswapV2(_) | PoolState::UniswapV3(_))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "clamped to a reserve's range"
)]
fn scale(state: &mut uniswap_v2::State, factors: [f64; 2]) {
    let scaled = |reserve: u128, factor: f64| (reserve as f64 * factor).clamp(1.0, 5e33) as u128;
    state.reserve0 = scaled(state.reserve0, factors[0]);
    state.reserve1 = scaled(state.reserve1, factors[1]);
}

/// Returns the positions of the two initialised ticks around the price.
fn around(state: &uniswap_v3::State) -> Option<[usize; 2]> {
    let above = state.ticks.partition_point(|tick| tick.index <= state.tick);
    (above > 0 && above < state.ticks.len()).then(|| [above - 1, above])
}

/// Moves the price by a factor. The price stays between its two neighbouring initialised ticks, so the liquidity in
/// range stays correct.
#[allow(clippy::cast_possible_truncation, reason = "ticks fit an i32")]
fn shift_price(state: &mut uniswap_v3::State, factor: f64) {
    let Some([below, above]) = around(state) else { return };
    let (low, high) = (state.ticks[below].index, state.ticks[above].index - 1);
    let moved = state.tick.saturating_add((factor.ln() / 1.0001_f64.ln()).round() as i32).clamp(low, high);
    if let Some(price) = tick_math::sqrt_price_at_tick(moved).filter(|_| moved != state.tick) {
        (state.tick, state.sqrt_price_x96) = (moved, price);
    }
}

/// Removes the liquidity in range between the two neighbouring initialised ticks.
fn empty_around_price(state: &mut uniswap_v3::State) {
    let (Some(places), Ok(live)) = (around(state), i128::try_from(state.liquidity)) else { return };
    let mut ticks = state.ticks.to_vec();
    for (place, added) in places.into_iter().zip([-live, live]) {
        let tick = ticks[place];
        let net = tick.liquidity_net + added;
        // A tick that stays initialised has a gross liquidity of at least its net liquidity.
        let gross = tick.liquidity_gross.max(net.unsigned_abs()).max(1);
        if let Some(changed) = Tick::new(tick.index, net, gross) {
            ticks[place] = changed;
        }
    }
    (state.liquidity, state.ticks) = (0, ticks.into());
}

fn thin(pool: &mut Pool) {
    match &mut pool.state {
        PoolState::UniswapV2(state) => {
            state.reserve0 = (state.reserve0 / THIN).max(1);
            state.reserve1 = (state.reserve1 / THIN).max(1);
        }
        PoolState::UniswapV3(state) => thin_ticks(state),
        _ => {}
    }
}

/// Divides all liquidity. The first tick absorbs the rounding error of the liquidity in range, and the last tick that
/// of the sum.
fn thin_ticks(state: &mut uniswap_v3::State) {
    let divisor = i128::try_from(THIN).unwrap_or(1);
    let liquidity = state.liquidity / THIN;
    let mut nets: Vec<i128> = state.ticks.iter().map(|tick| tick.liquidity_net / divisor).collect();
    let in_range: i128 =
        state.ticks.iter().zip(&nets).filter(|(tick, _)| tick.index <= state.tick).map(|(_, net)| net).sum();
    let (Some(first), Ok(wanted)) = (nets.first_mut(), i128::try_from(liquidity)) else { return };
    if state.ticks[0].index > state.tick {
        // No tick is at or below the price, so there is no liquidity in range to correct.
        return;
    }
    *first += wanted - in_range;
    let sum: i128 = nets.iter().sum();
    if let Some(last) = nets.last_mut() {
        *last -= sum;
    }
    let ticks = state.ticks.iter().zip(nets).filter_map(|(tick, net)| {
        Tick::new(tick.index, net, (tick.liquidity_gross / THIN).max(net.unsigned_abs()).max(1))
    });
    (state.liquidity, state.ticks) = (liquidity, ticks.collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::generated_market;

    /// Checks for every kind that at least ten pools differ from the original market, that concentrated pools are in
    /// valid states, and that the same seed gives the same market.
    #[test]
    fn every_kind_disturbs_and_repeats() {
        let (market, other) = (generated_market(400, 1).unwrap(), generated_market(400, 2).unwrap());
        for kind in Kind::ALL {
            let made = disturbed(&market, kind, 7, Some(&other)).unwrap();
            let again = disturbed(&market, kind, 7, Some(&other)).unwrap();
            let differ = |a: &Market, b: &Market| a.pools().iter().zip(b.pools()).filter(|(a, b)| a != b).count();
            assert_eq!(differ(&made, &again), 0, "{kind:?}");
            let changed = differ(&made, &market) + made.pools().len() - market.pools().len();
            assert!(changed >= 10, "{kind:?}: {changed}");
            for pool in made.pools() {
                if let PoolState::UniswapV3(state) = &pool.state {
                    assert_eq!(state.validate(), Ok(()), "{kind:?} {}", pool.key);
                }
            }
        }
        assert!(disturbed(&market, Kind::Stale, 7, None).is_err());
        let thin = disturbed(&market, Kind::Thin, 7, None).unwrap();
        let reserve = |market: &Market| {
            market.pools().iter().find_map(|pool| match &pool.state {
                PoolState::UniswapV2(state) => Some(state.reserve0),
                _ => None,
            })
        };
        assert_eq!(reserve(&thin), reserve(&market).map(|reserve| reserve / THIN));
    }
}
