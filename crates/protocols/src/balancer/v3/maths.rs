//! Curves of V3 pools, on live balances: 18 decimals, including rates.

use alloy_primitives::U256;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::super::{
    fixed_point::{ONE, add, complement, div_down, div_up, mul_down, mul_up, pow_up, round_up, sub},
    revert::Revert,
    stable::{AMP_PRECISION, Invariant, listed, newer_invariant, settled_balance, settles_soon, sum_and_product},
};
use crate::pool::MAX_COINS;

/// Maximum share of a balance that one trade of a weighted pool adds or removes: 30%.
const MAX_RATIO: U256 = U256::from_limbs([300_000_000_000_000_000, 0, 0, 0]);
/// Maximum ratio of the largest to the smallest balance, in stable pools that check it.
const MAX_IMBALANCE: U256 = U256::from_limbs([10_000, 0, 0, 0]);

/// Release of the pool's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generation {
    /// The first releases (weighted of December 2024, stable v1 and v2): no bounds on balances.
    First,
    /// Later releases: a weighted pool counts one unit more of the coin in and has minimum balances; a stable pool
    /// bounds the imbalance.
    Guarded,
}

/// The pool's curve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a box would be made for every quote")]
pub enum Curve {
    /// Constant product with a power for each coin.
    Weighted {
        /// Weight of each coin, 18 decimals; they sum to one.
        weights: ArrayVec<U256, MAX_COINS>,
        /// Minimum live balances after a swap, 18 decimals; empty if there are none.
        least_balances: ArrayVec<U256, MAX_COINS>,
        /// Code release.
        generation: Generation,
    },
    /// Curve's invariant.
    Stable {
        /// Amplification at the time of the swap, times 1,000.
        amp_times_1000: U256,
        /// Code release.
        generation: Generation,
    },
}

impl Curve {
    /// Computes the amount out for an amount in, both scaled. Source: `WeightedPool.onSwap`, `StablePool.onSwap`.
    pub(super) fn out_given_in(&self, balances: &[U256], i: usize, j: usize, amount: U256) -> Result<U256, Revert> {
        match self {
            Self::Weighted { weights, least_balances, generation } => {
                let weighted = Weighted { weights, least_balances, generation: *generation };
                weighted.out_given_in(balances, i, j, amount)
            }
            Self::Stable { amp_times_1000, generation } => {
                let out = stable_out(*amp_times_1000, balances, i, j, amount)?;
                check_imbalance(*generation, balances, (i, amount), (j, out))?;
                Ok(out)
            }
        }
    }

    /// Tells whether the invariant converges within the iterations that sampling affords.
    pub(super) fn settles_soon(&self, balances: &[U256]) -> bool {
        match self {
            Self::Weighted { .. } => true,
            Self::Stable { amp_times_1000, .. } => settles_soon(*amp_times_1000, balances, Invariant::Down),
        }
    }

    /// Computes the amount in for an amount out, both scaled and without the fee.
    pub(super) fn in_given_out(&self, balances: &[U256], i: usize, j: usize, amount: U256) -> Result<U256, Revert> {
        match self {
            Self::Weighted { weights, least_balances, generation } => {
                let weighted = Weighted { weights, least_balances, generation: *generation };
                weighted.in_given_out(balances, i, j, amount)
            }
            Self::Stable { amp_times_1000, generation } => {
                let amount_in = stable_in(*amp_times_1000, balances, i, j, amount)?;
                check_imbalance(*generation, balances, (i, amount_in), (j, amount))?;
                Ok(amount_in)
            }
        }
    }
}

/// Parameters of a weighted pool.
struct Weighted<'a> {
    weights: &'a [U256],
    least_balances: &'a [U256],
    generation: Generation,
}

