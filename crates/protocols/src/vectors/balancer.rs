//! Balancer V2 pools.

use alloy_primitives::U256;
use arrayvec::ArrayVec;
use serde_json::Value;

use super::Outcome;
use super::entry::{Entry, EntryError, Fields, Row, VectorPool};
use crate::{
    SwapError,
    balancer::{Invariant, Power, StablePool, WeightedPool},
    pool::MAX_COINS,
};

type Coins = ArrayVec<U256, MAX_COINS>;

fn impossible(what: &str) -> EntryError {
    EntryError::Impossible(what.to_owned())
}

fn coins(list: Vec<U256>) -> Result<Coins, EntryError> {
    if list.len() > MAX_COINS { Err(impossible("more than eight coins")) } else { Ok(list.into_iter().collect()) }
}

/// `10^(36 − decimals)` for each token.
fn factors_of_decimals(pool: &Fields<'_>) -> Result<Coins, EntryError> {
    let tokens = pool.get("tokens").and_then(Value::as_array).ok_or_else(|| impossible("no tokens"))?;
    let factors = tokens.iter().map(|token| {
        let power = 36_u64.checked_sub(Fields::of(token).u64_or("decimals", 18)?);
        let factor = power.and_then(|power| U256::from(10).checked_pow(U256::from(power)));
        factor.ok_or_else(|| impossible("more than 36 decimals"))
    });
    coins(factors.collect::<Result<_, _>>()?)
}

/// Reads a weighted pool: `balances`, `weights`, `swap_fee`, `pow_version`, decimals.
pub(super) fn weighted(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, EntryError> {
    let pool = entry.pool();
    Ok(Box::new(WeightedPool {
        balances: coins(pool.list("balances")?)?,
        scaling_factors: factors_of_decimals(&pool)?,
        weights: coins(pool.list("weights")?)?,
        fee_wad: pool.u256("swap_fee")?,
        power: if pool.text("pow_version") == Some("v1") { Power::Logarithm } else { Power::Shortcuts },
    }))
}

/// A stable pool, and where its own token stands among the coins.
struct Stable {
    pool: StablePool,
    own_token: Option<u8>,
}

/// Reads a stable pool: `balances`, `scaling_factors`, `amp_times_1000`, `swap_fee`, `bpt_index`, `invariant_variant`.
pub(super) fn stable(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, EntryError> {
    let pool = entry.pool();
    let own_token = match pool.get("bpt_index") {
        None => None,
        Some(_) => Some(u8::try_from(pool.u64_or("bpt_index", 0)?).map_err(|_| impossible("a far-off own token"))?),
    };
    let without_own = |list: Vec<U256>| {
        let kept = list.into_iter().enumerate().filter(|(at, _)| Some(*at) != own_token.map(usize::from));
        coins(kept.map(|(_, value)| value).collect())
    };
    let rounds_up = pool.text("invariant_variant").unwrap_or_default().starts_with("older");
    let pool = StablePool {
        balances: without_own(pool.list("balances")?)?,
        scaling_factors: without_own(pool.list("scaling_factors")?)?,
        amp_times_1000: pool.u256("amp_times_1000")?,
        fee_wad: pool.u256("swap_fee")?,
        invariant: if rounds_up { Invariant::Up } else { Invariant::Down },
    };
    Ok(Box::new(Stable { pool, own_token }))
}

/// Compares a row with the pool's two functions: exact in, exact out.
fn check(
    row: &Row<'_>,
    exact_in: impl Fn(U256) -> Result<U256, SwapError>,
    exact_out: impl Fn(U256) -> Result<U256, SwapError>,
) -> Outcome {
    let (Some(amount_in), Some(amount_out)) = (row.amount("amount_in"), row.amount("amount_out")) else {
        return Outcome::Skipped("no amounts".to_owned());
    };
    let given_out = row.fields().text("kind").unwrap_or("exact_in").starts_with("exact_out");
    match row {
        Row::Refusal(_) => row.refused(if given_out { exact_out(amount_out) } else { exact_in(amount_in) }),
        Row::Check(_) => Outcome::Skipped("no such check".to_owned()),
        Row::Swap(_) if given_out => row.compare("amount_in", exact_out(amount_out)),
        Row::Swap(_) => match exact_in(amount_in) {
            Err(SwapError::ZeroOutput) => row.compare("amount_out", Ok(U256::ZERO)),
            paid => row.compare("amount_out", paid),
        },
    }
}

impl VectorPool for WeightedPool {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let Some((i, j)) = row.coins() else { return Outcome::Skipped("no coins".to_owned()) };
        check(row, |amount| self.swap(i, j, amount), |amount| self.swap_exact_out(i, j, amount))
    }
}

impl VectorPool for Stable {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let Some((i, j)) = row.coins() else { return Outcome::Skipped("no coins".to_owned()) };
        if [Some(i), Some(j)].contains(&self.own_token) && self.own_token.is_some() {
            return Outcome::Skipped("a swap for the pool's own token".to_owned());
        }
        let position = |coin: u8| if self.own_token.is_some_and(|own| coin > own) { coin - 1 } else { coin };
        let (i, j) = (position(i), position(j));
        check(row, |amount| self.pool.swap(i, j, amount), |amount| self.pool.swap_exact_out(i, j, amount))
    }
}
