//! Conversion between ticks and prices: `TickMath` of v3-core.

use alloy_primitives::U256;

/// Lowest tick: `log(2⁻¹²⁸)` to the base 1.0001.
pub const MIN_TICK: i32 = -887_272;
/// Highest tick.
pub const MAX_TICK: i32 = -MIN_TICK;

/// Square root of the price at [`MIN_TICK`] in Q64.96.
pub const MIN_SQRT_PRICE_X96: U256 = U256::from_limbs([4_295_128_739, 0, 0, 0]);
/// Square root of the price at [`MAX_TICK`] in Q64.96, exclusive maximum of prices.
pub const MAX_SQRT_PRICE_X96: U256 = U256::from_limbs([0x5d95_1d52_6398_8d26, 0xefd1_fc6a_5064_8849, 0xfffd_8963, 0]);

/// `1.0001^(−2ⁿ⁻¹)` in Q128.128 for n = 0 to 19: the contract's constants.
const POWERS_X128: [u128; 20] = [
    0xfffc_b933_bd6f_ad37_aa2d_162d_1a59_4001,
    0xfff9_7272_373d_4132_59a4_6990_580e_213a,
    0xfff2_e50f_5f65_6932_ef12_357c_f3c7_fdcc,
    0xffe5_caca_7e10_e4e6_1c36_24ea_a094_1cd0,
    0xffcb_9843_d60f_6159_c9db_5883_5c92_6644,
    0xff97_3b41_fa98_c081_472e_6896_dfb2_54c0,
    0xff2e_a164_66c9_6a38_43ec_78b3_26b5_2861,
    0xfe5d_ee04_6a99_a2a8_11c4_61f1_969c_3053,
    0xfcbe_86c7_900a_88ae_dcff_c83b_479a_a3a4,
    0xf987_a725_3ac4_1317_6f2b_074c_f781_5e54,
    0xf339_2b08_22b7_0005_940c_7a39_8e4b_70f3,
    0xe715_9475_a2c2_9b74_43b2_9c7f_a6e8_89d9,
    0xd097_f3bd_fd20_22b8_845a_d8f7_92aa_5825,
    0xa9f7_4646_2d87_0fdf_8a65_dc1f_90e0_61e5,
    0x70d8_69a1_56d2_a1b8_90bb_3df6_2baf_32f7,
    0x31be_135f_97d0_8fd9_8123_1505_542f_cfa6,
    0x09aa_508b_5b7a_84e1_c677_de54_f3e9_9bc9,
    0x005d_6af8_dedb_8119_6699_c329_225e_e604,
    0x0000_2216_e584_f5fa_1ea9_2604_1bed_fe98,
    0x0000_0000_048a_1703_91f7_dc42_444e_8fa2,
];

/// Computes the square root of the price at a tick, `1.0001^(tick/2)` in Q64.96, with the contract's rounding.
///
/// `None` outside the range of ticks. Source: `TickMath.getSqrtRatioAtTick`.
pub fn sqrt_price_at_tick(tick: i32) -> Option<U256> {
    if !(MIN_TICK..=MAX_TICK).contains(&tick) {
        return None;
    }
    let mut bits = tick.unsigned_abs();
    if bits == 0 {
        return Some(U256::ONE << 96);
    }
    // the contract starts from one (2¹²⁸) and multiplies, so the first factor is taken unchanged
    let mut ratio_x128 = *POWERS_X128.get(bits.trailing_zeros() as usize)?;
    bits &= bits - 1;
    while bits != 0 {
        ratio_x128 = mul_shift_128(ratio_x128, *POWERS_X128.get(bits.trailing_zeros() as usize)?);
        bits &= bits - 1;
    }
    let ratio_x128 = if tick > 0 { U256::MAX.checked_div(U256::from(ratio_x128))? } else { U256::from(ratio_x128) };
    let whole = ratio_x128 >> 32_usize;
    let rest = ratio_x128.as_limbs()[0] & 0xffff_ffff;
    Some(if rest == 0 { whole } else { whole + U256::ONE })
}

