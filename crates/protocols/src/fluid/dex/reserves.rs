//! Trades against given reserves. Amounts have 12 decimals; prices have 27, token 1 in token 0.

use alloy_primitives::{I256, U256};
use serde::{Deserialize, Serialize};

use super::super::arith::square_root;
use crate::SwapError;

/// One, in the decimals of prices.
pub(super) const PRICE_ONE: U256 = U256::from_limbs([0x9fd0_803c_e800_0000, 0x33b_2e3c, 0, 0]);
/// One hundred percent, in the decimals of fees.
const MILLION: U256 = U256::from_limbs([1_000_000, 0, 0, 0]);
/// One hundred percent, in the decimals of the revenue cut.
const HUNDRED_MILLION: U256 = U256::from_limbs([100_000_000, 0, 0, 0]);
/// Minimum real reserve of the paid token after a swap, as a fraction (one over this) of the other's at the centre
/// price.
const LEAST_RESERVES: U256 = U256::from_limbs([10_000, 0, 0, 0]);

/// Reserves of a pool's collateral or debt: token 0, token 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// Real reserves, which can be paid out.
    pub real: [U256; 2],
    /// Imaginary reserves, on which the curve `x · y = k` runs.
    pub imaginary: [U256; 2],
}

/// Fees of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fees {
    /// Fee on the amount in, in hundredths of a basis point.
    pub fee_pips: u32,
    /// Protocol's part of the fee, in percent; it leaves the pool.
    pub revenue_cut_percent: u8,
}

/// Reserves of both sides at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserves {
    /// Reserves of the collateral, if any.
    pub collateral: Option<Side>,
    /// Reserves of the debt, if any.
    pub debt: Option<Side>,
    /// Centre of the price range.
    pub centre_price: U256,
    /// Fees of a trade.
    pub fees: Fees,
}

/// Split of a trade over collateral and debt. Amounts in include the fee, but not the protocol's cut; see
/// [`Fees::kept`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Deposited as collateral, and withdrawn from it.
    pub collateral: (U256, U256),
    /// Paid back as debt, and borrowed.
    pub debt: (U256, U256),
    /// Price after the trade.
    pub price: U256,
}

/// Reserves of one side, in the direction of a trade.
#[derive(Clone, Copy)]
struct Facing {
    real: (U256, U256),
    imaginary: (U256, U256),
}

impl Side {
    const fn facing(&self, zero_for_one: bool) -> Facing {
        let ([r0, r1], [i0, i1]) = (self.real, self.imaginary);
        if zero_for_one {
            Facing { real: (r0, r1), imaginary: (i0, i1) }
        } else {
            Facing { real: (r1, r0), imaginary: (i1, i0) }
        }
    }

    /// Returns a side whose reserves are all above zero; a side with a zero does not trade.
    pub fn open(real: [U256; 2], imaginary: [U256; 2]) -> Option<Self> {
        let zero = real.iter().chain(&imaginary).any(|reserve| reserve.is_zero());
        (!zero).then_some(Self { real, imaginary })
    }
}

impl Fees {
    /// Computes an amount in less the protocol's cut of the fee.
    pub fn kept(&self, amount: U256) -> Option<U256> {
        let cut = U256::from(self.revenue_cut_percent).checked_mul(U256::from(self.fee_pips))?;
        Some(amount.checked_mul(HUNDRED_MILLION.checked_sub(cut)?)? / HUNDRED_MILLION)
    }

    fn remaining(&self) -> U256 {
        MILLION.saturating_sub(U256::from(self.fee_pips))
    }

    fn after_fee(&self, amount: U256) -> Option<U256> {
        Some(amount.checked_mul(self.remaining())? / MILLION)
    }
}

