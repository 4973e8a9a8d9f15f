//! Curve of a pool for the optimiser: the side with the better price trades first, then both at one price.

use core::cmp::Ordering;

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::{Reserves, Side, State, gas::SIDE_GAS_UNITS, normalised};
use crate::{
    SwapError,
    continuous::{Direction, PairCurve, Stretch, fall_of_inverse},
};

/// Square root of the lowest remaining share of the price: a trade may move it by a twentieth.
const ROOT_AT_THE_LIMIT: f64 = 0.974_679_434_480_896_3;
/// Bisection steps to find a limit of the pool or layer.
const BISECTIONS: u32 = 32;
/// First trial when looking for a limit, as a share of the formula's maximum; most pools accept it, or all.
const NEAR: f64 = 0.95;

/// Reserves of one side in atomic units: in, out, and the maximum payout.
#[derive(Clone, Copy)]
struct Facing {
    reserve_in: f64,
    reserve_out: f64,
    payable: f64,
}

impl Facing {
    fn root(&self) -> f64 {
        (self.reserve_out / self.reserve_in).sqrt()
    }

    fn liquidity(&self) -> f64 {
        (self.reserve_in * self.reserve_out).sqrt()
    }
}

/// Returns the curve of a pool at a time; `None` while it is closed.
#[expect(clippy::cast_precision_loss, reason = "the optimiser works in floating point")]
pub(crate) fn pair_curve(state: &State, at: &ExecutionBlock) -> Option<PairCurve> {
    let reserves = state.reserves(at).ok()?;
    let gamma = 1.0 - f64::from(reserves.fees.fee_pips) / 1e6;
    let unit = state.decimals().map(|decimals| 10_f64.powi(i32::from(decimals) - 12));
    let one_way = |i: usize, j: usize| {
        let facing = |side: &Side| Facing {
            reserve_in: f64::from(side.imaginary[i]) * unit[i],
            reserve_out: f64::from(side.imaginary[j]) * unit[j],
            payable: f64::from(side.real[j]) * unit[j],
        };
        let sides = [reserves.collateral.as_ref().map(facing), reserves.debt.as_ref().map(facing)];
        // token 1 in token 0, so a sale of token 1 follows the inverse
        let last = state.last_price().map(|price| (f64::from(price) / 1e27 * unit[1] / unit[0]).sqrt());
        let last = last.map(|root| if i == 0 { root } else { 1.0 / root });
        let whole = chain(gamma, &sides, last, None)?;
        // if the pool or layer accepts less than the formula, find how much; the curve ends just above it
        let fits = |amount: f64| fit(state, &reserves, at, i == 0, whole_number(amount));
        let mut high = whole.capacity_in() * 0.999_999;
        if fits(high).is_eq() {
            return Some(whole);
        }
        // the protocol's part of the fee moves the price slightly further than the curve
        let mut trades = fits(high * NEAR).is_eq();
        let mut low = if trades { high * NEAR } else { 0.0 };
        for _ in 0..BISECTIONS {
            let middle = if low > 0.0 { 0.5 * (low + high) } else { high / 8.0 };
            match fits(middle) {
                Ordering::Greater => high = middle,
                fit => {
                    trades |= fit.is_eq();
                    low = middle;
                }
            }
        }
        if trades { chain(gamma, &sides, last, Some(high)) } else { None }
    };
    let gas_units = state.one_sided_gas_units(true).min(state.one_sided_gas_units(false)) as f64;
    Some(PairCurve { directions: [one_way(0, 1), one_way(1, 0)], gas_units })
}

/// Builds the segments of both sides, up to an amount in if one is given. The second side adds gas where it joins. The
/// price may fall to a share of the root that was stored last, or of the current root in a recording.
#[expect(clippy::cast_precision_loss, reason = "the optimiser works in floating point")]
fn chain(gamma: f64, sides: &[Option<Facing>; 2], last: Option<f64>, most_in: Option<f64>) -> Option<Direction> {
    let mut open: Vec<Facing> =
        sides.iter().flatten().copied().filter(|side| side.reserve_in > 0.0 && side.reserve_out > 0.0).collect();
    open.sort_by(|a, b| b.root().total_cmp(&a.root()));
    let first = open.first()?;
    let (start, first_liquidity) = (first.root(), first.liquidity());
    let least = |side: &Facing| side.root() - side.payable / side.liquidity();
    let floor = open.iter().map(least).fold(last.unwrap_or(start) * ROOT_AT_THE_LIMIT, f64::max).max(f64::MIN_POSITIVE);
    let mut stretches = Vec::with_capacity(2);
    let mut left = most_in.map(|most| most * gamma);
    let mut root = start;
    let mut push = |end: f64, liquidity: f64, gas_units: f64, root: &mut f64| {
        let mut end = end.max(floor);
        if let Some(left) = &mut left {
            end = end.max(1.0 / (1.0 / *root + *left / liquidity));
            *left -= liquidity * fall_of_inverse(*root, end);
        }
        if end < *root {
            stretches.push(Stretch { end, liquidity, gas_units });
            *root = end;
        }
    };
    match open.get(1) {
        Some(second) => {
            push(second.root(), first_liquidity, SIDE_GAS_UNITS as f64, &mut root);
            push(floor, first_liquidity + second.liquidity(), 0.0, &mut root);
        }
        None => push(floor, first_liquidity, 0.0, &mut root),
    }
    Direction::new(gamma, start, &stretches)
}

/// Tests whether an amount is too small for the pool, too large, or trades. An amount also counts as too small if the
/// price stays farther from the stored one than allowed.
fn fit(state: &State, reserves: &Reserves, at: &ExecutionBlock, zero_for_one: bool, amount: U256) -> Ordering {
    match state.swap(at, zero_for_one, amount) {
        Ok(_) => Ordering::Equal,
        Err(SwapError::ZeroOutput) => Ordering::Less,
        Err(_) => {
            let normal = normalised(amount, state.decimals()[usize::from(!zero_for_one)]);
            let parts = normal.and_then(|normal| reserves.give(zero_for_one, normal).ok());
            let far = parts.zip(state.last_price()).is_some_and(|(parts, last)| {
                let (price, last) = (f64::from(parts.price), f64::from(last));
                if zero_for_one { price * 0.95 > last } else { price * 1.05 < last }
            });
            if far { Ordering::Less } else { Ordering::Greater }
        }
    }
}

/// Converts a float to an amount; zero for NaN or negative numbers.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
fn whole_number(amount: f64) -> U256 {
    if (1.0..3.4e38).contains(&amount) { U256::from(amount as u128) } else { U256::ZERO }
}
