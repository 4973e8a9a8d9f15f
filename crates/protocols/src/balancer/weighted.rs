//! Weighted pools: two to eight coins, each with a fixed share of the pool's value.

use alloy_primitives::U256;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::{
    Scale,
    fixed_point::{ONE, add, complement, div_down, div_up, mul_down, mul_up, pow_up, sub},
    less_fee, plus_fee,
    revert::Revert,
};
use crate::{SwapError, error::positions, pool::MAX_COINS};

/// Maximum share of a balance that one trade adds or removes: 30%, 18 decimals.
const MAX_RATIO: U256 = U256::from_limbs([300_000_000_000_000_000, 0, 0, 0]);

/// Computation of powers in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// By logarithm for every exponent: the first pools.
    Logarithm,
    /// By multiplication for exponents 1, 2 and 4: later pools.
    Shortcuts,
}

/// State that a weighted pool's swap depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedPool {
    /// Balance of each coin in the vault, in atomic units.
    pub balances: ArrayVec<U256, MAX_COINS>,
    /// Factor from atomic units to 18 decimals: `10^(36 − decimals)`.
    pub scaling_factors: ArrayVec<U256, MAX_COINS>,
    /// Weight of each coin, 18 decimals; they sum to one.
    pub weights: ArrayVec<U256, MAX_COINS>,
    /// Fee on the amount in, 18 decimals.
    pub fee_wad: U256,
    /// Computation of powers.
    pub power: Power,
}

impl WeightedPool {
    /// Computes a swap of `amount_in`; the output is rounded down. Source: `WeightedMath._calcOutGivenIn`,
    /// `BasePool.onSwap`.
    ///
    /// # Errors
    /// - [`SwapError::LimitExceeded`] above 30% of the balance of the coin in.
    /// - [`SwapError::ZeroOutput`] if the output rounds to zero.
    /// - [`SwapError::UnknownCoin`] for a coin that the pool does not have.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn swap(&self, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<U256, SwapError> {
        let (i, j) = positions(self.coins(), coin_in, coin_out, amount_in)?;
        let unscaled = |limit| self.scale().down(limit, i).unwrap_or(limit);
        let out = self.out_given_in(i, j, amount_in).map_err(|revert| revert.into_error(amount_in, unscaled))?;
        if out.is_zero() { Err(SwapError::ZeroOutput) } else { Ok(out) }
    }

    /// Computes the input for exactly `amount_out`, rounded up. Source: `WeightedMath._calcInGivenOut`.
    ///
    /// # Errors
    /// As [`WeightedPool::swap`]; the limit is 30% of the balance of the coin out.
    pub fn swap_exact_out(&self, coin_in: u8, coin_out: u8, amount_out: U256) -> Result<U256, SwapError> {
        let (i, j) = positions(self.coins(), coin_in, coin_out, amount_out)?;
        let unscaled = |limit| self.scale().down(limit, j).unwrap_or(limit);
        self.in_given_out(i, j, amount_out).map_err(|revert| revert.into_error(amount_out, unscaled))
    }

    fn coins(&self) -> usize {
        self.balances.len().min(self.scaling_factors.len()).min(self.weights.len())
    }

    fn scale(&self) -> Scale<'_> {
        Scale { balances: &self.balances, factors: &self.scaling_factors }
    }

    fn shortcuts(&self) -> bool {
        self.power == Power::Shortcuts
    }

    fn out_given_in(&self, i: usize, j: usize, amount_in: U256) -> Result<U256, Revert> {
        let scale = self.scale();
        let amount = scale.up(less_fee(amount_in, self.fee_wad)?, i)?;
        let (balance_in, balance_out) = (scale.balance(i)?, scale.balance(j)?);
        let limit = mul_down(balance_in, MAX_RATIO)?;
        if amount > limit {
            return Err(Revert::Ratio(limit));
        }
        let base = div_up(balance_in, add(balance_in, amount)?)?;
        let power = pow_up(base, div_down(self.weights[i], self.weights[j])?, self.shortcuts())?;
        scale.down(mul_down(balance_out, complement(power))?, j)
    }

    fn in_given_out(&self, i: usize, j: usize, amount_out: U256) -> Result<U256, Revert> {
        let scale = self.scale();
        let amount = scale.up(amount_out, j)?;
        let (balance_in, balance_out) = (scale.balance(i)?, scale.balance(j)?);
        let limit = mul_down(balance_out, MAX_RATIO)?;
        if amount > limit {
            return Err(Revert::Ratio(limit));
        }
        let base = div_up(balance_out, sub(balance_out, amount)?)?;
        let power = pow_up(base, div_up(self.weights[j], self.weights[i])?, self.shortcuts())?;
        plus_fee(scale.down_rounded_up(mul_up(balance_in, sub(power, ONE)?)?, i)?, self.fee_wad)
    }
}
