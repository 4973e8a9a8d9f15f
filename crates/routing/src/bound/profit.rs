//! The profit of a pool at the prices of its tokens, and the part of it that floating point may have lost.

use braid_protocols::continuous::Direction;

use crate::problem::Problem;

/// Computes the most that rounding may have taken off a pool's profit at two prices, selling at most `cap`: a bound
/// adds it back.
pub(crate) fn noise(direction: &Direction, price_in: f64, price_out: f64, cap: f64) -> f64 {
    direction
        .best_trade(price_in, price_out, cap, 0.0)
        .map_or(0.0, |trade| direction.noise(price_in, price_out, &trade))
}

/// Computes the most that a pool earns by selling one token for another, less its gas; rounded up. Negative infinity if
/// it does not exchange them in this direction.
pub(super) fn profit_after_gas(
    problem: &Problem<'_>,
    caps: &[f64],
    price: &[f64],
    (pair, side): (u32, u8),
    [from, to]: [usize; 2],
) -> f64 {
    let Some((curve, direction)) = problem.direction(pair, side) else { return f64::NEG_INFINITY };
    let gas = curve.gas_units * problem.gas_price;
    if price[from] >= direction.spot() * price[to] {
        return -gas;
    }
    let earned = direction.most_earned(price[from], price[to], caps[from], 0.0, 0.0);
    earned + noise(direction, price[from], price[to], caps[from]) - gas
}
