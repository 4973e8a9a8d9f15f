//! The results of the benchmark: tables for people and lines of JSON for programs.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::out;
use braid_market::Market;
use braid_routing::{SolveError, Uncertified};
use eyre::{Result, WrapErr};
use serde_json::json;

use super::run::{Answer, BASELINES, Row};

/// Bands of trade size. Each ends at this value in ether and begins where the previous one ends, the first at 0.
pub(crate) const BANDS: [(&str, f64); 5] =
    [("< 0.3", 0.3), ("0.3 – 3", 3.0), ("3 – 30", 30.0), ("30 – 300", 300.0), ("> 300", f64::INFINITY)];

/// The smallest amount by which a simpler router's route must be worth more to be counted as better, in basis points. Plans
/// that could pay less than that more are not tried.
pub(crate) const COUNTED_BPS: f64 = 0.01;

/// Returns the machine's processor and number of cores.
pub(crate) fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{}, {cores} cores", model.map_or("unknown processor", |(_, name)| name.trim()))
}

/// Processor time of this thread for preparing a market.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrepareTimes {
    /// Without a previous market.
    pub(crate) cold: Duration,
    /// For a block without changes.
    pub(crate) unchanged: Duration,
    /// For a block in which this number of pools traded.
    pub(crate) block: Option<(Duration, usize)>,
}

/// Returns whether the value of an answer is in a band of trade sizes.
pub(crate) fn within(answer: &Answer, band: usize) -> bool {
    let bound = |at: usize| BANDS.get(at).map_or(f64::INFINITY, |(_, high)| *high);
    let low = band.checked_sub(1).map_or(0.0, bound);
    answer.gross_value_wei.is_some_and(|wei| wei / 1e18 >= low && wei / 1e18 < bound(band))
}

/// Prints the results of a run.
pub(crate) fn table(
    title: &str,
    market: &Market,
    rows: &[Row],
    prepare: PrepareTimes,
    gas_price_wei: u64,
) -> Result<()> {
    let solved: Vec<(&Row, &Answer)> = rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().ok()?))).collect();
    out::line(format_args!(
        "\n{title}: {} pools, {} tokens, {} requests, gas {} wei",
        market.pools().len(),
        market.tokens().len(),
        rows.len(),
        gas_price_wei
    ))?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let block = prepare.block.map(|(time, pools)| format!(", {:.1} ms where {pools} pools traded", ms(time)));
    out::line(format_args!(
        "prepared in {:.1} ms; the next block in {:.1} ms where nothing changed{}",
        ms(prepare.cold),
        ms(prepare.unchanged),
        block.unwrap_or_default()
    ))?;
    for (error, count) in errors(rows) {
        out::line(format_args!("without a route: {count} ({error})"))?;
    }
    out::line(format_args!("{:<22}{:>6}  {:>9} {:>9} {:>9} {:>9} {:>9}", "", "n", "p50", "p90", "p95", "p99", "max"))?;
    line("solve, µs", solved.iter().map(|(row, _)| row.solve_us).collect())?;
    line("the same again, µs", solved.iter().filter_map(|(row, _)| row.again_us).collect())?;
    line("pools visited", solved.iter().map(|(_, a)| f64::from(a.pools_visited)).collect())?;
    #[allow(clippy::cast_precision_loss, reason = "counts of steps")]
    line("steps", solved.iter().map(|(_, a)| a.steps as f64).collect())?;
    line("gap, bps", solved.iter().filter_map(|(_, a)| a.gap_bps).collect())?;
    for (why, count) in uncertified(&solved) {
        out::line(format_args!("no certificate: {count} ({why})"))?;
    }
    for (at, (name, _)) in BANDS.iter().enumerate() {
        let band: Vec<&(&Row, &Answer)> = solved.iter().filter(|(_, answer)| within(answer, at)).collect();
        line(&format!("gap, {name} ETH"), band.iter().filter_map(|(_, a)| a.gap_bps).collect())?;
        line(&format!("µs, {name} ETH"), band.iter().map(|(row, _)| row.solve_us).collect())?;
    }
    for (at, (baseline, _)) in BASELINES.iter().enumerate() {
        let losses: Vec<f64> = solved.iter().filter_map(|(_, a)| *a.losses_bps.get(at)?).collect();
        let beaten = |a: &Answer| {
            a.losses_bps.get(at).copied().flatten().is_some_and(|l| a.gap_bps.is_some_and(|gap| l < -(gap + 1e-6)))
        };
        let beyond = solved.iter().filter(|(_, a)| beaten(a)).count();
        let bare =
            |a: &Answer| a.gap_bps.is_none() && a.losses_bps.get(at).copied().flatten().is_some_and(|l| l < -1e-6);
        let bare = solved.iter().filter(|(_, a)| bare(a)).count();
        if !losses.is_empty() {
            let better = better_than_ours(&losses);
            line(&format!("– {baseline}"), losses)?;
            out::line(format_args!("    {better}, beyond the certificate: {beyond}, without a certificate: {bare}"))?;
        }
    }
    let losses: Vec<f64> = solved.iter().filter_map(|(_, a)| a.many_chunks_loss_bps).collect();
    if !losses.is_empty() {
        let better = better_than_ours(&losses);
        line("– 400 chunks", losses)?;
        out::line(format_args!("    {better}"))?;
    }
    Ok(())
}

