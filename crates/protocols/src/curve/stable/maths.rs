//! The StableSwap invariant in the contracts' integers: Newton's method for the invariant and for one balance.
//!
//! `A·nⁿ·Σx + D = A·D·nⁿ + Dⁿ⁺¹ / (nⁿ·Πx)`. Balances are scaled to 18 decimals and by the coins' rates.

use alloy_primitives::U256;
use arrayvec::ArrayVec;

use crate::curve::arith::{Fault, MAX_ROUNDS, Maths, add, div, int, mul, mul_div, settled, sub};
use crate::{continuous::MAX_SAMPLED_ROUNDS, pool::MAX_COINS};

/// Scaled balances, one per coin.
pub type Balances = ArrayVec<U256, MAX_COINS>;

/// How a contract computes `Dⁿ⁺¹ / (nⁿ·Πx)` coin by coin. The three round differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProductRule {
    /// `P·D / (n·x)` per coin: most pools of 2020 and 2021.
    TimesN,
    /// `P·D / (n·x + 1)` per coin: the first lending pools, Aave's and stETH's, which tolerate an empty balance.
    TimesNPlusOne,
    /// `P·D / x` per coin, and `nⁿ` at the end: the factory's plain pools and metapools, and all of the next
    /// generation.
    Whole,
}

/// Constants of one pool's invariant at one block time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invariant {
    /// `A`, times [`Self::a_precision`].
    pub(crate) amp: U256,
    /// 1 for the first pools, 100 for the later ones, 10⁴ for Twocrypto pools on this maths.
    pub(crate) a_precision: U256,
    /// Rounding of the product.
    pub(crate) product: ProductRule,
    /// Result of the invariant's loop if it does not converge: the last value (the first pools), or a revert.
    pub(crate) gives_unsettled: bool,
}

impl Invariant {
    /// Computes `A·n`, scaled.
    fn ann(&self, coins: usize) -> Maths<U256> {
        mul(self.amp, int(coins as u64))
    }

    /// Computes the invariant `D` of these balances; zero for an empty pool.
    pub(crate) fn d(&self, xp: &[U256]) -> Maths<U256> {
        let (d, settles) = self.d_within(MAX_ROUNDS, xp)?;
        if settles || self.gives_unsettled { Ok(d) } else { Err(Fault::Unconverged) }
    }

    /// Tells whether the invariant of these balances converges within the iterations that sampling affords.
    pub(crate) fn settles_soon(&self, xp: &[U256]) -> Maths<bool> {
        self.d_within(MAX_SAMPLED_ROUNDS, xp).map(|(_, settles)| settles)
    }

    /// Iterates for the invariant at most `rounds` times, and tells whether it converged.
    fn d_within(&self, rounds: usize, xp: &[U256]) -> Maths<(U256, bool)> {
        let sum = xp.iter().try_fold(U256::ZERO, |sum, x| add(sum, *x))?;
        if sum.is_zero() {
            return Ok((U256::ZERO, true));
        }
        let n = int(xp.len() as u64);
        let ann = self.ann(xp.len())?;
        let ann_sum = mul_div(ann, sum, self.a_precision)?;
        let ann_less = sub(ann, self.a_precision)?;
        let mut d = sum;
        for _ in 0..rounds {
            let product = self.product_term(xp, d, n)?;
            let numerator = mul(add(ann_sum, mul(product, n)?)?, d)?;
            let denominator = add(mul_div(ann_less, d, self.a_precision)?, mul(add(n, U256::ONE)?, product)?)?;
            let previous = core::mem::replace(&mut d, div(numerator, denominator)?);
            if settled(d, previous) {
                return Ok((d, true));
            }
        }
        Ok((d, false))
    }

    /// Computes `Dⁿ⁺¹ / (nⁿ·Πx)`.
    fn product_term(&self, xp: &[U256], d: U256, n: U256) -> Maths<U256> {
        match self.product {
            ProductRule::TimesN => xp.iter().try_fold(d, |p, x| mul_div(p, d, mul(*x, n)?)),
            ProductRule::TimesNPlusOne => xp.iter().try_fold(d, |p, x| mul_div(p, d, add(mul(*x, n)?, U256::ONE)?)),
            ProductRule::Whole => {
                let product = xp.iter().try_fold(d, |p, x| mul_div(p, d, *x))?;
                div(product, n.wrapping_pow(n))
            }
        }
    }

    /// Computes balance `j` when balance `i` becomes `x`, at the invariant of `xp`.
    pub(crate) fn y(&self, i: usize, j: usize, x: U256, xp: &[U256]) -> Maths<U256> {
        self.y_at(i, j, x, xp, self.d(xp)?)
    }

    /// Computes balance `j` like [`Self::y`], at a given invariant.
    pub(crate) fn y_at(&self, i: usize, j: usize, x: U256, xp: &[U256], d: U256) -> Maths<U256> {
        let others = xp.iter().enumerate().filter(|(k, _)| *k != j).map(|(k, held)| if k == i { x } else { *held });
        self.solve(others, xp.len(), d)
    }

    /// Computes balance `i` when the invariant falls to `d` and the other balances stay.
    pub(crate) fn y_of_d(&self, i: usize, xp: &[U256], d: U256) -> Maths<U256> {
        let others = xp.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, held)| *held);
        self.solve(others, xp.len(), d)
    }

    /// Runs Newton's method for the one balance that is not among `others`.
    fn solve(&self, others: impl Iterator<Item = U256>, coins: usize, d: U256) -> Maths<U256> {
        let n = int(coins as u64);
        let ann = self.ann(coins)?;
        let (mut sum, mut c) = (U256::ZERO, d);
        for x in others {
            sum = add(sum, x)?;
            c = mul_div(c, d, mul(x, n)?)?;
        }
        c = div(mul(mul(c, d)?, self.a_precision)?, mul(ann, n)?)?;
        let b = add(sum, mul_div(d, self.a_precision, ann)?)?;
        let mut y = d;
        for _ in 0..MAX_ROUNDS {
            let next = div(add(mul(y, y)?, c)?, sub(add(mul(y, int(2))?, b)?, d)?)?;
            let previous = core::mem::replace(&mut y, next);
            if settled(y, previous) {
                return Ok(y);
            }
        }
        if self.gives_unsettled { Ok(y) } else { Err(Fault::Unconverged) }
    }
}
