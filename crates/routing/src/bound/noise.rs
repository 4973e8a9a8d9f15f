//! What floating point may have lost of a pool's profit.

use braid_protocols::continuous::Direction;

/// Computes the most that rounding may have taken off a pool's profit at two prices, selling at most `cap`: a bound
/// adds it back.
pub(crate) fn noise(direction: &Direction, price_in: f64, price_out: f64, cap: f64) -> f64 {
    direction
        .best_trade(price_in, price_out, cap, 0.0)
        .map_or(0.0, |trade| direction.noise(price_in, price_out, &trade))
}
