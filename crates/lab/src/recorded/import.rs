//! Reads a recorded market.

use std::{collections::BTreeMap, sync::Arc};

use braid_market::{FileError, Market, Tokens};
use braid_primitives::{Address, B256, Block, PoolKey, Token, TokenId};
use braid_protocols::{Pool, Product, ReadProgress};
use serde::Deserialize;
use serde_json::Value;

use super::curve;
use super::json::{Reason, number, parse, text};
use super::kinds::{self, Kind};

/// The contents of a file.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The market. A recorded market in JSON contains at most its block's number, so hash and times are zero.
    pub market: Market,
    /// The number of skipped pools, by kind and reason.
    pub skipped: BTreeMap<String, usize>,
    /// The pools that changed in each block after the market's, if the file contains them.
    pub updates: Vec<Update>,
}

/// The pools that changed in one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The number of the block.
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

/// The gas limit of a recorded market's block: mainnet's.
const GAS_LIMIT: u64 = 60_000_000;

/// Reads a recorded market.
///
/// # Errors
/// [`FileError::Body`] when the text is not such a document. An unusable pool is skipped and does not cause an error.
pub fn import(bytes: &[u8]) -> Result<Imported, FileError> {
    let document: Document =
        serde_json::from_slice(bytes).map_err(|error| FileError::Body { why: error.to_string() })?;
    let mut tokens = Tokens::new();
    document.tokens.iter().filter_map(token).for_each(|token| {
        tokens.insert(token);
    });
    let mut skipped = BTreeMap::new();
    let mut pools: Vec<Pool> = wrapped_ether().into_iter().collect();
    let mut known: BTreeMap<PoolKey, usize> = BTreeMap::new();
    for entry in &document.pools {
        match pool(entry, &tokens) {
            Ok(pool) if known.contains_key(&pool.key) => skip(&mut skipped, entry, "listed twice"),
            Ok(pool) => {
                known.insert(pool.key, pools.len());
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

/// Returns the pool between ether and wrapped ether.
fn wrapped_ether() -> Option<Pool> {
    let product = Product::ALL.iter().copied().find(|product| product.wraps_ether())?;
    let found = product.fixed_pools().into_iter().next()?;
    let ReadProgress::Done(state) = product.reader(&found).start() else { return None };
    let coins = [Tokens::ETHER, Tokens::WETH].into_iter().collect();
    Some(Pool { key: found.key, product, coins, state })
}

fn pool(entry: &Value, tokens: &Tokens) -> Result<Pool, Reason> {
    let decimals = |address| tokens.id(address).and_then(|id| tokens.get(id)).map(|token| token.decimals);
    let (kind, product) = Kind::named(text(entry, "kind"), text(entry, "dex")).ok_or("kind not covered")?;
    let state = (kind.import)(entry, &decimals)?;
    let coins = curve::coins(entry)?;
    if coins.len() < 2 || coins.len() > kind.most_coins {
        return Err(format!("{} coins", coins.len()));
    }
    let id = |coin| parse(coin).and_then(|address: Address| tokens.id(address));
    let coins =
        coins.into_iter().map(|coin| id(coin).ok_or("a coin that is no listed token")).collect::<Result<_, _>>()?;
    let pool = Pool { key: number(entry, "address")?, product, coins, state };
    let repeated = |(position, coin): (usize, &TokenId)| pool.coins.iter().take(position).any(|other| other == coin);
    if pool.coins.iter().enumerate().any(repeated) {
        return Err("one coin twice".into());
    }
    check_state(&pool).map_err(|what| format!("impossible state, {what}"))?;
    Ok(pool)
}

/// Returns the new state of a pool of the market. Fields that an update does not contain keep their values.
fn changed(entry: &Value, known: &BTreeMap<PoolKey, usize>, present: &mut [Pool]) -> Option<Pool> {
    // The pool that wraps ether comes before the pools of the file.
    let key: PoolKey = parse(entry.get("address")?)?;
    let pool = present.get_mut(*known.get(&key)?)?;
    let mut next = pool.clone();
    kinds::update(&mut next.state, entry).ok()?;
    check_state(&next).ok()?;
    *pool = next.clone();
    Some(next)
}

/// Checks that a pool's state is possible.
fn check_state(pool: &Pool) -> Result<(), &'static str> {
    pool.product.validate(&pool.state, pool.coins.len())
}
