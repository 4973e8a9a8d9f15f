//! Predictions about the price scale before a swap, and conditions under which it stays.

use alloy_primitives::U256;

use super::state::{Kind, Repricing, State};
use super::swap::CryptoAfter;
use crate::curve::arith::{Maths, WAD, add, int, mul, mul_div};

impl State {
    /// Tells whether a swap will try another price scale, judged by the profits before it and, if known, by the
    /// distance of the average. It affects gas, not amounts.
    pub(crate) fn seeks_scale(&self) -> bool {
        let Some(now) = &self.repricing else { return false };
        if !Self::affords_move(now.virtual_price, now).unwrap_or(false) {
            return false;
        }
        let Some(oracle) = now.price_oracle else { return true };
        self.distance_and_step(now, &oracle).is_ok_and(|(norm, step)| norm > step)
    }

    /// Tells whether a move of the price scale is in progress, as an earlier swap recorded. If that was not read:
    /// whether profits paid for it then, which the gas estimate assumes.
    pub(super) fn is_under_way(&self) -> bool {
        let Some(now) = &self.repricing else { return false };
        now.not_adjusted.unwrap_or_else(|| Self::affords_move(now.virtual_price, now).unwrap_or(false))
    }

    /// Tells whether swaps of one block that end in this state leave the price scale unchanged, whatever the block's
    /// timestamp. So either profits do not afford a move and none is in progress, or the averages stay near the scale
    /// all the way from the stored values to the prices before these swaps.
    pub(crate) fn keeps_its_scale(&self, after: &CryptoAfter) -> bool {
        let Some(before) = &self.repricing else { return false };
        let affords = Self::affords_move(after.repricing.virtual_price, &after.repricing).unwrap_or(true);
        let idle = !self.kind.is_classic() || before.not_adjusted == Some(false);
        after.price_scale == self.price_scale && ((!affords && idle) || self.stays_near(before).unwrap_or(false))
    }

    /// Tells whether tricrypto2 considers every average between the stored one and the last prices as near; then the
    /// scale never moves.
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
