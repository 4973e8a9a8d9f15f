//! The market's source of offline commands: a node or a file.

use std::path::PathBuf;

use braid_ethereum::{Follower, Node};
use braid_market::Market;
use braid_primitives::{Address, NATIVE_ETHER, Token, TokenId};
use eyre::Result;

use crate::data::market_file;
use crate::exit::usage;
use crate::first_head::first_head;
use crate::nodes::OneNode;
use crate::rules::FloorArgs;
use crate::similar::{question, similar};
use crate::{address, out};

#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    #[command(flatten)]
    node: OneNode,
    #[command(flatten)]
    floor: FloorArgs,
    /// Read the market from this file, offline; then no node is asked, also where BRAID_RPC_URL names one
    #[arg(long, value_name = "FILE")]
    market: Option<PathBuf>,
}

impl Source {
    /// Returns the market.
    pub(crate) fn market(&self) -> Result<Market> {
        if let Some(file) = &self.market {
            return market_file(file);
        }
        let url = self.node.named()?.ok_or_else(|| usage("name a market: --rpc-url URL or --market FILE"))?;
        follow_once(&url, self.floor)
    }
}

/// Reads the market of a node's newest block.
pub(crate) fn follow_once(url: &str, floor: FloorArgs) -> Result<Market> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let node = Node::connect(url).await?;
        let mut follower = Follower::spawn(node, floor.follower());
        let head = first_head(&mut follower).await;
        follower.shutdown().await;
        Ok(head?.market.as_ref().clone())
    })
}

/// Finds a token by address, or by symbol: the one with the most pools if several have it.
pub(crate) fn find<'a>(market: &'a Market, name: &str) -> Result<(TokenId, &'a Token)> {
    let tokens = market.tokens();
    let with_token = |id: TokenId| Some((id, tokens.get(id)?));
    if address::is_meant(name) {
        let address = address::parse(name).map_err(usage)?;
        let address = if address.is_zero() { NATIVE_ETHER } else { address };
        return tokens.id(address).and_then(with_token).ok_or_else(|| usage(no_token_at(market, address)));
    }
    let same = tokens.iter().filter(|(_, token)| token.symbol.eq_ignore_ascii_case(name));
    let best = same.max_by_key(|(id, _)| (market.pools_of(*id).len(), std::cmp::Reverse(*id))).map(|(id, _)| id);
    let found = best.inspect(|id| say_others(market, *id, name)).and_then(with_token);
    found.ok_or_else(|| usage(no_token_named(market, name)))
}

fn no_token_at(market: &Market, address: Address) -> String {
    match market.pool_id(address).and_then(|id| market.pool(id)) {
        Some(pool) => {
            let coins = pool.coins.iter().filter_map(|coin| market.tokens().get(*coin));
            let coins: Vec<String> = coins.map(|coin| plain(&coin.symbol)).collect();
            let names = coins.join(" ");
            format!("{address} is a pool of {names}, not a token: `braid pools {names}` lists it")
        }
        None => format!("the market has no token {address}: no pool in it holds that token"),
    }
}

fn no_token_named(market: &Market, name: &str) -> String {
    let mut known: Vec<(usize, &str)> =
        market.tokens().iter().map(|(id, token)| (market.pools_of(id).len(), token.symbol.as_str())).collect();
    known.sort_by_key(|(pools, _)| std::cmp::Reverse(*pools));
    let meant = question(&similar(name, known.into_iter().map(|(_, symbol)| symbol)));
    format!("the market has no token {name:?}.{meant} `braid tokens` looks for tokens by a part of the name")
}

/// Prints a note on the token chosen for a symbol, if several have it.
fn say_others(market: &Market, taken: TokenId, name: &str) {
    let others = market.tokens().iter().filter(|(id, token)| *id != taken && token.symbol.eq_ignore_ascii_case(name));
    let others = others.count();
    if let Some(token) = market.tokens().get(taken).filter(|_| others > 0) {
        out::note(which(&plain(&token.symbol), token.address, others));
    }
}

/// Writes the note on the token chosen for a symbol that several have.
pub(crate) fn which(symbol: &str, taken: Address, others: usize) -> String {
    let tokens = if others == 1 { "another token has" } else { "other tokens have" };
    let count = if others == 1 { String::new() } else { format!("{others} ") };
    let address = taken.to_checksum(None);
    format!("{symbol} is {address} here; {count}{tokens} this symbol too: name it by its address")
}

/// Cleans an untrusted sentence (a contract's reason, a service's warning) for one line of a terminal.
pub(crate) fn plain_words(text: &str) -> String {
    braid_quoting::picture::clean(text, 1_000)
}

/// Cleans an untrusted token name for one line of a terminal, without control characters.
pub(crate) fn plain(text: &str) -> String {
    braid_quoting::picture::clean(text, 40)
}
