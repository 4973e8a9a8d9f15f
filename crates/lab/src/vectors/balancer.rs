//! Vectors of Balancer pools.

use arrayvec::ArrayVec;
use braid_primitives::U256;
use braid_protocols::{
    SwapError,
    balancer::{Invariant, Power, StablePool, WeightedPool, v3},
    pool::MAX_COINS,
};
use serde_json::Value;

use super::Outcome;
use super::entry::{Entry, Row, RowKind, VectorPool};
use crate::states::{Fields, StateError};

type Coins = ArrayVec<U256, MAX_COINS>;

fn impossible(what: &str) -> StateError {
    StateError::Impossible(what.to_owned())
}

fn coins(list: Vec<U256>) -> Result<Coins, StateError> {
    if list.len() > MAX_COINS { Err(impossible("more than eight coins")) } else { Ok(list.into_iter().collect()) }
}

/// Returns `10^(36 − decimals)` for each token.
fn factors_of_decimals(pool: &Fields<'_>) -> Result<Coins, StateError> {
    let tokens = pool.get("tokens").and_then(Value::as_array).ok_or_else(|| impossible("no tokens"))?;
    let factors = tokens.iter().map(|token| {
        let power = 36_u64.checked_sub(Fields::of(token).u64_or("decimals", 18)?);
        let factor = power.and_then(|power| U256::from(10).checked_pow(U256::from(power)));
        factor.ok_or_else(|| impossible("more than 36 decimals"))
    });
    coins(factors.collect::<Result<_, _>>()?)
}

/// Reads a weighted pool: `balances`, `weights`, `swap_fee`, `pow_version`, decimals.
pub(super) fn weighted(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
    let pool = entry.pool();
    Ok(Box::new(WeightedPool {
        balances: coins(pool.list("balances")?)?,
        scaling_factors: factors_of_decimals(&pool)?,
        weights: coins(pool.list("weights")?)?,
        fee_wad: pool.u256("swap_fee")?,
        power: if pool.text("pow_version") == Some("v1") { Power::Logarithm } else { Power::Shortcuts },
    }))
}

/// A stable pool, and the position of its own token among the coins.
struct Stable {
    pool: StablePool,
    own_token: Option<u8>,
}

