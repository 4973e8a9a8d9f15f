//! Uniswap V2 pairs and V3 pools, and their forks.

use braid_primitives::U256;
use braid_protocols::{SwapError, uniswap_v2, uniswap_v3};
use serde_json::Value;

use super::Outcome;
use super::entry::{Entry, EntryError, Row, RowKind, VectorPool};

fn impossible(what: &str) -> EntryError {
    EntryError::Impossible(what.to_owned())
}

/// Reads a pair: `reserves`, `fee_bps`.
pub(super) fn pair(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, EntryError> {
    let pool = entry.pool();
    let reserves = pool.list("reserves")?;
    let [reserve0, reserve1] = reserves[..] else { return Err(impossible("not two reserves")) };
    let reserve = |value: U256| u128::try_from(value).map_err(|_| impossible("a reserve above 128 bits"));
    let fee_bps = u16::try_from(pool.u64_or("fee_bps", 30)?).map_err(|_| impossible("a fee above 100%"))?;
    Ok(Box::new(uniswap_v2::State { reserve0: reserve(reserve0)?, reserve1: reserve(reserve1)?, fee_bps }))
}

/// Reads a pool: `fee_pips`, `tick_spacing`, `sqrt_price_x96`, `liquidity`, `tick`, `ticks: [[index, net], …]`.
pub(super) fn pool(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, EntryError> {
    let pool = entry.pool();
    let ticks = pool.get("ticks").and_then(Value::as_array).ok_or_else(|| impossible("no ticks"))?;
    let mut ticks =
        ticks.iter().map(tick).collect::<Option<Vec<_>>>().ok_or_else(|| impossible("a tick of no form"))?;
    ticks.sort_by_key(|tick| tick.index);
    let signed = |field| {
        let value = pool.get(field).and_then(Value::as_i64).and_then(|value| i32::try_from(value).ok());
        value.ok_or_else(|| pool.wrong(field, "an integer of 32 bits"))
    };
    let fee_pips = u32::try_from(pool.u64_or("fee_pips", 3_000)?).map_err(|_| impossible("a fee above 100%"))?;
    let liquidity = u128::try_from(pool.u256("liquidity")?).map_err(|_| impossible("liquidity above 128 bits"))?;
    Ok(Box::new(uniswap_v3::State {
        sqrt_price_x96: pool.u256("sqrt_price_x96")?,
        tick: signed("tick")?,
        liquidity,
        fee_pips,
        tick_spacing: signed("tick_spacing")?,
        ticks: ticks.into(),
    }))
}

/// `[index, net]`; the gross liquidity, which swaps do not use, is the least that the net allows.
fn tick(value: &Value) -> Option<uniswap_v3::Tick> {
    let [index, net] = &value.as_array()?[..] else { return None };
    let index = index.as_i64().or_else(|| index.as_str()?.parse().ok())?;
    let net: i128 = match net {
        Value::String(text) => text.parse().ok()?,
        other => other.as_i64()?.into(),
    };
    uniswap_v3::Tick::new(i32::try_from(index).ok()?, net, net.unsigned_abs().max(1))
}

/// Recomputes a row from what the pool pays for an exact input.
///
/// A recorded input that the pool cannot spend is compared at what it does spend. Of an exact output, the recorded input must
/// be the least that pays it, or all that the pool takes where it cannot pay as much.
fn check(row: &Row<'_>, paid: impl Fn(U256) -> Result<U256, SwapError>) -> Outcome {
    let Some(amount_in) = row.amount("amount_in") else {
        return Outcome::Skipped("no amount in".to_owned());
    };
    match row.kind {
        RowKind::Refusal => return row.refused(paid(amount_in)),
        RowKind::Check => return Outcome::Skipped("no such check".to_owned()),
        RowKind::Swap => {}
    }
    let Some(amount_out) = row.amount("amount_out") else {
        return Outcome::Skipped("no amount out".to_owned());
    };
    if !row.is_exact_out() {
        return match paid(amount_in) {
            Err(SwapError::ZeroOutput) if amount_out.is_zero() => Outcome::Equal,
            Err(SwapError::InsufficientLiquidity { consumed, .. }) if !consumed.is_zero() => {
                row.compare("amount_out", paid(consumed))
            }
            amount => row.compare("amount_out", amount),
        };
    }
    let spent_all = match paid(amount_in.saturating_add(U256::ONE)) {
        Err(SwapError::InsufficientLiquidity { consumed, .. }) => consumed == amount_in,
        _ => false,
    };
    let enough = paid(amount_in).is_ok_and(|out| out >= amount_out);
    let least = amount_in.checked_sub(U256::ONE).is_none_or(|less| paid(less).map_or(true, |out| out < amount_out));
    match (enough, least) {
        _ if spent_all => Outcome::Equal,
        (true, true) => Outcome::Equal,
        (true, false) => Outcome::Differs(amount_in.to_string(), "less pays as much".to_owned()),
        (false, _) => Outcome::Differs(amount_out.to_string(), format!("{:?}", paid(amount_in))),
    }
}

impl VectorPool for uniswap_v2::State {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let Some((coin_in, _)) = row.coins() else { return Outcome::Skipped("no coins".to_owned()) };
        if let (true, Some(amount_out)) = (row.is_exact_out(), row.amount("amount_out")) {
            let asked = self.swap_exact_out(coin_in == 0, amount_out);
            return if row.kind == RowKind::Refusal { row.refused(asked) } else { row.compare("amount_in", asked) };
        }
        check(row, |amount| self.swap(coin_in == 0, amount).map(|swap| swap.amount_out))
    }
}

impl VectorPool for uniswap_v3::State {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let Some((coin_in, _)) = row.coins() else { return Outcome::Skipped("no coins".to_owned()) };
        check(row, |amount| self.swap(coin_in == 0, amount).map(|swap| swap.amount_out))
    }
}
