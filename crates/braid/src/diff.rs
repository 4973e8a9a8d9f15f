//! `braid market diff`: lists the differences of two market files by pool and field.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use braid_market::Market;
use braid_primitives::PoolKey;
use braid_protocols::Pool;
use eyre::Result;
use serde_json::{Value, json};

use crate::data::market_file;
use crate::out;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: braid market diff yesterday.market today.market")]
pub(crate) struct Args {
    /// The older market file
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The newer market file
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Print at most this many differing pools. By default all
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    limit: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let (old, new) = (market_file(&args.old)?, market_file(&args.new)?);
    for (sign, market) in [("-", &old), ("+", &new)] {
        let block = market.block();
        out::line(format_args!("{sign} block {} {}, {} pools", block.number, block.hash, market.pools().len()))?;
    }
    let differences = differences(&old, &new);
    for (pool, difference) in differences.iter().take(args.limit) {
        match difference {
            Difference::Gone(name) => out::line(format_args!("- {pool} {name}"))?,
            Difference::New(name) => out::line(format_args!("+ {pool} {name}"))?,
            Difference::Changed(name, words) => {
                out::line(format_args!("~ {pool} {name}"))?;
                for (field, before, after) in words {
                    out::line(format_args!("    {field}: {before} → {after}"))?;
                }
            }
        }
    }
    let same =
        new.pools().len().saturating_sub(differences.values().filter(|d| !matches!(d, Difference::Gone(_))).count());
    out::line(format_args!("{} pools differ, {same} are the same", differences.len()))
}

enum Difference {
    Gone(&'static str),
    New(&'static str),
    /// Field, before, after.
    Changed(&'static str, Vec<(String, String, String)>),
}

fn differences(old: &Market, new: &Market) -> BTreeMap<PoolKey, Difference> {
    let pool = |market: &Market, key: PoolKey| {
        let found = market.pool_id(key).and_then(|id| market.pool(id));
        found.map(|pool| (pool.product.name(), words(market, pool)))
    };
    let keys: BTreeSet<PoolKey> = old.pools().iter().chain(new.pools()).map(|pool| pool.key).collect();
    let difference = |key| match (pool(old, key), pool(new, key)) {
        (Some((name, _)), None) => Some(Difference::Gone(name)),
        (None, Some((name, _))) => Some(Difference::New(name)),
        (Some((_, before)), Some((name, after))) if before != after => {
            let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let shown =
                |words: &BTreeMap<String, String>, key| words.get(key).cloned().unwrap_or_else(|| "none".into());
            let changed = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
            Some(Difference::Changed(
                name,
                changed.map(|key| (key.clone(), shown(&before, key), shown(&after, key))).collect(),
            ))
        }
        _ => None,
    };
    keys.into_iter().filter_map(|key| Some((key, difference(key)?))).collect()
}

/// Returns a pool's fields by name: those of its state, and its coins by address, since ids differ between files.
fn words(market: &Market, pool: &Pool) -> BTreeMap<String, String> {
    let coins = pool.coins.iter().filter_map(|coin| market.tokens().get(*coin)).map(|token| json!(token.address));
    let mut words = BTreeMap::new();
    flatten("coins", &Value::Array(coins.collect()), &mut words);
    let state = serde_json::to_value(&pool.state).unwrap_or_default();
    // The outer name is that of the protocol, which is printed anyway.
    match state.as_object().and_then(|object| object.values().next()) {
        Some(inner) => flatten("", inner, &mut words),
        None => flatten("state", &state, &mut words),
    }
    words
}

fn flatten(path: &str, value: &Value, words: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| flatten(&below(key), value, words)),
        // name a record that begins with a number by it (a tick by its index), so that an added record does not shift the
        // names of others
        Value::Array(items) if items.iter().all(is_record) => {
            for item in items {
                let key = item.get(0).map(Value::to_string).unwrap_or_default();
                words.insert(below(&key), item.to_string());
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| flatten(&below(&at.to_string()), item, words));
        }
        Value::String(text) => drop(words.insert(path.to_owned(), text.clone())),
        other => drop(words.insert(path.to_owned(), other.to_string())),
    }
}

fn is_record(item: &Value) -> bool {
    item.as_array().is_some_and(|fields| fields.len() > 1 && fields.first().is_some_and(Value::is_number))
}
