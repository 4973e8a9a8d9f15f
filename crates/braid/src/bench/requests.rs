//! The requests of a run: from a file, or made up for a market.

use std::path::Path;

use crate::out;
use braid_market::Market;
use braid_primitives::{TokenId, U256};
use eyre::{Result, WrapErr, eyre};
use serde::Deserialize;
use serde_json::Value;

use super::generate::Random;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) id: String,
    pub(crate) input: TokenId,
    pub(crate) amount: U256,
    pub(crate) output: TokenId,
    /// What a unit of gas costs this request, where the file says.
    pub(crate) gas_price_wei: Option<u64>,
}

/// A trade as files write it: as a request, or as an order of a recorded market.
#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    id: Value,
    #[serde(alias = "sell_token")]
    token_in: String,
    #[serde(alias = "buy_token")]
    token_out: String,
    #[serde(alias = "sell_amount")]
    amount_in: String,
    #[serde(default)]
    gas_price_wei: Value,
}

/// Reads requests: a list, or an object with `requests` or `orders`. Those that name a token which the market does not know
/// are left out, with a word.
pub(crate) fn read(path: &Path, market: &Market) -> Result<Vec<Asked>> {
    let text = std::fs::read_to_string(path).wrap_err_with(|| format!("cannot read {}", path.display()))?;
    let mut value: Value = serde_json::from_str(&text).wrap_err_with(|| format!("{} is not JSON", path.display()))?;
    let list = match value {
        Value::Array(_) => value,
        Value::Object(ref mut object) => ["requests", "orders"]
            .iter()
            .find_map(|key| object.remove(*key))
            .ok_or_else(|| eyre!("{} has neither requests nor orders", path.display()))?,
        _ => return Err(eyre!("{} is neither a list nor an object", path.display())),
    };
    let entries: Vec<Entry> = serde_json::from_value(list).wrap_err_with(|| format!("in {}", path.display()))?;
    let count = entries.len();
    let asked: Vec<Asked> =
        entries.into_iter().enumerate().filter_map(|(at, entry)| asked(at, entry, market)).collect();
    if asked.len() < count {
        out::line(format_args!(
            "left out {} of {count} requests: an unknown token, or nothing to trade",
            count - asked.len()
        ))?;
    }
    Ok(asked)
}

fn asked(at: usize, entry: Entry, market: &Market) -> Option<Asked> {
    let token = |text: &str| market.tokens().id(text.parse().ok()?);
    let (input, output) = (token(&entry.token_in)?, token(&entry.token_out)?);
    let amount: U256 = entry.amount_in.parse().ok()?;
    let id = match entry.id {
        Value::String(id) => id,
        Value::Number(id) => id.to_string(),
        _ => at.to_string(),
    };
    let gas_price_wei = match entry.gas_price_wei {
        Value::String(wei) => wei.parse().ok(),
        Value::Number(wei) => wei.as_u64(),
        _ => None,
    };
    (input != output && !amount.is_zero()).then_some(Asked { id, input, amount, output, gas_price_wei })
}

/// Makes up requests: tokens by how many pools they have, values from 0.03 to 15,000 ether, evenly by magnitude.
pub(crate) fn generated(market: &Market, count: usize, seed: u64) -> Vec<Asked> {
    let prepared = braid_routing::Prepared::new(std::sync::Arc::new(market.clone()));
    let mut random = Random::new(seed ^ 0x5eed);
    let mut weighted: Vec<TokenId> = Vec::new();
    for (id, _) in market.tokens().iter().filter(|(id, _)| prepared.reference_price(*id).is_some()) {
        // Hubs come up often, but not in proportion: a third root.
        let pools = market.pools_of(id).len();
        let weight = (1..).take_while(|k| k * k * k <= pools * 8).count();
        weighted.extend(std::iter::repeat_n(id, weight));
    }
    let mut asked = Vec::with_capacity(count);
    while asked.len() < count && weighted.len() > 1 {
        let (input, output) = (random.pick(&weighted), random.pick(&weighted));
        let ether = 10_f64.powf(random.between(-1.5, 4.2));
        let Some(price_wei) = prepared.value_wei(input, U256::from(1)).filter(|_| input != output) else { continue };
        let amount = U256::try_from(ether * 1e18 / price_wei).unwrap_or_default();
        if !amount.is_zero() {
            asked.push(Asked { id: asked.len().to_string(), input, amount, output, gas_price_wei: None });
        }
    }
    asked
}
