//! Invariant and balances of three coins: Tricrypto (2021) and Tricrypto-NG.

use alloy_primitives::{I256, U256};

use super::cubic::{cubic_term, divider};
use super::newton::{A_MULTIPLIER, BalanceSearch, Rounds, Shape, e36, require_near, require_safe_d};
use super::roots::cbrt;
use super::signed::{abs, s, sadd, sdiv, smul, ssub, unsigned};
use crate::curve::arith::{Fault, MAX_ROUNDS, Maths, WAD, add, div, int, mul, mul_div, require};

/// 10¹⁰: minimum gamma.
const MIN_GAMMA: U256 = int(10_000_000_000);
/// 5·10¹⁶: maximum gamma.
const MAX_GAMMA: U256 = int(50_000_000_000_000_000);

fn require_shape(shape: &Shape) -> Maths<()> {
    // from nⁿ · A_MULTIPLIER / 100 to nⁿ · A_MULTIPLIER · 1000
    let unit = A_MULTIPLIER.wrapping_mul(int(27));
    require(shape.amp >= unit.wrapping_div(int(100)) && shape.amp <= unit.wrapping_mul(int(1_000)))?;
    require(shape.gamma >= MIN_GAMMA && shape.gamma <= MAX_GAMMA)
}

/// Sorts, largest first.
fn sort(x: &[U256; 3]) -> [U256; 3] {
    let mut sorted = *x;
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    sorted
}

/// Computes `27·Πx / D³` in 18 decimals, largest first.
fn k0(x: &[U256; 3], d: U256) -> Maths<U256> {
    x.iter().try_fold(WAD, |k0, held| div(mul(mul(k0, *held)?, int(3))?, d))
}

/// Computes the geometric mean of sorted numbers by the loop of the 2021 maths contract.
pub(crate) fn geometric_mean(x: &[U256; 3], rounds: &mut Rounds) -> Maths<U256> {
    let x = sort(x);
    let mut mean = x[0];
    for _ in 0..MAX_ROUNDS {
        rounds.mean += 1;
        let ratio = x.iter().try_fold(WAD, |ratio, held| mul_div(ratio, *held, mean))?;
        let next = mul_div(mean, add(WAD.wrapping_mul(int(2)), ratio)?, WAD.wrapping_mul(int(3)))?;
        let previous = core::mem::replace(&mut mean, next);
        let change = mean.abs_diff(previous);
        if change <= U256::ONE || mul(change, WAD)? < mean {
            return Ok(mean);
        }
    }
    Err(Fault::Unconverged)
}

/// Computes the geometric mean by the cube root of the next generation.
pub(crate) fn geometric_mean_ng(x: &[U256; 3]) -> Maths<U256> {
    let product = mul_div(mul_div(x[0], x[1], WAD)?, x[2], WAD)?;
    Ok(if product.is_zero() { U256::ZERO } else { cbrt(product) })
}

/// Computes the invariant of Tricrypto (2021). Source: `newton_D` of its maths contract.
pub(crate) fn d_classic(shape: &Shape, x: &[U256; 3], rounds: &mut Rounds) -> Maths<U256> {
    require_shape(shape)?;
    let x = sort(x);
    let max = WAD.wrapping_mul(int(1_000_000_000_000_000));
    require(x[0] >= int(1_000_000_000) && x[0] <= max)?;
    for held in &x[1..] {
        require(mul_div(*held, WAD, x[0])? >= int(100_000_000_000))?;
    }
    let first = geometric_mean(&x, rounds)?.wrapping_mul(int(3));
    shape.settle_d(&x, first, U256::ONE, |d| k0(&x, d), rounds)
}

/// Prepares the search for balance `i` from the known balances, sorted.
fn search(x: &[U256; 3], d: U256, i: usize) -> Maths<BalanceSearch> {
    let (mut large, mut small) = match i {
        0 => (x[1], x[2]),
        1 => (x[0], x[2]),
        _ => (x[0], x[1]),
    };
    if large < small {
        core::mem::swap(&mut large, &mut small);
    }
    let three = int(3);
    let step = |y: U256, held: U256| mul_div(y, d, mul(held, three)?);
    let term = |k0: U256, held: U256| div(mul(mul(k0, held)?, three)?, d);
    Ok(BalanceSearch {
        d,
        coins: three,
        k0_others: term(term(WAD, large)?, small)?,
        sum_others: add(small, large)?,
        largest: large,
        first: step(step(div(d, three)?, small)?, large)?,
        loose_slope: false,
    })
}

