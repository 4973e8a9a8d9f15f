//! Recorded markets in JSON: `{block, tokens: [{address, symbol, decimals}], pools: [{kind, dex, address, tokens, …}], updates}`.
//!
//! Large integers are decimal strings. A kind of pool that is not covered is skipped and counted, as is an entry that no
//! contract can be in. Pools of a venue that is not one of our products are read as those of the product that runs the same
//! code: right for benchmarks, and no claim that a route through them can be executed. Wrapped ether is always added.

mod balancer;
mod curve;

use std::{collections::BTreeMap, sync::Arc};

use braid_primitives::{Address, B256, Block, Token, TokenId, U256};
use braid_protocols::{
    Pool, PoolState, Product, erc4626, fluid::dex, pancakeswap, pool::MAX_COINS, uniswap_v2, uniswap_v3,
    uniswap_v3::gas::Costs,
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    FileError, check_state,
    value::{Reason, list, number, parse, text},
};
use crate::{Market, Tokens};

/// What a file held.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The market. A recorded market in JSON knows its block's height at most: hash and times are zero.
    pub market: Market,
    /// Pools that were left out, by kind and reason.
    pub skipped: BTreeMap<String, usize>,
    /// The pools that changed in each of the blocks after the market's, where the file has them.
    pub updates: Vec<Update>,
}

/// The pools that changed in one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Height of the block.
    pub block_number: u64,
    /// The changed pools in their new states.
    pub changed: Vec<Pool>,
}

#[derive(Deserialize)]
struct Document {
    block: Option<u64>,
    gas_price_wei: Option<u64>,
    tokens: Vec<Value>,
    pools: Vec<Value>,
    #[serde(default)]
    updates: Vec<UpdateEntry>,
}

#[derive(Deserialize)]
struct UpdateEntry {
    block: u64,
    changed: Vec<Value>,
}

/// Gas limit that a recorded market is given: mainnet's.
const GAS_LIMIT: u64 = 60_000_000;

/// Reads a recorded market.
///
/// # Errors
/// [`FileError::Body`] when the text is not such a document; an odd pool is skipped, not an error.
pub fn import_json(bytes: &[u8]) -> Result<Imported, FileError> {
    let document: Document =
        serde_json::from_slice(bytes).map_err(|error| FileError::Body { why: error.to_string() })?;
    let mut tokens = Tokens::new();
    document.tokens.iter().filter_map(token).for_each(|token| {
        tokens.insert(token);
    });
    let mut skipped = BTreeMap::new();
    let mut pools = vec![wrapped_ether()];
    let mut known: BTreeMap<Address, usize> = BTreeMap::new();
    for entry in &document.pools {
        match pool(entry, &tokens) {
            Ok(pool) if known.contains_key(&pool.address) => skip(&mut skipped, entry, "listed twice"),
            Ok(pool) => {
                known.insert(pool.address, pools.len());
                pools.push(pool);
            }
            Err(reason) => skip(&mut skipped, entry, &reason),
        }
    }
    let mut present: Vec<Pool> = pools.clone();
    let mut updates = Vec::with_capacity(document.updates.len());
    for update in &document.updates {
        let changed = update.changed.iter().filter_map(|entry| changed(entry, &known, &mut present)).collect();
        updates.push(Update { block_number: update.block, changed });
    }
    let market = Market::new(block(&document), Arc::new(tokens), pools)?;
    Ok(Imported { market, skipped, updates })
}

fn block(document: &Document) -> Block {
    Block {
        number: document.block.unwrap_or(0),
        hash: B256::ZERO,
        parent_hash: B256::ZERO,
        timestamp: 0,
        base_fee_per_gas_wei: document.gas_price_wei.unwrap_or(0),
        gas_used: GAS_LIMIT / 2,
        gas_limit: GAS_LIMIT,
    }
}

fn skip(skipped: &mut BTreeMap<String, usize>, entry: &Value, reason: &str) {
    *skipped.entry(format!("{}: {reason}", text(entry, "kind"))).or_default() += 1;
}

fn token(entry: &Value) -> Option<Token> {
    let symbol = text(entry, "symbol").to_owned();
    let name = text(entry, "name").to_owned();
    Some(Token { address: parse(entry.get("address")?)?, symbol, name, decimals: parse(entry.get("decimals")?)? })
}

fn wrapped_ether() -> Pool {
    let coins = [Tokens::ETHER, Tokens::WETH].into_iter().collect();
    Pool { address: braid_primitives::WETH, product: Product::WrappedEther, coins, state: PoolState::WrappedEther }
}

