//! `braid-lab bench-restart`: measures what it costs to keep a market on disk, and how fast it is restored after a
//! crash.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_market::Market;
use braid_primitives::{Address, PoolKey};
use braid_protocols::{Discovered, Pool};
use braid_routing::Prepared;
use braid_store::MarketStore;
use braid_store::market::{Change, Exclusion, ExclusionKind, Found, KnownPool, MARKET_FILE};
use eyre::{Result, eyre};

use crate::bench::{self, CHANGED};
use crate::{measures, out};

/// The number of blocks that are written.
const BLOCKS: u64 = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Pools of the generated market
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=200_000))]
    pools: u32,
    /// Pools that were discovered but are not in the market
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    left_out: u32,
    /// Folder for the databases, which are removed afterwards
    #[arg(long, value_name = "DIR", default_value = "target/bench-restart")]
    dir: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let (live, copy) = (args.dir.join("live"), args.dir.join("crashed"));
    for dir in [&live, &copy] {
        std::fs::create_dir_all(dir)?;
        let file = dir.join(MARKET_FILE);
        if file.exists() {
            std::fs::remove_file(file)?;
        }
    }
    let done = measure(args, &live, &copy);
    std::fs::remove_dir_all(&args.dir)?;
    done
}

fn measure(args: &Args, live: &std::path::Path, copy: &std::path::Path) -> Result<()> {
    let mut market = Arc::new(bench::generated_market(args.pools as usize, 1)?);
    let ticks = serde_json::to_vec(market.pools())?.len();
    let (store, _) = MarketStore::open(live)?;
    let first = Instant::now();
    store.record(change(&market, known(&market, args.left_out)));
    store.flush()?;
    out::line(format_args!(
        "{} pools ({} MB as text), {} known ones left out; first written in {:?}",
        market.pools().len(),
        ticks / 1_000_000,
        args.left_out,
        first.elapsed()
    ))?;
    let mut times = Vec::new();
    for _ in 0..BLOCKS {
        market = bench::rewritten(&market)?;
        let started = Instant::now();
        store.record(change(&market, BTreeMap::new()));
        let handed_over = started.elapsed();
        store.flush()?;
        times.push((started.elapsed(), handed_over));
    }
    times.sort_unstable();
    let (median, worst) = (times.get(times.len() / 2), times.last());
    let (Some(median), Some(worst)) = (median, worst) else { return Err(eyre!("nothing was written")) };
    out::line(format_args!(
        "a block that changes {CHANGED} pools: on disk after {:?} (median; worst {:?}), behind the hot path; handing it over takes {:?}",
        median.0, worst.0, worst.1
    ))?;
    // The file in the state in which a killed process leaves it: it is copied while it is open.
    std::fs::copy(live.join(MARKET_FILE), copy.join(MARKET_FILE))?;
    drop(store);
    drop(market);
    let before = resident_mb();
    let started = Instant::now();
    let (_store, found) = MarketStore::open(copy)?;
    let Found::Market(saved) = found else { return Err(eyre!("the copy cannot be read: {found:?}")) };
    let read = started.elapsed();
    let prepared = Prepared::new(Arc::clone(&saved.market));
    let ready = started.elapsed();
    report(read, ready, saved.known.len(), before)?;
    drop(prepared);
    Ok(())
}

fn report(read: Duration, ready: Duration, known: usize, before: Option<u64>) -> Result<()> {
    out::line(format_args!(
        "restart after a crash: read in {read:?}, ready to solve after {ready:?} ({known} known pools)"
    ))?;
    match (before, resident_mb()) {
        (Some(before), Some(after)) => {
            out::line(format_args!("memory: {after} MB resident, {before} MB of it before the market was read"))
        }
        _ => out::line("memory: this system does not tell"),
    }
}

fn change(market: &Arc<Market>, known: BTreeMap<PoolKey, Option<KnownPool>>) -> Change {
    Change {
        market: Arc::clone(market),
        read: Vec::new(),
        known,
        sources: Vec::new(),
        lists: Vec::new(),
        anchors: Vec::new(),
        rolled_back_to: None,
    }
}

fn known(market: &Market, left_out: u32) -> BTreeMap<PoolKey, Option<KnownPool>> {
    let record = |key: PoolKey, coins, excluded: Option<Exclusion>| {
        let pool =
            Discovered { key, product: braid_protocols::Product::UniswapV2, coins, fee_pips: 0, tick_spacing: 0 };
        (key, Some(KnownPool { pool, announced_at: 1, excluded, unproven: false }))
    };
    let coins =
        |pool: &Pool| pool.coins.iter().filter_map(|id| market.tokens().get(*id)).map(|token| token.address).collect();
    let held = market.pools().iter().map(|pool| record(pool.key, coins(pool), None));
    let floor =
        || Exclusion { kind: ExclusionKind::Floor, reason: "it holds less ether than the configured floor".to_owned() };
    let other = |index: u32| {
        let address = Address::left_padding_from(&(u64::from(index) << 20).to_be_bytes());
        record(address.into(), vec![address, Address::ZERO], Some(floor()))
    };
    held.chain((1..=left_out).map(other)).collect()
}

/// Reads the resident memory of this process, in MiB; `None` if the system does not report it.
fn resident_mb() -> Option<u64> {
    measures::resident_kib("self").map(|kib| kib / 1_024)
}
