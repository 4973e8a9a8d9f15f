//! Verifies a receipt: recomputes its answer from the inputs that it states.

use std::fmt;

use braid_market::Market;
use serde_json::{Value, to_value};

use super::compare::{differences, digest};
use super::document::{FORMAT, Receipt, Version};
use super::recompute::{self, Recomputed};
use crate::picture;

/// Fields of an answer that need the whole market: prices and the results of the search.
const NEEDS_MARKET: [&str; 9] = [
    "reference_price",
    "price_impact_bps",
    "realized_ratio_bps",
    "usd_value",
    "total_price_impact_bps",
    "certificate",
    "gas_cost_usd",
    "total_cost_usd",
    "explanation",
];

/// Fields of an answer that need a node at that block: the taker's balances and allowances, and the simulation.
const NEEDS_NODE: [&str; 5] = ["approvals", "balance", "allowance", "simulation", "warnings"];

/// Most differences that a finding lists.
const MAX_LISTED: usize = 5;

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The receipt agrees, in the stated respect.
    Agrees(String),
    /// The receipt differs in these places.
    Differs(Vec<String>),
    /// Not checked, for this reason.
    Unchecked(String),
}

/// A checked part of a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the part.
    pub about: &'static str,
    /// Result of the check.
    pub verdict: Verdict,
}

/// A reason for which a text is no receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReceipt {
    /// The text cannot be parsed.
    #[error("not a receipt: {0}")]
    Unreadable(String),
    /// The receipt has another format.
    #[error("a receipt of the format {0:?}, expected {FORMAT:?}: verify it with the version of Braid that made it")]
    Format(String),
}

/// Checks a receipt against its own inputs and, if given, against a market. `text` is the service's answer, or its `data`.
///
/// # Errors
/// [`NoReceipt`] if the text is not a receipt of this format.
pub fn verify(text: &[u8], market: Option<Market>) -> Result<Vec<Finding>, NoReceipt> {
    let unreadable = |error: serde_json::Error| NoReceipt::Unreadable(error.to_string());
    let mut document: Value = serde_json::from_slice(text).map_err(unreadable)?;
    if let Some(data) = document.get_mut("data") {
        document = data.take();
    }
    match document.get("format").and_then(Value::as_str) {
        Some(FORMAT) => {}
        Some(other) => return Err(NoReceipt::Format(other.chars().take(40).collect())),
        None => return Err(NoReceipt::Unreadable("it has no format".into())),
    }
    let receipt: Receipt = serde_json::from_value(document.clone()).map_err(unreadable)?;
    let mut findings = vec![whole(&receipt, &document), version(&receipt), block(&receipt)];
    let parts = Market::from_bytes(&receipt.market.route_pools);
    match &parts {
        Ok(parts) => findings.extend(recomputed(&receipt, recompute::from_route(&receipt, parts.clone()))),
        Err(error) => findings.push(differs("route", vec![format!("the route's pools cannot be read: {error}")])),
    }
    match market {
        Some(market) => match other_block(&receipt, &market) {
            Some(why) => {
                findings.push(differs("market", vec![why]));
                findings.extend(unchecked(["search", "certificate"], "needs the market of the receipt's block"));
            }
            None => {
                findings.push(same_market(&receipt, &market, parts.as_ref().ok()));
                findings.extend(searched(&receipt, market));
            }
        },
        None => findings.extend(unchecked(["market", "search", "certificate"], "needs the market: --market FILE")),
    }
    if !receipt.quote["simulation"].is_null() {
        let why = format!("needs a node that has block {}", receipt.block.number);
        findings.push(Finding { about: "simulation", verdict: Verdict::Unchecked(why) });
    }
    Ok(findings)
}

fn agrees(about: &'static str, how: impl fmt::Display) -> Finding {
    Finding { about, verdict: Verdict::Agrees(how.to_string()) }
}

fn differs(about: &'static str, mut at: Vec<String>) -> Finding {
    let more = at.len().saturating_sub(MAX_LISTED);
    at.truncate(MAX_LISTED);
    at.extend((more > 0).then(|| format!("and {more} more")));
    Finding { about, verdict: Verdict::Differs(at) }
}

fn unchecked<const N: usize>(parts: [&'static str; N], why: &str) -> [Finding; N] {
    parts.map(|about| Finding { about, verdict: Verdict::Unchecked(why.into()) })
}

/// Returns the finding of a check with these differences.
fn found(about: &'static str, at: Vec<String>, how: impl fmt::Display) -> Finding {
    if at.is_empty() { agrees(about, how) } else { differs(about, at) }
}

fn whole(receipt: &Receipt, document: &Value) -> Finding {
    let got = digest(document);
    let at = (got != receipt.digest).then(|| format!("the digest is {got}, the receipt says {}", receipt.digest));
    found("receipt", at.into_iter().collect(), receipt.digest)
}

fn version(receipt: &Receipt) -> Finding {
    let (made_by, current) = (&receipt.braid, Version::current());
    let name =
        |version: &Version| format!("{} ({})", version.version, version.commit.as_deref().unwrap_or("commit unknown"));
    if *made_by == current {
        return agrees("version", name(made_by));
    }
    let why = format!("made by {}, recomputed by {}", name(made_by), name(&current));
    Finding { about: "version", verdict: Verdict::Unchecked(why) }
}

fn block(receipt: &Receipt) -> Finding {
    let block = &receipt.block;
    let own = serde_json::json!({"number": block.number, "hash": block.hash, "timestamp": block.timestamp});
    let at = differences(&receipt.quote["block"], &own, &[]);
    found("block", listed("/quote/block", at), format!("{} {}", block.number, block.hash))
}

fn listed(under: &str, at: Vec<(String, String)>) -> Vec<String> {
    at.into_iter().map(|(pointer, what)| format!("{under}{pointer} is {what}")).collect()
}

/// Returns the part of the answer that a pointer belongs to.
fn about(pointer: &str) -> &'static str {
    match pointer.split('/').nth(1).unwrap_or_default() {
        "path" | "protocols_used" => "route",
        "estimated_inputs" | "estimated_outputs" | "exact_output" => "amounts",
        "costs" => "costs",
        "permit2" => "permit2",
        "certificate" => "certificate",
        _ => "request",
    }
}