impl Reserves {
    /// Computes the split of an amount in, the output of each part, and the price afterwards. Source:
    /// `FluidDexT1._swapIn`.
    ///
    /// # Errors
    /// - [`SwapError::LimitExceeded`] above half of the imaginary reserves of the token in.
    /// - [`SwapError::InsufficientLiquidity`] if the real reserves would run out, or one would be too small next to the
    ///   other.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn give(&self, zero_for_one: bool, amount_in: U256) -> Result<Parts, SwapError> {
        let overflow = || SwapError::Overflow { amount_in };
        let (collateral, debt) = self.facing(zero_for_one);
        let limit = [collateral, debt]
            .into_iter()
            .flatten()
            .try_fold(U256::ZERO, |sum, side| sum.checked_add(side.imaginary.0));
        let limit = limit.ok_or_else(overflow)? / U256::from(2);
        if amount_in > limit {
            return Err(SwapError::LimitExceeded { limit, amount: amount_in });
        }
        let to_collateral = match (collateral, debt) {
            (Some(c), Some(d)) => route_in(amount_in, c, d).ok_or_else(overflow)?,
            (Some(_), None) => amount_in,
            (None, _) => U256::ZERO,
        };
        let to_debt = amount_in - to_collateral;
        let pay = |side: Option<Facing>, amount: U256| match side {
            Some(side) if !amount.is_zero() => {
                let given = self.fees.after_fee(amount).ok_or_else(overflow)?;
                let (reserve_in, reserve_out) = side.imaginary;
                let out = given.checked_mul(reserve_out).zip(reserve_in.checked_add(given));
                let out = out.and_then(|(product, sum)| product.checked_div(sum)).ok_or_else(overflow)?;
                self.check_reserves(zero_for_one, side, amount, out)?;
                Ok((amount, out))
            }
            _ => Ok((U256::ZERO, U256::ZERO)),
        };
        let (collateral_part, debt_part) = (pay(collateral, to_collateral)?, pay(debt, to_debt)?);
        self.parts(zero_for_one, (collateral, collateral_part), (debt, debt_part)).ok_or_else(overflow)
    }

    /// Computes the split of an amount out, and the input of each part. Source: `FluidDexT1._swapOut`.
    ///
    /// # Errors
    /// As [`Reserves::give`]; the limit is half of the imaginary reserves of the token out.
    pub fn take(&self, zero_for_one: bool, amount_out: U256) -> Result<Parts, SwapError> {
        let overflow = || SwapError::Overflow { amount_in: amount_out };
        let (collateral, debt) = self.facing(zero_for_one);
        let limit = [collateral, debt]
            .into_iter()
            .flatten()
            .try_fold(U256::ZERO, |sum, side| sum.checked_add(side.imaginary.1));
        let limit = limit.ok_or_else(overflow)? / U256::from(2);
        if amount_out > limit {
            return Err(SwapError::LimitExceeded { limit, amount: amount_out });
        }
        let from_collateral = match (collateral, debt) {
            (Some(c), Some(d)) => route_out(amount_out, c, d).ok_or_else(overflow)?,
            (Some(_), None) => amount_out,
            (None, _) => U256::ZERO,
        };
        let from_debt = amount_out - from_collateral;
        let ask = |side: Option<Facing>, amount: U256| match side {
            Some(side) if !amount.is_zero() => {
                let (reserve_in, reserve_out) = side.imaginary;
                let before_fee = amount.checked_mul(reserve_in).zip(reserve_out.checked_sub(amount));
                let before_fee = before_fee.and_then(|(product, rest)| product.checked_div(rest));
                let asked =
                    before_fee.and_then(|amount| amount.checked_mul(MILLION)?.checked_div(self.fees.remaining()));
                let asked = asked.ok_or_else(overflow)?;
                self.check_reserves(zero_for_one, side, asked, amount)?;
                Ok((asked, amount))
            }
            _ => Ok((U256::ZERO, U256::ZERO)),
        };
        let (collateral_part, debt_part) = (ask(collateral, from_collateral)?, ask(debt, from_debt)?);
        self.parts(zero_for_one, (collateral, collateral_part), (debt, debt_part)).ok_or_else(overflow)
    }

    fn facing(&self, zero_for_one: bool) -> (Option<Facing>, Option<Facing>) {
        let facing = |side: &Option<Side>| side.as_ref().map(|side| side.facing(zero_for_one));
        (facing(&self.collateral), facing(&self.debt))
    }

    /// Checks the ratio of real reserves. Source: `_verifyToken0Reserves`, `_verifyToken1Reserves`.
    fn check_reserves(
        &self,
        zero_for_one: bool,
        side: Facing,
        amount_in: U256,
        amount_out: U256,
    ) -> Result<(), SwapError> {
        let short = SwapError::InsufficientLiquidity { consumed: U256::ZERO, amount_in };
        let (real_in, real_out) = (side.real.0.checked_add(amount_in), side.real.1.checked_sub(amount_out));
        let (Some(real_in), Some(real_out)) = (real_in, real_out) else { return Err(short) };
        let least = if zero_for_one {
            real_in.checked_mul(self.centre_price).map(|product| product / (PRICE_ONE * LEAST_RESERVES))
        } else {
            let divisor = self.centre_price.checked_mul(LEAST_RESERVES);
            real_in.checked_mul(PRICE_ONE).zip(divisor).and_then(|(product, divisor)| product.checked_div(divisor))
        };
        let least = least.ok_or(SwapError::Overflow { amount_in })?;
        if real_out < least { Err(short) } else { Ok(()) }
    }

    /// Builds the parts. The price is that of the side with the larger amount in, after the cut.
    fn parts(
        &self,
        zero_for_one: bool,
        (collateral, collateral_part): (Option<Facing>, (U256, U256)),
        (debt, debt_part): (Option<Facing>, (U256, U256)),
    ) -> Option<Parts> {
        let (kept_collateral, kept_debt) = (self.fees.kept(collateral_part.0)?, self.fees.kept(debt_part.0)?);
        let (side, kept, out) = if kept_collateral > kept_debt {
            (collateral?, kept_collateral, collateral_part.1)
        } else {
            (debt.or(collateral)?, kept_debt, debt_part.1)
        };
        let (reserve_in, reserve_out) = (side.imaginary.0.checked_add(kept)?, side.imaginary.1.checked_sub(out)?);
        let (above, below) = if zero_for_one { (reserve_out, reserve_in) } else { (reserve_in, reserve_out) };
        let price = above.checked_mul(PRICE_ONE)?.checked_div(below)?;
        Some(Parts { collateral: collateral_part, debt: debt_part, price })
    }

    /// Returns the price before a trade: that of the side with larger imaginary reserves of the token in.
    pub fn price(&self) -> Option<U256> {
        let of = |side: &Side| side.imaginary[1].checked_mul(PRICE_ONE)?.checked_div(side.imaginary[0]);
        of(self.collateral.as_ref().or(self.debt.as_ref())?)
    }
}

