//! Sampled curves of Curve pools for the optimiser.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::{
    arith::{Maths, WAD},
    lending,
    pool::{Model, State},
    stable,
};
use crate::continuous::{Direction, PairCurve, sampled_at};

/// Maximum amount in that a curve covers, as a multiple of the pool's balance; the pools hardly ever refuse.
const REACH: U256 = U256::from_limbs([64, 0, 0, 0]);

/// Returns the curve of both directions of two coins in a block; `None` for coins that do not trade with each other.
pub(crate) fn pair_curve(state: &State, coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
    let [low, high] = coins;
    let exchange_kind = state.exchange_kind(low, high)?;
    if !settles_soon(state, at).unwrap_or(false) {
        return None;
    }
    let worth = worth(state, at)?;
    let one_way = |i: u8, j: u8| -> Option<Direction> {
        let (of_in, of_out) = (worth.get(usize::from(i))?, worth.get(usize::from(j))?);
        let most_in = worth.iter().map(|coin| coin.held).fold(U256::ZERO, U256::saturating_add);
        let most_in = most_in.checked_mul(REACH)?.checked_mul(of_in.unit)? / WAD;
        let most_out = of_out.held.checked_mul(of_out.unit)? / WAD;
        let most_out = state.most_through(at, i, j).map_or(most_out, |through| through.min(most_out));
        let quote = |amount| state.amount_out(at, i, j, amount).ok();
        sampled_at(most_in, most_out, &peaks(state, [of_in, of_out], quote), quote)
    };
    let directions = [one_way(low, high), one_way(high, low)];
    Some(PairCurve { directions, gas_units: state.gas_units(at, low, exchange_kind) as f64 })
}

/// Tells whether the invariant that every swap begins with converges soon. CryptoSwap pools store theirs.
fn settles_soon(state: &State, at: &ExecutionBlock) -> Maths<bool> {
    match &state.model {
        Model::Stable(pool) => pool.settles_soon(at, &pool.rates.at(at)?),
        Model::Meta(meta) => meta.settles_soon(at),
        Model::Lending(lent) => lent.settles_soon(at),
        Model::Crypto(_) => Ok(true),
    }
}

/// Returns sample amounts around the one that balances two coins of a CryptoSwap pool, where its fee is lowest. The
/// width of that peak follows from the square root of `fee_gamma`. Empty if the trade leads away from balance.
fn peaks(state: &State, [of_in, of_out]: [&Worth; 2], quote: impl Fn(U256) -> Option<U256>) -> Vec<U256> {
    let Model::Crypto(pool) = &state.model else { return Vec::new() };
    let scale = |amount: f64, coin: &Worth| amount / f64::from(coin.unit) * 1e18;
    let (held_in, held_out) = (f64::from(of_in.held), f64::from(of_out.held));
    let atomic = |common: f64| U256::saturating_from(common * f64::from(of_in.unit) / 1e18);
    let mut to_balance = (held_out - held_in) / 2.0;
    for _ in 0..4 {
        let Some(paid) = quote(atomic(to_balance)) else { return Vec::new() };
        to_balance += (held_out - scale(f64::from(paid), of_out) - held_in - to_balance) / 2.0;
    }
    let width = (f64::from(pool.fee_gamma) * 1e-18).sqrt() * (held_in + held_out) / 2.0;
    let steps = [-4.0, -2.0, -1.0, -0.5, -0.25, -0.1, 0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0];
    steps.iter().map(|step| atomic(to_balance + step * width)).filter(|amount| !amount.is_zero()).collect()
}

/// A coin: the pool's balance in the common unit with 18 decimals, and the coin's atomic units per common unit.
#[derive(Clone, Copy, Debug)]
struct Worth {
    held: U256,
    unit: U256,
}

fn worth(state: &State, at: &ExecutionBlock) -> Option<Vec<Worth>> {
    let of_stable = |pool: &stable::State| -> Option<Vec<Worth>> {
        let rates = pool.rates.at(at).ok()?;
        let coin = |(held, rate): (&U256, &U256)| {
            Some(Worth { held: held.checked_mul(*rate)? / WAD, unit: (WAD * WAD).checked_div(*rate)? })
        };
        pool.balances.iter().zip(&rates).map(coin).collect()
    };
    match &state.model {
        Model::Stable(pool) => of_stable(pool),
        Model::Meta(meta) => {
            let mut coins = of_stable(&meta.pool)?;
            // the pool does not store the share's own rate; for the sampling range, a rate near one is good enough
            if let (Some(share), Some(held)) = (coins.get_mut(1), meta.pool.balances.get(1)) {
                *share = Worth { held: *held, unit: WAD };
            }
            coins.extend(of_stable(&meta.base.state)?);
            Some(coins)
        }
        Model::Lending(lent) => {
            let held = lent.worth(at).ok()?;
            let coin = |(held, market): (&U256, &lending::Market)| {
                Some(Worth { held: *held, unit: WAD.checked_div(market.precision)? })
            };
            held.iter().zip(&lent.markets).map(coin).collect()
        }
        Model::Crypto(pool) => {
            let coin = |k: usize| {
                let scale = |amount| pool.scaled_amount(k, amount);
                let held = scale(*pool.balances.get(k)?)?;
                // 10^18 of the common unit, computed by scaling a large round amount
                let probe = U256::from(10).pow(U256::from(36));
                Some(Worth { held, unit: probe.checked_mul(WAD)?.checked_div(scale(probe)?)? })
            };
            (0..pool.kind.coins()).map(coin).collect()
        }
    }
}
