//! `braid bench`: what routes cost to find and how good they are, on recorded and generated markets.

mod generate;
mod report;
mod requests;
mod run;
mod witness;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crate::out;
use braid_market::Market;
use braid_routing::Prepared;
use eyre::{Result, WrapErr};

pub(crate) use generate::{GenerateArgs, generate, market as generated_market};
pub(crate) use report::machine;
use requests::Asked;
use run::{Row, Settings};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --market: generated markets of 200, 2,000, 10,000 and 50,000 pools, and the recorded ones in \
                        ../shared/markets where they are."
)]
pub(crate) struct BenchArgs {
    /// Market file: one that Braid wrote, or a recorded one in JSON
    #[arg(long, value_name = "FILE")]
    market: Option<PathBuf>,
    /// Requests in JSON, or a recorded market with orders; by default requests are generated for the market
    #[arg(long, value_name = "FILE", requires = "market")]
    requests: Option<PathBuf>,
    /// Longest chain of steps
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=8))]
    max_hops: u8,
    /// Most steps in a route
    #[arg(long, value_name = "N", default_value_t = 40)]
    max_steps: u16,
    /// What a unit of gas costs, in gwei; by default what each request or the market says, or 1
    #[arg(long, value_name = "GWEI")]
    gas_gwei: Option<f64>,
    /// How many requests are generated where none are given
    #[arg(long, value_name = "N", default_value_t = 500)]
    count: usize,
    /// Which requests are generated where none are given
    #[arg(long, value_enum, default_value_t = requests::Kind::Usual)]
    kind: requests::Kind,
    /// Seed of generated requests
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// One JSON object a line, one line a request
    #[arg(long, value_name = "FILE", requires = "market")]
    out: Option<PathBuf>,
    /// Dual prices of every certificate, one JSON object a line, for `scripts/bound.py`; slower, do not time with it
    #[arg(long, value_name = "FILE", requires = "market")]
    witness: Option<PathBuf>,
    /// Leave out the comparison with simpler routers
    #[arg(long)]
    no_baselines: bool,
}

/// Sizes of the generated markets.
const SIZES: [usize; 4] = [200, 2_000, 10_000, 50_000];
/// Recorded markets, and the requests that go with them.
const RECORDED: [(&str, &str); 2] =
    [("mainnet_24721394.json", "requests_24721394.json"), ("mainnet_2023_09.json", "mainnet_2023_09.json")];
const RECORDED_DIR: &str = "../shared/markets";

/// Runs the benchmarks and prints their tables.
pub(crate) fn bench(args: &BenchArgs) -> Result<()> {
    out::line(report::machine())?;
    if let Some(file) = &args.market {
        return bench_file(args, file, args.requests.as_deref());
    }
    for pools in SIZES {
        let market = Arc::new(generate::market(pools, 1)?);
        let asked = requests::generated(&market, args.count, args.seed, args.kind);
        measure(args, &format!("generated, {pools} pools"), &market, &asked, None)?;
    }
    let mut missing = Vec::new();
    for (market, requests) in RECORDED {
        let (market, requests) = (Path::new(RECORDED_DIR).join(market), Path::new(RECORDED_DIR).join(requests));
        if market.exists() && requests.exists() {
            bench_file(args, &market, Some(&requests))?;
        } else {
            missing.push(market.display().to_string());
        }
    }
    if !missing.is_empty() {
        out::line(format_args!("not there, left out: {}", missing.join(", ")))?;
    }
    Ok(())
}

fn bench_file(args: &BenchArgs, file: &Path, requests: Option<&Path>) -> Result<()> {
    let imported = braid_market::open(file).wrap_err_with(|| format!("cannot read {}", file.display()))?;
    for (kind, count) in &imported.skipped {
        out::line(format_args!("skipped {count} pools: {kind}"))?;
    }
    let market = Arc::new(imported.market);
    let asked = match requests {
        Some(path) => requests::read(path, &market)?,
        None => requests::generated(&market, args.count, args.seed, args.kind),
    };
    measure(args, &file.display().to_string(), &market, &asked, Some(market.block().base_fee_per_gas_wei))
}

fn measure(
    args: &BenchArgs,
    title: &str,
    market: &Arc<Market>,
    asked: &[Asked],
    file_gas_wei: Option<u64>,
) -> Result<()> {
    let started = Instant::now();
    let prepared = Prepared::new(Arc::clone(market));
    let cold = started.elapsed();
    let started = Instant::now();
    let prepared = prepared.next(Arc::clone(market));
    let warm = started.elapsed();
    let settings = Settings {
        max_hops: args.max_hops,
        max_steps: args.max_steps,
        gas_price_wei: gas_price_wei(args.gas_gwei, file_gas_wei),
        same_gas_price: args.gas_gwei.is_some(),
        baselines: !args.no_baselines,
        witness: args.witness.is_some(),
    };
    let rows: Vec<Row> = asked.iter().map(|one| run::run(&prepared, one, settings)).collect();
    report::table(title, market, &rows, (cold, warm), settings.gas_price_wei)?;
    if let Some(path) = &args.witness {
        report::write_witness(path, &rows)?;
    }
    match &args.out {
        Some(path) => report::write(path, &rows),
        None => Ok(()),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a gas price in wei, not below zero")]
fn gas_price_wei(asked_gwei: Option<f64>, of_file: Option<u64>) -> u64 {
    const ONE_GWEI: u64 = 1_000_000_000;
    let asked = asked_gwei.map(|gwei| (gwei.max(0.0) * 1e9).round() as u64);
    asked.or(of_file.filter(|wei| *wei > 0)).unwrap_or(ONE_GWEI)
}