fn require_others_near(x: &[U256; 3], d: U256, i: usize) -> Maths<()> {
    x.iter().enumerate().filter(|(k, _)| *k != i).try_for_each(|(_, held)| require_near(*held, d, U256::ONE))
}

/// Computes balance `i` by Newton's method. Source: `newton_y` of the Tricrypto (2021) maths contract.
pub(crate) fn y_classic(shape: &Shape, x: &[U256; 3], d: U256, i: usize, rounds: &mut Rounds) -> Maths<U256> {
    require_shape(shape)?;
    require_safe_d(d)?;
    require_others_near(x, d, i)?;
    let y = search(x, d, i)?.settle(shape, rounds)?;
    require_near(y, d, U256::ONE)?;
    Ok(y)
}

/// Computes the invariant of Tricrypto-NG; `k0_prev` is the root of the previous swap, or zero.
///
/// Source: `newton_D` of the Tricrypto-NG maths contract v2.0.0.
pub(crate) fn d_ng(shape: &Shape, x: &[U256; 3], k0_prev: U256, rounds: &mut Rounds) -> Maths<U256> {
    let x = sort(x);
    require(!x[0].is_zero() && x[0] < U256::MAX.wrapping_div(WAD).wrapping_mul(int(27)))?;
    let first = if k0_prev.is_zero() { geometric_mean_ng(&x)?.wrapping_mul(int(3)) } else { guess(&x, k0_prev)? };
    shape.settle_d(&x, first, U256::ONE, |d| k0(&x, d), rounds)
}

/// Computes the first guess from the product term of the previous swap, scaled so that products fit.
fn guess(x: &[U256; 3], k0_prev: U256) -> Maths<U256> {
    let sum = x[0].wrapping_add(x[1]).wrapping_add(x[2]);
    let e24 = WAD.wrapping_mul(int(1_000_000));
    let (down, up) = if sum > e36() {
        (e36(), int(27_000_000_000_000))
    } else if sum > e24 {
        (e24, int(27_000_000))
    } else {
        (WAD, int(27))
    };
    let product = mul(mul_div(x[0], x[1], down)?, x[2])?;
    Ok(cbrt(mul(div(product, k0_prev)?, up)?))
}

/// Coefficients of the cubic for `K₀`.
#[derive(Clone, Copy)]
struct Cubic {
    a: I256,
    b: I256,
    c: I256,
    d: I256,
}

impl Cubic {
    fn of(shape: &Shape, one: I256, other: I256, d: I256) -> Maths<Self> {
        let (amp, gamma, wad) = (s(shape.amp)?, s(shape.gamma)?, s(WAD)?);
        let (nine, n27) = (s(int(9))?, s(int(27))?);
        let unit = s(e36())?;
        let gamma2 = smul(gamma, gamma)?;
        let scale = s(A_MULTIPLIER)?;
        let mut curvature = smul(smul(sdiv(smul(d, d)?, one)?, gamma2)?, amp)?;
        curvature = sdiv(sdiv(sdiv(curvature, s(int(729))?)?, scale)?, other)?;
        let linear = sdiv(smul(smul(s(int(2))?, wad)?, gamma)?, n27)?;
        let b = ssub(sadd(sdiv(unit, nine)?, linear)?, curvature)?;
        let shift = ssub(sadd(one, other)?, d)?;
        let bend = sdiv(sdiv(smul(sdiv(smul(gamma2, shift)?, d)?, amp)?, n27)?, scale)?;
        let four = sadd(gamma, smul(s(int(4))?, wad)?)?;
        let c = sadd(sadd(sdiv(unit, nine)?, sdiv(smul(gamma, four)?, n27)?)?, bend)?;
        let one_gamma = sadd(wad, gamma)?;
        Ok(Self { a: sdiv(unit, n27)?, b, c, d: sdiv(smul(one_gamma, one_gamma)?, n27)? })
    }

    /// Scales the coefficients to one magnitude, so that their products fit.
    fn balanced(self) -> Maths<Self> {
        let three_ac = smul(smul(s(int(3))?, self.a)?, self.c)?;
        let divider = divider(abs(ssub(sdiv(three_ac, self.b)?, self.b)?), &DIVIDERS)?;
        let (up, down) = if abs(self.a) > abs(self.b) {
            (abs(sdiv(self.a, self.b)?), I256::ONE)
        } else {
            (I256::ONE, abs(sdiv(self.b, self.a)?))
        };
        let scale = |value| sdiv(sdiv(smul(value, up)?, down)?, divider);
        Ok(Self { a: scale(self.a)?, b: scale(self.b)?, c: scale(self.c)?, d: scale(self.d)? })
    }

