//! States of Curve's pools.

use braid_primitives::U256;
use braid_protocols::curve::crypto::{self, AmpGamma, Repricing};
use braid_protocols::curve::presets::rules_of;
use braid_protocols::curve::stable::{
    Amplification, BasePool, CachedPrice, CompoundRate, FeeStep, MetaGeneration, MetaState, ProductRule, Rate, Rates,
    Rules, State,
};
use braid_protocols::pool::MAX_COINS;
use serde_json::Value;

use super::{Fields, StateError};

/// One whole, in 18 decimals.
const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

fn impossible(what: &str) -> StateError {
    StateError::Impossible(what.to_owned())
}

/// Reads a StableSwap pool; `next` selects the NG generation.
pub(crate) fn stable(pool: &Fields<'_>, next: bool) -> Result<State, StateError> {
    with_rates(pool, rates(pool)?, next)
}

/// Reads a StableSwap pool and the supply of its shares.
pub(crate) fn base_pool(pool: &Fields<'_>, next: bool) -> Result<BasePool, StateError> {
    Ok(BasePool { state: stable(pool, next)?, total_supply: pool.u256_or("total_supply", U256::ZERO)? })
}

fn with_rates(pool: &Fields<'_>, rates: Rates, next: bool) -> Result<State, StateError> {
    let balances = pool.list("balances")?;
    if balances.len() > MAX_COINS || balances.len() != rates.0.len() {
        return Err(impossible("balances and rates of different length, or too many"));
    }
    Ok(State {
        balances: balances.into_iter().collect(),
        rates,
        amplification: amplification(pool)?,
        fee: pool.u64_or("fee", 0)?,
        offpeg_fee_multiplier: pool.u64_or("offpeg_fee_multiplier", 0)?,
        admin_fee: pool.u64_or("admin_fee", 5_000_000_000)?,
        rules: rules(pool, next),
    })
}

/// Reads the amplification: files of vectors and recorded pools contain `A_precise`, generated pools `a`.
fn amplification(pool: &Fields<'_>) -> Result<Amplification, StateError> {
    let [value, precision] = if pool.get("a").is_some() { ["a", "a_precision"] } else { ["A_precise", "A_precision"] };
    let parts = u16::try_from(pool.u64_or(precision, 100)?).map_err(|_| impossible(precision))?;
    Ok(Amplification::constant(pool.u256(value)?, parts))
}

/// Returns the pool's rounding rules: those known for its address, or those that reproduce its views according to the
/// file.
fn rules(pool: &Fields<'_>, next: bool) -> Rules {
    if next {
        return Rules::standard(ProductRule::Whole);
    }
    if let Some(rules) = pool.address("address").ok().and_then(rules_of) {
        return rules;
    }
    let Ok(rule) = pool.object("quote_rule") else { return Rules::standard(ProductRule::TimesN) };
    let allowed = |name: &str| {
        let products = rule.get("d_product").and_then(Value::as_array);
        products.is_none_or(|products| products.iter().any(|product| product == name))
    };
    let product = if allowed("x*N") {
        ProductRule::TimesN
    } else if allowed("x*N+1") {
        ProductRule::TimesNPlusOne
    } else {
        ProductRule::Whole
    };
    let mut rules = Rules::standard(product);
    if rule.text("fee_step") == Some("after_scaling_to_token") {
        rules.view_fee = FeeStep::AfterScaling;
    }
    rules.view_keeps_one = rule.get("minus_one").is_none_or(|kept| kept != 0);
    rules
}

fn rates(pool: &Fields<'_>) -> Result<Rates, StateError> {
    let fixed = pool.list("rates")?;
    let Ok(source) = pool.object("rate_source") else { return Ok(Rates::fixed(fixed)) };
    // Compound's markets and those like them, whose rates the pool computes itself. For other markets the file contains
    // the rates.
    if source.get("tokens").is_none() || source.get("underlying_mul").is_none() {
        return Ok(Rates::fixed(fixed));
    }
    let tokens = source.get("tokens").and_then(Value::as_array).ok_or_else(|| impossible("no lending tokens"))?;
    let multipliers = source.list("underlying_mul")?;
    let mut rates = Rates::fixed(fixed);
    for ((rate, token), multiplier) in rates.0.iter_mut().zip(tokens).zip(multipliers) {
        *rate = compound(&Fields::of(token), multiplier)?;
    }
    Ok(rates)
}

