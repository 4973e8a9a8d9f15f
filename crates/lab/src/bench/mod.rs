//! `braid-lab bench`: measures the time to find routes and their quality, on recorded and generated markets.

mod blocks;
mod clock;
mod disturb;
mod generate;
mod plots;
mod report;
mod requests;
mod run;
mod svg;
mod witness;
mod zoo;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_lab::recorded;
use braid_market::Market;
use braid_routing::Prepared;
use eyre::{Result, WrapErr};

use crate::out;

pub(crate) use blocks::{CHANGED, rewritten};
pub(crate) use generate::{GenerateArgs, Random, generate, market as generated_market};
use report::PrepareTimes;
pub(crate) use report::machine;
use requests::{Asked, Kind};
use run::{Row, Settings};
pub(crate) use zoo::{ZooArgs, zoo};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --market: generated markets of 200, 2,000, 10,000 and 50,000 pools, and the recorded ones where they are."
)]
pub(crate) struct BenchArgs {
    /// Market file: one that Braid wrote, or a recorded one in JSON
    #[arg(long, value_name = "FILE")]
    market: Option<PathBuf>,
    /// Requests in JSON, or a recorded market with orders; by default requests are generated for the market
    #[arg(long, value_name = "FILE", requires = "market")]
    requests: Option<PathBuf>,
    /// Longest path, in steps
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=8))]
    max_hops: u8,
    /// Most steps in a route
    #[arg(long, value_name = "N", default_value_t = 40)]
    max_steps: u16,
    /// Price of a unit of gas, in gwei; by default that of each request or of the market, or 1
    #[arg(long, value_name = "GWEI")]
    gas_gwei: Option<f64>,
    /// Number of generated requests if none are given
    #[arg(long, value_name = "N", default_value_t = 500)]
    count: usize,
    /// Kind of generated requests if none are given
    #[arg(long, value_enum, default_value_t = Kind::Usual)]
    kind: Kind,
    /// Seed of generated requests
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Write the results to this file, one JSON object per line and request
    #[arg(long, value_name = "FILE", requires = "market")]
    out: Option<PathBuf>,
    /// Write the dual prices of every certificate to this file, one JSON object per line, for `scripts/bound.py`;
    /// slower, do not time with it
    #[arg(long, value_name = "FILE", requires = "market")]
    witness: Option<PathBuf>,
    /// Plot the distributions of gaps and times by trade size, and their growth with the market: SVG files in this
    /// folder
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
    /// Skip the comparison with simpler routers
    #[arg(long)]
    no_baselines: bool,
    #[command(flatten)]
    recordings: Recordings,
}

/// The location of recorded markets.
#[derive(Debug, clap::Args)]
pub(crate) struct Recordings {
    /// Folder of recordings; recorded markets are in its folder `markets`
    #[arg(long = "recordings", env = "BRAID_RECORDINGS", value_name = "FOLDER", default_value = "../shared")]
    folder: PathBuf,
}

impl Recordings {
    /// Returns the path of a recorded market. The file may not exist.
    pub(crate) fn market(&self, name: &str) -> PathBuf {
        self.folder.join("markets").join(name)
    }
}

/// Sizes of the generated markets.
const SIZES: [usize; 4] = [200, 2_000, 10_000, 50_000];
/// The size of the market for the measurement of baskets, and the number of baskets of each kind.
const BASKETS_AT: usize = 10_000;
const BASKETS: usize = 100;
/// Recorded markets and their requests.
const RECORDED: [(&str, &str); 2] =
    [("mainnet_24721394.json", "requests_24721394.json"), ("mainnet_2023_09.json", "mainnet_2023_09.json")];

