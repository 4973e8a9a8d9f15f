//! Every kind of Curve pool.

use braid_primitives::{ExecutionBlock, U256};
use braid_protocols::SwapError;
use braid_protocols::curve::crypto::{self, AmpGamma, ClassicTwo, CryptoSwap, Repricing};
use braid_protocols::curve::presets::rules_of;
use braid_protocols::curve::stable::{
    Amplification, BasePool, CachedPrice, CompoundRate, FeeStep, MetaGeneration, MetaState, ProductRule, Rate, Rates,
    Rules, State,
};
use braid_protocols::curve::two_coins_of;
use serde_json::Value;

use super::Outcome;
use super::entry::{Entry, EntryError, Fields, Row, RowKind, VectorPool};

fn impossible(what: &str) -> EntryError {
    EntryError::Impossible(what.to_owned())
}

/// One whole, in 18 decimals.
fn wad() -> U256 {
    U256::from(1_000_000_000_000_000_000_u64)
}

struct Stable {
    at: ExecutionBlock,
    pool: BasePool,
}

struct Meta {
    at: ExecutionBlock,
    pool: MetaState,
}

struct Crypto {
    at: ExecutionBlock,
    pool: crypto::State,
}

/// A two-coin crypto pool whose coin 1 is a base pool's share, reached through a zap.
struct CryptoMeta {
    at: ExecutionBlock,
    pool: crypto::State,
    base: BasePool,
}

