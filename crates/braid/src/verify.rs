//! `braid verify`: recomputes a receipt, and reports differences.

use std::path::PathBuf;

use braid_market::Market;
use braid_quoting::receipt::{Finding, Verdict, verify};
use eyre::{Result, eyre};
use serde_json::json;

use crate::exit::{Exit, Failed};
use crate::out;

/// Longest receipt that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  curl -s localhost:8080/v1/quote/$ID/receipt -H 'x-api-key: KEY' > receipt.json
  curl -s localhost:8080/v1/quote/$ID/market -H 'x-api-key: KEY' > quote.market
  braid verify receipt.json                          (amounts, costs, order and program, from the pools in the receipt)
  braid verify receipt.json --market quote.market    (also the choice of the route and the certificate, from the whole market)

Nothing is asked of a node or a service. Ends with 0 where nothing differs, and with 6 where something does.")]
pub(crate) struct Args {
    /// The receipt, as GET /v1/quote/{quote_id}/receipt gives it
    #[arg(value_name = "FILE")]
    receipt: PathBuf,
    /// The market that was quoted on: a file of GET /v1/quote/{quote_id}/market, or of `braid market save` at that
    /// block
    #[arg(long, value_name = "FILE")]
    market: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `braid verify`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let name = args.receipt.display();
    let length = std::fs::metadata(&args.receipt).map_err(|error| eyre!("{name}: {error}"))?.len();
    if length > MAX_BYTES {
        return Err(eyre!("{name} is no receipt: it has {length} bytes, and {MAX_BYTES} at most are read"));
    }
    let text = std::fs::read(&args.receipt).map_err(|error| eyre!("{name}: {error}"))?;
    let market = args.market.as_deref().map(Market::load).transpose()?;
    let findings = verify(&text, market).map_err(|error| eyre!("{name}: {error}"))?;
    if args.json {
        out::line(serde_json::to_string_pretty(&findings.iter().map(row).collect::<Vec<_>>())?)?;
    } else {
        findings.iter().try_for_each(print)?;
    }
    let wrong: Vec<&str> = findings.iter().filter(|finding| is_wrong(finding)).map(|finding| finding.about).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failed::new(Exit::Disagrees, format!("the receipt does not agree with itself: {}", wrong.join(", "))).into())
}

fn is_wrong(finding: &Finding) -> bool {
    matches!(finding.verdict, Verdict::Differs(_))
}

fn row(finding: &Finding) -> serde_json::Value {
    let (verdict, details) = match &finding.verdict {
        Verdict::Agrees(how) => ("agrees", vec![how]),
        Verdict::Differs(at) => ("differs", at.iter().collect()),
        Verdict::Unchecked(why) => ("not checked", vec![why]),
    };
    json!({"about": finding.about, "verdict": verdict, "details": details})
}

fn print(finding: &Finding) -> Result<()> {
    let about = finding.about;
    match &finding.verdict {
        Verdict::Agrees(how) => out::line(format_args!("{}       {about:<12} {how}", out::good("agrees"))),
        Verdict::Unchecked(why) => out::line(format_args!("{}  {about:<12} {why}", out::faint("not checked"))),
        Verdict::Differs(at) => {
            at.iter().try_for_each(|what| out::line(format_args!("{}      {about:<12} {what}", out::bad("DIFFERS"))))
        }
    }
}
