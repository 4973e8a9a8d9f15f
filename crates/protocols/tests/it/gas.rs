//! Measures in the EVM how gas grows with the work of a swap. The gas of a complete step is calibrated with the proxy's
//! tests.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;
use braid_protocols::uniswap_v3::gas::{PROTOCOL_FEE_GAS_UNITS, SWAP_GAS_UNITS, TICK_GAS_UNITS, WORD_GAS_UNITS};

use crate::support::v3::{Code, Venue};

/// Any block, since these pools do not depend on it.
const NOW: ExecutionBlock = ExecutionBlock { number: 1, timestamp: 1_700_000_000 };

/// Returns a pool at price one whose storage has been written before, like that of a pool in use.
fn used_pool(ranges: &[(i32, i32, u128)]) -> Venue {
    used_pool_of(Code::Uniswap, (3_000, 60), ranges)
}

fn used_pool_of(code: Code, (fee_pips, tick_spacing): (u32, i32), ranges: &[(i32, i32, u128)]) -> Venue {
    let mut venue = Venue::of(code, fee_pips, tick_spacing);
    venue.initialise(U256::ONE << 96);
    for (lower, upper, liquidity) in ranges {
        venue.mint(*lower, *upper, *liquidity);
    }
    for _ in 0..2 {
        for zero_for_one in [true, false, false, true] {
            venue.swap(zero_for_one, U256::from(10_u64.pow(17))).unwrap();
        }
    }
    venue
}

/// Returns the measured gas and the model's variable gas for larger and larger amounts.
fn measure(venue: &mut Venue, amounts: impl Iterator<Item = u128>) -> Vec<(u64, u64)> {
    let rows = amounts.map(|amount_in| {
        let amount_in = U256::from(amount_in);
        let model = venue.priced().swap(&NOW, 0, 1, amount_in).unwrap();
        (venue.try_swap(true, amount_in).unwrap().gas_used, model.gas_units - SWAP_GAS_UNITS)
    });
    rows.collect()
}

/// Returns the relative error of the model's growth between the smallest and the largest amount.
fn error_of_growth(rows: &[(u64, u64)]) -> f64 {
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let measured = (last.0 - first.0) as f64;
    ((last.1 - first.1) as f64 - measured) / measured
}

#[test]
fn each_tick_crossed_costs_what_the_model_says() {
    let ladder: Vec<_> =
        (-40..40).map(|step| (step * 60, (step + 1) * 60, 10_u128.pow(18) + 1_000 * (step + 50) as u128)).collect();
    let mut venue = used_pool(&ladder);
    let rows = measure(&mut venue, (0..12).map(|step| 10_u128.pow(15) + step * 6 * 10_u128.pow(15)));
    let ticks = rows.iter().map(|row| row.1 / TICK_GAS_UNITS);
    println!("ticks crossed, gas: {:?}", ticks.zip(rows.iter().map(|row| row.0)).collect::<Vec<_>>());
    assert!(error_of_growth(&rows).abs() < 0.07, "off by {}", error_of_growth(&rows));
}

#[test]
fn each_word_walked_through_costs_what_the_model_says() {
    let mut venue = used_pool(&[(-887_220, 887_220, 10_u128.pow(18))]);
    let rows = measure(&mut venue, [15, 19, 20, 22, 24, 26, 28, 30].map(|power| 10_u128.pow(power)).into_iter());
    let words = rows.iter().map(|row| row.1 / WORD_GAS_UNITS);
    println!("words walked, gas: {:?}", words.zip(rows.iter().map(|row| row.0)).collect::<Vec<_>>());
    assert!(error_of_growth(&rows).abs() < 0.07, "off by {}", error_of_growth(&rows));
}

/// Changes the protocol's share in one pool, so that the gas of the test harness cancels out. The slot of the shares was
/// written before, like that of a pool in use.
#[test]
fn a_share_of_the_protocol_costs_what_the_model_says_and_only_where_it_is_on() {
    let ladder: Vec<_> =
        (-40..40).map(|step| (step * 60, (step + 1) * 60, 10_u128.pow(18) + 1_000 * (step + 50) as u128)).collect();
    let mut venue = used_pool(&ladder);
    venue.set_fee_protocol([4, 10]);
    for zero_for_one in [true, false] {
        venue.swap(zero_for_one, U256::from(10_u64.pow(17))).unwrap();
    }
    let mut measure = |shares| {
        venue.set_fee_protocol(shares);
        assert_eq!(venue.read(), venue.state);
        let mut rows = Vec::new();
        for amount_in in (0..12).map(|step| U256::from(10_u64.pow(15) + step * 6 * 10_u64.pow(15))) {
            for (coin_in, coin_out) in [(0, 1), (1, 0)] {
                let model = venue.priced().swap(&NOW, coin_in, coin_out, amount_in).unwrap();
                rows.push((venue.try_swap(coin_in == 0, amount_in).unwrap().gas_used as f64, model.gas_units as f64));
            }
        }
        (venue.record.curve(&venue.state, [0, 1], &NOW).unwrap().gas_units, rows)
    };
    let (curve_without, without) = measure([0, 0]);
    for shares in [[4, 10], [4, 0], [0, 10], [0, 0]] {
        let (curve, with) = measure(shares);
        for ((measured, model), (measured_without, model_without)) in with.into_iter().zip(&without) {
            let [measured, model] = [measured - measured_without, model - model_without];
            println!("{shares:?}: {measured} more gas, {model} by the model");
            assert!((model - measured).abs() < 0.01 * measured_without, "{measured} more gas, {model} by the model");
        }
        let in_curve = if shares.contains(&0) { 0 } else { PROTOCOL_FEE_GAS_UNITS };
        assert_eq!(
            curve - curve_without,
            in_curve as f64,
            "the curve has one base cost: that of the cheaper direction"
        );
    }
}

/// Compares equal pools of both codes, so that the gas of the test harness cancels out. The additional gas of
/// PancakeSwap's swap over Uniswap's must be the model's, without crossings, with crossed ticks and with bitmap words
/// that are searched.
#[test]
fn pancakeswaps_pools_cost_more_than_uniswaps_by_what_the_model_says() {
    let ladder: Vec<_> =
        (-40..40).map(|step| (step * 60, (step + 1) * 60, 10_u128.pow(18) + 1_000 * (step + 50) as u128)).collect();
    let steps: Vec<u128> = (0..12).map(|step| 10_u128.pow(12) + step * 6 * 10_u128.pow(15)).collect();
    let powers: Vec<u128> = [12, 15, 19, 20, 22, 24, 26].map(|power| 10_u128.pow(power)).to_vec();
    for (ranges, amounts) in [(ladder, steps), (vec![(-887_220, 887_220, 10_u128.pow(18))], powers)] {
        let [uniswap, pancake] = [Code::Uniswap, Code::PancakeSwap]
            .map(|code| measure(&mut used_pool_of(code, (500, 10), &ranges), amounts.iter().copied()));
        for (uniswap, pancake) in uniswap.iter().zip(&pancake) {
            let [measured, model] = [pancake.0 as f64 - uniswap.0 as f64, pancake.1 as f64 - uniswap.1 as f64];
            println!("{} more gas, {model} by the model", measured);
            assert!((model - measured).abs() < 0.01 * uniswap.0 as f64, "{measured} more gas, {model} by the model");
        }
    }
}
