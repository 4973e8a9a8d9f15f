//! Curve's pools in recorded markets.

use std::sync::Arc;

use braid_primitives::{Address, U256};
use braid_protocols::curve::crypto::{self, AmpGamma, ClassicTwo, Kind};
use braid_protocols::curve::presets::rules_of;
use braid_protocols::curve::stable::{
    self, Amplification, BasePool, CachedPrice, CompoundRate, MetaGeneration, MetaState, ProductRule, Rate, Rates,
    Rules,
};
use braid_protocols::curve::{Model, State};
use braid_protocols::{PoolState, pool::MAX_COINS};
use serde_json::Value;

use super::json::{Reason, TokensOf, each, list, maybe, number, parse, text};

const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// Reads a pool.
pub(super) fn pool(entry: &Value, _tokens: TokensOf<'_>) -> Result<PoolState, Reason> {
    let model = match text(entry, "kind") {
        "curve_stable" | "curve_stableswap" | "curve_lending" => Model::Stable(stable_pool(entry, false)?),
        "curve_stableswap_ng" => Model::Stable(stable_pool(entry, true)?),
        "curve_meta" => Model::Meta(meta(entry, false)?),
        "curve_meta_ng" => Model::Meta(meta(entry, true)?),
        "curve_tricrypto2" => Model::Crypto(crypto(entry, Kind::Tricrypto)?),
        "curve_tricrypto_ng" => Model::Crypto(crypto(entry, Kind::TricryptoNg)?),
        "curve_twocrypto_ng" => Model::Crypto(crypto(entry, Kind::TwocryptoNg)?),
        "curve_twocrypto_stableswap_math" => Model::Crypto(crypto(entry, Kind::TwocryptoStable)?),
        "curve_crypto_meta" => Model::Crypto(crypto(entry, Kind::Cryptoswap(ClassicTwo::Factory))?),
        _ => return Err("kind not covered".into()),
    };
    let ether = braid_primitives::NATIVE_ETHER;
    let is_ether = |coin: &Value| parse::<Address>(coin) == Some(ether);
    let ether_coin = list(entry, "tokens")?.iter().position(is_ether).and_then(|coin| u8::try_from(coin).ok());
    let base_pool = entry.get("base_pool").and_then(|base| maybe(base, "address"));
    let state = State { model, ether_coin, base_pool, has_oracle: false, steth: None };
    state.validate().map_err(|what| format!("impossible state, {what}"))?;
    Ok(Arc::new(state).into())
}

/// The coins of a pool: a metapool's are its own, then its base pool's.
pub(super) fn coins(entry: &Value) -> Result<Vec<&Value>, Reason> {
    let mut coins: Vec<&Value> = list(entry, "tokens")?.iter().collect();
    if text(entry, "kind").starts_with("curve_meta") {
        coins.extend(list(entry.get("base_pool").unwrap_or(&Value::Null), "tokens")?);
    }
    Ok(coins)
}

fn stable_pool(entry: &Value, next: bool) -> Result<stable::State, Reason> {
    let mut rates = Rates::fixed(each(entry, "rates", parse)?);
    let source = entry.get("rate_source").filter(|source| text(source, "kind") == "compound");
    if let Some(source) = source {
        let multipliers = each(source, "underlying_mul", parse)?;
        for ((rate, token), multiplier) in rates.0.iter_mut().zip(list(source, "tokens")?).zip(multipliers) {
            *rate = Rate::Compound(Box::new(CompoundRate {
                multiplier,
                exchange_rate_stored: number(token, "exchange_rate_stored")?,
                supply_rate_per_block: number(token, "supply_rate_per_block")?,
                accrual_block: number(token, "accrual_block")?,
                accrual: None,
            }));
        }
    }
    with_rates(entry, rates, next)
}

fn with_rates(entry: &Value, rates: Rates, next: bool) -> Result<stable::State, Reason> {
    let balances = each(entry, "balances", parse)?;
    if balances.len() != rates.0.len() || balances.len() > MAX_COINS {
        return Err(format!("{} balances, {} rates", balances.len(), rates.0.len()));
    }
    let product = if next { ProductRule::Whole } else { ProductRule::TimesN };
    let known = maybe::<Address>(entry, "address").and_then(rules_of);
    Ok(stable::State {
        balances: balances.into_iter().collect(),
        rates,
        amplification: amplification(entry)?,
        fee: number(entry, "fee")?,
        offpeg_fee_multiplier: maybe(entry, "offpeg_fee_multiplier").unwrap_or(0),
        admin_fee: maybe(entry, "admin_fee").unwrap_or(5_000_000_000),
        rules: known.unwrap_or(Rules::standard(product)),
    })
}

/// Recorded pools write `A_precise` and `A_precision`, generated ones `a` and `a_precision`.
fn amplification(entry: &Value) -> Result<Amplification, Reason> {
    let [value, precision] = if entry.get("a").is_some() { ["a", "a_precision"] } else { ["A_precise", "A_precision"] };
    Ok(Amplification::constant(number(entry, value)?, number(entry, precision)?))
}

fn meta(entry: &Value, next: bool) -> Result<MetaState, Reason> {
    let base = entry.get("base_pool").ok_or("base_pool is missing")?;
    let base_is_next = maybe::<u64>(base, "offpeg_fee_multiplier").is_some();
    let rates = Rates::fixed([number(entry, "rate_coin0")?, WAD]);
    let cached = maybe(entry, "base_virtual_price_cached").zip(maybe(entry, "base_cache_updated"));
    Ok(MetaState {
        pool: with_rates(entry, rates, next)?,
        base: BasePool { state: stable_pool(base, base_is_next)?, total_supply: number(base, "total_supply")? },
        cached_price: cached.map(|(value, updated)| CachedPrice { value, updated }),
        generation: if next { MetaGeneration::Next } else { MetaGeneration::Classic },
    })
}

fn crypto(entry: &Value, kind: Kind) -> Result<crypto::State, Reason> {
    if entry.get("fee_policy").is_some_and(|policy| !policy.is_null()) && kind == Kind::TwocryptoStable {
        return Err("a fee that another contract decides".into());
    }
    let (balances, precisions) = (each(entry, "balances", parse)?, each(entry, "precisions", parse)?);
    let prices = each(entry, "price_scale", parse)?;
    let coins = kind.coins();
    if balances.len() != coins || precisions.len() != coins || prices.len() + 1 != coins {
        return Err("balances, precisions and prices of different lengths".into());
    }
    let at = |values: &[U256], place: usize| values.get(place).copied().unwrap_or_default();
    Ok(crypto::State {
        kind,
        balances: std::array::from_fn(|place| at(&balances, place)),
        precisions: std::array::from_fn(|place| at(&precisions, place)),
        price_scale: std::array::from_fn(|place| at(&prices, place)),
        d: number(entry, "D")?,
        amp_gamma: AmpGamma::constant(number(entry, "A")?, number(entry, "gamma")?),
        mid_fee: number(entry, "mid_fee")?,
        out_fee: number(entry, "out_fee")?,
        fee_gamma: number(entry, "fee_gamma")?,
        repricing: None,
    })
}
