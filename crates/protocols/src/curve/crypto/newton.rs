//! Newton's method for the CryptoSwap invariant, shared by all pools that use it.
//!
//! `K·Dⁿ⁻¹·Σx + Πx = K·Dⁿ + (D/n)ⁿ` with `K = A·K₀·γ² / (γ + 1 − K₀)²` and `K₀ = Πx·nⁿ / Dⁿ`. All values have 18
//! decimals; the amplification includes `nⁿ` and the factor [`A_MULTIPLIER`].

use alloy_primitives::U256;

use crate::curve::arith::{Fault, MAX_ROUNDS, Maths, WAD, add, div, int, mul, mul_div, require, sub};

/// Scale of every CryptoSwap pool's amplification.
pub(crate) const A_MULTIPLIER: U256 = int(10_000);
/// 10¹⁴: the inverse of the loops' relative precision.
const E14: U256 = int(100_000_000_000_000);
/// 10¹⁶.
pub(crate) const E16: U256 = int(10_000_000_000_000_000);
/// 10¹⁷: the minimum invariant.
const E17: U256 = int(100_000_000_000_000_000);
/// 2·10¹⁸.
const TWO: U256 = int(2_000_000_000_000_000_000);

/// Amplification and gamma of a pool in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Amplification times `nⁿ` and [`A_MULTIPLIER`].
    pub(crate) amp: U256,
    /// Width of the region of high amplification, 18 decimals.
    pub(crate) gamma: U256,
}

/// Iteration counts and occasional work of a swap, which determine its gas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    /// Iterations for the invariant.
    pub invariant: u64,
    /// Iterations for a balance.
    pub balance: u64,
    /// Iterations for a geometric mean.
    pub mean: u64,
    /// Iterations for the weight of an average, in the pools of 2021.
    pub power: u64,
    /// Balance searches to determine a price, for swaps that are too small to show it.
    pub probes: u64,
    /// Trials of another price scale.
    pub moves: u64,
    /// Possible trials of another price scale, where it is unknown whether they happen.
    pub maybe_moves: u64,
    /// Times that the pool records the start of a price scale move.
    pub begins: u64,
}

impl Rounds {
    /// Counts a possible trial of another price scale, which profits would pay for.
    pub(crate) fn suppose_move(&mut self) {
        self.maybe_moves += 1;
    }
}

/// 10²⁰.
pub(crate) fn e20() -> U256 {
    E16.wrapping_mul(A_MULTIPLIER)
}

/// 10³⁶.
pub(crate) fn e36() -> U256 {
    WAD.wrapping_mul(WAD)
}

/// Returns an error unless the invariant is in the contract's range: 0.1 to 10¹⁵.
pub(crate) fn require_safe_d(d: U256) -> Maths<()> {
    require(d >= E17 && d <= WAD.wrapping_mul(int(1_000_000_000_000_000)))
}

/// Returns an error unless `x / D` is from 0.01 to 100, both scaled by `part`.
pub(crate) fn require_near(x: U256, d: U256, part: U256) -> Maths<()> {
    let fraction = mul_div(x, WAD, d)?;
    require(fraction >= E16.wrapping_div(part) && fraction <= e20().wrapping_div(part))
}

/// Computes `|γ + 1 − K₀| + 1` in units of 10⁻¹⁸.
fn distance(gamma: U256, k0: U256) -> Maths<U256> {
    add(add(gamma, WAD)?.abs_diff(k0), U256::ONE)
}

impl Shape {
    /// Computes `D·g² / (γ²·A)`, rounded after each factor like the contracts.
    fn slope_term(&self, d: U256, g: U256) -> Maths<U256> {
        let first = div(mul(WAD, d)?, self.gamma)?;
        let second = div(mul(first, g)?, self.gamma)?;
        div(mul(mul(second, g)?, A_MULTIPLIER)?, self.amp)
    }

