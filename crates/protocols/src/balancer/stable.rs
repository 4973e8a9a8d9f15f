//! Stable pools, with rates (meta-stable, composable) or without: Curve's invariant with Balancer's rounding.

use alloy_primitives::U256;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::{
    Scale,
    fixed_point::{add, round_up, sub, total},
    less_fee, plus_fee,
    revert::Revert,
};
use crate::{SwapError, continuous::MAX_SAMPLED_ROUNDS, error::positions, pool::MAX_COINS};

/// Scale of the amplification parameter.
pub(super) const AMP_PRECISION: U256 = U256::from_limbs([1_000, 0, 0, 0]);
/// Maximum iterations of the contracts' loops.
const MAX_ROUNDS: usize = 255;

/// Rounding of a pool's invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Invariant {
    /// Up for swaps: the first stable pools, and meta-stable pools.
    Up,
    /// Down, with Curve's order of operations: composable pools.
    Down,
}

/// State that a stable pool's swap depends on. All lists exclude the pool's own token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StablePool {
    /// Balance of each coin in the vault, in atomic units.
    pub balances: ArrayVec<U256, MAX_COINS>,
    /// Factor from atomic units to 18 decimals of the common unit: `10^(36 − decimals)` times the coin's rate.
    pub scaling_factors: ArrayVec<U256, MAX_COINS>,
    /// Amplification at the time of the swap, times 1,000.
    pub amp_times_1000: U256,
    /// Fee on the amount in, 18 decimals.
    pub fee_wad: U256,
    /// Rounding of the invariant.
    pub invariant: Invariant,
}

impl StablePool {
    /// Computes a swap of `amount_in`; the output is rounded down. Source: `StableMath._calcOutGivenIn`,
    /// `BasePool.onSwap`.
    ///
    /// # Errors
    /// - [`SwapError::ZeroOutput`] if the output rounds to zero.
    /// - [`SwapError::UnknownCoin`] for a coin that the pool does not have.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts, [`SwapError::Closed`] where it does not
    ///   converge.
    pub fn swap(&self, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<U256, SwapError> {
        let (i, j) = positions(self.coins(), coin_in, coin_out, amount_in)?;
        let out = self.out_given_in(i, j, amount_in).map_err(|revert| revert.into_error(amount_in, |limit| limit))?;
        if out.is_zero() { Err(SwapError::ZeroOutput) } else { Ok(out) }
    }

    /// Computes the input for exactly `amount_out`, rounded up. Source: `StableMath._calcInGivenOut`.
    ///
    /// # Errors
    /// As [`StablePool::swap`].
    pub fn swap_exact_out(&self, coin_in: u8, coin_out: u8, amount_out: U256) -> Result<U256, SwapError> {
        let (i, j) = positions(self.coins(), coin_in, coin_out, amount_out)?;
        self.in_given_out(i, j, amount_out).map_err(|revert| revert.into_error(amount_out, |limit| limit))
    }

    fn coins(&self) -> usize {
        self.balances.len().min(self.scaling_factors.len())
    }

    pub(super) fn scale(&self) -> Scale<'_> {
        Scale { balances: &self.balances, factors: &self.scaling_factors }
    }

    /// Scales the balances to 18 decimals of the common unit.
    pub(super) fn scaled_balances(&self) -> Result<ArrayVec<U256, MAX_COINS>, Revert> {
        let scale = self.scale();
        (0..self.balances.len()).map(|coin| scale.balance(coin)).collect()
    }

    fn out_given_in(&self, i: usize, j: usize, amount_in: U256) -> Result<U256, Revert> {
        let scale = self.scale();
        let amount = scale.up(less_fee(amount_in, self.fee_wad)?, i)?;
        let mut balances = self.scaled_balances()?;
        let invariant = self.invariant_of(&balances)?;
        let before = balances[j];
        balances[i] = add(balances[i], amount)?;
        let after = self.balance_given_invariant(&balances, invariant, j)?;
        scale.down(sub(sub(before, after)?, U256::ONE)?, j)
    }

