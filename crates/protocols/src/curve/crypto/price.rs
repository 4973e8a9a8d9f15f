//! Marginal price of the CryptoSwap invariant, which the next generation records after each swap.

use alloy_primitives::U256;

use super::newton::{A_MULTIPLIER, Shape, e36};
use crate::curve::arith::{Maths, WAD, add, div, int, mul, mul_div, sub};

/// Common terms of the prices of all coins.
pub(crate) struct Terms {
    x0: U256,
    d: U256,
    k0: U256,
    g_k0: U256,
    nnag2: U256,
    denominator: U256,
}

impl Terms {
    /// Builds the terms from the balance of coin 0, the invariant and the product term, in 36 decimals.
    pub(crate) fn new(shape: &Shape, x0: U256, d: U256, k0: U256) -> Maths<Self> {
        let cubed = mul_div(mul_div(mul(int(2), k0)?, k0, e36())?, k0, e36())?;
        let one_gamma = add(shape.gamma, WAD)?;
        let middle = add(mul(int(2), shape.gamma)?, mul(int(3), WAD)?)?;
        let squared = mul_div(mul_div(k0, k0, e36())?, middle, WAD)?;
        let g_k0 = sub(add(cubed, mul(one_gamma, one_gamma)?)?, squared)?;
        let nnag2 = div(mul(shape.amp, mul(shape.gamma, shape.gamma)?)?, A_MULTIPLIER)?;
        let mut terms = Self { x0, d, k0, g_k0, nnag2, denominator: U256::ZERO };
        terms.denominator = terms.of(x0)?;
        Ok(terms)
    }

    fn of(&self, x: U256) -> Maths<U256> {
        add(self.g_k0, mul_div(mul_div(self.nnag2, x, self.d)?, self.k0, e36())?)
    }

    /// Computes the price in coin 0 of the coin with balance `x`, relative to its price scale.
    pub(crate) fn price(&self, x: U256) -> Maths<U256> {
        let numerator = mul(mul_div(self.x0, self.of(x)?, x)?, WAD)?;
        div(numerator, self.denominator)
    }
}
