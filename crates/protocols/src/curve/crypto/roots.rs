//! Roots and exponentials with the CryptoSwap contracts' rounding.

use alloy_primitives::{I256, U256};

use super::newton::Rounds;
use crate::curve::arith::{Fault, MAX_ROUNDS, Maths, WAD, add, div, int, mul, mul_div, sub};

/// Computes `⌊√x⌋`, exactly: the compiler's `isqrt`.
pub(crate) fn isqrt(x: U256) -> U256 {
    if x.is_zero() {
        return x;
    }
    // a start at or above the root descends to its floor
    let mut root = U256::ONE << x.bit_len().div_ceil(2);
    loop {
        let next: U256 = root.wrapping_add(x.wrapping_div(root)) >> 1;
        if next >= root {
            return root;
        }
        root = next;
    }
}

/// 2²⁵⁶ / 10³⁶, rounded down: above it, the cube root scales its argument up less.
const SMALL: U256 = U256::from_limbs([0xca17_a3ab_a173_d3d5, 0x4849_32d2_e725_a5bb, 0x154, 0]);

/// Computes the cube root of an 18-decimal number by seven Newton iterations from a guess of the right magnitude.
///
/// Wraps where the contract does not check. Source: `_cbrt` of the Tricrypto-NG maths contract.
pub(crate) fn cbrt(x: U256) -> U256 {
    let large = SMALL.wrapping_mul(WAD);
    let (scaled, back) = if x >= large {
        (x, int(1_000_000_000_000))
    } else if x >= SMALL {
        (x.wrapping_mul(WAD), int(1_000_000))
    } else {
        (x.wrapping_mul(WAD).wrapping_mul(WAD), U256::ONE)
    };
    let log2 = scaled.bit_len().saturating_sub(1);
    let (up, down) = match log2 % 3 {
        0 => (1, 1),
        1 => (1_260, 1_000),
        _ => (1_587_600, 1_000_000),
    };
    let mut root = (U256::ONE << (log2 / 3)).wrapping_mul(int(up)).wrapping_div(int(down));
    for _ in 0..7 {
        let square = root.wrapping_mul(root);
        let quotient = if square.is_zero() { U256::ZERO } else { scaled.wrapping_div(square) };
        root = root.wrapping_mul(int(2)).wrapping_add(quotient).wrapping_div(int(3));
    }
    root.wrapping_mul(back)
}

/// Computes the square root of an 18-decimal number by the loop of the first CryptoSwap pools.
///
/// Source: `sqrt_int` of the Tricrypto (2021) maths contract.
pub(crate) fn sqrt_wad(x: U256) -> Maths<U256> {
    if x.is_zero() {
        return Ok(x);
    }
    let mut next = div(add(x, WAD)?, int(2))?;
    let mut root = x;
    for _ in 0..=MAX_ROUNDS {
        if next == root {
            return Ok(root);
        }
        root = next;
        next = div(add(mul_div(x, WAD, next)?, next)?, int(2))?;
    }
    Err(Fault::Unconverged)
}

/// Threshold below which terms of the series are dropped.
const HALF_POWER_PRECISION: U256 = int(10_000_000_000);

/// Computes `½^power` of an 18-decimal power: the weight of the old value in an exponential average with a half time.
///
/// Source: `halfpow` of the 2021 CryptoSwap contracts.
pub(crate) fn half_power(power: U256, rounds: &mut Rounds) -> Maths<U256> {
    let whole = div(power, WAD)?;
    if whole > int(59) {
        return Ok(U256::ZERO);
    }
    let rest = sub(power, mul(whole, WAD)?)?;
    let result = div(WAD, U256::ONE << usize::try_from(whole).map_err(|_| Fault::Arithmetic)?)?;
    if rest.is_zero() {
        return Ok(result);
    }
    let (mut term, mut sum, mut negative) = (WAD, WAD, false);
    for round in 1..=255_u64 {
        rounds.power += 1;
        let k = mul(int(round), WAD)?;
        let before = sub(k, WAD)?;
        let factor = before.abs_diff(rest);
        negative ^= rest > before;
        term = mul_div(term, div(factor, int(2))?, k)?;
        sum = if negative { sub(sum, term)? } else { add(sum, term)? };
        if term < HALF_POWER_PRECISION {
            return mul_div(result, sum, WAD);
        }
    }
    Err(Fault::Unconverged)
}

