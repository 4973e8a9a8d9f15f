//! `braid verify`: recomputes a receipt, and reports differences.

use std::path::PathBuf;

use braid_primitives::Block;
use braid_quoting::receipt::{Finding, NoReceipt, Verdict, verify};
use eyre::Result;
use serde_json::{Value, json};

use crate::data::market_file;
use crate::exit::{Exit, Failed, usage};
use crate::out;

/// Longest receipt that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  curl -s localhost:8080/v1/quote/$ID/receipt -H 'x-api-key: KEY' > receipt.json
  curl -s localhost:8080/v1/quote/$ID/market -H 'x-api-key: KEY' > quote.market
  braid verify receipt.json                          (amounts, costs, order and program, from the pools in the receipt)
  braid verify receipt.json --market quote.market    (also the choice of the route and the certificate, from the whole market)

Nothing is asked of a node or a service. Ends with 0 where nothing differs, with 6 where something does, and with 2 where a file cannot be used, or
the market is of another block than the receipt.")]
pub(crate) struct Args {
    /// The receipt, as GET /v1/quote/{quote_id}/receipt gives it
    #[arg(value_name = "FILE")]
    receipt: PathBuf,
    /// The market that was quoted on, as GET /v1/quote/{quote_id}/market gives it
    #[arg(long, value_name = "FILE")]
    market: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `braid verify`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let name = args.receipt.display();
    let length = std::fs::metadata(&args.receipt).map_err(|error| usage(format!("{name}: {error}")))?.len();
    if length > MAX_BYTES {
        return Err(usage(format!("{name} is no receipt: it has {length} bytes, and {MAX_BYTES} at most are read")));
    }
    let text = std::fs::read(&args.receipt).map_err(|error| usage(format!("{name}: {error}")))?;
    let market = args.market.as_deref().map(market_file).transpose()?;
    let other_block = market.as_ref().and_then(|market| other_block(&text, market.block()));
    let findings = verify(&text, market).map_err(|error| match error {
        NoReceipt::Unreadable(_) => {
            usage(format!("{name}: {error}. GET /v1/quote/{{quote_id}}/receipt gives a receipt"))
        }
        NoReceipt::Format(_) => usage(format!("{name}: {error}")),
    })?;
    if args.json {
        out::line(serde_json::to_string_pretty(&findings.iter().map(row).collect::<Vec<_>>())?)?;
    } else {
        findings.iter().try_for_each(print)?;
    }
    match verdict(&findings, other_block) {
        None => Ok(()),
        Some(failed) => Err(failed.into()),
    }
}

/// Says of which blocks receipt and market are, if of two.
fn other_block(receipt: &[u8], market: &Block) -> Option<String> {
    let document: Value = serde_json::from_slice(receipt).ok()?;
    let document = document.get("data").unwrap_or(&document);
    let own: Block = serde_json::from_value(document["block"].clone()).ok()?;
    let (number, other) = (own.number, market.number);
    (own != *market).then(|| {
        let what = if number == other {
            format!("the market is of another block {other} than the receipt, {} and not {}", market.hash, own.hash)
        } else {
            format!("the market is of block {other}, the receipt of block {number}")
        };
        format!("{what}: give --market the file of GET /v1/quote/{{quote_id}}/market")
    })
}

/// Parts of a receipt that are compared with the market, not with the receipt itself.
const OF_MARKET: [&str; 3] = ["market", "search", "certificate"];

/// Returns the failure of a receipt that differs from its own inputs or from the market; `None` if nothing differs. A market
/// of another block is a wrong argument: it says nothing about the receipt.
fn verdict(findings: &[Finding], other_block: Option<String>) -> Option<Failed> {
    let wrong: Vec<&Finding> = findings.iter().filter(|finding| is_wrong(finding)).collect();
    let (of_market, own): (Vec<&Finding>, Vec<&Finding>) =
        wrong.into_iter().partition(|finding| OF_MARKET.contains(&finding.about));
    let names = |findings: &[&Finding]| findings.iter().map(|finding| finding.about).collect::<Vec<_>>().join(", ");
    if !own.is_empty() {
        let with_market = match (of_market.as_slice(), other_block) {
            ([], _) => String::new(),
            (_, Some(other_block)) => format!("; {other_block}"),
            (_, None) => format!(", nor with the market: {}", names(&of_market)),
        };
        let text = format!("the receipt does not agree with itself: {}{with_market}", names(&own));
        return Some(Failed::new(Exit::Disagrees, text));
    }
    if let Some(text) = other_block {
        return Some(Failed::new(Exit::Usage, text));
    }
    let text = format!("the receipt does not agree with the market: {}", names(&of_market));
    (!of_market.is_empty()).then(|| Failed::new(Exit::Disagrees, text))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_market_of_another_block_is_told_from_a_receipt_that_contradicts_itself() {
        let own = Block {
            number: 7,
            hash: braid_primitives::B256::ZERO,
            parent_hash: braid_primitives::B256::ZERO,
            timestamp: 1,
            base_fee_per_gas_wei: 1,
            gas_used: 1,
            gas_limit: 1,
        };
        let other = Block { number: 9, ..own };
        let fork = Block { hash: braid_primitives::B256::repeat_byte(1), ..own };
        for receipt in [json!({"block": own}), json!({"data": {"block": own}})] {
            let told = |market: &Block| other_block(receipt.to_string().as_bytes(), market);
            assert_eq!(told(&own), None);
            assert!(
                told(&other).unwrap().starts_with("the market is of block 9, the receipt of block 7: give --market")
            );
            assert!(told(&fork).unwrap().starts_with("the market is of another block 7 than the receipt, 0x0101"));
        }
        let differs = |about| Finding { about, verdict: Verdict::Differs(vec!["why".into()]) };
        let said = |findings: &[Finding], other: Option<&str>| {
            verdict(findings, other.map(str::to_owned)).map(|failed| failed.to_string())
        };
        assert_eq!(said(&[], None), None);
        assert_eq!(said(&[differs("market")], Some("other block")).unwrap(), "other block");
        let told = said(&[differs("market"), differs("search")], None).unwrap();
        assert_eq!(told, "the receipt does not agree with the market: market, search");
        let told = said(&[differs("amounts"), differs("market")], Some("other block")).unwrap();
        assert_eq!(told, "the receipt does not agree with itself: amounts; other block");
    }
}
