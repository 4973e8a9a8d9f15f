//! The market's source of offline commands: a node or a file.

use std::path::PathBuf;

use braid_ethereum::{Follower, FollowerConfig, Node};
use braid_market::Market;
use braid_primitives::{Address, Token, TokenId};
use eyre::{Result, eyre};

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Source {
    /// Read the market from this node
    #[arg(long, env = "BRAID_RPC_URL", value_name = "URL", hide_env_values = true)]
    rpc_url: Option<String>,
    /// Read the market from this file, offline
    #[arg(long, value_name = "FILE")]
    market: Option<PathBuf>,
}

impl Source {
    /// Returns the market.
    pub(crate) fn market(&self) -> Result<Market> {
        match (&self.market, &self.rpc_url) {
            (Some(file), _) => Ok(Market::load(file)?),
            (None, Some(url)) => follow_once(url),
            (None, None) => Err(eyre!("name a market: --rpc-url URL or --market FILE")),
        }
    }
}

/// Reads the market of a node's newest block.
pub(crate) fn follow_once(url: &str) -> Result<Market> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let node = Node::connect(url).await?;
        let mut follower = Follower::spawn(node, FollowerConfig::default());
        let head = follower.heads.wait_for(Option::is_some).await.map_err(|_| eyre!("the follower ended"))?.clone();
        follower.shutdown().await;
        let head = head.ok_or_else(|| eyre!("the follower gave no market"))?;
        Ok(head.market.as_ref().clone())
    })
}

/// Finds a token by address, or by symbol: the one with the most pools if several have it.
pub(crate) fn find<'a>(market: &'a Market, name: &str) -> Result<(TokenId, &'a Token)> {
    let tokens = market.tokens();
    let by_address = name.parse().ok().and_then(|address| tokens.id(address));
    let by_symbol = || {
        let same = tokens.iter().filter(|(_, token)| token.symbol.eq_ignore_ascii_case(name));
        same.max_by_key(|(id, _)| (market.pools_of(*id).len(), std::cmp::Reverse(*id))).map(|(id, _)| id)
    };
    let found = by_address
        .or_else(|| by_symbol().inspect(|id| say_others(market, *id, name)))
        .and_then(|id| Some((id, tokens.get(id)?)));
    found.ok_or_else(|| eyre!("the market has no token {name:?}"))
}

/// Returns a note on the token chosen for a symbol, if several have it.
fn say_others(market: &Market, taken: TokenId, name: &str) {
    let others = market.tokens().iter().filter(|(id, token)| *id != taken && token.symbol.eq_ignore_ascii_case(name));
    let others = others.count();
    if let Some(token) = market.tokens().get(taken).filter(|_| others > 0) {
        eprintln!("{}", which(&plain(&token.symbol), token.address, others));
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