impl Weighted<'_> {
    fn balances(&self, balances: &[U256], i: usize, j: usize) -> Result<(U256, U256), Revert> {
        let (balance_in, balance_out) = (at(balances, i)?, at(balances, j)?);
        match self.generation {
            Generation::First => Ok((balance_in, balance_out)),
            Generation::Guarded => {
                let balance_in = add(balance_in, U256::ONE)?;
                self.keep_least(i, balance_in)?;
                Ok((balance_in, balance_out))
            }
        }
    }

    fn keep_least(&self, coin: usize, balance: U256) -> Result<(), Revert> {
        let least = self.least_balances.get(coin).copied().unwrap_or_default();
        if balance < least { Err(Revert::Ratio(least)) } else { Ok(()) }
    }

    /// Source: `WeightedMath.computeOutGivenExactIn`.
    fn out_given_in(&self, balances: &[U256], i: usize, j: usize, amount: U256) -> Result<U256, Revert> {
        let (balance_in, balance_out) = self.balances(balances, i, j)?;
        let limit = mul_down(balance_in, MAX_RATIO)?;
        if amount > limit {
            return Err(Revert::Ratio(limit));
        }
        let base = div_up(balance_in, add(balance_in, amount)?)?;
        let exponent = div_down(at(self.weights, i)?, at(self.weights, j)?)?;
        let out = mul_down(balance_out, complement(pow_up(base, exponent, true)?))?;
        self.keep_least(j, sub(balance_out, out)?)?;
        Ok(out)
    }

    /// Source: `WeightedMath.computeInGivenExactOut`.
    fn in_given_out(&self, balances: &[U256], i: usize, j: usize, amount: U256) -> Result<U256, Revert> {
        let (balance_in, balance_out) = self.balances(balances, i, j)?;
        let limit = mul_down(balance_out, MAX_RATIO)?;
        if amount > limit {
            return Err(Revert::Ratio(limit));
        }
        let base = div_up(balance_out, sub(balance_out, amount)?)?;
        let exponent = div_up(at(self.weights, j)?, at(self.weights, i)?)?;
        let ratio = sub(pow_up(base, exponent, true)?, ONE)?;
        let amount_in = mul_up(balance_in, ratio)?;
        self.keep_least(j, sub(balance_out, amount)?)?;
        Ok(amount_in)
    }
}

fn at(list: &[U256], coin: usize) -> Result<U256, Revert> {
    list.get(coin).copied().ok_or(Revert::Arithmetic)
}

/// Source: `StableMath.computeOutGivenExactIn`.
fn stable_out(amp: U256, balances: &[U256], i: usize, j: usize, amount: U256) -> Result<U256, Revert> {
    let invariant = newer_invariant(amp, balances)?;
    let mut after = listed(balances);
    let slot = after.get_mut(i).ok_or(Revert::Arithmetic)?;
    *slot = add(*slot, amount)?;
    let left = balance_given_invariant(amp, &after, invariant, j)?;
    sub(sub(at(balances, j)?, left)?, U256::ONE)
}

/// Source: `StableMath.computeInGivenExactOut`.
fn stable_in(amp: U256, balances: &[U256], i: usize, j: usize, amount: U256) -> Result<U256, Revert> {
    let invariant = newer_invariant(amp, balances)?;
    let mut after = listed(balances);
    let slot = after.get_mut(j).ok_or(Revert::Arithmetic)?;
    *slot = sub(*slot, amount)?;
    let needed = balance_given_invariant(amp, &after, invariant, i)?;
    add(sub(needed, at(balances, i)?)?, U256::ONE)
}

/// Computes the balance of one coin from the invariant and the others, rounded up. V3 multiplies by the precision
/// before the division, V2 after it. Source: `StableMath.computeBalance`.
fn balance_given_invariant(amp: U256, balances: &[U256], invariant: U256, coin: usize) -> Result<U256, Revert> {
    let coefficients = || {
        let amp_times_total = amp.checked_mul(U256::from(balances.len()))?;
        let (sum, product) = sum_and_product(balances, invariant)?;
        let balance = *balances.get(coin)?;
        let square = invariant.checked_mul(invariant)?;
        let quotient = round_up(square.checked_mul(AMP_PRECISION), amp_times_total.checked_mul(product)?).ok()?;
        let share = invariant.checked_mul(AMP_PRECISION)?.checked_div(amp_times_total)?;
        Some((quotient.checked_mul(balance)?, sum.checked_sub(balance)?.checked_add(share)?))
    };
    let (c, b) = coefficients().ok_or(Revert::Arithmetic)?;
    settled_balance(invariant, c, b)
}

/// Source: `StableMath.ensureBalancesWithinMaxImbalanceRange`.
fn check_imbalance(
    generation: Generation,
    balances: &[U256],
    (i, amount_in): (usize, U256),
    (j, amount_out): (usize, U256),
) -> Result<(), Revert> {
    if generation == Generation::First {
        return Ok(());
    }
    let (new_in, new_out) = (add(at(balances, i)?, amount_in)?, sub(at(balances, j)?, amount_out)?);
    let least = balances.iter().copied().min().unwrap_or_default().min(new_out);
    let most = balances.iter().copied().max().unwrap_or_default().max(new_in);
    let imbalance = most.checked_div(least).ok_or(Revert::Arithmetic)?;
    if imbalance >= MAX_IMBALANCE { Err(Revert::Ratio(most / MAX_IMBALANCE)) } else { Ok(()) }
}
