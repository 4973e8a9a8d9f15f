//! Powers with 18 decimals by logarithm and exponential: `LogExpMath` of v2-solidity-utils.
//!
//! Signed 256-bit integers, divided towards zero. Intermediate values have 20 decimals, or 36 near one.

use alloy_primitives::{I256, U256};

use super::revert::Revert;

/// Returns a power of ten, as a signed number.
const fn ten_to(power: u32) -> I256 {
    let mut value = U256::ONE;
    let mut left = power;
    while left > 0 {
        value = value.wrapping_mul(U256::from_limbs([10, 0, 0, 0]));
        left -= 1;
    }
    I256::from_raw(value)
}

const fn integer(value: u128) -> I256 {
    #[allow(clippy::cast_possible_truncation, reason = "the two halves of the number")]
    let limbs = [value as u64, (value >> 64) as u64, 0, 0];
    I256::from_raw(U256::from_limbs(limbs))
}

const ONE_18: I256 = ten_to(18);
const ONE_20: I256 = ten_to(20);
const ONE_36: I256 = ten_to(36);

/// Maximum exponent of `exp`: its result has 18 decimals and fits 254 bits.
const MAX_EXPONENT: I256 = integer(130_000_000_000_000_000_000);
const MIN_EXPONENT: I256 = I256::from_raw(integer(41_000_000_000_000_000_000).into_raw().wrapping_neg());

/// Range around one in which the logarithm has 36 decimals.
const NEAR_ONE: (I256, I256) = (integer(900_000_000_000_000_000), integer(1_100_000_000_000_000_000));

/// Exponents from which a product could overflow: `⌊2²⁵⁴ / 10²⁰⌋`.
const MILD_EXPONENT_BOUND: U256 =
    U256::from_limbs([0x4181_ea80_59f7_6532, 0xa88f_4bb1_ca6b_cf58, 0x0bce_5086_4921_11ae, 0x0000_0000_0000_0000]);

/// `e¹²⁸` and `e⁶⁴` without decimals, with their exponents in 18 decimals.
const LARGE: [(I256, I256); 2] = [
    (
        integer(128_000_000_000_000_000_000),
        // 38,877,084,059,945,950,922,200 · 10³³
        I256::from_raw(integer(38_877_084_059_945_950_922_200).into_raw().wrapping_mul(ten_to(33).into_raw())),
    ),
    (integer(64_000_000_000_000_000_000), integer(6_235_149_080_811_616_882_910_000_000)),
];

/// `e³²` down to `e^(1/16)` and their exponents, both in 20 decimals.
const SMALL: [(I256, I256); 10] = [
    (integer(3_200_000_000_000_000_000_000), integer(7_896_296_018_268_069_516_100_000_000_000_000)),
    (integer(1_600_000_000_000_000_000_000), integer(888_611_052_050_787_263_676_000_000)),
    (integer(800_000_000_000_000_000_000), integer(298_095_798_704_172_827_474_000)),
    (integer(400_000_000_000_000_000_000), integer(5_459_815_003_314_423_907_810)),
    (integer(200_000_000_000_000_000_000), integer(738_905_609_893_065_022_723)),
    (integer(100_000_000_000_000_000_000), integer(271_828_182_845_904_523_536)),
    (integer(50_000_000_000_000_000_000), integer(164_872_127_070_012_814_685)),
    (integer(25_000_000_000_000_000_000), integer(128_402_541_668_774_148_407)),
    (integer(12_500_000_000_000_000_000), integer(113_314_845_306_682_631_683)),
    (integer(6_250_000_000_000_000_000), integer(106_449_445_891_785_942_956)),
];

/// Computes `x^y` with 18 decimals, to a relative error of about 10⁻¹⁴.
pub(super) fn pow(x: U256, y: U256) -> Result<U256, Revert> {
    if y.is_zero() {
        return Ok(ONE_18.into_raw());
    }
    if x.is_zero() {
        return Ok(U256::ZERO);
    }
    if x.bit(255) || y >= MILD_EXPONENT_BOUND {
        return Err(Revert::Arithmetic);
    }
    power(I256::from_raw(x), I256::from_raw(y)).ok_or(Revert::Arithmetic)
}