    fn in_given_out(&self, i: usize, j: usize, amount_out: U256) -> Result<U256, Revert> {
        let scale = self.scale();
        let amount = scale.up(amount_out, j)?;
        let mut balances = self.scaled_balances()?;
        let invariant = self.invariant_of(&balances)?;
        let before = balances[i];
        balances[j] = sub(balances[j], amount)?;
        let after = self.balance_given_invariant(&balances, invariant, i)?;
        plus_fee(scale.down_rounded_up(add(sub(after, before)?, U256::ONE)?, i)?, self.fee_wad)
    }

    /// Computes the invariant. Source: `StableMath._calculateInvariant`, the older or the newer version.
    pub(super) fn invariant_of(&self, balances: &[U256]) -> Result<U256, Revert> {
        invariant(self.amp_times_1000, balances, self.invariant)
    }

    /// Tells whether the invariant converges within the iterations that sampling affords.
    pub(super) fn settles_soon(&self) -> bool {
        let settles = |balances: &[U256]| settles_soon(self.amp_times_1000, balances, self.invariant);
        self.scaled_balances().is_ok_and(|balances| settles(&balances))
    }

    /// Computes the balance of one coin from the invariant and the others, rounded up. Source:
    /// `StableMath._getTokenBalanceGivenInvariantAndAllOtherBalances`.
    pub(super) fn balance_given_invariant(
        &self,
        balances: &[U256],
        invariant: U256,
        coin: usize,
    ) -> Result<U256, Revert> {
        let (c, b) = self.quadratic(balances, invariant, coin).ok_or(Revert::Arithmetic)?;
        settled_balance(invariant, c, b)
    }

    /// Computes the coefficients of `y² + (b − D)·y = c`.
    fn quadratic(&self, balances: &[U256], invariant: U256, coin: usize) -> Option<(U256, U256)> {
        let amp = self.amp_times_1000.checked_mul(U256::from(self.balances.len()))?;
        let (sum, product) = sum_and_product(balances, invariant)?;
        let balance = *balances.get(coin)?;
        let square = invariant.checked_mul(invariant)?;
        let quotient = round_up(Some(square), amp.checked_mul(product)?).ok()?;
        let c = quotient.checked_mul(AMP_PRECISION)?.checked_mul(balance)?;
        let b = sum.checked_sub(balance)?.checked_add(invariant.checked_div(amp)?.checked_mul(AMP_PRECISION)?)?;
        Some((c, b))
    }
}

/// Computes the invariant `D` of scaled balances; zero for an empty pool.
fn invariant(amp_times_1000: U256, balances: &[U256], rounding: Invariant) -> Result<U256, Revert> {
    invariant_within(MAX_ROUNDS, amp_times_1000, balances, rounding)
}

/// Tells whether the invariant of scaled balances converges within [`MAX_SAMPLED_ROUNDS`].
pub(super) fn settles_soon(amp_times_1000: U256, balances: &[U256], rounding: Invariant) -> bool {
    invariant_within(MAX_SAMPLED_ROUNDS, amp_times_1000, balances, rounding).is_ok()
}

/// Computes the invariant of scaled balances in at most `rounds` iterations.
fn invariant_within(
    rounds: usize,
    amp_times_1000: U256,
    balances: &[U256],
    rounding: Invariant,
) -> Result<U256, Revert> {
    let sum = total(balances)?;
    if sum.is_zero() {
        return Ok(sum);
    }
    let amp = amp_times_1000.checked_mul(U256::from(balances.len())).ok_or(Revert::Arithmetic)?;
    settle(rounds, sum, |invariant| match rounding {
        Invariant::Up => next_invariant_up(amp, balances, sum, invariant),
        Invariant::Down => next_invariant_down(amp, balances, sum, invariant),
    })
}

/// Computes the newer invariant of scaled balances, which V3 pools share.
pub(super) fn newer_invariant(amp_times_1000: U256, balances: &[U256]) -> Result<U256, Revert> {
    invariant(amp_times_1000, balances, Invariant::Down)
}