/// Computes the greatest tick whose price is at most the given one.
///
/// `None` for a price below [`MIN_SQRT_PRICE_X96`], or at [`MAX_SQRT_PRICE_X96`] and above. Source:
/// `TickMath.getTickAtSqrtRatio`.
pub fn tick_at_sqrt_price(sqrt_price_x96: U256) -> Option<i32> {
    if sqrt_price_x96 < MIN_SQRT_PRICE_X96 || sqrt_price_x96 >= MAX_SQRT_PRICE_X96 {
        return None;
    }
    // the price normalised to 128 bits, and the position of its top bit in Q128.128
    let bits = sqrt_price_x96.bit_len();
    let normalised = if bits > 128 { sqrt_price_x96 >> (bits - 128) } else { sqrt_price_x96 << (128 - bits) };
    let mut r = u128::try_from(normalised).ok()?;
    // log₂ of the price in Q64.64, 14 fractional bits of it
    let mut log2_x64 = (i128::try_from(bits).ok()? + 31 - 128) << 64;
    for bit in (50..=63).rev() {
        let (square, carry) = square_shift_127(r);
        r = square;
        log2_x64 |= i128::from(carry) << bit;
    }
    // to the base √1.0001 in Q128.128: times 2⁶⁴/log₂(√1.0001); then the error bounds on either side
    let (low, high) = tick_bounds(log2_x64);
    if low == high {
        return Some(low);
    }
    Some(if sqrt_price_at_tick(high)? <= sqrt_price_x96 { high } else { low })
}

/// Returns the two possible ticks of the truncated logarithm; usually they are equal.
fn tick_bounds(log2_x64: i128) -> (i32, i32) {
    const LOG_FACTOR: u128 = 255_738_958_999_603_826_347_141;
    const LOW_ERROR: u128 = 3_402_992_956_809_132_418_596_140_100_660_247_210;
    const HIGH_ERROR: u128 = 291_339_464_771_989_622_907_027_621_153_398_088_495;
    // two's complement in 256 bits, as the contract has it; only the upper half survives the shift
    let log2 = sign_extend(log2_x64);
    let log = log2.wrapping_mul(U256::from(LOG_FACTOR));
    (upper_half(log.wrapping_sub(U256::from(LOW_ERROR))), upper_half(log.wrapping_add(U256::from(HIGH_ERROR))))
}

fn sign_extend(value: i128) -> U256 {
    let magnitude = U256::from(value.unsigned_abs());
    if value < 0 { magnitude.wrapping_neg() } else { magnitude }
}

/// Returns the low 32 bits above bit 128 of a two's complement number, which hold all of a tick.
fn upper_half(value: U256) -> i32 {
    let low = value.as_limbs()[2] & 0xffff_ffff;
    u32::try_from(low).map_or(0, u32::cast_signed)
}

/// Computes `a · b / 2¹²⁸`, rounded down.
const fn mul_shift_128(a: u128, b: u128) -> u128 {
    widening_mul(a, b).1
}

/// Computes `r² / 2¹²⁷`, shifted down once more if it needs 129 bits; and whether it did.
const fn square_shift_127(r: u128) -> (u128, bool) {
    let (low, high) = widening_mul(r, r);
    let carry = high >> 127 == 1;
    if carry { (high, true) } else { ((high << 1) | (low >> 127), false) }
}

/// Computes `a · b` as low and high halves.
const fn widening_mul(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (a0, a1, b0, b1) = (a & LOW, a >> 64, b & LOW, b >> 64);
    let low = a0 * b0;
    // each partial product is at most (2⁶⁴−1)², so adding two 64-bit numbers cannot overflow
    let middle = a1 * b0 + (low >> 64);
    let middle2 = a0 * b1 + (middle & LOW);
    ((middle2 << 64) | (low & LOW), a1 * b1 + (middle >> 64) + (middle2 >> 64))
}