    /// Computes one iteration for the invariant of `n` balances with this sum.
    fn next_d(&self, d: U256, k0: U256, sum: U256, n: U256) -> Maths<U256> {
        let g = distance(self.gamma, k0)?;
        let mul1 = self.slope_term(d, g)?;
        let mul2 = div(mul(mul(TWO, n)?, k0)?, g)?;
        let rising = add(add(sum, mul_div(sum, mul2, WAD)?)?, div(mul(mul1, n)?, k0)?)?;
        let slope = sub(rising, mul_div(mul2, d, WAD)?)?;
        let plus = mul_div(d, add(slope, sum)?, slope)?;
        let square = mul_div(d, d, slope)?;
        let shift = mul_div(d, div(mul1, slope)?, WAD)?;
        let minus = if WAD > k0 {
            add(square, mul_div(shift, sub(WAD, k0)?, k0)?)?
        } else {
            sub(square, mul_div(shift, sub(k0, WAD)?, k0)?)?
        };
        if plus > minus { sub(plus, minus) } else { Ok(sub(minus, plus)? >> 1) }
    }

    /// Computes the invariant from a first guess; `k0` returns the product term at an invariant, with the pool's
    /// rounding.
    pub(crate) fn settle_d<const N: usize>(
        &self,
        x: &[U256; N],
        first: U256,
        part: U256,
        k0: impl Fn(U256) -> Maths<U256>,
        rounds: &mut Rounds,
    ) -> Maths<U256> {
        let n = int(N as u64);
        let sum = x.iter().try_fold(U256::ZERO, |sum, held| add(sum, *held))?;
        let mut d = first;
        for _ in 0..MAX_ROUNDS {
            rounds.invariant += 1;
            let next = self.next_d(d, k0(d)?, sum, n)?;
            let previous = core::mem::replace(&mut d, next);
            if mul(d.abs_diff(previous), E14)? < E16.max(d) {
                x.iter().try_for_each(|held| require_near(*held, d, part))?;
                return Ok(d);
            }
        }
        Err(Fault::Unconverged)
    }
}

/// Search for one balance, given the others and the invariant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BalanceSearch {
    pub(crate) d: U256,
    pub(crate) coins: U256,
    /// Product term of the known balances.
    pub(crate) k0_others: U256,
    /// Sum of the known balances.
    pub(crate) sum_others: U256,
    /// Largest known balance.
    pub(crate) largest: U256,
    /// First guess.
    pub(crate) first: U256,
    /// Whether to add one before the division, as the XAUT and EUROC pools do.
    pub(crate) loose_slope: bool,
}

impl BalanceSearch {
    /// Computes one iteration from `y`, and tells whether the contract then tests for convergence.
    fn next(&self, shape: &Shape, y: U256) -> Maths<(U256, bool)> {
        let k0 = mul_div(mul(self.k0_others, y)?, self.coins, self.d)?;
        let sum = add(self.sum_others, y)?;
        let g = distance(shape.gamma, k0)?;
        let mul1 = shape.slope_term(self.d, g)?;
        let twice = mul(TWO, k0)?;
        let mul2 = if self.loose_slope { div(add(WAD, twice)?, g)? } else { add(WAD, div(twice, g)?)? };
        let rising = add(add(mul(WAD, y)?, mul(sum, mul2)?)?, mul1)?;
        let falling = mul(self.d, mul2)?;
        let Some(total) = rising.checked_sub(falling) else { return Ok((y >> 1, false)) };
        let slope = div(total, y)?;
        let from_slope = div(mul1, slope)?;
        let plus = add(div(add(total, mul(WAD, self.d)?)?, slope)?, mul_div(from_slope, WAD, k0)?)?;
        let minus = add(from_slope, mul_div(WAD, sum, slope)?)?;
        Ok((plus.checked_sub(minus).unwrap_or(y >> 1), true))
    }

    /// Computes the balance.
    pub(crate) fn settle(&self, shape: &Shape, rounds: &mut Rounds) -> Maths<U256> {
        let limit = (self.largest.wrapping_div(E14)).max(self.d.wrapping_div(E14)).max(int(100));
        let mut y = self.first;
        for _ in 0..MAX_ROUNDS {
            rounds.balance += 1;
            let (next, tested) = self.next(shape, y)?;
            let previous = core::mem::replace(&mut y, next);
            if tested && y.abs_diff(previous) < limit.max(y.wrapping_div(E14)) {
                return Ok(y);
            }
        }
        Err(Fault::Unconverged)
    }
}
