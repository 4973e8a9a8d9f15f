//! `braid-lab zoo`: runs the same requests on a market and on disturbed versions of it, and prints one line for each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_lab::recorded;
use braid_market::Market;
use braid_routing::Prepared;
use eyre::{Result, WrapErr};

use super::disturb::{Kind, disturbed};
use super::report::{COUNTED_BPS, at_percent};
use super::requests::{self, Asked};
use super::run::{self, BASELINES, Row, Settings};
use super::{Recordings, gas_price_wei, generate, report};
use crate::out;

/// The number of pools of the generated market.
const GENERATED_POOLS: usize = 2_000;
/// Recorded markets with their requests. Each serves as the other block of the other one.
const RECORDED: [(&str, &str); 2] =
    [("mainnet_24721394.json", "requests_24721394.json"), ("mainnet_24699608.json", "requests_24699608.json")];

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --market: the recorded markets where they are, and a generated one of 2,000 pools.

A line for each market, and one for drains of the undisturbed one: how many requests have a route; time and gap of the certificate; the
share of answers that have one; for how many a simpler router (single path, 5% grid, 20 and 100 chunks over shared pools) pays more by above
0.01 bps; and for how many a route, ours included, is worth more than its certificate allows. Drains, amounts of up to a thousand times the
liquidity, are also compared with 400 chunks.")]
pub(crate) struct ZooArgs {
    /// Market file: one that Braid wrote, or a recorded one in JSON
    #[arg(long, value_name = "FILE")]
    market: Option<PathBuf>,
    /// The same chain at another block, for stale pools
    #[arg(long, value_name = "FILE", requires = "market")]
    other: Option<PathBuf>,
    /// Requests in JSON; by default requests are generated for the market
    #[arg(long, value_name = "FILE", requires = "market")]
    requests: Option<PathBuf>,
    /// Disturb the market in this way only; may be given several times
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Vec<Kind>,
    /// Seed of the disturbances and of generated requests
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Maximum number of requests per market
    #[arg(long, value_name = "N", default_value_t = 500)]
    count: usize,
    /// Price of a unit of gas, in gwei; by default that of each request or of the market, or 1
    #[arg(long, value_name = "GWEI")]
    gas_gwei: Option<f64>,
    /// Write the results and the disturbed markets to this folder: two files per kind, one with a JSON object per line and
    /// request
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    recordings: Recordings,
}

/// A market with its requests.
struct Subject {
    title: String,
    market: Arc<Market>,
    other: Option<Market>,
    asked: Vec<Asked>,
}

/// Runs every market and prints its table.
pub(crate) fn zoo(args: &ZooArgs) -> Result<()> {
    out::line(report::machine())?;
    if let Some(file) = &args.market {
        return args.run(&args.subject(file, args.requests.as_deref(), args.other.as_deref())?);
    }
    for (at, (market, requests)) in RECORDED.iter().enumerate() {
        let path = |name: &str| args.recordings.market(name);
        let (market, requests, other) = (path(market), path(requests), path(RECORDED[1 - at].0));
        if market.exists() && requests.exists() && other.exists() {
            args.run(&args.subject(&market, Some(&requests), Some(&other))?)?;
        } else {
            out::line(format_args!("not there, skipped: {}", market.display()))?;
        }
    }
    let market = Arc::new(generate::market(GENERATED_POOLS, args.seed)?);
    let asked = requests::generated(&market, args.count, args.seed, requests::Kind::Usual);
    let title = format!("generated, {GENERATED_POOLS} pools");
    args.run(&Subject { title, market, other: None, asked })
}

