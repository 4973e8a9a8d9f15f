//! A pool as the chain's storage words: exact at any time.

use alloy_primitives::{Address, U256};
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::{
    Fees, Parts, Reserves,
    snapshot::{LEAST_AMOUNT, MOST_PRICE_CHANGE, atomic, normalised},
};
use crate::{
    SharedWords, SwapError,
    fluid::{
        arith::{bits, expand, pack, small_bits},
        earlier::Earlier,
        layer::{Token, worth},
    },
};

/// Maximum amount that a pool may transfer to the layer, in basis points of the booked amount.
const MOST_BROUGHT_BPS: U256 = U256::from_limbs([10_100, 0, 0, 0]);

/// One, in the decimals of price differences.
const DIFFERENCE_ONE: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);
/// The centre may move by one part in this many between two swaps of a block.
const CENTRE_STEADY: U256 = U256::from_limbs([100_000_000, 0, 0, 0]);
/// Bits of a stored price's coefficient.
const PRICE_COEFFICIENT: usize = 32;

/// Storage words of a pool and of the liquidity layer that a swap reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Both tokens; ether is `0xEeee…`.
    pub addresses: [Address; 2],
    /// Decimals of both tokens.
    pub decimals: [u8; 2],
    /// `dexVariables`.
    pub variables: U256,
    /// `dexVariables2`.
    pub variables2: U256,
    /// `_rangeShift` in the lower half, `_thresholdShift` in the upper.
    pub shifts: U256,
    /// `_centerPriceShift`.
    pub centre_shift: U256,
    /// Answer of the centre price contract at this block, if there is one; 27 decimals.
    pub external_centre: Option<U256>,
    /// Centre price contract.
    pub centre_told_by: Option<Address>,
    /// Both tokens in the liquidity layer.
    pub tokens: [Token; 2],
    /// Whether the liquidity layer is paused.
    pub layer_paused: bool,
}

/// Storage words that a swap changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageAfter {
    variables: U256,
    variables2: U256,
    tokens: [Token; 2],
}

impl Storage {
    /// Returns the state with the words of `after`.
    #[must_use]
    pub fn with(&self, after: &StorageAfter) -> Self {
        Self { variables: after.variables, variables2: after.variables2, tokens: after.tokens, ..self.clone() }
    }

    /// Returns the state after a route's earlier steps at Fluid, of which some may have gone through this pool.
    pub(super) fn after(&self, own: Option<&StorageAfter>, earlier: &Earlier) -> Self {
        let mut left = own.map_or_else(|| self.clone(), |own| self.with(own));
        for (address, token) in self.addresses.iter().zip(&mut left.tokens) {
            earlier.bring_up(*address, token);
        }
        left
    }

    /// Returns both tokens with the words that a swap left to all protocols of the layer.
    pub(super) fn shared(&self, after: &StorageAfter) -> [(Address, SharedWords); 2] {
        let ([first, second], [of_first, of_second]) = (self.addresses, &after.tokens);
        [(first, of_first.shared()), (second, of_second.shared())]
    }

    /// Computes the reserves at a time.
    ///
    /// # Errors
    /// [`SwapError::Closed`] for a pool that is paused, not initialised, or locked; [`SwapError::Overflow`] where the
    /// contract's arithmetic reverts.
    pub fn reserves(&self, at: &ExecutionBlock) -> Result<Reserves, SwapError> {
        let second = self.variables2;
        let closed = second.bit(255) || self.variables.bit(0) || self.layer_paused || !(second.bit(0) || second.bit(1));
        if closed {
            return Err(SwapError::Closed);
        }
        let now = at.timestamp;
        let [first, other] = &self.tokens;
        let prices = [first.prices(now)?, other.prices(now)?];
        let reverts = SwapError::Overflow { amount_in: U256::ZERO };
        let sides = || {
            let range = self.range(now)?;
            let [d0, d1] = self.decimals;
            let supply = [
                normalised(worth(first.supply, prices[0].supply), d0)?,
                normalised(worth(other.supply, prices[1].supply), d1)?,
            ];
            let debt = [
                normalised(worth(first.borrow, prices[0].borrow), d0)?,
                normalised(worth(other.borrow, prices[1].borrow), d1)?,
            ];
            let collateral = if second.bit(0) { Some(range.of_collateral(supply)?) } else { None };
            let debt = if second.bit(1) { Some(range.of_debt(debt)?) } else { None };
            Some((range.centre, collateral, debt))
        };
        let (centre_price, collateral, debt) = sides().ok_or(reverts)?;
        Ok(Reserves { collateral, debt, centre_price, fees: self.fees() })
    }

    /// Returns the fees of a trade.
    pub fn fees(&self) -> Fees {
        Fees {
            fee_pips: u32::try_from(small_bits(self.variables2, 2, 17)).unwrap_or(u32::MAX),
            revenue_cut_percent: u8::try_from(small_bits(self.variables2, 19, 7)).unwrap_or(u8::MAX),
        }
    }

