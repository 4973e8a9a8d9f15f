//! A pool as a resolver reports it: reserves at one moment, and limits that expand. Recorded markets contain this form.

use alloy_primitives::{Address, U256};
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::{Reserves, Side, reserves::Parts};
use crate::{SwapError, fluid::arith::ten_to};

/// Decimals of reserves.
const DECIMALS: u8 = 12;
/// Minimum amount in of a pool, in 12 decimals and in atomic units.
pub(super) const LEAST_AMOUNT: (u64, u64) = (1_000_000, 100);
/// Inverse of the maximum price change of one trade (a twentieth).
pub(super) const MOST_PRICE_CHANGE: U256 = U256::from_limbs([20, 0, 0, 0]);

/// Limit of withdrawals or loans of a token, in atomic units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// At the moment of the snapshot.
    pub available: U256,
    /// After the expansion.
    pub expands_to: U256,
    /// Seconds from the snapshot to the end of the expansion.
    pub expand_seconds: u64,
}

impl Limit {
    /// Returns the limit a number of seconds after the snapshot.
    pub fn after(&self, seconds: u64) -> U256 {
        if self.expand_seconds == 0 || seconds >= self.expand_seconds {
            return self.expands_to.max(self.available);
        }
        let grows = self.expands_to.saturating_sub(self.available);
        let grown =
            grows.checked_mul(U256::from(seconds)).map_or(U256::ZERO, |part| part / U256::from(self.expand_seconds));
        self.available.saturating_add(grown)
    }

    /// Returns the limit after part of it was used.
    fn less(&self, used: U256) -> Self {
        Self {
            available: self.available.saturating_sub(used),
            expands_to: self.expands_to.saturating_sub(used),
            ..*self
        }
    }
}

/// A pool at one moment. Interest and the centre price do not change; only limits expand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Both tokens; ether is `0xEeee…`.
    pub addresses: [Address; 2],
    /// Reserves, 12 decimals.
    pub reserves: Reserves,
    /// Decimals of both tokens.
    pub decimals: [u8; 2],
    /// Withdrawal limits of both tokens; if absent, only reserves limit.
    pub withdrawable: Option<[Limit; 2]>,
    /// Borrow limits of both tokens.
    pub borrowable: Option<[Limit; 2]>,
    /// Time of the snapshot, in unix seconds.
    pub taken_at: u64,
}

/// Converts an amount to 12 decimals, rounded down; `None` on overflow.
pub fn normalised(amount: U256, decimals: u8) -> Option<U256> {
    if decimals > DECIMALS {
        Some(amount / ten_to(decimals - DECIMALS))
    } else {
        amount.checked_mul(ten_to(DECIMALS - decimals))
    }
}

/// Converts an amount of 12 decimals to atomic units, rounded down; `None` on overflow.
pub fn atomic(amount: U256, decimals: u8) -> Option<U256> {
    if decimals > DECIMALS {
        amount.checked_mul(ten_to(decimals - DECIMALS))
    } else {
        Some(amount / ten_to(DECIMALS - decimals))
    }
}