fn power(x: I256, y: I256) -> Option<U256> {
    let log_times_y = if NEAR_ONE.0 < x && x < NEAR_ONE.1 {
        let log = ln_36(x)?;
        let (whole, rest) = (div(log, ONE_18)?, log.checked_rem(ONE_18)?);
        whole.checked_mul(y)?.checked_add(div(rest.checked_mul(y)?, ONE_18)?)?
    } else {
        ln(x)?.checked_mul(y)?
    };
    let exponent = div(log_times_y, ONE_18)?;
    let in_range = MIN_EXPONENT <= exponent && exponent <= MAX_EXPONENT;
    if in_range { Some(exp(exponent)?.into_raw()) } else { None }
}

/// Computes `a / b`, rounded towards zero.
fn div(a: I256, b: I256) -> Option<I256> {
    a.checked_div(b)
}

/// Computes `a · b / one`.
fn mul(a: I256, b: I256, one: I256) -> Option<I256> {
    div(a.checked_mul(b)?, one)
}

/// Computes `e^x`, 18 decimals.
fn exp(x: I256) -> Option<I256> {
    if x.is_negative() {
        return div(ONE_36, exp(x.checked_neg()?)?);
    }
    let mut x = x;
    let mut first = I256::ONE;
    for (exponent, power) in LARGE {
        if x >= exponent {
            x = x.checked_sub(exponent)?;
            first = power;
            break;
        }
    }
    x = x.checked_mul(integer(100))?;
    let mut product = ONE_20;
    // only the logarithm uses the last two powers
    for (exponent, power) in &SMALL[..8] {
        if x >= *exponent {
            x = x.checked_sub(*exponent)?;
            product = mul(product, *power, ONE_20)?;
        }
    }
    let (mut sum, mut term) = (ONE_20.checked_add(x)?, x);
    for order in 2..=12 {
        term = div(mul(term, x, ONE_20)?, integer(order))?;
        sum = sum.checked_add(term)?;
    }
    div(mul(product, sum, ONE_20)?.checked_mul(first)?, integer(100))
}

/// Computes the natural logarithm, 18 decimals.
fn ln(a: I256) -> Option<I256> {
    if a < ONE_18 {
        return ln(div(ONE_36, a)?)?.checked_neg();
    }
    let (mut a, mut sum) = (a, I256::ZERO);
    for (exponent, power) in LARGE {
        if a >= power.checked_mul(ONE_18)? {
            a = div(a, power)?;
            sum = sum.checked_add(exponent)?;
        }
    }
    sum = sum.checked_mul(integer(100))?;
    a = a.checked_mul(integer(100))?;
    for (exponent, power) in SMALL {
        if a >= power {
            a = div(a.checked_mul(ONE_20)?, power)?;
            sum = sum.checked_add(exponent)?;
        }
    }
    let series = area_series(a, ONE_20, 11)?;
    div(sum.checked_add(series)?, integer(100))
}

/// Computes the natural logarithm near one, 36 decimals.
fn ln_36(x: I256) -> Option<I256> {
    area_series(x.checked_mul(ONE_18)?, ONE_36, 15)
}

/// Computes `2 · (z + z³/3 + … )` with `z = (a − 1) / (a + 1)`, up to the given odd power.
fn area_series(a: I256, one: I256, last: u128) -> Option<I256> {
    let z = div(a.checked_sub(one)?.checked_mul(one)?, a.checked_add(one)?)?;
    let z_squared = mul(z, z, one)?;
    let (mut term, mut sum) = (z, z);
    let mut order = 3;
    while order <= last {
        term = mul(term, z_squared, one)?;
        sum = sum.checked_add(div(term, integer(order))?)?;
        order += 2;
    }
    sum.checked_mul(integer(2))
}