/// Returns a signed constant from its decimal digits above and below 10¹⁸.
fn signed(high: u128, low: u128) -> I256 {
    I256::from_raw(U256::from(high).wrapping_mul(WAD).wrapping_add(U256::from(low)))
}

/// 3822833074963236453042738258902158003155416615667: the scale of the approximation, in base 2²¹³ and 18 decimals.
const EXP_SCALE: U256 = U256::from_limbs([0xee70_ef65_f997_8af3, 0x63c3_2e5c_2f6d_c192, 0x2_9d9d_c385, 0]);

/// Computes `value / 2⁹⁶`, rounded towards minus infinity.
fn shift_96(value: I256) -> I256 {
    value.asr(96)
}

/// Computes `e^(−power)` in 18 decimals for an 18-decimal power: the weight of the old value in an exponential average.
///
/// Uses a rational approximation in base 2⁹⁶ after extracting powers of two. Source: `wad_exp` of the NG maths
/// contracts.
pub(crate) fn exp_of_minus(power: U256) -> Maths<U256> {
    let Ok(power) = I256::try_from(power) else { return Ok(U256::ZERO) };
    if power >= signed(42, 139_678_854_452_767_551) {
        return Ok(U256::ZERO);
    }
    let two_96 = I256::from_raw(U256::ONE << 96);
    let ln_2 = signed(54_916_777_467, 707_473_351_141_471_128);
    let five_18 = signed(0, 3_814_697_265_625);
    let mut x = power.wrapping_neg().wrapping_mul(I256::from_raw(U256::ONE << 78)).wrapping_div(five_18);
    let half = I256::from_raw(U256::ONE << 95);
    let k = shift_96(x.wrapping_mul(two_96).wrapping_div(ln_2).wrapping_add(half));
    x = x.wrapping_sub(k.wrapping_mul(ln_2));
    let quotient = rational_exp(x);
    let shift = I256::from_raw(int(195)).wrapping_sub(k).into_raw();
    let shift = usize::try_from(shift).map_err(|_| Fault::Arithmetic)?;
    Ok(quotient.into_raw().wrapping_mul(EXP_SCALE) >> shift)
}

/// Computes the (6, 7)-term approximation of `e^x` on half a binade, `x` in base 2⁹⁶; the caller applies the scale.
fn rational_exp(x: I256) -> I256 {
    let mut y = x.wrapping_add(signed(1_346_386_616_545, 796_478_920_950_773_328)).wrapping_mul(x);
    y = shift_96(y).wrapping_add(signed(57_155_421_227_552, 351_082_224_309_758_442));
    let mut p = y.wrapping_add(x).wrapping_sub(signed(94_201_549_194_550, 492_254_356_042_504_812)).wrapping_mul(y);
    p = shift_96(p).wrapping_add(signed(28_719_021_644_029_726, 153_956_944_680_412_240)).wrapping_mul(x);
    let last = signed(4_385_272_521_454_847, 904_659_076_985_693_276);
    p = p.wrapping_add(last.wrapping_mul(I256::from_raw(U256::ONE << 96)));
    let mut q = x.wrapping_sub(signed(2_855_989_394_907, 223_263_936_484_059_900)).wrapping_mul(x);
    q = shift_96(q).wrapping_add(signed(50_020_603_652_535, 783_019_961_831_881_945));
    q = shift_96(q.wrapping_mul(x)).wrapping_sub(signed(533_845_033_583_426, 703_283_633_433_725_380));
    q = shift_96(q.wrapping_mul(x)).wrapping_add(signed(3_604_857_256_930_695, 427_073_651_918_091_429));
    q = shift_96(q.wrapping_mul(x)).wrapping_sub(signed(14_423_608_567_350_463, 180_887_372_962_807_573));
    q = shift_96(q.wrapping_mul(x)).wrapping_add(signed(26_449_188_498_355_588, 339_934_803_723_976_023));
    p.wrapping_div(q)
}