impl Snapshot {
    /// Computes a swap in atomic units: the output, its split, and the pool afterwards. Source: `FluidDexT1._swapIn`.
    ///
    /// # Errors
    /// - [`SwapError::ZeroOutput`] below the pool's minimum, or if the output rounds to zero.
    /// - [`SwapError::LimitExceeded`] above a limit, half of the reserves, or a twentieth of the price.
    /// - [`SwapError::InsufficientLiquidity`] if reserves would run low.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn swap(
        &self,
        at: &ExecutionBlock,
        zero_for_one: bool,
        amount_in: U256,
    ) -> Result<(U256, Parts, Self), SwapError> {
        let (decimals_in, decimals_out) = self.decimals_of(zero_for_one);
        let normal = normalised(amount_in, decimals_in).ok_or(SwapError::Overflow { amount_in })?;
        if normal < U256::from(LEAST_AMOUNT.0) || amount_in < U256::from(LEAST_AMOUNT.1) {
            return Err(SwapError::ZeroOutput);
        }
        let parts = self.reserves.give(zero_for_one, normal)?;
        let paid = |amount| atomic(amount, decimals_out).ok_or(SwapError::Overflow { amount_in });
        let (from_collateral, from_debt) = (paid(parts.collateral.1)?, paid(parts.debt.1)?);
        let amount_out = from_collateral.saturating_add(from_debt);
        if amount_out.is_zero() {
            return Err(SwapError::ZeroOutput);
        }
        self.check_price(zero_for_one, &parts, amount_in)?;
        self.check_limits(at, zero_for_one, from_collateral, from_debt)?;
        let after = self.after(zero_for_one, &parts, (from_collateral, from_debt));
        Ok((amount_out, parts, after.ok_or(SwapError::Overflow { amount_in })?))
    }

    /// Computes the input for exactly `amount_out`, in atomic units. Source: `FluidDexT1._swapOut`.
    ///
    /// # Errors
    /// As [`Snapshot::swap`].
    pub fn swap_exact_out(&self, at: &ExecutionBlock, zero_for_one: bool, amount_out: U256) -> Result<U256, SwapError> {
        let overflow = SwapError::Overflow { amount_in: amount_out };
        let (decimals_in, decimals_out) = self.decimals_of(zero_for_one);
        let normal = normalised(amount_out, decimals_out).ok_or_else(|| overflow.clone())?;
        if normal < U256::from(LEAST_AMOUNT.0) || amount_out < U256::from(LEAST_AMOUNT.1) {
            return Err(SwapError::ZeroOutput);
        }
        let parts = self.reserves.take(zero_for_one, normal)?;
        let paid = |amount| atomic(amount, decimals_out).ok_or_else(|| overflow.clone());
        self.check_price(zero_for_one, &parts, amount_out)?;
        self.check_limits(at, zero_for_one, paid(parts.collateral.1)?, paid(parts.debt.1)?)?;
        let asked = parts.collateral.0.checked_add(parts.debt.0);
        asked.and_then(|asked| atomic(asked, decimals_in)).ok_or(overflow)
    }

    const fn decimals_of(&self, zero_for_one: bool) -> (u8, u8) {
        let [first, second] = self.decimals;
        if zero_for_one { (first, second) } else { (second, first) }
    }

    /// Checks the price change. The contract compares with the price that it stored last; a snapshot has only the price
    /// of its reserves.
    fn check_price(&self, zero_for_one: bool, parts: &Parts, amount_in: U256) -> Result<(), SwapError> {
        let side = if parts.collateral.0 > parts.debt.0 { self.reserves.collateral } else { self.reserves.debt };
        let before = Reserves { collateral: side, debt: None, ..self.reserves }.price();
        let moved = before.map(|before| (before.abs_diff(parts.price), before / MOST_PRICE_CHANGE));
        match moved {
            Some((moved, most)) if moved <= most => Ok(()),
            Some(_) => {
                let reserve = side.map_or(U256::ZERO, |side| side.imaginary[usize::from(!zero_for_one)]);
                Err(SwapError::LimitExceeded { limit: reserve / MOST_PRICE_CHANGE, amount: amount_in })
            }
            None => Err(SwapError::Overflow { amount_in }),
        }
    }

    fn check_limits(
        &self,
        at: &ExecutionBlock,
        zero_for_one: bool,
        withdrawn: U256,
        borrowed: U256,
    ) -> Result<(), SwapError> {
        let seconds = at.timestamp.saturating_sub(self.taken_at);
        let out = usize::from(zero_for_one);
        for (limits, amount) in [(&self.withdrawable, withdrawn), (&self.borrowable, borrowed)] {
            let limit = limits.as_ref().and_then(|limits| limits.get(out)).map(|limit| limit.after(seconds));
            if let Some(limit) = limit.filter(|limit| amount > *limit) {
                return Err(SwapError::LimitExceeded { limit, amount });
            }
        }
        Ok(())
    }

    fn after(&self, zero_for_one: bool, parts: &Parts, out: (U256, U256)) -> Option<Self> {
        let fees = self.reserves.fees;
        let (i, j) = (usize::from(!zero_for_one), usize::from(zero_for_one));
        let moved = |side: Option<Side>, part: (U256, U256)| match side {
            None => Some(None),
            Some(mut side) => {
                let kept = fees.kept(part.0)?;
                for reserves in [&mut side.real, &mut side.imaginary] {
                    reserves[i] = reserves[i].checked_add(kept)?;
                    reserves[j] = reserves[j].checked_sub(part.1)?;
                }
                Some(Some(side))
            }
        };
        let mut after = self.clone();
        after.reserves.collateral = moved(self.reserves.collateral, parts.collateral)?;
        after.reserves.debt = moved(self.reserves.debt, parts.debt)?;
        let use_up = |limits: &mut Option<[Limit; 2]>, used: U256| {
            if let Some(limits) = limits {
                limits[j] = limits[j].less(used);
            }
        };
        use_up(&mut after.withdrawable, out.0);
        use_up(&mut after.borrowable, out.1);
        Some(after)
    }
}
