//! `braid-lab vectors`: recomputes recorded swaps and reports where the numbers differ.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use braid_lab::vectors::{Report, check};
use eyre::{Result, WrapErr as _};

use crate::out;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A file is one JSON object; integers are decimal strings, amounts are in atomic units (wei):

  {\"family\": \"uniswap_v2\", \"entries\": [{
     \"protocol\": \"uniswap_v2\", \"block\": 24721394, \"timestamp\": 1774283111,
     \"pool\":  {\"address\": \"0x…\", \"tokens\": [{\"address\": \"0x…\", \"decimals\": 18}, …], \"reserves\": [\"…\", \"…\"], \"fee_bps\": 30},
     \"swaps\": [{\"i\": 0, \"j\": 1, \"amount_in\": \"1000\", \"amount_out\": \"996\", \"kind\": \"exact_in\"}]}]}

What is in \"pool\" depends on the protocol: the words of state that its amounts follow from. \"pool.must_fail\" lists swaps that
the pool must refuse, \"pool.checks\" further views. Coins are positions (\"i\", \"j\") or addresses (\"token_in\", \"token_out\").

Every difference is printed with pool, row and wei; then the reasons of skips, and `N passed, N failed, N skipped`.
Exit code: 0 if nothing failed, 1 if a row differs, an entry is malformed or a file cannot be read.

Example: braid-lab vectors vectors/uniswap_v2.json vectors/curve_*.json")]
pub(crate) struct Args {
    /// Files of vectors
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Name every skipped row, not only the number for each reason
    #[arg(long)]
    list_skipped: bool,
}

/// Totals over all files.
#[derive(Default)]
struct Totals {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// The number of skipped rows for each reason.
    reasons: BTreeMap<String, usize>,
    /// The number of rows that are equal only when computed in another project's way, for each such way.
    explained: BTreeMap<&'static str, usize>,
    unread: usize,
}

/// Runs `braid-lab vectors`.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut totals = Totals::default();
    for file in &args.files {
        match recompute(file) {
            Ok(report) => {
                out::line(describe(file, &report, args.list_skipped).trim_end())?;
                totals.add(&report);
            }
            Err(error) => {
                eprintln!("braid-lab: {error:#}");
                totals.unread += 1;
            }
        }
    }
    if !totals.explained.is_empty() {
        out::line("passed as their source computes them, which is not quite what the contract does:")?;
    }
    for (reason, rows) in &totals.explained {
        out::line(format_args!("  {rows:>6}  {reason}"))?;
    }
    if !totals.reasons.is_empty() {
        out::line("skipped:")?;
    }
    for (reason, rows) in &totals.reasons {
        out::line(format_args!("  {rows:>6}  {reason}"))?;
    }
    if totals.unread > 0 {
        out::line(format_args!("{} of {} files could not be read", totals.unread, args.files.len()))?;
    }
    out::line(format_args!("{} passed, {} failed, {} skipped", totals.passed, totals.failed, totals.skipped))?;
    let failed = totals.failed > 0 || totals.unread > 0;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn recompute(file: &Path) -> Result<Report> {
    let text = std::fs::read_to_string(file).wrap_err_with(|| format!("cannot read {}", file.display()))?;
    check(&text).wrap_err_with(|| file.display().to_string())
}

/// Formats one line for the file, and one for every row that differs and every malformed entry.
fn describe(file: &Path, report: &Report, list_skipped: bool) -> String {
    let name = file.file_name().map_or_else(|| file.display().to_string(), |name| name.to_string_lossy().into_owned());
    let (passed, failed, skipped) = (report.passed, report.failures(), report.skipped.len());
    let mut text = format!(
        "{name}: {passed} passed ({} of them read from the chain), {failed} failed, {skipped} skipped\n",
        report.passed_on_chain
    );
    for entry in &report.malformed {
        let rows = entry.rows;
        let _ = writeln!(text, "  MALFORMED entry {}: {}: {} ({rows} rows)", entry.entry, entry.what, entry.why);
    }
    for row in &report.failed {
        let by = row.wei().map(|wei| format!(" ({wei} wei)")).unwrap_or_default();
        let _ = writeln!(text, "  FAILED {}: expected {}, got {}{by}", row.row, row.expected, row.got);
    }
    for (row, reason) in report.skipped.iter().filter(|_| list_skipped) {
        let _ = writeln!(text, "  skipped {row}: {reason}");
    }
    text
}

impl Totals {
    fn add(&mut self, report: &Report) {
        self.passed += report.passed;
        self.failed += report.failures();
        self.skipped += report.skipped.len();
        for (_, reason) in &report.explained {
            *self.explained.entry(reason).or_default() += 1;
        }
        for (row, reason) in &report.skipped {
            let reason = if reason.contains("Braid") { reason.clone() } else { format!("{}: {reason}", row.protocol) };
            *self.reasons.entry(reason).or_default() += 1;
        }
    }
}
