//! Curve of a weighted pool for the optimiser, computed in closed form so that it lies above the exact one.
//!
//! With `u = 1 + net in / balance in`, the rate before the fee falls as `u^−(r + 1)`, where `r = weight in / weight
//! out`. Along a constant-product stretch the inverse root of the rate grows linearly; along the pool's curve it grows
//! as `u^p`, `p = (r + 1) / 2`. A chain of straight lines that is nowhere above `u^p` pays at least as much as the pool
//! everywhere. It consists of chords where `u^p` is concave, and of tangents where it is convex. At equal weights the
//! two are one.

use crate::continuous::{Direction, Stretch};

/// One direction of a weighted pool, in atomic units.
#[derive(Clone, Copy, Debug)]
pub(super) struct PowerCurve {
    /// One minus the fee.
    pub gamma: f64,
    /// Balance of the coin in.
    pub balance_in: f64,
    /// Balance of the coin out.
    pub balance_out: f64,
    /// Weight of the coin in divided by that of the coin out.
    pub ratio: f64,
}

/// Maximum input of one trade after the fee, as a share of the balance; slightly more, for rounding.
const MOST_IN: f64 = 0.3 * (1.0 + 1e-9);
/// Number of stretches per unit of curvature. The curve is then above the pool's by less than 10⁻⁴ of the input's share
/// of the balance.
const STRETCHES: f64 = 32.0;
/// Maximum number of stretches.
const MOST_STRETCHES: usize = 96;
/// Rounding error of this arithmetic.
const NOISE: f64 = 1e-14;

impl PowerCurve {
    /// Builds the direction; `None` if the pool is empty.
    pub(super) fn direction(&self) -> Option<Direction> {
        let power = 0.5 * (self.ratio + 1.0);
        let count = stretches(power);
        // denser at the start, where most trades are
        let knot = |k: usize| 1.0 + MOST_IN * (k as f64 / count as f64).powi(2);
        let start = (self.ratio * self.balance_out / self.balance_in).sqrt() * (1.0 + NOISE);
        // the inverse root of the rate, relative to that at the start
        let height = |u: f64| u.powf(power);
        let slope = |u: f64| power * u.powf(power - 1.0);
        let mut ends: Vec<(f64, f64)> = Vec::with_capacity(count + 1);
        for k in 0..count {
            let (from, to) = (knot(k), knot(k + 1));
            if power > 1.0 {
                // the intersection of the tangents at both ends
                let (rising, steeper) = (slope(from), slope(to));
                let meet = (height(to) - height(from) + rising * from - steeper * to) / (rising - steeper);
                let meet = if meet > from && meet < to { meet } else { 0.5 * (from + to) };
                ends.push((meet, height(from) + rising * (meet - from)));
            } else {
                ends.push((to, height(to)));
            }
        }
        if power > 1.0 {
            // the last tangent continues to the very end
            let last = knot(count);
            ends.push((last, height(last) * (1.0 - NOISE)));
        }
        let (mut before, mut chain) = ((1.0, 1.0), Vec::with_capacity(ends.len()));
        for (u, inverse) in ends {
            if !(u > before.0 && inverse > before.1) {
                continue;
            }
            // net input per growth of the inverse root
            let liquidity = (u - before.0) * self.balance_in / (inverse - before.1) * start;
            chain.push(Stretch { end: start / inverse, liquidity, gas_units: 0.0 });
            before = (u, inverse);
        }
        Direction::new(self.gamma, start, &chain)
    }
}

/// Returns the number of stretches that keeps the error small for a power.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number, not below zero")]
fn stretches(power: f64) -> usize {
    let bend = (power * (power - 1.0)).abs().sqrt();
    if bend < 1e-9 { 1 } else { ((STRETCHES * bend).ceil() as usize).clamp(4, MOST_STRETCHES) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what the pool pays, in floating point.
    fn paid(side: &PowerCurve, amount: f64) -> f64 {
        // Computes 1 − u^−r without subtracting nearly equal numbers.
        -(-self_log(side, amount)).exp_m1() * side.balance_out
    }

    fn self_log(side: &PowerCurve, amount: f64) -> f64 {
        side.ratio * (amount * side.gamma / side.balance_in).ln_1p()
    }

    #[test]
    fn the_curve_is_above_the_pool_and_close() {
        for ratio in [0.01, 0.0204, 0.25, 0.5, 2.0 / 3.0, 1.0, 1.5, 2.0, 4.0, 19.0, 99.0] {
            let side = PowerCurve { gamma: 0.997, balance_in: 3.7e21, balance_out: 8.1e13, ratio };
            let direction = side.direction().unwrap();
            for k in 0..60 {
                let amount = 0.3 * side.balance_in / side.gamma * 10_f64.powf(-0.1 * f64::from(k));
                let (curve, pool) = (direction.quote(amount).0, paid(&side, amount));
                let above = curve / pool - 1.0;
                let share = amount / side.balance_in;
                let bend = (0.5 * (ratio + 1.0) * 0.5 * (ratio - 1.0)).abs().max(1.0);
                assert!(above > -1e-14, "{ratio} {share}: {above:e}");
                let most = if ratio > 10.0 { 1e-4 * share * bend } else { 2e-4 * share };
                assert!(above < most.max(1e-12), "{ratio} {share}: {above:e}");
            }
            assert!((direction.capacity_in() * side.gamma / side.balance_in / 0.3 - 1.0).abs() < 1e-6);
        }
    }
}