/// Runs the benchmarks and prints their tables.
pub(crate) fn bench(args: &BenchArgs) -> Result<()> {
    out::line(report::machine())?;
    if let Some(file) = &args.market {
        return bench_file(args, file, args.requests.as_deref());
    }
    let mut grown = Vec::with_capacity(SIZES.len());
    for pools in SIZES {
        let market = Arc::new(generate::market(pools, 1)?);
        let asked = requests::generated(&market, args.count, args.seed, args.kind);
        let rows = measure(args, &format!("generated, {pools} pools"), &market, &asked, None)?;
        grown.push((pools, rows));
        for kind in [Kind::Baskets, Kind::DrainingBaskets].into_iter().filter(|_| pools == BASKETS_AT) {
            let asked = requests::generated(&market, args.count.min(BASKETS), args.seed, kind);
            measure(args, &format!("generated, {pools} pools, {}", kind.title()), &market, &asked, None)?;
        }
    }
    if let Some(folder) = &args.plots {
        plots::growth(folder, &grown)?;
    }
    let mut missing = Vec::new();
    for (market, requests) in RECORDED {
        let (market, requests) = (args.recordings.market(market), args.recordings.market(requests));
        if market.exists() && requests.exists() {
            bench_file(args, &market, Some(&requests))?;
        } else {
            missing.push(market.display().to_string());
        }
    }
    if !missing.is_empty() {
        out::line(format_args!("missing, skipped: {}", missing.join(", ")))?;
    }
    Ok(())
}

fn bench_file(args: &BenchArgs, file: &Path, requests: Option<&Path>) -> Result<()> {
    let imported = recorded::open(file).wrap_err_with(|| format!("cannot read {}", file.display()))?;
    for (kind, count) in &imported.skipped {
        out::line(format_args!("skipped {count} pools: {kind}"))?;
    }
    let market = Arc::new(imported.market);
    let asked = match requests {
        Some(path) => requests::read(path, &market)?,
        None => requests::generated(&market, args.count, args.seed, args.kind),
    };
    let name = file.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    measure(args, &name, &market, &asked, Some(market.block().base_fee_per_gas_wei)).map(drop)
}

fn measure(
    args: &BenchArgs,
    title: &str,
    market: &Arc<Market>,
    asked: &[Asked],
    file_gas_wei: Option<u64>,
) -> Result<Vec<Row>> {
    let started = clock::thread_time();
    let prepared = Prepared::new(Arc::clone(market));
    let cold = clock::thread_time().saturating_sub(started);
    let started = clock::thread_time();
    let prepared = prepared.next(Arc::clone(market));
    let unchanged = clock::thread_time().saturating_sub(started);
    let times = PrepareTimes { cold, unchanged, block: blocks::time(&prepared)? };
    let settings = Settings {
        max_hops: args.max_hops,
        max_steps: args.max_steps,
        gas_price_wei: gas_price_wei(args.gas_gwei, file_gas_wei),
        same_gas_price: args.gas_gwei.is_some(),
        baselines: !args.no_baselines,
        many_chunks: !args.no_baselines && args.kind == requests::Kind::Drains,
        witness: args.witness.is_some(),
    };
    let rows: Vec<Row> = asked.iter().map(|one| run::run(&prepared, one, settings)).collect();
    report::table(title, market, &rows, times, settings.gas_price_wei)?;
    if let Some(path) = &args.witness {
        report::write_witness(path, &rows)?;
    }
    if let Some(folder) = &args.plots {
        let name: Vec<&str> = title.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
        plots::distributions(folder, &name.join("-"), &rows)?;
    }
    if let Some(path) = &args.out {
        report::write(path, &rows)?;
    }
    Ok(rows)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a gas price in wei, not below zero")]
fn gas_price_wei(asked_gwei: Option<f64>, of_file: Option<u64>) -> u64 {
    const ONE_GWEI: u64 = 1_000_000_000;
    let asked = asked_gwei.map(|gwei| (gwei.max(0.0) * 1e9).round() as u64);
    asked.or(of_file.filter(|wei| *wei > 0)).unwrap_or(ONE_GWEI)
}