/// Computes the square roots of both products, with nine more digits.
fn roots(c: Facing, d: Facing) -> Option<(U256, U256)> {
    let digits = U256::from(1_000_000_000_000_000_000_u64);
    let root = |side: Facing| {
        let product = side.imaginary.0.checked_mul(side.imaginary.1)?.checked_mul(digits)?;
        Some(square_root(product))
    };
    Some((root(c)?, root(d)?))
}

/// Computes a quotient, clamped between zero and `all`.
fn clamped(numerator: I256, denominator: U256, all: U256) -> Option<U256> {
    let share = numerator.checked_div(I256::try_from(denominator).ok()?)?;
    if share.is_negative() { Some(U256::ZERO) } else { Some(share.into_raw().min(all)) }
}

/// Computes the part of an amount in that goes to the collateral, so that both sides end at one price. Source:
/// `_swapRoutingIn`.
fn route_in(amount: U256, c: Facing, d: Facing) -> Option<U256> {
    let (root_c, root_d) = roots(c, d)?;
    let plus = d.imaginary.0.checked_mul(root_c)?.checked_add(amount.checked_mul(root_c)?)?;
    let minus = c.imaginary.0.checked_mul(root_d)?;
    let numerator = I256::try_from(plus).ok()?.checked_sub(I256::try_from(minus).ok()?)?;
    clamped(numerator, root_c.checked_add(root_d)?, amount)
}

/// Computes the part of an amount out that comes from the collateral, so that both sides end at one price. Source:
/// `_swapRoutingOut`.
fn route_out(amount: U256, c: Facing, d: Facing) -> Option<U256> {
    let (root_c, root_d) = roots(c, d)?;
    let plus = amount.checked_mul(root_c)?.checked_add(c.imaginary.1.checked_mul(root_d)?)?;
    let minus = d.imaginary.1.checked_mul(root_c)?;
    let numerator = I256::try_from(plus).ok()?.checked_sub(I256::try_from(minus).ok()?)?;
    clamped(numerator, root_c.checked_add(root_d)?, amount)
}
