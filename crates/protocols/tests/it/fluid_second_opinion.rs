//! Compares Fluid's pools with a second implementation: another project's library, with which
//! `contracts/fluid_second_opinion.mjs` computes random swaps in pools of collateral, of debt and of both. No package
//! contains the bytecode.
//!
//! Exact inputs and exact outputs are compared, and where the reserves, the limits and the maximum price change of a
//! twentieth refuse a swap. The library refuses earlier than the contract if one token has nearly run out (at 1/8,500
//! of the other instead of 1/10,000). For an exact output that comes from both sides, it does not check whether the
//! debt side has enough.
//!
//! Without Node.js or its package registry, the test prints that and does nothing.

use std::{path::Path, process::Command};

use alloy_primitives::{Address, U256, keccak256};
use braid_primitives::ExecutionBlock;
use braid_protocols::fluid::dex::{Fees, Limit, Reserves, Side, Snapshot};
use serde_json::Value;

const AT: ExecutionBlock = ExecutionBlock { number: 1, timestamp: 1_760_000_000 };

/// Returns the worlds. If they are not available, prints that and returns `None`.
fn worlds() -> Option<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contracts/fluid_second_opinion.mjs");
    let key = keccak256(std::fs::read(&script).unwrap()).to_string();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fluid-{}.json", &key[2..18]));
    if !file.is_file() {
        let draft = file.with_extension(format!("{}.draft", std::process::id()));
        let run = Command::new("node").arg(script).arg(&draft).output().ok();
        if !run.is_some_and(|run| run.status.success()) {
            println!("skipped: the library could not be had here (Node.js and its package registry)");
            return None;
        }
        std::fs::rename(draft, &file).unwrap();
    }
    Some(serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
}

fn number(value: &Value) -> U256 {
    value.as_str().unwrap().parse().unwrap()
}

fn side(value: &Value) -> Option<Side> {
    let [real0, real1, imaginary0, imaginary1] = [0, 1, 2, 3].map(|place| number(&value[place]));
    Side::open([real0, real1], [imaginary0, imaginary1])
}

fn pool(world: &Value) -> Snapshot {
    let limits = |kind: &str| {
        [0, 1].map(|token| {
            let available = number(&world["limits"][format!("{kind}Token{token}")]);
            Limit { available, expands_to: available, expand_seconds: 0 }
        })
    };
    Snapshot {
        addresses: [Address::ZERO; 2],
        reserves: Reserves {
            collateral: side(&world["collateral"]),
            debt: side(&world["debt"]),
            centre_price: number(&world["price"]),
            fees: Fees { fee_pips: u32::try_from(world["fee"].as_u64().unwrap()).unwrap(), revenue_cut_percent: 0 },
        },
        // Amounts are those of the pool's arithmetic, so nothing is scaled.
        decimals: [12, 12],
        withdrawable: Some(limits("withdrawable")),
        borrowable: Some(limits("borrowable")),
        taken_at: AT.timestamp,
    }
}

#[test]
fn reserves_pay_what_a_second_implementation_says() {
    let Some(worlds) = worlds() else { return };
    let (mut paid, mut refused, mut careful, mut forgotten) = (0, 0, 0, 0);
    for world in worlds.as_array().unwrap() {
        let pool = pool(world);
        for row in world["rows"].as_array().unwrap() {
            let (amount, other) = (number(&row["amount"]), number(&row["other"]));
            let zero_for_one = row["zeroForOne"].as_bool().unwrap();
            let exact_out = row["exactOut"].as_bool().unwrap();
            let split = pool.reserves.collateral.is_some() && pool.reserves.debt.is_some();
            let ours = if exact_out {
                pool.swap_exact_out(&AT, zero_for_one, amount)
            } else {
                pool.swap(&AT, zero_for_one, amount).map(|(out, ..)| out)
            };
            match ours {
                Ok(ours) if ours == other => paid += 1,
                Ok(_) if other.is_zero() => careful += 1,
                Err(_) if other.is_zero() => refused += 1,
                Err(_) if exact_out && split => forgotten += 1,
                ours => panic!("{ours:?} here: {row} {pool:?}"),
            }
        }
    }
    println!(
        "Fluid: {paid} equal to the wei, {refused} refused by both, {careful} by the library alone, {forgotten} here alone"
    );
    assert!(paid >= 20_000 && refused > 2_000, "{paid}, {refused}");
    assert!(careful < paid / 50 && forgotten < paid / 50, "{careful}, {forgotten}");
}