    /// Computes a swap at a time in atomic units: the output, its split, and the changed words. Source:
    /// `FluidDexT1._swapIn`.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] for a paused pool, or a paused protocol in the layer.
    /// - [`SwapError::ZeroOutput`] below the minimum of the pool or the layer, or if the output rounds to zero.
    /// - [`SwapError::LimitExceeded`] above a limit of withdrawals, loans, utilisation, reserves or price.
    /// - [`SwapError::InsufficientLiquidity`] if reserves would run low.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn swap(
        &self,
        at: &ExecutionBlock,
        zero_for_one: bool,
        amount_in: U256,
    ) -> Result<(U256, Parts, StorageAfter), SwapError> {
        let overflow = || SwapError::Overflow { amount_in };
        if amount_in.bit_len() > 128 {
            return Err(overflow());
        }
        let (i, j) = if zero_for_one { (0, 1) } else { (1, 0) };
        let normal = normalised(amount_in, self.decimals[i]).ok_or_else(overflow)?;
        if normal.bit_len() > 96 {
            return Err(overflow());
        }
        let reserves = self.reserves(at).map_err(|error| match error {
            SwapError::Overflow { .. } => overflow(),
            other => other,
        })?;
        if normal < U256::from(LEAST_AMOUNT.0) || amount_in < U256::from(LEAST_AMOUNT.1) {
            return Err(SwapError::ZeroOutput);
        }
        let parts = reserves.give(zero_for_one, normal)?;
        let fees = reserves.fees;
        let pays =
            |amount: U256| fees.kept(amount).and_then(|kept| atomic(kept, self.decimals[i])).ok_or_else(overflow);
        let paid = |amount: U256| atomic(amount, self.decimals[j]).ok_or_else(overflow);
        let (deposit, payback) = (pays(parts.collateral.0)?, pays(parts.debt.0)?);
        let (withdraw, borrow) = (paid(parts.collateral.1)?, paid(parts.debt.1)?);
        let amount_out = withdraw.saturating_add(borrow);
        if amount_out.is_zero() || (deposit.is_zero() && payback.is_zero()) {
            return Err(SwapError::ZeroOutput);
        }
        // the layer refuses a transfer of over one percent more than the booked amount, which rounding causes for tiny
        // amounts
        if amount_in > deposit.saturating_add(payback).saturating_mul(MOST_BROUGHT_BPS) / U256::from(10_000) {
            return Err(SwapError::ZeroOutput);
        }
        let now = at.timestamp;
        let mut tokens = self.tokens;
        tokens[i].pay_in(now, deposit, payback)?;
        tokens[i].held = tokens[i].held.saturating_add(amount_in);
        tokens[j].pay_out(now, withdraw, borrow)?;
        let limit = small_bits(self.variables2, if zero_for_one { 238 } else { 228 }, 10);
        if limit < 1_000 && tokens[j].utilization() > limit * 10 {
            let (limit, amount) = (U256::from(limit * 10), U256::from(tokens[j].utilization()));
            return Err(SwapError::LimitExceeded { limit, amount });
        }
        let variables = self.moved(now, &parts, reserves.centre_price, amount_in)?;
        Ok((amount_out, parts, StorageAfter { variables, variables2: self.arrived(now), tokens }))
    }

    /// Returns `dexVariables` after a swap, if the price change is within its limit. Source:
    /// `CoreHelpers._updateOracle`.
    fn moved(&self, now: u64, parts: &Parts, centre: U256, amount_in: U256) -> Result<U256, SwapError> {
        let word = self.variables;
        let stored = |from: usize| expand(bits(word, from, 40));
        let steady = |before: U256| {
            let share = before.checked_mul(DIFFERENCE_ONE).and_then(|scaled| scaled.checked_div(parts.price));
            let difference = share.ok_or(SwapError::Overflow { amount_in })?.abs_diff(DIFFERENCE_ONE);
            let most = DIFFERENCE_ONE / MOST_PRICE_CHANGE;
            if difference > most { Err(SwapError::LimitExceeded { limit: most, amount: difference }) } else { Ok(()) }
        };
        let price = pack(parts.price, PRICE_COEFFICIENT, false);
        if price.bit_len() > 40 {
            return Err(SwapError::Overflow { amount_in });
        }
        let forty = (U256::ONE << 40_usize) - U256::ONE;
        if small_bits(word, 121, 33) == now {
            let before = stored(81);
            let tolerance = |sign: bool| {
                let factor = if sign { CENTRE_STEADY + U256::ONE } else { CENTRE_STEADY - U256::ONE };
                before.saturating_mul(factor) / CENTRE_STEADY
            };
            if centre < tolerance(false) || centre > tolerance(true) {
                return Err(SwapError::LimitExceeded { limit: before, amount: centre });
            }
            steady(stored(1))?;
            return Ok((word & !(forty << 41_usize)) | (price << 41_usize));
        }
        steady(stored(41))?;
        let last = bits(word, 41, 40);
        let mask: U256 = ((U256::ONE << 153_usize) - U256::ONE) << 1_usize;
        let time = U256::from(now & ((1 << 33) - 1));
        let fresh = (last << 1_usize)
            | (price << 41_usize)
            | ((pack(centre, PRICE_COEFFICIENT, false) & forty) << 81_usize)
            | (time << 121_usize);
        Ok((word & !mask) | fresh)
    }
}
