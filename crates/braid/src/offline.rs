//! `braid market show` and `braid market save`: print a market, and write it to a file.

use std::path::{Path, PathBuf};

use braid_primitives::Token;
use braid_protocols::Product;
use braid_store::market::Snapshot;
use eyre::Result;

use crate::data::market_file;
use crate::exit::usage;
use crate::nodes::OneNode;
use crate::out;
use crate::rules::FloorArgs;
use crate::source::follow_once;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  braid market show now.market
  braid market show --data /var/lib/braid    (the market of a stopped server, with its pools in quarantine)")]
pub(crate) struct ShowArgs {
    /// Market file
    #[arg(value_name = "FILE", conflicts_with = "data")]
    file: Option<PathBuf>,
    /// The data directory to look at, whose server is stopped
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  braid market save --rpc-url http://127.0.0.1:8545 now.market
  braid market save --data /var/lib/braid last.market    (the market of a stopped server, without a node; for `--snapshot`)

On mainnet --rpc-url reads only the pools that this version lists, about 400; --data has all that were found.")]
pub(crate) struct SaveArgs {
    #[command(flatten)]
    node: OneNode,
    #[command(flatten)]
    floor: FloorArgs,
    /// The data directory to read from, whose server is stopped; then no node is asked
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// `braid market save`.
pub(crate) fn save(args: &SaveArgs) -> Result<()> {
    if let Some(dir) = &args.data {
        return save_snapshot(dir, &args.file);
    }
    let url = args.node.named()?.ok_or_else(|| usage("name a market: --rpc-url URL or --data DIR"))?;
    // canonical form: the same pools in the same states give the same bytes
    let market = follow_once(&url, args.floor)?.canonical();
    market.save(&args.file)?;
    let (pools, block) = (market.pools().len(), market.block().number);
    out::line(format_args!("{pools} pools at block {block} are in {}", args.file.display()))
}

/// Writes the market of a data directory with its search for pools, from which another service can start.
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

/// `braid market show`.
pub(crate) fn show(args: &ShowArgs) -> Result<()> {
    let market = match (&args.file, &args.data) {
        (Some(file), _) => market_file(file)?,
        (None, Some(dir)) => crate::data::stored_market(dir)?,
        (None, None) => return Err(usage("name a market: FILE or --data DIR")),
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

/// Prints the pools in quarantine.
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