/// Reads a stable pool: `balances`, `scaling_factors`, `amp_times_1000`, `swap_fee`, `bpt_index`, `invariant_variant`.
pub(super) fn stable(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
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

/// Reads a pool of Balancer V3: `balances_live_scaled18`, `decimal_scaling_factors`, `token_rates`, `swap_fee`, and
/// `weights` or `amp_times_1000`; also `stable_surge_hook` for a surge fee. Pools with any other hook are refused.
pub(super) fn third(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
    let pool = entry.pool();
    let static_wad = pool.u256("swap_fee")?;
    let fee = match pool.object("stable_surge_hook") {
        Ok(hook) => v3::Fee::StableSurge {
            static_wad,
            most_wad: hook.u256("max_surge_fee")?,
            threshold_wad: hook.u256("threshold")?,
        },
        Err(_)
            if pool
                .text("hook_address")
                .is_some_and(|hook| hook.trim_start_matches("0x").bytes().any(|b| b != b'0')) =>
        {
            return Err(StateError::Unsupported("a hook that we do not know".to_owned()));
        }
        Err(_) => v3::Fee::Static(static_wad),
    };
    let generation = match pool.text("generation") {
        Some("guarded") => v3::Generation::Guarded,
        _ => v3::Generation::First,
    };
    let curve = if pool.get("weights").is_some() {
        let least_balances = if pool.get("min_balances").is_some() { pool.list("min_balances")? } else { Vec::new() };
        let (weights, least_balances) = (coins(pool.list("weights")?)?, coins(least_balances)?);
        v3::Curve::Weighted { weights, least_balances, generation }
    } else {
        v3::Curve::Stable { amp_times_1000: pool.u256("amp_times_1000")?, generation }
    };
    let balances = coins(pool.list("balances_live_scaled18")?)?;
    let (factors, rates) = (coins(pool.list("decimal_scaling_factors")?)?, coins(pool.list("token_rates")?)?);
    if factors.len() != balances.len() || rates.len() != balances.len() {
        return Err(impossible("balances, factors and rates of different length"));
    }
    let buffers = buffers(&pool)?;
    Ok(Box::new(Third { live: v3::Live { balances, factors, rates, fee, curve }, buffers }))
}

/// Returns the assets that each coin's buffer paid for 10⁶, 10¹², 10¹⁸, … shares, as far as the file contains them.
fn buffers(pool: &Fields<'_>) -> Result<Vec<Vec<U256>>, StateError> {
    let Some(buffers) = pool.get("buffers").and_then(Value::as_array) else { return Ok(Vec::new()) };
    let table = |buffer: &Value| {
        let buffer = Fields::of(buffer);
        let field = "preview_redeem_at_1e6_1e12_1e18_1e24_1e30";
        if buffer.get(field).is_some() { buffer.list(field) } else { Ok(Vec::new()) }
    };
    buffers.iter().map(table).collect()
}

/// A pool of Balancer V3, and the recorded redemptions of its coins' buffers.
struct Third {
    live: v3::Live,
    buffers: Vec<Vec<U256>>,
}

/// The reason for which a row through a buffer is equal only when computed as its source does.
const BUFFER_TABLE: &str =
    "balancer_v3: the source unwraps by a table of previews, where the vault asks the wrapped token";

impl Third {
    /// Returns the amount out after redeeming it as the source of such rows does: at the rate of the recorded point
    /// with the nearest amount by ratio.
    fn unwrapped(&self, coin: u8, amount: U256) -> Option<U256> {
        let table = self.buffers.get(usize::from(coin))?;
        let mut point = U256::ONE;
        let million = U256::from(1_000_000);
        let points = table.iter().map(|redeemed| {
            point = point.saturating_mul(million);
            (point, *redeemed)
        });
        let apart = |point: U256| amount.max(point).checked_div(amount.min(point)).unwrap_or(U256::MAX);
        let (point, redeemed) = points.min_by_key(|(point, _)| apart(*point))?;
        amount.checked_mul(redeemed)?.checked_div(point)
    }
}

impl VectorPool for Third {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let Some((i, j)) = row.coins() else { return Outcome::Skipped("no coins".to_owned()) };
        let route = row.fields().text("route").unwrap_or_default();
        if row.kind == RowKind::Swap && !row.is_exact_out() && route.starts_with("swap>unwrap") {
            let Some(given) = row.amount("amount_in") else { return Outcome::Skipped("no amount is given".to_owned()) };
            let out = self.live.swap(i, j, given).ok().and_then(|out| self.unwrapped(j, out));
            let Some(out) = out else { return Outcome::Skipped("no table of what the buffer redeems".to_owned()) };
            return match row.compare("amount_out", Ok(out)) {
                Outcome::Equal => Outcome::Explained(BUFFER_TABLE),
                outcome => outcome,
            };
        }
        if route.contains("wrap>") || route.contains(">unwrap") {
            return Outcome::Skipped(format!("a route through buffers: {route}"));
        }
        check(row, |amount| self.live.swap(i, j, amount), |amount| self.live.swap_exact_out(i, j, amount))
    }
}

/// Compares a row with the pool's functions for exact inputs and for exact outputs.
fn check(
    row: &Row<'_>,
    exact_in: impl Fn(U256) -> Result<U256, SwapError>,
    exact_out: impl Fn(U256) -> Result<U256, SwapError>,
) -> Outcome {
    let given_out = row.is_exact_out();
    let Some(given) = row.amount(if given_out { "amount_out" } else { "amount_in" }) else {
        return Outcome::Skipped("no amount is given".to_owned());
    };
    match row.kind {
        RowKind::Refusal => row.refused(if given_out { exact_out(given) } else { exact_in(given) }),
        RowKind::Check => Outcome::Skipped("no such check".to_owned()),
        RowKind::Swap if given_out => row.compare("amount_in", exact_out(given)),
        RowKind::Swap => match exact_in(given) {
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
