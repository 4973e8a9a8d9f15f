//! Invariant and balances of two coins: the first CryptoSwap pools, and Twocrypto-NG.

use alloy_primitives::{I256, U256};

use super::cubic::{cubic_term, divider};
use super::newton::{A_MULTIPLIER, BalanceSearch, E16, Rounds, Shape, e20, e36, require_near, require_safe_d};
use super::roots::isqrt;
use super::signed::{abs, s, sadd, sdiv, smul, ssub, unsigned};
use crate::curve::arith::{Fault, MAX_ROUNDS, Maths, WAD, add, div, int, mul, mul_div, require, sub};

/// 10¹⁴; the closed form scales its coefficients by it and by 10³².
const E14: u64 = 100_000_000_000_000;
/// 10¹⁰: minimum gamma.
const MIN_GAMMA: U256 = int(10_000_000_000);
/// 2·10¹⁶: maximum gamma of the first pools.
const MAX_GAMMA_SMALL: U256 = int(20_000_000_000_000_000);
/// 1.99·10¹⁷: maximum gamma of the next generation.
const MAX_GAMMA: U256 = int(199_000_000_000_000_000);

fn require_shape(shape: &Shape, max_amp: u64, max_gamma: U256) -> Maths<()> {
    // from nⁿ · A_MULTIPLIER / 10 to nⁿ · A_MULTIPLIER · max
    let unit = A_MULTIPLIER.wrapping_mul(int(4));
    require(shape.amp >= unit.wrapping_div(int(10)) && shape.amp <= unit.wrapping_mul(int(max_amp)))?;
    require(shape.gamma >= MIN_GAMMA && shape.gamma <= max_gamma)
}

/// Sorts, largest first; fails unless an invariant can be found for the balances.
fn sort_safe(x: &[U256; 2]) -> Maths<[U256; 2]> {
    let sorted = if x[0] < x[1] { [x[1], x[0]] } else { *x };
    let max = WAD.wrapping_mul(int(1_000_000_000_000_000));
    require(sorted[0] >= int(1_000_000_000) && sorted[0] <= max)?;
    require(mul_div(sorted[1], WAD, sorted[0])? >= int(E14))?;
    Ok(sorted)
}

fn k0(x: &[U256; 2], d: U256) -> Maths<U256> {
    let first = mul_div(WAD.wrapping_mul(int(4)), x[0], d)?;
    mul_div(first, x[1], d)
}

/// Computes the geometric mean by the loop of the first pools, which stops one unit or 10⁻¹⁸ short of convergence.
pub(crate) fn geometric_mean(x: &[U256; 2], rounds: &mut Rounds) -> Maths<U256> {
    let mut mean = x[0].max(x[1]);
    let product = mul(x[0], x[1])?;
    for _ in 0..MAX_ROUNDS {
        rounds.mean += 1;
        let next = add(mean, div(product, mean)?)? >> 1;
        let previous = core::mem::replace(&mut mean, next);
        let change = mean.abs_diff(previous);
        if change <= U256::ONE || mul(change, WAD)? < mean {
            return Ok(mean);
        }
    }
    Err(Fault::Unconverged)
}

/// Computes the invariant of the first pools. Source: `newton_D` of `CurveCryptoSwap2`.
pub(crate) fn d_classic(shape: &Shape, x: &[U256; 2], rounds: &mut Rounds) -> Maths<U256> {
    require_shape(shape, 100_000, MAX_GAMMA_SMALL)?;
    let x = sort_safe(x)?;
    let first = geometric_mean(&x, rounds)?.wrapping_mul(int(2));
    shape.settle_d(&x, first, U256::ONE, |d| k0(&x, d), rounds)
}

/// Prepares the search for balance `i`, for both generations.
fn search(x: &[U256; 2], d: U256, i: usize, loose_slope: bool) -> Maths<BalanceSearch> {
    let other = x[1 - i];
    Ok(BalanceSearch {
        d,
        coins: int(2),
        k0_others: mul_div(WAD.wrapping_mul(int(2)), other, d)?,
        sum_others: other,
        largest: other,
        first: div(mul(d, d)?, mul(other, int(4))?)?,
        loose_slope,
    })
}

/// Computes balance `i` of the first pools. Source: `newton_y` of `CurveCryptoSwap2`.
pub(crate) fn y_classic(
    shape: &Shape,
    x: &[U256; 2],
    d: U256,
    i: usize,
    loose_slope: bool,
    rounds: &mut Rounds,
) -> Maths<U256> {
    require_shape(shape, 100_000, MAX_GAMMA_SMALL)?;
    require_safe_d(d)?;
    let search = search(x, d, i, loose_slope)?;
    let two = int(2);
    require(search.k0_others >= E16.wrapping_mul(two) && search.k0_others <= e20().wrapping_mul(two))?;
    let y = search.settle(shape, rounds)?;
    require_near(y, d, U256::ONE)?;
    Ok(y)
}