/// Reads a StableSwap pool of any generation.
pub(super) fn stable(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, EntryError> {
    if entry.pool().get("base_pool").is_some() {
        return meta(entry);
    }
    let next = entry.protocol().ends_with("_ng");
    Ok(Box::new(Stable { at: entry.block(), pool: base_pool(&entry.pool(), next)? }))
}

fn base_pool(pool: &Fields<'_>, next: bool) -> Result<BasePool, EntryError> {
    let rates = rates(pool)?;
    Ok(BasePool { state: stable_state(pool, rates, next)?, total_supply: pool.u256_or("total_supply", U256::ZERO)? })
}

fn stable_state(pool: &Fields<'_>, rates: Rates, next: bool) -> Result<State, EntryError> {
    let balances = pool.list("balances")?;
    if balances.len() > braid_protocols::pool::MAX_COINS || balances.len() != rates.0.len() {
        return Err(impossible("balances and rates of different length, or too many"));
    }
    let precision = u16::try_from(pool.u64_or("A_precision", 100)?).map_err(|_| impossible("A_precision"))?;
    Ok(State {
        balances: balances.into_iter().collect(),
        rates,
        amplification: Amplification::constant(pool.u256("A_precise")?, precision),
        fee: pool.u64_or("fee", 0)?,
        offpeg_fee_multiplier: pool.u64_or("offpeg_fee_multiplier", 0)?,
        admin_fee: pool.u64_or("admin_fee", 5_000_000_000)?,
        rules: rules(pool, next),
    })
}

/// The pool's habits: known by its address, or by what the file says reproduces its views.
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

fn rates(pool: &Fields<'_>) -> Result<Rates, EntryError> {
    let fixed = pool.list("rates")?;
    let Ok(source) = pool.object("rate_source") else { return Ok(Rates::fixed(fixed)) };
    // markets whose rates the pool works out itself, Compound's and those made after them; of others the file has the rates
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

fn compound(token: &Fields<'_>, multiplier: U256) -> Result<Rate, EntryError> {
    Ok(Rate::Compound(Box::new(CompoundRate {
        multiplier,
        exchange_rate_stored: token.u256("exchange_rate_stored")?,
        supply_rate_per_block: token.u256("supply_rate_per_block")?,
        accrual_block: token.u64_or("accrual_block", 0)?,
        accrual: None,
    })))
}

/// Reads a metapool and its base pool.
pub(super) fn meta(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, EntryError> {
    let pool = entry.pool();
    let next = entry.protocol().ends_with("_ng");
    let base = pool.object("base_pool")?;
    let base_is_next =
        base.get("offpeg_fee_multiplier").is_some() || pool.get("base_is_ng").is_some_and(|is| is == true);
    let rates = Rates::fixed([pool.u256("rate_coin0")?, wad()]);
    let cached_price = match (pool.get("base_virtual_price_cached"), pool.get("base_cache_updated")) {
        (Some(_), Some(_)) => Some(CachedPrice {
            value: pool.u256("base_virtual_price_cached")?,
            updated: pool.u64_or("base_cache_updated", 0)?,
        }),
        _ => None,
    };
    let state = stable_state(&pool, rates, next)?;
    let generation = if next { MetaGeneration::Next } else { MetaGeneration::Classic };
    let pool = MetaState { pool: state, base: base_pool(&base, base_is_next)?, cached_price, generation };
    Ok(Box::new(Meta { at: entry.block(), pool }))
}

/// Reads a CryptoSwap pool of any kind.
pub(super) fn crypto(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, EntryError> {
    Ok(Box::new(Crypto { at: entry.block(), pool: crypto_state(entry)? }))
}

/// Reads a CryptoSwap pool and the base pool behind its coin 1.
pub(super) fn crypto_meta(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, EntryError> {
    let base = base_pool(&entry.pool().object("base_pool")?, false)?;
    Ok(Box::new(CryptoMeta { at: entry.block(), pool: crypto_state(entry)?, base }))
}

fn crypto_kind(entry: &Entry<'_>) -> Result<crypto::Kind, EntryError> {
    match entry.pool().text("implementation").unwrap_or_else(|| entry.protocol()) {
        "tricrypto-ng" | "curve_tricrypto_ng" => Ok(crypto::Kind::TricryptoNg),
        "tricrypto2" | "curve_tricrypto2" | "curve_tricrypto" => Ok(crypto::Kind::Tricrypto),
        "twocrypto-ng" | "curve_twocrypto_ng" => Ok(crypto::Kind::TwocryptoNg),
        "twocrypto-stableswap" | "curve_twocrypto_stableswap_math" => Ok(crypto::Kind::TwocryptoStable),
        "cryptoswap2" | "curve_cryptoswap2" | "curve_cryptoswap" => {
            Ok(crypto::Kind::Cryptoswap(match entry.pool().text("variant") {
                Some("early") => ClassicTwo::Early,
                Some("tenth") => ClassicTwo::Tenth,
                Some("tenth_loose") => ClassicTwo::TenthLoose,
                Some(_) => ClassicTwo::Factory,
                // known by its address, as the reader knows it
                None => entry.pool().address("address").ok().and_then(two_coins_of).unwrap_or(ClassicTwo::Factory),
            }))
        }
        other => Err(EntryError::Unsupported(format!("no model of a crypto pool of kind {other:?}"))),
    }
}

fn places<const N: usize>(values: &[U256]) -> [U256; N] {
    core::array::from_fn(|place| values.get(place).copied().unwrap_or_default())
}

fn crypto_state(entry: &Entry<'_>) -> Result<crypto::State, EntryError> {
    let pool = entry.pool();
    let kind = crypto_kind(entry)?;
    let (balances, precisions) = (pool.list("balances")?, pool.list("precisions")?);
    let price_scale = pool.list("price_scale")?;
    let coins = kind.coins();
    if balances.len() != coins || precisions.len() != coins || price_scale.len() + 1 != coins {
        return Err(impossible("balances, precisions and prices of different length"));
    }
    let mut amp_gamma = AmpGamma::constant(pool.u256("A")?, pool.u256("gamma")?);
    if pool.get("ramping").is_some_and(|ramping| ramping == true) {
        // the file gives the values of the block: a ramp between equal ends has them at any time
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
        repricing: repricing(&pool)?,
    })
}

/// What moves the price scale, where the file has all of it.
fn repricing(pool: &Fields<'_>) -> Result<Option<Repricing>, EntryError> {
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

/// Compares the state after a swap with what the row records of it.
fn judge_after(after: &Fields<'_>, got: &crypto::CryptoAfter, kind: crypto::Kind) -> Outcome {
    let prices = kind.coins() - 1;
    let words: [(&str, &[U256]); 8] = [
        ("balances", &got.balances[..=prices]),
        ("price_scale", &got.price_scale[..prices]),
        ("D", &[got.d]),
        ("virtual_price", &[got.repricing.virtual_price]),
        ("xcp_profit", &[got.repricing.xcp_profit]),
        ("last_prices", &got.repricing.last_prices[..prices]),
        ("last_prices_timestamp", &[U256::from(got.repricing.last_prices_timestamp)]),
        ("price_oracle", got.repricing.price_oracle.as_ref().map_or(&[], |oracle| &oracle[..prices])),
    ];
    for (field, words) in words {
        let Some(value) = after.get(field) else { continue };
        let expected = if value.is_array() { after.list(field) } else { after.u256(field).map(|word| vec![word]) };
        if !words.is_empty() && expected.as_deref() != Ok(words) {
            return Outcome::Differs(format!("{field} {expected:?}"), format!("{words:?}"));
        }
    }
    Outcome::Equal
}

/// The coins and the amount in of a row, or why it is skipped.
fn trade(row: &Row<'_>) -> Result<(u8, u8, U256), Outcome> {
    let (coin_in, coin_out) = row.coins().ok_or_else(|| Outcome::Skipped("no coins".to_owned()))?;
    let amount = row.amount("amount_in").ok_or_else(|| Outcome::Skipped("no amount in".to_owned()))?;
    Ok((coin_in, coin_out, amount))
}

/// The function that a row records: the first word of `fn`, or of `kind` where the file has no `fn`.
fn function<'a>(row: &Row<'a>) -> &'a str {
    let fields = row.fields();
    let text = fields.text("fn").or_else(|| fields.text("kind")).unwrap_or_default();
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default()
}

fn judge(row: &Row<'_>, got: Result<U256, SwapError>) -> Outcome {
    if row.kind == RowKind::Refusal {
        return row.refused(got);
    }
    // a swap for nothing is possible, and refused
    let for_nothing = got == Err(SwapError::ZeroOutput) && row.amount("amount_out") == Some(U256::ZERO);
    if for_nothing { Outcome::Equal } else { row.compare("amount_out", got) }
}

impl VectorPool for Stable {
    fn check(&self, row: &Row<'_>) -> Outcome {
        if row.kind == RowKind::Check {
            return self.check_view(row);
        }
        let (i, j, amount_in) = match trade(row) {
            Ok(trade) => trade,
            Err(outcome) => return outcome,
        };
        let state = &self.pool.state;
        let function = function(row);
        if function.ends_with("_underlying") {
            return Outcome::Skipped(format!("{function} of a pool that is no metapool is not modelled"));
        }
        if function == "get_dx" {
            let amount_out = row.amount("amount_out").unwrap_or_default();
            return row.compare("amount_in", state.view_in(&self.at, i, j, amount_out));
        }
        // a refusal is the swap's: a view may answer zero
        let got = if function.starts_with("exchange") || row.kind == RowKind::Refusal {
            state.swap(&self.at, i, j, amount_in).map(|swap| swap.amount_out)
        } else {
            state.view(&self.at, i, j, amount_in)
        };
        judge(row, got)
    }
}

impl Stable {
    fn check_view(&self, row: &Row<'_>) -> Outcome {
        match (row.function(), row.fields().u64_or("i", 0), row.amount("lp_amount")) {
            ("calc_withdraw_one_coin", Ok(coin), Some(shares)) => {
                let coin = u8::try_from(coin).unwrap_or(u8::MAX);
                row.compare("out", self.pool.withdraw_view(&self.at, coin, shares))
            }
            (other, _, _) => Outcome::Skipped(format!("no such check: {other}")),
        }
    }
}

impl VectorPool for Meta {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let (i, j, amount_in) = match trade(row) {
            Ok(trade) => trade,
            Err(outcome) => return outcome,
        };
        let amount = |swap: braid_protocols::curve::stable::MetaSwap| swap.amount_out;
        let function = function(row);
        if function == "get_dx" {
            let amount_out = row.amount("amount_out").unwrap_or_default();
            return row.compare("amount_in", self.pool.view_in(&self.at, i, j, amount_out));
        }
        let swaps = function.starts_with("exchange") || row.kind == RowKind::Refusal;
        let got = match (function.ends_with("_underlying"), swaps) {
            (true, true) => self.pool.swap_underlying(&self.at, i, j, amount_in).map(amount),
            (true, false) => self.pool.view_underlying(&self.at, i, j, amount_in),
            (false, true) => self.pool.swap(&self.at, i, j, amount_in).map(amount),
            (false, false) => self.pool.view(&self.at, i, j, amount_in),
        };
        judge(row, got)
    }
}

impl VectorPool for Crypto {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let (i, j, amount_in) = match trade(row) {
            Ok(trade) => trade,
            Err(outcome) => return outcome,
        };
        if !function(row).starts_with("exchange") && row.kind != RowKind::Refusal {
            return judge(row, self.pool.view(&self.at, i, j, amount_in));
        }
        let swap = self.pool.swap(&self.at, i, j, amount_in);
        let outcome = judge(row, swap.as_ref().map(|swap| swap.amount_out).map_err(Clone::clone));
        match (outcome, swap, row.fields().object("after")) {
            (Outcome::Equal, Ok(CryptoSwap { after: Some(after), .. }), Ok(recorded)) => {
                judge_after(&recorded, &after, self.pool.kind)
            }
            (outcome, _, _) => outcome,
        }
    }
}

impl VectorPool for CryptoMeta {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let (i, j, amount_in) = match trade(row) {
            Ok(trade) => trade,
            Err(outcome) => return outcome,
        };
        let at = &self.at;
        let got = match (i, j) {
            (0, coin @ 1..) => {
                let shares = self.pool.view(at, 0, 1, amount_in);
                shares.and_then(|shares| self.base.withdraw_view(at, coin - 1, shares))
            }
            (coin @ 1.., 0) => {
                let shares = self.base.deposit_view(at, coin - 1, amount_in);
                shares.and_then(|shares| self.pool.view(at, 1, 0, shares))
            }
            _ => return Outcome::Skipped("not a trade through the crypto pool".to_owned()),
        };
        judge(row, got)
    }
}
