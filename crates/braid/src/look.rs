//! `braid tokens`, `braid pools` and `braid prices`: print a market's content as text or JSON.

use std::sync::Arc;

use braid_market::Market;
use braid_primitives::{Token, TokenId};
use braid_protocols::Pool;
use braid_quoting::directory::Directory;
use braid_quoting::prices::{dollars_per_ether, ether_per_token, price_in_dollars};
use braid_routing::Prepared;
use eyre::Result;
use serde_json::{Value, json};

use crate::out;
use crate::source::{Source, find, plain};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: braid tokens --market now.market usd\n\nOn mainnet --rpc-url reads only the pools that this version lists, about 400."
)]
pub(crate) struct TokensArgs {
    /// Part of a symbol or name, or an address
    #[arg(value_name = "TEXT", default_value = "")]
    search: String,
    /// Maximum number of tokens to list
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    source: Source,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Arguments of `braid pools` and `braid prices`.
#[derive(Debug, clap::Args)]
pub(crate) struct NamedArgs {
    /// Tokens, by symbol or address
    #[arg(value_name = "TOKEN", required = true)]
    tokens: Vec<String>,
    #[command(flatten)]
    source: Source,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `braid tokens`.
pub(crate) fn tokens(args: &TokensArgs) -> Result<()> {
    let market = Arc::new(args.source.market()?);
    let directory = Directory::new(&Prepared::new(Arc::clone(&market)));
    let found = directory.search(market.tokens(), &args.search, &[]);
    let rows = found.iter().take(args.limit);
    if args.json {
        let rows = rows.map(|(entry, token)| {
            let mut row = named(token);
            row["pool_count"] = json!(entry.pool_count);
            row["tags"] = json!(entry.tags(token.address));
            row
        });
        return print_json(&rows.collect::<Vec<_>>());
    }
    if found.is_empty() {
        out::note(format_args!("no token has {:?} in its symbol or name, or is at that address", args.search));
    }
    for (entry, token) in rows {
        let (symbol, name, address) = (plain(&token.symbol), plain(&token.name), token.address.to_checksum(None));
        let pools = if entry.pool_count == 1 { "pool " } else { "pools" };
        out::line(format_args!("{symbol:<12} {:>5} {pools}  {address}  {name}", entry.pool_count))?;
    }
    let more = found.len().saturating_sub(args.limit);
    if more > 0 { out::line(format_args!("and {more} more: --limit lists them")) } else { Ok(()) }
}

/// `braid pools`.
pub(crate) fn pools(args: &NamedArgs) -> Result<()> {
    let market = args.source.market()?;
    let asked = args.tokens.iter().map(|name| Ok(find(&market, name)?.0)).collect::<Result<Vec<TokenId>>>()?;
    let has_all = |pool: &&Arc<Pool>| asked.iter().all(|token| pool.coins.contains(token));
    let found: Vec<&Arc<Pool>> = market.pools().iter().filter(has_all).collect();
    if args.json {
        let row = |pool: &&Arc<Pool>| {
            let coins: Vec<Value> = coins(&market, pool).map(named).collect();
            json!({"protocol": pool.product.id(), "pool": pool.key.to_string(), "fee_bps": fee_bps(pool), "tokens": coins})
        };
        return print_json(&found.iter().map(row).collect::<Vec<_>>());
    }
    for pool in &found {
        let coins: Vec<String> = coins(&market, pool).map(|token| plain(&token.symbol)).collect();
        let fee = fee_bps(pool).map_or_else(|| "–".into(), |bps| format!("{bps} bps"));
        out::line(format_args!("{:<24} {fee:>9}  {}  {}", pool.product.name(), coins.join("/"), pool.key))?;
    }
    out::line(format_args!("{} pools at block {}", found.len(), market.block().number))
}

/// `braid prices`.
pub(crate) fn prices(args: &NamedArgs) -> Result<()> {
    let market = Arc::new(args.source.market()?);
    let prepared = Prepared::new(Arc::clone(&market));
    let dollars = dollars_per_ether(&prepared);
    let mut rows = Vec::new();
    for name in &args.tokens {
        let (id, token) = find(&market, name)?;
        let ether = ether_per_token(&prepared, id);
        let usd = ether.zip(dollars).map(|(ether, rate)| price_in_dollars(ether * rate));
        rows.push((token, ether, usd));
    }
    if args.json {
        let row = |(token, ether, usd): &(&Token, Option<f64>, Option<f64>)| {
            let mut row = named(token);
            row["price_eth"] = json!(ether.map(|price| price.to_string()));
            row["price_usd"] = json!(usd);
            row
        };
        return print_json(&rows.iter().map(row).collect::<Vec<_>>());
    }
    for (token, ether, usd) in rows {
        let ether = ether.map_or_else(|| "no price".into(), |price| format!("{} ETH", for_people(price)));
        let usd = usd.map_or_else(String::new, |price| format!("  ${price}"));
        out::line(format_args!("{:<12} {ether}{usd}", plain(&token.symbol)))?;
    }
    out::line(format_args!("block {}", market.block().number))
}

/// Rounds a price to eight significant digits, for people.
fn for_people(price: f64) -> f64 {
    format!("{price:.7e}").parse().unwrap_or(price)
}

fn coins<'a>(market: &'a Market, pool: &'a Pool) -> impl Iterator<Item = &'a Token> {
    pool.coins.iter().filter_map(|id| market.tokens().get(*id))
}

fn fee_bps(pool: &Pool) -> Option<f64> {
    pool.fee_pips().map(|pips| f64::from(pips) / 100.0)
}

fn named(token: &Token) -> Value {
    json!({"address": token.address.to_checksum(None), "symbol": token.symbol, "name": token.name, "decimals": token.decimals})
}

fn print_json(rows: &[Value]) -> Result<()> {
    out::line(serde_json::to_string_pretty(rows)?)
}

#[cfg(test)]
mod tests {
    use super::for_people;

    #[test]
    fn a_price_is_rounded_to_eight_digits() {
        for (price, text) in
            [(0.000_333_279_439_490_098_8, "0.00033327944"), (30.000_778_565_732_88, "30.000779"), (1.0, "1")]
        {
            assert_eq!(for_people(price).to_string(), text);
        }
    }
}