/// Computes the invariant of Twocrypto-NG; `k0_prev` is the root of the previous swap, or zero.
///
/// Source: `newton_D` of the Twocrypto-NG maths contract v2.1.0.
pub(crate) fn d_ng(shape: &Shape, x: &[U256; 2], k0_prev: U256, rounds: &mut Rounds) -> Maths<U256> {
    require_shape(shape, 1_000, MAX_GAMMA)?;
    let x = sort_safe(x)?;
    let product = x[0].wrapping_mul(x[1]);
    let first = if k0_prev.is_zero() {
        isqrt(product).wrapping_mul(int(2))
    } else {
        let guess = isqrt(product.wrapping_mul(int(4)).wrapping_div(k0_prev).wrapping_mul(WAD));
        guess.min(add(x[0], x[1])?)
    };
    shape.settle_d(&x, first, int(2), |d| k0(&x, d), rounds)
}

/// Returns the maximum distance from balance for a gamma, 18 decimals: 100, and less for a large gamma.
fn limit(gamma: U256) -> U256 {
    let limit = e20();
    if gamma > MAX_GAMMA_SMALL { limit.wrapping_mul(MAX_GAMMA_SMALL).wrapping_div(gamma) } else { limit }
}

/// Computes balance `i` and the root `K₀` in closed form, falling back to Newton's method (then the root is zero).
///
/// Source: `get_y` of the Twocrypto-NG maths contract v2.1.0.
pub(crate) fn y_ng(shape: &Shape, x: &[U256; 2], d: U256, i: usize, rounds: &mut Rounds) -> Maths<(U256, U256)> {
    require_shape(shape, 1_000, MAX_GAMMA)?;
    require_safe_d(d)?;
    let limit = limit(shape.gamma);
    let k0_other = mul_div(WAD.wrapping_mul(int(2)), x[1 - i], d)?;
    require(k0_other >= e36().wrapping_div(limit) && k0_other <= limit)?;
    let Some((y, root)) = closed_form(shape, s(x[1 - i])?, s(d)?)? else {
        return Ok((search(x, d, i, false)?.settle(shape, rounds)?, U256::ZERO));
    };
    let fraction = mul_div(y, WAD, d)?;
    let least = e36().wrapping_div(int(2)).wrapping_div(limit);
    require(fraction >= least && fraction <= limit >> 1)?;
    Ok((y, root))
}

/// Coefficients of the cubic for `K₀`.
struct Cubic {
    a: I256,
    b: I256,
    c: I256,
    d: I256,
}

impl Cubic {
    fn of(shape: &Shape, other: I256, d: I256) -> Maths<Self> {
        let (amp, gamma) = (s(shape.amp)?, s(shape.gamma)?);
        let (e14, four) = (s(int(E14))?, s(int(4))?);
        let e32 = smul(e14, s(WAD)?)?;
        let gamma2 = smul(gamma, gamma)?;
        let amp_gamma2 = smul(amp, gamma2)?;
        let scale = s(int(400_000_000))?;
        let curvature = sdiv(sdiv(smul(d, amp_gamma2)?, scale)?, other)?;
        let b = ssub(ssub(curvature, smul(e32, s(int(3))?)?)?, smul(smul(s(int(2))?, gamma)?, e14)?)?;
        let four_terms = sdiv(smul(four, amp_gamma2)?, scale)?;
        let mut c = sadd(smul(e32, s(int(3))?)?, smul(smul(four, gamma)?, e14)?)?;
        c = sadd(c, sdiv(gamma2, s(A_MULTIPLIER)?)?)?;
        c = ssub(sadd(c, sdiv(smul(four_terms, other)?, d)?)?, four_terms)?;
        let one_gamma = sadd(s(WAD)?, gamma)?;
        let last = sdiv(smul(one_gamma, one_gamma)?, s(A_MULTIPLIER)?)?;
        Ok(Self { a: e32, b, c, d: last.wrapping_neg() })
    }

    /// Computes `3ac/b − b`.
    fn delta0(&self) -> Maths<I256> {
        let three_ac = smul(smul(s(int(3))?, self.a)?, self.c)?;
        ssub(sdiv(three_ac, self.b)?, self.b)
    }

