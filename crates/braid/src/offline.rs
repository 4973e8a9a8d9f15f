//! `braid quote` and `braid market show`: a market from a file or a node, looked at by a person.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_ethereum::{Follower, FollowerConfig, Node};
use braid_market::Market;
use braid_primitives::{PoolId, Token, TokenId, U256};
use braid_protocols::Product;
use braid_routing::{PoolFilter, Prepared, Request, Solution, solve};
use braid_store::market::Snapshot;
use eyre::{Result, eyre};

use crate::out;
use crate::units::{format_units, parse_units};

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: braid quote --rpc-url http://127.0.0.1:8545 --sell USDC:1000 --buy WETH")]
pub(crate) struct QuoteArgs {
    /// What to sell: symbol or address, and how many whole tokens
    #[arg(long, value_name = "TOKEN:AMOUNT")]
    sell: String,
    /// What to buy: symbol or address
    #[arg(long, value_name = "TOKEN")]
    buy: String,
    #[command(flatten)]
    source: Source,
    /// Longest chain of steps
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=8))]
    max_hops: u8,
    /// What a unit of gas costs, in gwei. By default the next block's base fee
    #[arg(long, value_name = "GWEI")]
    gas_price_gwei: Option<u64>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// Read the market from this node
    #[arg(long, env = "BRAID_RPC_URL", value_name = "URL", hide_env_values = true)]
    rpc_url: Option<String>,
    /// Read the market from this file, offline
    #[arg(long, value_name = "FILE")]
    market: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  braid market show now.market
  braid market show --data /var/lib/braid    (what a stopped server had, with the pools that its self-audit set aside)")]
