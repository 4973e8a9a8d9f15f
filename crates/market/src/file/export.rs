//! A market as a recorded market in JSON: the form that [`super::import_json`] reads, for scripts and other people's tools.

use std::collections::BTreeMap;

use braid_protocols::Pool;
use serde_json::{Value, json};

use crate::Market;

/// A market in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// `{block, gas_price_wei, tokens, pools}`; large integers are decimal strings.
    pub document: Value,
    /// Pools of kinds that the form has no room for, by product id.
    pub left_out: BTreeMap<&'static str, usize>,
}

/// Writes a market in the form of recorded markets. Wrapped ether is not listed: every reader adds it.
pub fn export_json(market: &Market) -> Exported {
    let tokens = market.tokens().iter().map(|(_, token)| {
        json!({
            "address": token.address.to_checksum(None),
            "symbol": token.symbol,
            "name": token.name,
            "decimals": token.decimals,
        })
    });
    let mut left_out = BTreeMap::new();
    let mut pools = Vec::with_capacity(market.pools().len());
    for pool in market.pools() {
        match entry(market, pool) {
            Some(entry) => pools.push(entry),
            None if pool.product.wraps_ether() => {}
            None => *left_out.entry(pool.product.id()).or_default() += 1,
        }
    }
    let block = market.block();
    let document = json!({
        "block": block.number,
        "gas_price_wei": block.base_fee_per_gas_wei,
        "tokens": tokens.collect::<Vec<_>>(),
        "pools": pools,
    });
    Exported { document, left_out }
}

fn entry(market: &Market, pool: &Pool) -> Option<Value> {
    let coins = pool.coins.iter().map(|coin| market.tokens().get(*coin).map(|token| token.address.to_checksum(None)));
    let coins = coins.collect::<Option<Vec<_>>>()?;
    let mut entry = pool.product.export(&pool.state)?;
    entry.insert("dex".into(), json!(pool.product.id()));
    entry.insert("address".into(), json!(pool.key));
    entry.insert("tokens".into(), json!(coins));
    Some(entry.into())
}
