//! From a pool's exact state to the curve of two of its coins.

use braid_primitives::ExecutionBlock;

use super::Direction;
use crate::Pool;

/// Both directions of trading two coins of a pool, and what a swap costs.
#[derive(Clone, Debug, PartialEq)]
pub struct PairCurve {
    /// Selling the first coin for the second, and the second for the first; `None` for a side that pays nothing.
    pub directions: [Option<Direction>; 2],
    /// The least gas that any swap through this pool costs as a step of a route; a direction's own gas comes on top.
    pub gas_units: f64,
}

impl PairCurve {
    /// The curve of two coins of a pool, given by their positions, lower first, in the given block; `None` for coins that
    /// do not trade, and for wrapping, which is no curve.
    pub fn of(pool: &Pool, coins: [u8; 2], at: &ExecutionBlock) -> Option<Self> {
        let [low, high] = coins;
        if low >= high || usize::from(high) >= pool.coins.len() {
            return None;
        }
        pool.product.curve(&pool.state, coins, at)
    }

    /// The direction that sells the first coin (side 0) or the second (side 1).
    #[inline]
    pub fn direction(&self, side: u8) -> Option<&Direction> {
        self.directions.get(usize::from(side)).and_then(Option::as_ref)
    }
}