impl ZooArgs {
    fn subject(&self, file: &Path, requests: Option<&Path>, other: Option<&Path>) -> Result<Subject> {
        let read = |file: &Path| {
            let imported = recorded::open(file).wrap_err_with(|| format!("cannot read {}", file.display()))?;
            Ok::<_, eyre::Report>(imported.market)
        };
        let market = Arc::new(read(file)?);
        let mut asked = match requests {
            Some(path) => requests::read(path, &market)?,
            None => requests::generated(&market, self.count, self.seed, requests::Kind::Usual),
        };
        asked.truncate(self.count);
        let title = file.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Subject { title, market, other: other.map(read).transpose()?, asked })
    }

    fn run(&self, subject: &Subject) -> Result<()> {
        let Subject { title, market, other, asked } = subject;
        out::line(format_args!(
            "\n{title}: {} pools, {} requests, seed {}\n{:<12}{:>6}{:>9}{:>9}{:>10}{:>10}{:>10}{:>10}{:>14}{:>8}",
            market.pools().len(),
            asked.len(),
            self.seed,
            "",
            "routes",
            "p50 µs",
            "p99 µs",
            "gap p50",
            "gap p95",
            "gap p99",
            "certified",
            "simpler pays",
            "beyond"
        ))?;
        self.line("undisturbed", market, asked, false)?;
        let drains = requests::generated(market, self.count, self.seed, requests::Kind::Drains);
        self.line("drains", market, &drains, true)?;
        let kinds = if self.kind.is_empty() { Kind::ALL.to_vec() } else { self.kind.clone() };
        for kind in kinds {
            if kind == Kind::Stale && other.is_none() {
                out::line("stale         skipped: it needs the same chain at another block (--other)")?;
                continue;
            }
            let market = Arc::new(disturbed(market, kind, self.seed, other.as_ref())?);
            self.line(kind.title(), &market, asked, false)?;
        }
        Ok(())
    }

    /// Solves all requests on a market and prints its line.
    fn line(&self, name: &str, market: &Arc<Market>, asked: &[Asked], many_chunks: bool) -> Result<()> {
        let prepared = Prepared::new(Arc::clone(market));
        let settings = Settings {
            max_hops: 4,
            max_steps: 40,
            gas_price_wei: gas_price_wei(self.gas_gwei, Some(market.block().base_fee_per_gas_wei)),
            same_gas_price: self.gas_gwei.is_some(),
            baselines: true,
            many_chunks,
            witness: false,
        };
        let rows: Vec<Row> = asked.iter().map(|one| run::run(&prepared, one, settings)).collect();
        if let Some(folder) = &self.out {
            report::write(&folder.join(format!("{name}.jsonl")), &rows)?;
            let file = folder.join(format!("{name}.market"));
            let context = || format!("cannot write {}", file.display());
            std::fs::write(&file, market.to_bytes().wrap_err_with(context)?).wrap_err_with(context)?;
        }
        out::line(Line::of(name, &rows))
    }
}

/// The results of a run.
struct Line<'a> {
    name: &'a str,
    routes: usize,
    times_us: Vec<f64>,
    gaps_bps: Vec<f64>,
    /// The number of answers worth less than a simpler router's, and the number for which a route, ours included, is
    /// worth more than the certificate allows.
    below: usize,
    beyond: usize,
    /// The losses of a split by 400 chunks, if it ran.
    many_chunks_losses_bps: Vec<f64>,
    /// Reasons for requests without an answer, with their counts.
    errors: Vec<(String, usize)>,
}

impl<'a> Line<'a> {
    fn of(name: &'a str, rows: &[Row]) -> Self {
        let mut line = Self {
            name,
            routes: 0,
            times_us: Vec::new(),
            gaps_bps: Vec::new(),
            below: 0,
            beyond: 0,
            many_chunks_losses_bps: rows
                .iter()
                .filter_map(|row| row.outcome.as_ref().ok()?.many_chunks_loss_bps)
                .collect(),
            errors: report::errors(rows),
        };
        for (row, answer) in rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().ok()?))) {
            line.routes += 1;
            line.times_us.push(row.solve_us);
            line.gaps_bps.extend(answer.gap_bps);
            debug_assert!(answer.losses_bps.len() == BASELINES.len());
            let least = answer.losses_bps.iter().flatten().copied().fold(0.0, f64::min);
            line.below += usize::from(least < -COUNTED_BPS);
            let is_beyond = |gap: f64| least < -(gap + 1e-6) || answer.is_exceeded;
            line.beyond += usize::from(answer.gap_bps.is_some_and(is_beyond));
        }
        line.times_us.sort_by(f64::total_cmp);
        line.gaps_bps.sort_by(f64::total_cmp);
        line
    }
}

impl std::fmt::Display for Line<'_> {
    #[allow(clippy::cast_precision_loss, reason = "counts of requests")]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let figure = |values: &[f64], percent, digits: usize| {
            at_percent(values, percent).map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
        };
        let certified = 100.0 * self.gaps_bps.len() as f64 / (self.routes as f64).max(1.0);
        write!(
            f,
            "{:<12}{:>6}{:>9}{:>9}{:>10}{:>10}{:>10}{:>9.1}%{:>14}{:>8}",
            self.name,
            self.routes,
            figure(&self.times_us, 50, 0),
            figure(&self.times_us, 99, 0),
            figure(&self.gaps_bps, 50, 4),
            figure(&self.gaps_bps, 95, 2),
            figure(&self.gaps_bps, 99, 2),
            certified,
            self.below,
            self.beyond
        )?;
        if let Some(least) = self.many_chunks_losses_bps.iter().copied().min_by(f64::total_cmp) {
            let more = self.many_chunks_losses_bps.iter().filter(|loss| **loss < -COUNTED_BPS).count();
            write!(f, "\n{:<14}400 chunks pay more: {more} of {}", "", self.many_chunks_losses_bps.len())?;
            if more > 0 {
                write!(f, " (by up to {:.2} bps)", -least)?;
            }
        }
        self.errors.iter().try_for_each(|(error, count)| write!(f, "\n{:<14}without a route: {count} ({error})", ""))
    }
}