/// Says on how many trades another route is worth more than ours, given how much less each is worth.
fn better_than_ours(losses_bps: &[f64]) -> String {
    let better_by = |least_bps: f64| losses_bps.iter().filter(|loss| **loss < -least_bps).count();
    let most_bps = losses_bps.iter().copied().fold(0.0, f64::min).abs();
    let (any, counted) = (better_by(1e-6), better_by(COUNTED_BPS));
    format!("better than ours: {any}, by over {COUNTED_BPS} bps: {counted} (at most {})", figure(most_bps))
}

/// Counts the answers without a certificate, by reason.
fn uncertified(solved: &[(&Row, &Answer)]) -> Vec<(String, usize)> {
    let why = |reason| match reason {
        Uncertified::NoReferencePrice => "no reference price".into(),
        Uncertified::NoBound => "not a number".into(),
    };
    counted(solved.iter().filter_map(|(_, answer)| answer.uncertified.map(why)))
}

/// Counts the requests without a route, by reason.
pub(crate) fn errors(rows: &[Row]) -> Vec<(String, usize)> {
    let why = |error: &SolveError| match error {
        SolveError::NoRoute(_) => "no route".to_owned(),
        other => other.to_string(),
    };
    counted(rows.iter().filter_map(|row| row.outcome.as_ref().err().map(why)))
}

/// Counts equal reasons, in the order of their first occurrence.
fn counted(reasons: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for reason in reasons {
        match counts.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((reason, 1)),
        }
    }
    counts
}

fn line(name: &str, mut values: Vec<f64>) -> Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    values.sort_by(f64::total_cmp);
    let mut text = format!("{name:<22}{:>6} ", values.len());
    for value in [50, 90, 95, 99, 100].into_iter().filter_map(|percent| at_percent(&values, percent)) {
        let _ = write!(text, " {:>9}", figure(value));
    }
    out::line(text)
}

/// Returns a percentile of values in ascending order; `None` if there are none.
pub(crate) fn at_percent(values: &[f64], percent: usize) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    values.get((last * percent).div_ceil(100)).copied()
}

fn figure(value: f64) -> String {
    match value.abs() {
        small if small < 10.0 => format!("{value:.4}"),
        middle if middle < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Writes one JSON object per line, one for each request.
pub(crate) fn write(path: &Path, rows: &[Row]) -> Result<()> {
    let value = |row: &Row| match &row.outcome {
        Ok(answer) => json!({
            "id": row.id,
            "amount_out": answer.amounts_out.first().map(ToString::to_string),
            "amounts_out": answer.amounts_out.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "gas_units": answer.gas_units,
            "net_value_wei": answer.net_value_wei.map(|wei| format!("{wei:.0}")),
            "upper_bound_value_wei": answer.upper_bound_value_wei.map(|wei| wei.to_string()),
            "gap_bps": answer.gap_bps,
            "is_exceeded": answer.is_exceeded,
            "losses_bps": answer.losses_bps,
            "uncertified": answer.uncertified.map(|reason| reason.to_string()),
            "steps": answer.steps,
            "solve_us": row.solve_us,
            "again_us": row.again_us,
            "pools_visited": answer.pools_visited,
            "gross_value_wei": answer.gross_value_wei.map(|wei| format!("{wei:.0}")),
        }),
        Err(error) => json!({ "id": row.id, "error": error.to_string(), "solve_us": row.solve_us }),
    };
    write_lines(path, rows.iter().map(value))
}

/// Writes the witness of every certificate, one per line.
pub(crate) fn write_witness(path: &Path, rows: &[Row]) -> Result<()> {
    write_lines(path, rows.iter().filter_map(|row| row.outcome.as_ref().ok()?.witness.as_ref()))
}

fn write_lines(path: &Path, lines: impl Iterator<Item = impl std::fmt::Display>) -> Result<()> {
    let context = || format!("cannot write {}", path.display());
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).wrap_err_with(context)?);
    for line in lines {
        writeln!(file, "{line}").wrap_err_with(context)?;
    }
    file.flush().wrap_err_with(context)
}
