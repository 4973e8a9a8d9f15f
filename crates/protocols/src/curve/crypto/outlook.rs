//! What can be said of a price scale before a swap, and of one that stays where it is.

use alloy_primitives::U256;

use super::state::{Kind, Repricing, State};
use super::swap::CryptoAfter;
use crate::curve::arith::{Maths, WAD, add, int, mul, mul_div};

impl State {
    /// Whether a swap will look for another price scale, judged by the profits before it and, where it is known, by how far
    /// the average is: what gas depends on, not what is paid.
    pub(crate) fn seeks_scale(&self) -> bool {
        let Some(now) = &self.repricing else { return false };
        if !Self::affords_move(now.virtual_price, now).unwrap_or(false) {
            return false;
        }
        let Some(oracle) = now.price_oracle else { return true };
        self.distance_and_step(now, &oracle).is_ok_and(|(norm, step)| norm > step)
    }

    /// Whether the pool has noted, in a swap before, that it is about to move its price scale. Where that is not read: whether profits paid
    /// for it then, which is what gas supposes.
    pub(super) fn is_under_way(&self) -> bool {
        let Some(now) = &self.repricing else { return false };
        now.not_adjusted.unwrap_or_else(|| Self::affords_move(now.virtual_price, now).unwrap_or(false))
    }

    /// Whether swaps of one block that end like this leave the price scale where it is in whatever second the block is made: profits
    /// do not afford a move and none is under way, or the averages, which go from what is stored to the prices before these swaps,
    /// are near on all of the way.
    pub(crate) fn keeps_its_scale(&self, after: &CryptoAfter) -> bool {
        let Some(before) = &self.repricing else { return false };
        let affords = Self::affords_move(after.repricing.virtual_price, &after.repricing).unwrap_or(true);
        let idle = !self.kind.is_classic() || before.not_adjusted == Some(false);
        after.price_scale == self.price_scale && ((!affords && idle) || self.stays_near(before).unwrap_or(false))
    }

    /// Whether tricrypto2 takes every average between the stored one and the last prices to be near: then it never moves.
    fn stays_near(&self, before: &Repricing) -> Maths<bool> {
        let (Kind::Tricrypto, Some(oracle)) = (self.kind, before.price_oracle) else { return Ok(false) };
        let mut square = U256::ZERO;
        for ((scale, average), last) in self.price_scale.iter().zip(&oracle).zip(&before.last_prices) {
            // an average is rounded down, by less than two units of its ratio
            let ratio = |price: &U256| add(mul_div(*price, WAD, *scale)?.abs_diff(WAD), int(2));
            let furthest = ratio(average)?.max(ratio(last)?);
            square = add(square, mul(furthest, furthest)?)?;
        }
        Ok(square <= mul(before.adjustment_step, before.adjustment_step)?)
    }
}