fn pool(entry: &Value, tokens: &Tokens) -> Result<Pool, Reason> {
    let (product, state) = match text(entry, "kind") {
        "uniswap_v2" => (v2_product(text(entry, "dex")), PoolState::UniswapV2(v2(entry)?)),
        "uniswap_v3" => {
            let (product, costs) = v3_product(text(entry, "dex"));
            (product, PoolState::UniswapV3(v3(entry, costs)?))
        }
        "erc4626" => (Product::Erc4626, PoolState::Erc4626(Box::new(vault(entry, tokens)?))),
        "balancer_weighted" => balancer::weighted(entry, tokens)?,
        "balancer_stable" => balancer::stable(entry)?,
        kind if kind.starts_with("curve_") => curve::state(entry)?,
        "fluid_t1" => {
            let (addresses, decimals) = fluid_tokens(entry, tokens)?;
            let snapshot = fluid_snapshot(entry, addresses, decimals)?;
            (Product::FluidDexT1, PoolState::FluidDexT1(dex::State::Snapshot(Box::new(snapshot))))
        }
        _ => return Err("kind not covered".into()),
    };
    let coins =
        if product.family() == "curve" { curve::coins(entry)? } else { list(entry, "tokens")?.iter().collect() };
    let most = if matches!(state, PoolState::BalancerV2(_) | PoolState::Curve(_)) { MAX_COINS } else { 2 };
    if coins.len() < 2 || coins.len() > most {
        return Err(format!("{} coins", coins.len()));
    }
    let id = |coin| parse(coin).and_then(|address: Address| tokens.id(address));
    let coins =
        coins.into_iter().map(|coin| id(coin).ok_or("a coin that is no listed token")).collect::<Result<_, _>>()?;
    let pool = Pool { address: number(entry, "address")?, product, coins, state };
    let repeated = |(position, coin): (usize, &TokenId)| pool.coins.iter().take(position).any(|other| other == coin);
    if pool.coins.iter().enumerate().any(repeated) {
        return Err("one coin twice".into());
    }
    check_state(&pool).map_err(|what| format!("impossible state, {what}"))?;
    Ok(pool)
}

fn v2_product(dex: &str) -> Product {
    if dex == Product::SushiswapV2.id() { Product::SushiswapV2 } else { Product::UniswapV2 }
}

/// The product of a concentrated-liquidity pool, and what its swaps cost.
fn v3_product(dex: &str) -> (Product, Costs) {
    match dex {
        _ if dex == Product::SushiswapV3.id() => (Product::SushiswapV3, Costs::UNISWAP),
        _ if dex == Product::PancakeswapV3.id() => (Product::PancakeswapV3, pancakeswap::COSTS),
        _ => (Product::UniswapV3, Costs::UNISWAP),
    }
}

fn reserves(entry: &Value) -> Result<(u128, u128), Reason> {
    match list(entry, "reserves")? {
        [first, second] => parse(first).zip(parse(second)).ok_or_else(|| "reserves out of range".into()),
        other => Err(format!("{} reserves", other.len())),
    }
}

fn v2(entry: &Value) -> Result<uniswap_v2::State, Reason> {
    let (reserve0, reserve1) = reserves(entry)?;
    Ok(uniswap_v2::State { reserve0, reserve1, fee_bps: number(entry, "fee_bps")? })
}

fn v3(entry: &Value, costs: Costs) -> Result<uniswap_v3::State, Reason> {
    Ok(uniswap_v3::State {
        sqrt_price_x96: number(entry, "sqrt_price_x96")?,
        tick: number(entry, "tick")?,
        liquidity: number(entry, "liquidity")?,
        fee_pips: number(entry, "fee_pips")?,
        tick_spacing: number(entry, "tick_spacing")?,
        ticks: ticks(entry)?,
        costs,
    })
}

/// A vault recorded by its prices: the shares that a whole asset buys, at which a whole share is worth what the file says too.
fn vault(entry: &Value, tokens: &Tokens) -> Result<erc4626::State, Reason> {
    let asset = list(entry, "tokens")?.first().and_then(parse::<Address>).and_then(|asset| tokens.id(asset));
    let decimals = asset.and_then(|asset| tokens.get(asset)).map(|token| token.decimals);
    let whole = U256::from(10).checked_pow(U256::from(decimals.ok_or("an asset that is no listed token")?));
    let conversion = erc4626::Conversion::Rate {
        rate: whole.ok_or("decimals out of range")?,
        one: number(entry, "shares_per_asset_unit")?,
    };
    Ok(erc4626::State {
        conversion,
        accrual: erc4626::Accrual::None,
        max_deposit_assets: number(entry, "max_deposit")?,
        max_redeem_shares: number(entry, "max_redeem")?,
        max_withdraw_assets: U256::MAX,
        reserve: None,
        cap: None,
        form: None,
    })
}

