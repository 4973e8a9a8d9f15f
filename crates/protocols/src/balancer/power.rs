//! The curve of a weighted pool, in closed form and from above.
//!
//! Where `u = 1 + net in / balance in`, the rate before the fee falls as `u^−(r + 1)` with `r = weight in / weight out`. A
//! constant-product stretch is one along which the inverse root of the rate grows in a straight line; that of the pool grows as
//! `u^p`, `p = (r + 1) / 2`. A chain of straight lines that is nowhere above `u^p` pays nowhere less than the pool: chords where
//! `u^p` bends down, tangents where it bends up. At equal weights the two are one.

use crate::continuous::{Direction, Stretch};

/// A weighted pool's side: what the optimiser needs of it, in atomic units.
#[derive(Clone, Copy, Debug)]
pub(super) struct PowerCurve {
    /// One less the fee.
    pub gamma: f64,
    /// What the pool holds of the coin in.
    pub balance_in: f64,
    /// What it holds of the coin out.
    pub balance_out: f64,
    /// Weight of the coin in by that of the coin out.
    pub ratio: f64,
}

/// The share of a balance that one trade brings in at most, after the fee; a hair more, for rounding.
const MOST_IN: f64 = 0.3 * (1.0 + 1e-9);
/// How many stretches a curve of a bend of one would want: it is then above the pool's by less than 10⁻⁴ of the share of the
/// balance that comes in.
const STRETCHES: f64 = 32.0;
/// Stretches at most.
const MOST_STRETCHES: usize = 96;
/// What the arithmetic here may be off.
const NOISE: f64 = 1e-14;

impl PowerCurve {
    /// The direction; `None` where nothing is held.
    pub(super) fn direction(&self) -> Option<Direction> {
        let power = 0.5 * (self.ratio + 1.0);
        let count = stretches(power);
        // denser at first, where trades are
        let knot = |k: usize| 1.0 + MOST_IN * (k as f64 / count as f64).powi(2);
        let start = (self.ratio * self.balance_out / self.balance_in).sqrt() * (1.0 + NOISE);
        // the inverse root of the rate, in units of that at the start
        let height = |u: f64| u.powf(power);
        let slope = |u: f64| power * u.powf(power - 1.0);
        let mut ends: Vec<(f64, f64)> = Vec::with_capacity(count + 1);
        for k in 0..count {
            let (from, to) = (knot(k), knot(k + 1));
            if power > 1.0 {
                // where the tangents at both ends meet
                let (rising, steeper) = (slope(from), slope(to));
                let meet = (height(to) - height(from) + rising * from - steeper * to) / (rising - steeper);
                let meet = if meet > from && meet < to { meet } else { 0.5 * (from + to) };
                ends.push((meet, height(from) + rising * (meet - from)));
            } else {
                ends.push((to, height(to)));
            }
        }
        if power > 1.0 {
            // the last tangent to the very end
            let last = knot(count);
            ends.push((last, height(last) * (1.0 - NOISE)));
        }
        let (mut before, mut chain) = ((1.0, 1.0), Vec::with_capacity(ends.len()));
        for (u, inverse) in ends {
            if !(u > before.0 && inverse > before.1) {
                continue;
            }
            // net in per growth of the inverse root
            let liquidity = (u - before.0) * self.balance_in / (inverse - before.1) * start;
            chain.push(Stretch { end: start / inverse, liquidity, gas_units: 0.0 });
            before = (u, inverse);
        }
        Direction::new(self.gamma, start, &chain)
    }
}

/// How many stretches keep the error small for a power.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number, not below zero")]
fn stretches(power: f64) -> usize {
    let bend = (power * (power - 1.0)).abs().sqrt();
    if bend < 1e-9 { 1 } else { ((STRETCHES * bend).ceil() as usize).clamp(4, MOST_STRETCHES) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What the pool pays in real numbers.
    fn paid(side: &PowerCurve, amount: f64) -> f64 {
        // 1 − u^−r without the difference of near equals
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
