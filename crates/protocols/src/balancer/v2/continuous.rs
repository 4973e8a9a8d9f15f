//! Curves of V2 pools for the optimiser: weighted pools in closed form, stable pools sampled.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::{
    Model, OwnToken, StableModel, State, gas,
    own_token::{JOIN_LIMIT, Trade},
};
use crate::{
    balancer::{StablePool, WeightedPool, power::PowerCurve},
    continuous::{Direction, PairCurve, sampled},
};

/// Maximum amount in that a stable pool's curve covers, as a multiple of its balances; the pool never refuses.
const STABLE_REACH: U256 = U256::from_limbs([64, 0, 0, 0]);

/// Returns the curve of both directions of two coins in a block.
pub(crate) fn pair_curve(state: &State, coins: [u8; 2], at: &ExecutionBlock) -> PairCurve {
    let [low, high] = coins;
    let (directions, gas_units) = match &state.model {
        Model::Weighted(pool) => ([weighted(pool, low, high), weighted(pool, high, low)], gas::WEIGHTED_SWAP_GAS_UNITS),
        Model::Stable(model) => {
            let pool = model.at(at);
            match &model.own {
                _ if !pool.settles_soon() => ([None, None], 0),
                Some(own) if usize::from(high) == pool.balances.len() => {
                    let curves = OwnCurves { model, own, pool: &pool, at };
                    let gas_units = model.own_gas_units(at);
                    ([curves.join(low), curves.exit(low)], gas_units)
                }
                _ => ([stable(&pool, low, high), stable(&pool, high, low)], model.gas_units(at)),
            }
        }
    };
    PairCurve { directions, gas_units: gas_units as f64 }
}

fn weighted(pool: &WeightedPool, coin_in: u8, coin_out: u8) -> Option<Direction> {
    let (i, j) = (usize::from(coin_in), usize::from(coin_out));
    let number = |list: &[U256], coin: usize| list.get(coin).map(|value| f64::from(*value));
    let side = PowerCurve {
        gamma: 1.0 - f64::from(pool.fee_wad) / 1e18,
        balance_in: number(&pool.balances, i)?,
        balance_out: number(&pool.balances, j)?,
        ratio: number(&pool.weights, i)? / number(&pool.weights, j)?,
    };
    side.direction()
}

fn stable(pool: &StablePool, coin_in: u8, coin_out: u8) -> Option<Direction> {
    let held = pool.balances.get(usize::from(coin_out))?;
    let factor = |coin: u8| pool.scaling_factors.get(usize::from(coin)).copied();
    let most_in = value(pool).checked_div(factor(coin_in)?)?.saturating_mul(STABLE_REACH);
    sampled(most_in, *held, |amount| pool.swap(coin_in, coin_out, amount).ok())
}

/// Returns a stable pool's total balance, in the unit of its scaling factors.
fn value(pool: &StablePool) -> U256 {
    let value = |(balance, factor): (&U256, &U256)| balance.saturating_mul(*factor);
    pool.balances.iter().zip(&pool.scaling_factors).map(value).fold(U256::ZERO, U256::saturating_add)
}

/// Curves of joins and exits with one coin.
struct OwnCurves<'a> {
    model: &'a StableModel,
    own: &'a OwnToken,
    pool: &'a StablePool,
    at: &'a ExecutionBlock,
}

impl OwnCurves<'_> {
    fn paid(&self, trade: Trade) -> Option<U256> {
        self.model.trade_own(self.own, self.pool, self.at, None, trade).ok().map(|(paid, _, _)| paid)
    }

    fn join(&self, coin: u8) -> Option<Direction> {
        let coin = usize::from(coin);
        let factor = *self.pool.scaling_factors.get(coin)?;
        let most_in = value(self.pool).checked_div(factor)?.saturating_mul(JOIN_LIMIT);
        sampled(most_in, U256::ZERO, |amount| self.paid(Trade::Join(coin, amount)))
    }

    fn exit(&self, coin: u8) -> Option<Direction> {
        let coin = usize::from(coin);
        let held = *self.pool.balances.get(coin)?;
        sampled(self.own.shares.circulating, held, |amount| self.paid(Trade::Exit(coin, amount)))
    }
}