/// A pool's two tokens and their decimals.
fn fluid_tokens(entry: &Value, tokens: &Tokens) -> Result<([Address; 2], [u8; 2]), Reason> {
    let token = |coin| {
        let id = parse::<Address>(coin).and_then(|address| tokens.id(address));
        let token = id.and_then(|id| tokens.get(id)).ok_or("a coin that is no listed token")?;
        Ok::<_, Reason>((token.address, token.decimals))
    };
    match list(entry, "tokens")? {
        [first, second] => {
            let (first, second) = (token(first)?, token(second)?);
            Ok(([first.0, second.0], [first.1, second.1]))
        }
        other => Err(format!("{} coins", other.len())),
    }
}

/// A pool of Fluid as a resolver showed it: reserves and limits of one moment.
fn fluid_snapshot(entry: &Value, addresses: [Address; 2], decimals: [u8; 2]) -> Result<dex::Snapshot, Reason> {
    let part = |key: &str| entry.get(key).ok_or_else(|| format!("{key} is missing"));
    let side = |key: &str| {
        let side = part(key)?;
        let pair = |kind: &str| {
            Ok::<_, Reason>([number(side, &format!("token0_{kind}"))?, number(side, &format!("token1_{kind}"))?])
        };
        Ok::<_, Reason>(dex::Side::open(pair("real")?, pair("imaginary")?))
    };
    let limits = |kind: &str| {
        let limit = |token: u8| {
            let limit = part("dex_limits")?.get(format!("{kind}_token{token}")).unwrap_or(&Value::Null);
            Ok::<_, Reason>(dex::Limit {
                available: number(limit, "available")?,
                expands_to: number(limit, "expands_to")?,
                expand_seconds: number(limit, "expand_duration")?,
            })
        };
        Ok::<_, Reason>(Some([limit(0)?, limit(1)?]))
    };
    Ok(dex::Snapshot {
        addresses,
        reserves: dex::Reserves {
            collateral: side("collateral_reserves")?,
            debt: side("debt_reserves")?,
            centre_price: number(entry, "center_price_1e27")?,
            fees: dex::Fees { fee_pips: number(entry, "fee_1e6")?, revenue_cut_percent: 0 },
        },
        decimals,
        withdrawable: limits("withdrawable")?,
        borrowable: limits("borrowable")?,
        taken_at: number(entry, "sync_time")?,
    })
}

/// Ticks with their net liquidity, in ascending order. Recordings lack the gross liquidity, on which swaps do not depend;
/// the least that it can be is assumed.
fn ticks(entry: &Value) -> Result<Arc<[uniswap_v3::Tick]>, Reason> {
    let tick = |value: &Value| {
        let [index, net] = value.as_array()?.as_slice() else { return None };
        let (index, net) = (parse(index)?, parse::<i128>(net)?);
        uniswap_v3::Tick::new(index, net, net.unsigned_abs().max(1))
    };
    let read = |value| tick(value).ok_or_else(|| Reason::from("a tick out of range"));
    let mut ticks: Vec<_> = list(entry, "ticks")?.iter().map(read).collect::<Result<_, _>>()?;
    ticks.sort_by_key(|tick| tick.index);
    Ok(ticks.into())
}

/// The new state of a pool of the market; what an update does not mention stays.
fn changed(entry: &Value, known: &BTreeMap<Address, usize>, present: &mut [Pool]) -> Option<Pool> {
    // Wrapped ether stands before the pools of the file.
    let address: Address = parse(entry.get("address")?)?;
    let pool = present.get_mut(*known.get(&address)?)?;
    let mut next = pool.clone();
    match &mut next.state {
        PoolState::UniswapV2(state) => (state.reserve0, state.reserve1) = reserves(entry).ok()?,
        PoolState::UniswapV3(state) => {
            state.sqrt_price_x96 = number(entry, "sqrt_price_x96").ok()?;
            state.tick = number(entry, "tick").ok()?;
            state.liquidity = number(entry, "liquidity").ok()?;
            if entry.get("ticks").is_some() {
                state.ticks = ticks(entry).ok()?;
            }
        }
        PoolState::Erc4626(state) => {
            let erc4626::Conversion::Rate { one, .. } = &mut state.conversion else { return None };
            *one = number(entry, "shares_per_asset_unit").ok()?;
            state.max_deposit_assets = number(entry, "max_deposit").ok()?;
            state.max_redeem_shares = number(entry, "max_redeem").ok()?;
        }
        PoolState::FluidDexT1(dex::State::Snapshot(snapshot)) => {
            **snapshot = fluid_snapshot(entry, snapshot.addresses, snapshot.decimals).ok()?;
        }
        PoolState::WrappedEther
        | PoolState::Lido(_)
        | PoolState::Metamorpho(_)
        | PoolState::BalancerV2(_)
        | PoolState::BalancerV3(_)
        | PoolState::BalancerV3Buffer(_)
        | PoolState::FluidDexT1(_)
        | PoolState::FluidFToken(_)
        | PoolState::VaultV2(_)
        | PoolState::Curve(_) => return None,
    }
    check_state(&next).ok()?;
    *pool = next.clone();
    Some(next)
}
