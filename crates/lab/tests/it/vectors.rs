//! Recomputes recorded mainnet states and the amounts that they paid.

use std::sync::Arc;

use braid_lab::vectors::{Report, check};
use braid_primitives::U256;
use braid_protocols::{
    SwapError, uniswap_v2,
    uniswap_v3::{self, Tick},
};
use serde_json::Value;

use crate::support::vectors;

/// Returns the entries of a file, if it is available.
fn entries(family: &str) -> Option<Vec<Value>> {
    let Value::Object(mut root) = serde_json::from_str(&vectors(family)?).unwrap() else {
        panic!("not a file of vectors")
    };
    let Some(Value::Array(entries)) = root.remove("entries") else { panic!("a file of vectors has entries") };
    Some(entries)
}

fn number<T: std::str::FromStr>(value: &Value) -> T
where
    T::Err: std::fmt::Debug,
{
    value.as_str().map_or_else(|| value.to_string(), str::to_owned).parse().unwrap()
}

fn zero_for_one(row: &Value) -> bool {
    row["i"] == 0
}

#[test]
fn pairs_pay_what_mainnet_paid() {
    let (mut exact, mut inverse) = (0, 0);
    for entry in entries("uniswap_v2").unwrap_or_default() {
        let pool = &entry["pool"];
        let [reserve0, reserve1] = [0, 1].map(|coin| number(&pool["reserves"][coin]));
        let state = uniswap_v2::State { reserve0, reserve1, fee_bps: number(&pool["fee_bps"]) };
        for row in entry["swaps"].as_array().unwrap() {
            let [amount_in, amount_out] = ["amount_in", "amount_out"].map(|key| number::<U256>(&row[key]));
            let paid = |amount_in| state.swap(zero_for_one(row), amount_in).map(|swap| swap.amount_out);
            if row["kind"] == "exact_in" {
                assert_eq!(paid(amount_in), Ok(amount_out), "{} {row}", pool["address"]);
                exact += 1;
            } else {
                // The amount in must be the smallest that pays the amount out.
                assert!(paid(amount_in).unwrap() >= amount_out, "{} {row}", pool["address"]);
                assert!(paid(amount_in - U256::ONE).is_ok_and(|paid| paid < amount_out), "{} {row}", pool["address"]);
                inverse += 1;
            }
        }
    }
    println!("pairs: {exact} rows equal to the wei, {inverse} exact-output rows bracketed");
}

fn pool_state(pool: &Value) -> uniswap_v3::State {
    let ticks = pool["ticks"].as_array().unwrap().iter().map(|tick| {
        let net: i128 = number(&tick[1]);
        // The files do not contain the gross liquidity, and swaps do not read it.
        Tick::new(number(&tick[0]), net, net.unsigned_abs().max(1)).unwrap()
    });
    uniswap_v3::State {
        sqrt_price_x96: number(&pool["sqrt_price_x96"]),
        tick: number(&pool["tick"]),
        liquidity: number(&pool["liquidity"]),
        fee_pips: number(&pool["fee_pips"]),
        fee_protocol: 0,
        tick_spacing: number(&pool["tick_spacing"]),
        ticks: ticks.collect::<Arc<[_]>>(),
    }
}

#[test]
fn pools_pay_what_mainnet_paid() {
    let (mut exact, mut inverse, mut exhausted) = (0, 0, 0);
    for entry in entries("uniswap_v3").unwrap_or_default() {
        let pool = &entry["pool"];
        let state = pool_state(pool);
        if pool["ticks_consistent"] == true {
            state.validate().unwrap();
        }
        for row in entry["swaps"].as_array().unwrap() {
            let [amount_in, amount_out] = ["amount_in", "amount_out"].map(|key| number::<U256>(&row[key]));
            let paid = state.swap(zero_for_one(row), amount_in).map(|swap| swap.amount_out);
            let story = format!("{} {row}", pool["address"]);
            if row["recheck"] == "mismatch:11" {
                // The row is the source's own simulation of a trade with half of all existing WETH. In other rows the
                // bytecode agrees with us.
                assert!(paid.unwrap().abs_diff(amount_out) <= U256::from(11), "{story}");
            } else if row["kind"] != "exact_in" && row["fully_consumed"] != true {
                // The requested output exceeds what the pool has, so the amount in is all that the pool takes.
                let all = state.swap(zero_for_one(row), U256::ONE << 254);
                let ended = SwapError::InsufficientLiquidity { consumed: amount_in, amount_in: U256::ONE << 254 };
                assert_eq!(all, Err(ended), "{story}");
                exhausted += 1;
            } else if row["kind"] != "exact_in" {
                // The amount in must be enough for the requested amount out.
                assert!(paid.is_ok_and(|paid| paid >= amount_out), "{story}");
                inverse += 1;
            } else if row["fully_consumed"] == true {
                let expected = if amount_out.is_zero() { Err(SwapError::ZeroOutput) } else { Ok(amount_out) };
                assert_eq!(paid, expected, "{story}");
                exact += 1;
            } else {
                assert!(matches!(paid, Err(SwapError::InsufficientLiquidity { .. })), "{paid:?} {story}");
                exhausted += 1;
            }
        }
    }
    println!("pools: {exact} rows equal to the wei, {inverse} exact-output rows covered, {exhausted} refused");
}

/// Recomputes a file with the common reader. Prints the differences and why rows were skipped.
fn recompute(family: &str) -> Option<Report> {
    let report = check(&vectors(family)?).unwrap();
    for difference in &report.failed {
        println!("{}: expected {}, got {}", difference.row, difference.expected, difference.got);
    }
    for (row, reason) in &report.skipped {
        println!("{row}: skipped: {reason}");
    }
    println!("{family}: {} passed, {} failed, {} skipped", report.passed, report.failed.len(), report.skipped.len());
    Some(report)
}

#[test]
fn vaults_convert_as_mainnet_converted() {
    for family in ["erc4626_and_lst", "lido"] {
        let Some(report) = recompute(family) else { return };
        assert!(report.failed.is_empty() && report.passed > 0, "{family}");
    }
}

#[test]
fn balancer_pools_pay_what_mainnet_paid() {
    for family in ["balancer_v2_weighted", "balancer_v2_stable"] {
        let Some(report) = recompute(family) else { return };
        assert!(report.failed.is_empty() && report.passed > 0, "{family}");
    }
}