fn compound(token: &Fields<'_>, multiplier: U256) -> Result<Rate, StateError> {
    Ok(Rate::Compound(Box::new(CompoundRate {
        multiplier,
        exchange_rate_stored: token.u256("exchange_rate_stored")?,
        supply_rate_per_block: token.u256("supply_rate_per_block")?,
        accrual_block: token.u64_or("accrual_block", 0)?,
        accrual: None,
    })))
}

/// Reads a metapool and its base pool.
pub(crate) fn meta(pool: &Fields<'_>, next: bool) -> Result<MetaState, StateError> {
    let base = pool.object("base_pool")?;
    let base_is_next =
        base.get("offpeg_fee_multiplier").is_some() || pool.get("base_is_ng").is_some_and(|is| is == true);
    let rates = Rates::fixed([pool.u256("rate_coin0")?, WAD]);
    let cached_price = match (pool.get("base_virtual_price_cached"), pool.get("base_cache_updated")) {
        (Some(_), Some(_)) => Some(CachedPrice {
            value: pool.u256("base_virtual_price_cached")?,
            updated: pool.u64_or("base_cache_updated", 0)?,
        }),
        _ => None,
    };
    let state = with_rates(pool, rates, next)?;
    let generation = if next { MetaGeneration::Next } else { MetaGeneration::Classic };
    Ok(MetaState { pool: state, base: base_pool(&base, base_is_next)?, cached_price, generation })
}

fn places<const N: usize>(values: &[U256]) -> [U256; N] {
    core::array::from_fn(|place| values.get(place).copied().unwrap_or_default())
}

/// Reads a CryptoSwap pool.
pub(crate) fn crypto(pool: &Fields<'_>, kind: crypto::Kind) -> Result<crypto::State, StateError> {
    let (balances, precisions) = (pool.list("balances")?, pool.list("precisions")?);
    let price_scale = pool.list("price_scale")?;
    let coins = kind.coins();
    if balances.len() != coins || precisions.len() != coins || price_scale.len() + 1 != coins {
        return Err(impossible("balances, precisions and prices of different length"));
    }
    let mut amp_gamma = AmpGamma::constant(pool.u256("A")?, pool.u256("gamma")?);
    if pool.get("ramping").is_some_and(|ramping| ramping == true) {
        // The file contains the values at the block. A ramp between equal ends has these values at any time.
        amp_gamma.future_time = pool.u64_or("future_A_gamma_time", u64::MAX)?;
    }
    Ok(crypto::State {
        kind,
        balances: places(&balances),
        precisions: places(&precisions),
        price_scale: places(&price_scale),
        d: pool.u256("D")?,
        amp_gamma,
        mid_fee: pool.u64_or("mid_fee", 0)?,
        out_fee: pool.u64_or("out_fee", 0)?,
        fee_gamma: pool.u256("fee_gamma")?,
        repricing: repricing(pool)?,
    })
}

/// Reads the fields that decide how the price scale moves; `None` unless the file contains all of them.
fn repricing(pool: &Fields<'_>) -> Result<Option<Repricing>, StateError> {
    let whole = ["last_prices", "last_prices_timestamp", "averaging_seconds", "xcp_profit", "virtual_price"];
    if whole.iter().any(|field| pool.get(field).is_none()) {
        return Ok(None);
    }
    let price_oracle =
        if pool.get("price_oracle").is_some() { Some(places(&pool.list("price_oracle")?)) } else { None };
    Ok(Some(Repricing {
        price_oracle,
        last_prices: places(&pool.list("last_prices")?),
        last_prices_timestamp: pool.u64_or("last_prices_timestamp", 0)?,
        averaging_seconds: pool.u64_or("averaging_seconds", 0)?,
        total_supply: pool.u256("total_supply")?,
        xcp_profit: pool.u256("xcp_profit")?,
        virtual_price: pool.u256("virtual_price")?,
        allowed_extra_profit: pool.u256("allowed_extra_profit")?,
        adjustment_step: pool.u256("adjustment_step")?,
        not_adjusted: pool.get("not_adjusted").and_then(Value::as_bool),
    }))
}