/// Compares the answer with the one recomputed from its steps and the pools in the receipt.
fn recomputed(receipt: &Receipt, again: Result<Recomputed, String>) -> Vec<Finding> {
    let again = match again {
        Ok(again) => again,
        Err(why) => return vec![differs("route", vec![format!("the steps cannot be recomputed: {why}")])],
    };
    let at = differences(&receipt.quote, &again.answer, &[&NEEDS_MARKET[..], &NEEDS_NODE].concat());
    let steps = receipt.plan.steps.len();
    let of = |group: &'static str, how: String| {
        let own = at.iter().filter(|(pointer, _)| about(pointer) == group).cloned().collect();
        found(group, listed("/quote", own), how)
    };
    let plan = to_value(&receipt.plan).unwrap_or_default();
    vec![
        of("request", "echoed as it was asked".into()),
        of("route", format!("{}, to the wei", picture::steps(steps))),
        of("amounts", "expected and minimum, to the wei".into()),
        of("costs", "gas units and fees".into()),
        of("permit2", "the message and its hash".into()),
        found("transaction", listed("/plan", differences(&plan, &again.plan, &[])), "order, program and deadline"),
    ]
}

/// Returns a sentence on the blocks of a market and a receipt, if they differ: nothing in such a market says anything about
/// the receipt.
fn other_block(receipt: &Receipt, market: &Market) -> Option<String> {
    let (own, other) = (&receipt.block, market.block());
    if own.number != other.number {
        return Some(format!("the market is of block {}, the receipt of block {}", other.number, own.number));
    }
    (own != other).then(|| {
        format!(
            "the market is of block {} {}, the receipt of block {} {}",
            other.number, other.hash, own.number, own.hash
        )
    })
}

/// Compares a market with the receipt's digest, and the receipt's pools with the market's.
fn same_market(receipt: &Receipt, market: &Market, parts: Option<&Market>) -> Finding {
    let part = &receipt.market;
    let mut at = Vec::new();
    match market.digest() {
        Ok(got) if got == part.digest => {}
        Ok(got) => at.push(format!("the market's digest is {got}, the receipt says {}", part.digest)),
        Err(error) => at.push(error.to_string()),
    }
    for pool in parts.into_iter().flat_map(Market::pools) {
        let other = market.pool_id(pool.key).and_then(|id| market.pool(id));
        if other.is_none_or(|other| other.state != pool.state || other.product != pool.product) {
            at.push(format!("pool {} is in another state in the market", pool.key));
        }
    }
    found("market", at, format!("{} pools, digest {}", part.pools, part.digest))
}

/// Compares the answer with the one that a search of the market finds.
fn searched(receipt: &Receipt, market: Market) -> Vec<Finding> {
    let same_order = market.order_digest() == receipt.market.order;
    let again = match recompute::from_market(receipt, market) {
        Ok(again) => again,
        Err(why) => return vec![differs("search", vec![format!("the search finds nothing: {why}")])],
    };
    let at = differences(&receipt.quote, &again.answer, &NEEDS_NODE);
    let (certificate, other): (Vec<_>, Vec<_>) = at.into_iter().partition(|(at, _)| about(at) == "certificate");
    let mut other = listed("/quote", other);
    other.extend(warnings_missing(receipt, &again.answer));
    let same = certificate.is_empty() && other.is_empty();
    if !(same_order || same) {
        let why = "the file holds the pools in another order than the service did, so equal routes may be chosen differently: use the file of \
                   GET /v1/quote/{quote_id}/market";
        return unchecked(["search", "certificate"], why).into();
    }
    let gap = receipt.quote["certificate"]["gap_bps"].as_f64().map(picture::gap_bps);
    let how = gap.map_or_else(|| "none, as stated".into(), |gap| format!("at most {gap} bps below the best"));
    vec![
        found("search", other, "the same route, prices and explanation from the request alone"),
        found("certificate", listed("/quote", certificate), how),
    ]
}

/// Lists the recomputed warnings that the answer lacks.
fn warnings_missing(receipt: &Receipt, again: &Value) -> Vec<String> {
    let stated = receipt.quote["warnings"].as_array().map_or(&[][..], Vec::as_slice);
    let due = again["warnings"].as_array().map_or(&[][..], Vec::as_slice);
    due.iter()
        .filter(|warning| !stated.contains(warning))
        .map(|warning| format!("/quote/warnings lacks {warning}"))
        .collect()
}
