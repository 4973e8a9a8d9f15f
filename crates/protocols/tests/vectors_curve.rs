//! Curve's pools against what the chain paid: every recorded row, to the wei.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::path::Path;

use braid_protocols::vectors::{Report, check};

/// The rows of a file of vectors, or `None` with a plain message where the shared folder is absent.
fn report(family: &str) -> Option<Report> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../shared/vectors/{family}.json"));
    let Ok(text) = std::fs::read_to_string(&file) else {
        println!("skipped: no vectors at {}", file.display());
        return None;
    };
    let report = check(&text).unwrap();
    for difference in &report.failed {
        println!("{}: expected {}, got {}", difference.row, difference.expected, difference.got);
    }
    println!("{family}: {} passed ({} on-chain), {} failed, {} skipped", report.passed, report.passed_on_chain, report.failed.len(), report.skipped.len());
    Some(report)
}

#[test]
fn all() {
    for family in ["curve_stableswap", "curve_meta", "curve_stableswap_ng", "curve_crypto", "other_chains_and_synthetic", "uniswap_v2", "uniswap_v3"] {
        let r = report(family).unwrap();
        for (row, why) in &r.skipped { println!("SKIP {row}: {why}"); }
    }
}
