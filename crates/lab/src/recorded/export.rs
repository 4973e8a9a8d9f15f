//! Writes a market in the form that [`super::import`] reads, for scripts and for other people's tools.

use std::collections::BTreeMap;

use braid_market::Market;
use braid_protocols::{Pool, PoolState};
use serde_json::{Value, json};

/// A market in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// `{block, gas_price_wei, tokens, pools}`; large integers are decimal strings.
    pub document: Value,
    /// The number of pools that the form cannot represent, by product id.
    pub unsupported: BTreeMap<&'static str, usize>,
}

/// Writes a market in the form of recorded markets. Wrapped ether is not written, because every reader adds it.
pub fn export(market: &Market) -> Exported {
    let tokens = market.tokens().iter().map(|(_, token)| {
        json!({
            "address": token.address.to_checksum(None),
            "symbol": token.symbol,
            "name": token.name,
            "decimals": token.decimals,
        })
    });
    let mut unsupported = BTreeMap::new();
    let mut pools = Vec::with_capacity(market.pools().len());
    for pool in market.pools() {
        match entry(market, pool) {
            Some(entry) => pools.push(entry),
            None if pool.product.wraps_ether() => {}
            None => *unsupported.entry(pool.product.id()).or_default() += 1,
        }
    }
    let block = market.block();
    let document = json!({
        "block": block.number,
        "gas_price_wei": block.base_fee_per_gas_wei,
        "tokens": tokens.collect::<Vec<_>>(),
        "pools": pools,
    });
    Exported { document, unsupported }
}

fn entry(market: &Market, pool: &Pool) -> Option<Value> {
    let coins = pool.coins.iter().map(|coin| market.tokens().get(*coin).map(|token| token.address.to_checksum(None)));
    let coins = coins.collect::<Option<Vec<_>>>()?;
    let mut entry = state(&pool.state)?;
    entry["dex"] = json!(pool.product.id());
    entry["address"] = json!(pool.key);
    entry["tokens"] = json!(coins);
    Some(entry)
}

/// Returns the fields of a recorded pool other than its address and coins; `None` if the form cannot represent the
/// pool.
fn state(state: &PoolState) -> Option<Value> {
    match state {
        PoolState::UniswapV2(state) => Some(json!({
            "kind": "uniswap_v2",
            "reserves": [state.reserve0.to_string(), state.reserve1.to_string()],
            "fee_bps": state.fee_bps,
        })),
        PoolState::UniswapV3(state) => {
            let ticks = state.ticks.iter().map(|tick| json!([tick.index, tick.liquidity_net.to_string()]));
            Some(json!({
                "kind": "uniswap_v3",
                "fee_pips": state.fee_pips,
                "tick_spacing": state.tick_spacing,
                "sqrt_price_x96": state.sqrt_price_x96.to_string(),
                "tick": state.tick,
                "liquidity": state.liquidity.to_string(),
                "ticks": ticks.collect::<Vec<_>>(),
            }))
        }
        _ => None,
    }
}