    /// Computes `(δ₀, δ₁)` of the depressed cubic.
    fn deltas(&self) -> Maths<(I256, I256)> {
        let three = s(int(3))?;
        let three_ac = smul(smul(three, self.a)?, self.c)?;
        let delta0 = ssub(sdiv(three_ac, self.b)?, self.b)?;
        let square = smul(s(int(27))?, smul(self.a, self.a)?)?;
        let last = sdiv(smul(sdiv(square, self.b)?, self.d)?, self.b)?;
        let first = sdiv(smul(three, three_ac)?, self.b)?;
        Ok((delta0, ssub(ssub(first, smul(s(int(2))?, self.b)?)?, last)?))
    }
}

/// Powers of ten at which the coefficients are divided.
const DIVIDERS: [u64; 8] = [48, 44, 40, 36, 32, 28, 24, 20];

/// Computes balance `i` and the root `K₀` in closed form, falling back to Newton's method (then the root is zero).
///
/// Source: `get_y` of the Tricrypto-NG maths contract v2.0.0.
pub(crate) fn y_ng(shape: &Shape, x: &[U256; 3], d: U256, i: usize, rounds: &mut Rounds) -> Maths<(U256, U256)> {
    require_shape(shape)?;
    require_safe_d(d)?;
    require_others_near(x, d, i)?;
    let (one, other) = match i {
        0 => (x[1], x[2]),
        1 => (x[0], x[2]),
        _ => (x[0], x[1]),
    };
    let found = closed_form(shape, s(one)?, s(other)?, s(d)?)?;
    let (y, root) = match found {
        Some(found) => found,
        None => (search(x, d, i)?.settle(shape, rounds)?, U256::ZERO),
    };
    require_near(y, d, U256::ONE)?;
    Ok((y, root))
}

fn closed_form(shape: &Shape, one: I256, other: I256, d: I256) -> Maths<Option<(U256, U256)>> {
    let cubic = Cubic::of(shape, one, other, d)?.balanced()?;
    let (delta0, delta1) = cubic.deltas()?;
    let Some(c1) = cubic_term(cubic.b, delta0, delta1)? else { return Ok(None) };
    let wad = s(WAD)?;
    let shift = sdiv(smul(cubic.b, delta0)?, c1)?;
    let root_k0 = sdiv(ssub(sadd(cubic.b, shift)?, c1)?, s(int(3))?)?;
    let volume = sdiv(smul(sdiv(sdiv(smul(d, d)?, s(int(27))?)?, other)?, d)?, one)?;
    let y = sdiv(smul(volume, root_k0)?, cubic.a)?;
    Ok(Some((unsigned(y)?, unsigned(sdiv(smul(wad, root_k0)?, cubic.a)?)?)))
}

/// Computes the prices of coins 1 and 2 in coin 0, relative to their price scales, 18 decimals.
///
/// Source: `get_p` of the Tricrypto-NG maths contract.
pub(crate) fn prices(shape: &Shape, x: &[U256; 3], d: U256) -> Maths<[U256; 2]> {
    require_safe_d(d)?;
    let pair = div(mul(mul(int(27), x[0])?, x[1])?, d)?;
    let k0 = div(mul(div(mul(pair, x[2])?, d)?, e36())?, d)?;
    let terms = super::price::Terms::new(shape, x[0], d, k0)?;
    Ok([terms.price(x[1])?, terms.price(x[2])?])
}

/// Computes the weight of the mid fee, 18 decimals: `γ_f / (γ_f + 1 − K)`, `K = 27·Πx / (Σx)³`.
///
/// Source: `reduction_coefficient` of both maths contracts.
pub(crate) fn fee_weight(x: &[U256; 3], fee_gamma: U256) -> Maths<U256> {
    let sum = x.iter().try_fold(U256::ZERO, |sum, held| add(sum, *held))?;
    let k = x.iter().try_fold(WAD, |k, held| div(mul(mul(k, int(3))?, *held)?, sum))?;
    if fee_gamma.is_zero() {
        return Ok(k);
    }
    let rest = WAD.checked_sub(k).ok_or(Fault::Arithmetic)?;
    mul_div(fee_gamma, WAD, add(fee_gamma, rest)?)
}