pub(crate) struct ShowArgs {
    /// Market file
    #[arg(value_name = "FILE", required_unless_present = "data", conflicts_with = "data")]
    file: Option<PathBuf>,
    /// The data directory to look at, whose server is stopped
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  braid market save --rpc-url http://127.0.0.1:8545 now.market
  braid market save --data /var/lib/braid last.market    (what a stopped server had, without a node; `--snapshot` begins with it)")]
pub(crate) struct SaveArgs {
    /// The node to read from
    #[arg(long, env = "BRAID_RPC_URL", value_name = "URL", hide_env_values = true, conflicts_with = "data")]
    rpc_url: Option<String>,
    /// The data directory to read from, whose server is stopped
    #[arg(long, value_name = "DIR", required_unless_present = "rpc_url")]
    data: Option<PathBuf>,
    /// The file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// `braid market save`.
pub(crate) fn save(args: &SaveArgs) -> Result<()> {
    let market = match (&args.data, &args.rpc_url) {
        (Some(dir), _) => return save_snapshot(dir, &args.file),
        (None, Some(url)) => follow_once(url)?,
        (None, None) => return Err(eyre!("name a market: --rpc-url URL or --data DIR")),
    };
    // In canonical form, so that the same pools in the same states are the same bytes.
    let market = market.canonical();
    market.save(&args.file)?;
    let (pools, block) = (market.pools().len(), market.block().number);
    out::line(format_args!("{pools} pools at block {block} are in {}", args.file.display()))
}

/// Writes the market of a data directory with the search for pools: a start elsewhere goes on from it.
fn save_snapshot(dir: &Path, file: &Path) -> Result<()> {
    let snapshot = Snapshot::save(crate::data::stored(dir)?, file)?;
    let (pools, block, known) = (snapshot.pools, snapshot.block.number, snapshot.search.known.len());
    let (searched_to, name) = (snapshot.searched_to(), file.display());
    out::line(format_args!("{pools} pools at block {block} and {known} announced ones are in {name}"))?;
    out::line(format_args!("searched to block {searched_to}, sha256 {}", snapshot.digest))?;
    if searched_to < block {
        out::line(format_args!(
            "the search is not done: `braid sync` ends it, and a start from this file goes on with it"
        ))?;
    }
    Ok(())
}

/// `braid quote`.
pub(crate) fn quote(args: &QuoteArgs) -> Result<()> {
    let market = Arc::new(match (&args.source.market, &args.source.rpc_url) {
        (Some(file), _) => Market::load(file)?,
        (None, Some(url)) => follow_once(url)?,
        (None, None) => return Err(eyre!("name a market: --rpc-url URL or --market FILE")),
    });
    let (name, amount) =
        args.sell.split_once(':').ok_or_else(|| eyre!("--sell is TOKEN:AMOUNT, for instance USDC:1000"))?;
    let (sell, sold) = find(&market, name)?;
    let (buy, bought) = find(&market, &args.buy)?;
    if sell == buy {
        return Err(eyre!("{} is sold and bought at once", sold.symbol));
    }
    let amount = parse_units(amount, sold.decimals).filter(|amount| !amount.is_zero()).ok_or_else(|| {
        eyre!("{amount:?} is no amount of {}: a decimal number with at most {} places", sold.symbol, sold.decimals)
    })?;
    let gas_price_wei = args
        .gas_price_gwei
        .map_or_else(|| market.block().next_base_fee_per_gas_wei(), |gwei| gwei.saturating_mul(1_000_000_000));
    let request = Request {
        inputs: vec![(sell, amount)],
        outputs: vec![(buy, 10_000)],
        max_hops: args.max_hops,
        filter: proven(&market),
        gas_price_wei,
        max_steps: 64,
        at: market.block().next(),
    };
    let prepared = Prepared::new(Arc::clone(&market));
    let solution = solve(&prepared, &request).map_err(|error| eyre!("no quote: {error}"))?;
    print_quote(&market, (sold, amount), bought, &solution)
}

/// Leaves out pools of which only their own answers told what they are: nothing checks them here.
fn proven(market: &Market) -> PoolFilter {
    let mut filter = PoolFilter::default();
    for (id, pool) in (0..).map(PoolId).zip(market.pools()) {
        if pool.product.guessed_as(pool).is_some() {
            filter.exclude_pool(id);
        }
    }
    filter
}

/// `braid market show`.
pub(crate) fn show(args: &ShowArgs) -> Result<()> {
    let market = match (&args.file, &args.data) {
        (Some(file), _) => Market::load(file)?,
        (None, Some(dir)) => crate::data::stored_market(dir)?,
        (None, None) => return Err(eyre!("name a market: FILE or --data DIR")),
    };
    let block = market.block();
    out::line(format_args!("block {} {}, timestamp {}", block.number, block.hash, block.timestamp))?;
    out::line(format_args!("{} pools, {} tokens", market.pools().len(), market.tokens().len()))?;
    for product in Product::ALL {
        let pools = market.pools().iter().filter(|pool| pool.product == *product).count();
        out::line(format_args!("  {:<20} {pools}", product.name()))?;
    }
    let mut ranked: Vec<(usize, &Token)> =
        market.tokens().iter().map(|(id, token)| (market.pools_of(id).len(), token)).collect();
    ranked.sort_by_key(|(pools, token)| (std::cmp::Reverse(*pools), token.address));
    out::line(format_args!("tokens with the most pools:"))?;
    for (pools, token) in ranked.iter().take(15) {
        out::line(format_args!("  {:<12} {pools:>6}  {}", token.symbol, token.address.to_checksum(None)))?;
    }
    args.data.as_deref().map_or(Ok(()), show_quarantine)
}

/// The pools that the self-audit set aside.
fn show_quarantine(dir: &Path) -> Result<()> {
    let pools = braid_store::quarantine::load(dir).map_err(crate::data::cannot_store)?;
    out::line(format_args!("pools in quarantine: {}", pools.len()))?;
    for pool in pools {
        out::line(format_args!("  {}  since block {}: {}", pool.pool, pool.since_block, pool.why))?;
        if let Some(fault) = pool.token {
            out::line(format_args!("    token {} {}", fault.token.to_checksum(None), fault.does))?;
        }
    }
    Ok(())
}

fn follow_once(url: &str) -> Result<Market> {
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

/// A token by address, or by symbol: the one with the most pools where several share it.
fn find<'a>(market: &'a Market, name: &str) -> Result<(TokenId, &'a Token)> {
    let tokens = market.tokens();
    let by_address = name.parse().ok().and_then(|address| tokens.id(address));
    let by_symbol = || {
        let same = tokens.iter().filter(|(_, token)| token.symbol.eq_ignore_ascii_case(name));
        same.max_by_key(|(id, _)| (market.pools_of(*id).len(), std::cmp::Reverse(*id))).map(|(id, _)| id)
    };
    let found = by_address.or_else(by_symbol).and_then(|id| Some((id, tokens.get(id)?)));
    found.ok_or_else(|| eyre!("the market has no token {name:?}"))
}

fn print_quote(market: &Market, sold: (&Token, U256), bought: &Token, solution: &Solution) -> Result<()> {
    let route = &solution.route;
    let shown = |token: &Token, amount| format!("{} {}", format_units(amount, token.decimals), token.symbol);
    let received = route.amounts_out.first().copied().unwrap_or_default();
    out::line(format_args!("{}  →  {}", shown(sold.0, sold.1), shown(bought, received)))?;
    out::line(format_args!(
        "block {}, {} gas units in {} steps",
        market.block().number,
        route.gas_units(),
        route.steps.len()
    ))?;
    if let Ok(certificate) = &solution.certificate {
        let covered = certificate.pools_covered;
        out::line(format_args!("at most {:.4} bps below the best that {covered} pools allow", certificate.gap_bps))?;
    }
    for (index, step) in route.steps.iter().enumerate() {
        let tokens = market.tokens();
        let (Some(pool), Some(from), Some(to)) =
            (market.pool(step.pool), tokens.get(step.token_in), tokens.get(step.token_out))
        else {
            continue;
        };
        let (name, key) = (pool.product.name(), pool.key);
        out::line(format_args!(
            "  s{:<3} {:>28}  →  {:<28} {name} {key}",
            index + 1,
            shown(from, step.amount_in),
            shown(to, step.amount_out)
        ))?;
    }
    Ok(())
}