/// Returns the sum of balances, and `n·x₀` times `n·x/D` of every other balance, each rounded down.
pub(super) fn sum_and_product(balances: &[U256], invariant: U256) -> Option<(U256, U256)> {
    let count = U256::from(balances.len());
    let (first, others) = balances.split_first()?;
    let (mut sum, mut product) = (*first, first.checked_mul(count)?);
    for balance in others {
        product = product.checked_mul(*balance)?.checked_mul(count)?.checked_div(invariant)?;
        sum = sum.checked_add(*balance)?;
    }
    Some((sum, product))
}

/// Solves `y² + (b − D)·y = c` for the balance of one coin, rounded up.
pub(super) fn settled_balance(invariant: U256, c: U256, b: U256) -> Result<U256, Revert> {
    let square = invariant.checked_mul(invariant).and_then(|square| square.checked_add(c));
    settle(MAX_ROUNDS, round_up(square, add(invariant, b)?)?, |balance| {
        let numerator = balance.checked_mul(balance).and_then(|square| square.checked_add(c));
        let denominator = balance.checked_mul(U256::from(2)).and_then(|double| double.checked_add(b));
        round_up(numerator, sub(denominator.ok_or(Revert::Arithmetic)?, invariant)?)
    })
}

/// Collects balances into a list of bounded length.
pub(super) fn listed(balances: &[U256]) -> ArrayVec<U256, MAX_COINS> {
    balances.iter().copied().take(MAX_COINS).collect()
}

/// Iterates until two successive values differ by at most one, at most `rounds` times.
fn settle(rounds: usize, start: U256, next: impl Fn(U256) -> Result<U256, Revert>) -> Result<U256, Revert> {
    let mut value = start;
    for _ in 0..rounds {
        let previous = value;
        value = next(previous)?;
        if value.abs_diff(previous) <= U256::ONE {
            return Ok(value);
        }
    }
    Err(Revert::Unconverged)
}

/// Computes one Newton step of the older invariant, rounded up.
fn next_invariant_up(amp: U256, balances: &[U256], sum: U256, invariant: U256) -> Result<U256, Revert> {
    let parts = || {
        let count = U256::from(balances.len());
        let (first, others) = balances.split_first()?;
        let mut product = first.checked_mul(count)?;
        for balance in others {
            product = round_up(product.checked_mul(*balance)?.checked_mul(count), invariant).ok()?;
        }
        let weighted = round_up(amp.checked_mul(sum)?.checked_mul(product), AMP_PRECISION).ok()?;
        let numerator = count.checked_mul(invariant)?.checked_mul(invariant)?.checked_add(weighted)?;
        let rest = amp.checked_sub(AMP_PRECISION)?.checked_mul(product)?.checked_div(AMP_PRECISION)?;
        let denominator = count.checked_add(U256::ONE)?.checked_mul(invariant)?.checked_add(rest)?;
        Some((numerator, denominator))
    };
    let (numerator, denominator) = parts().ok_or(Revert::Arithmetic)?;
    round_up(Some(numerator), denominator)
}

/// Computes one Newton step of the newer invariant, rounded down.
fn next_invariant_down(amp: U256, balances: &[U256], sum: U256, invariant: U256) -> Result<U256, Revert> {
    let parts = || {
        let count = U256::from(balances.len());
        let mut product = invariant;
        for balance in balances {
            product = product.checked_mul(invariant)?.checked_div(balance.checked_mul(count)?)?;
        }
        let weighted = amp.checked_mul(sum)?.checked_div(AMP_PRECISION)?.checked_add(product.checked_mul(count)?)?;
        let numerator = weighted.checked_mul(invariant)?;
        let rest = amp.checked_sub(AMP_PRECISION)?.checked_mul(invariant)?.checked_div(AMP_PRECISION)?;
        let denominator = rest.checked_add(count.checked_add(U256::ONE)?.checked_mul(product)?)?;
        numerator.checked_div(denominator)
    };
    parts().ok_or(Revert::Arithmetic)
}