    /// Computes `3·δ₀ + b − 27a²d/b²`.
    fn delta1(&self, delta0: I256) -> Maths<I256> {
        let square = smul(s(int(27))?, smul(self.a, self.a)?)?;
        let last = sdiv(smul(sdiv(square, self.b)?, self.d)?, self.b)?;
        ssub(sadd(smul(s(int(3))?, delta0)?, self.b)?, last)
    }

    fn divided(&self, divider: I256) -> Maths<Self> {
        Ok(Self {
            a: sdiv(self.a, divider)?,
            b: sdiv(self.b, divider)?,
            c: sdiv(self.c, divider)?,
            d: sdiv(self.d, divider)?,
        })
    }
}

/// Powers of ten at which the coefficients are divided.
const DIVIDERS: [u64; 14] = [48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26, 24, 20];

/// Computes balance and root; `None` if the cubic has no single real root, so that Newton's method is needed.
fn closed_form(shape: &Shape, other: I256, d: I256) -> Maths<Option<(U256, U256)>> {
    let cubic = Cubic::of(shape, other, d)?;
    let delta0 = cubic.delta0()?;
    let delta1 = cubic.delta1(delta0)?;
    let threshold = abs(delta0).min(abs(delta1)).min(cubic.a);
    let cubic = cubic.divided(divider(threshold, &DIVIDERS)?)?;
    let delta0 = cubic.delta0()?;
    let delta1 = cubic.delta1(delta0)?;
    let Some(c1) = cubic_term(cubic.b, delta0, delta1)? else { return Ok(None) };
    let wad = s(WAD)?;
    let b_wad = smul(wad, cubic.b)?;
    let inner = ssub(ssub(smul(wad, c1)?, b_wad)?, smul(sdiv(b_wad, c1)?, delta0)?)?;
    let root = sdiv(inner, smul(s(int(3))?, cubic.a)?)?;
    let scaled = sdiv(sdiv(smul(sdiv(smul(d, d)?, other)?, root)?, s(int(4))?)?, wad)?;
    Ok(Some((unsigned(scaled)?, unsigned(root)?)))
}

/// Computes the price of coin 1 in coin 0 at these balances, relative to the price scale, 18 decimals.
///
/// Source: `get_p` of the Twocrypto-NG maths contract.
pub(crate) fn price(shape: &Shape, x: &[U256; 2], d: U256) -> Maths<U256> {
    require_safe_d(d)?;
    let product = mul(mul(int(4), x[0])?, x[1])?;
    let k0 = div(mul(div(product, d)?, e36())?, d)?;
    let terms = super::price::Terms::new(shape, x[0], d, k0)?;
    terms.price(x[1])
}

/// Computes `√(x₀·x₁)` of the balanced pool with this invariant and price scale.
pub(crate) fn balanced_mean_ng(d: U256, price_scale: U256) -> Maths<U256> {
    Ok(isqrt(mul(d >> 1, mul_div(d, WAD, mul(int(2), price_scale)?)?)?))
}

/// Computes the same by the loop of the first pools.
pub(crate) fn balanced_mean_classic(d: U256, price_scale: U256, rounds: &mut Rounds) -> Maths<U256> {
    geometric_mean(&[d >> 1, mul_div(d, WAD, mul(int(2), price_scale)?)?], rounds)
}

/// Computes the weight of the mid fee, 18 decimals: `γ_f / (γ_f + 1 − K)`.
///
/// Source: `_fee` of `CurveCryptoSwap2` and Twocrypto-NG v2.0.0 and v2.1.0.
pub(crate) fn fee_weight(x: &[U256; 2], fee_gamma: U256) -> Maths<U256> {
    mul_div(fee_gamma, WAD, sub(add(fee_gamma, WAD)?, balance(x)?)?)
}

/// Computes the same for the pools on StableSwap maths: `γ_f·K / (γ_f·K + 1 − K)`.
///
/// Source: `_fee` of Twocrypto v2.1.0d and later.
pub(crate) fn fee_weight_stable(x: &[U256; 2], fee_gamma: U256) -> Maths<U256> {
    let balance = balance(x)?;
    let scaled = mul(fee_gamma, balance)?;
    div(scaled, sub(add(scaled.wrapping_div(WAD), WAD)?, balance)?)
}

/// Computes `4·x₀·x₁ / (x₀ + x₁)²`, 18 decimals.
fn balance(x: &[U256; 2]) -> Maths<U256> {
    let sum = add(x[0], x[1])?;
    mul_div(mul_div(WAD.wrapping_mul(int(4)), x[0], sum)?, x[1], sum)
}
