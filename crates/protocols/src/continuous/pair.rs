//! The curve of two coins of a pool.

use super::Direction;

/// Both directions of two coins of a pool, and the gas of a swap.
#[derive(Clone, Debug, PartialEq)]
pub struct PairCurve {
    /// Selling the first coin for the second, and the second for the first; `None` for a direction that pays nothing.
    pub directions: [Option<Direction>; 2],
    /// Minimum gas units of a swap as a step of a route. The gas of a direction is added to it.
    pub gas_units: f64,
}

impl PairCurve {
    /// Returns the direction that sells the first coin (side 0) or the second (side 1).
    #[inline]
    pub fn direction(&self, side: u8) -> Option<&Direction> {
        self.directions.get(usize::from(side)).and_then(Option::as_ref)
    }

    /// Returns whether a bound continues one of the directions beyond its capacity.
    pub fn is_continued(&self) -> bool {
        self.directions.iter().flatten().any(Direction::is_continued)
    }
}
