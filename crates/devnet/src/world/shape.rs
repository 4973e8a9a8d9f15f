//! Chooses the prices and the liquidity of pools. Floating point is allowed here, because these are choices, not
//! amounts that anyone is promised.

use alloy::primitives::{U256, aliases::U160};

use super::pools::{PoolSpec, Spread};
use crate::tokens::Token;

/// A deterministic random number generator (`SplitMix64`), so that every build creates the same market.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number that is uniformly distributed in −1 … 1.
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    pub(crate) fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// The two tokens of a pool in the order of their addresses, and its price.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Priced {
    pub(crate) token0: &'static Token,
    pub(crate) token1: &'static Token,
    /// The price: atomic units of token 1 per atomic unit of token 0.
    pub(crate) price: f64,
}

/// A V3 position to create: its range and the amounts put in, in atomic units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Position {
    pub(crate) tick_lower: i32,
    pub(crate) tick_upper: i32,
    pub(crate) amount0: f64,
    pub(crate) amount1: f64,
}

/// Returns the tokens of a pool and its price. Each pool's price differs from the market's by less than half its fee
/// and by at most six basis points. So prices differ, but no round trip earns money.
pub(crate) fn price(spec: &PoolSpec, a: &'static Token, b: &'static Token, dice: &mut Dice) -> Priced {
    let (token0, token1) = if a.address < b.address { (a, b) } else { (b, a) };
    let largest_bps = (f64::from(spec.fee_pips) / 100.0 * 0.45).min(6.0);
    let off = 1.0 + dice.roll() * largest_bps / 10_000.0;
    Priced { token0, token1, price: unit_usd(token0) / unit_usd(token1) * off }
}

/// Returns the price of one atomic unit, in dollars.
fn unit_usd(token: &Token) -> f64 {
    token.price_usd / 10_f64.powi(i32::from(token.decimals))
}

/// Returns both reserves of a V2 pool in atomic units. They have equal value at the pool's price.
pub(crate) fn reserves(spec: &PoolSpec, priced: &Priced) -> (f64, f64) {
    let amount0 = f64::from(spec.depth_kusd) * 500.0 / unit_usd(priced.token0);
    (amount0, amount0 * priced.price)
}

/// Ranges around the price: the width as a factor of the price, and the share of the pool's value, from the widest
/// range to the narrowest.
#[rustfmt::skip]
const FREE: &[(f64, f64)] = &[
    (40.0, 0.08), (1.9, 0.13), (1.35, 0.19), (1.14, 0.19), (1.05, 0.14), (1.018, 0.09), (1.007, 0.04), (1.003, 0.02),
];
const PEGGED: &[(f64, f64)] =
    &[(1.9, 0.04), (1.05, 0.10), (1.012, 0.18), (1.004, 0.26), (1.0015, 0.22), (1.0006, 0.06)];
/// Ranges entirely beside the price: the two ends as factors of the price, and the share of the pool's value.
const FREE_BESIDE: &[(f64, f64, f64)] =
    &[(1.0015, 1.006, 0.02), (1.004, 1.03, 0.03), (1.01, 1.06, 0.04), (1.1, 1.4, 0.03)];
const PEGGED_BESIDE: &[(f64, f64, f64)] = &[(1.0003, 1.001, 0.03), (1.001, 1.003, 0.05), (1.004, 1.02, 0.06)];

/// Returns the positions of a V3 pool: nested ranges around the price, each a little off centre, and ranges beside it.
pub(crate) fn positions(spec: &PoolSpec, priced: &Priced, dice: &mut Dice) -> Vec<Position> {
    let (around, beside) = match spec.spread {
        Spread::Free => (FREE, FREE_BESIDE),
        Spread::Pegged => (PEGGED, PEGGED_BESIDE),
    };
    let total_usd = f64::from(spec.depth_kusd) * 1_000.0;
    let mut made = Vec::new();
    for &(factor, share) in around {
        let (down, up) = (jitter(factor, dice), jitter(factor, dice));
        made.extend(position(spec, priced, priced.price / down, priced.price * up, total_usd * share));
    }
    for &(near, far, share) in beside {
        let (near, far) = (jitter(near, dice), jitter(far, dice));
        made.extend(position(spec, priced, priced.price * near, priced.price * far, total_usd * share / 2.0));
        made.extend(position(spec, priced, priced.price / far, priced.price / near, total_usd * share / 2.0));
    }
    made
}

/// Returns a factor whose distance from one is changed by up to a quarter.
fn jitter(factor: f64, dice: &mut Dice) -> f64 {
    1.0 + (factor - 1.0) * (1.0 + dice.roll() / 4.0)
}

/// Returns a position worth `usd` over a range of prices; `None` if it would hold less than one atomic unit of each
/// token.
fn position(spec: &PoolSpec, priced: &Priced, lowest: f64, highest: f64, usd: f64) -> Option<Position> {
    let spacing = tick_spacing(spec.fee_pips);
    let (tick_lower, tick_upper) = (tick_at(lowest, spacing), tick_at(highest, spacing));
    let tick_upper = if tick_upper == tick_lower { tick_upper + spacing } else { tick_upper };
    let (low, high) = (sqrt_at(tick_lower), sqrt_at(tick_upper));
    let sqrt = priced.price.sqrt().clamp(low, high);
    let (per_liquidity0, per_liquidity1) = (1.0 / sqrt - 1.0 / high, sqrt - low);
    let liquidity = usd / (per_liquidity0 * unit_usd(priced.token0) + per_liquidity1 * unit_usd(priced.token1));
    let (amount0, amount1) = (liquidity * per_liquidity0, liquidity * per_liquidity1);
    (amount0 >= 1.0 || amount1 >= 1.0).then_some(Position { tick_lower, tick_upper, amount0, amount1 })
}

/// Returns the tick spacing that the factory assigns to a fee.
pub(crate) const fn tick_spacing(fee_pips: u32) -> i32 {
    match fee_pips {
        100 => 1,
        500 => 10,
        2_500 => 50,
        3_000 => 60,
        _ => 200,
    }
}

fn sqrt_at(tick: i32) -> f64 {
    1.0001_f64.powf(f64::from(tick) / 2.0)
}

/// Returns the usable tick nearest to a price.
#[allow(clippy::cast_possible_truncation, reason = "clamped to the range of ticks")]
fn tick_at(price: f64, spacing: i32) -> i32 {
    let limit = 887_272 / spacing;
    let step = (price.ln() / 1.0001_f64.ln() / f64::from(spacing)).round() as i32;
    step.clamp(-limit, limit) * spacing
}

/// Converts a float to an integer: rounded down, exact for any float that is a whole number, and zero for negative
/// ones.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the mantissa fits 53 bits and is positive")]
pub(crate) fn whole(value: f64) -> U256 {
    if !value.is_finite() || value < 1.0 {
        return U256::ZERO;
    }
    let exponent = (value.log2() as i32 - 52).max(0);
    let mantissa = (value / 2_f64.powi(exponent)) as u64;
    U256::from(mantissa) << exponent.unsigned_abs()
}

/// Returns the square root of a price in 64.96 fixed point, by which a V3 pool is initialised.
pub(crate) fn sqrt_price_x96(price: f64) -> U160 {
    whole(price.sqrt() * 2_f64.powi(96)).to::<U160>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_survive_the_way_through_a_float() {
        for bits in 0..150_u32 {
            assert_eq!(whole(2_f64.powi(i32::try_from(bits).unwrap())), U256::ONE << bits);
        }
        assert_eq!(whole(1_234_567.9), U256::from(1_234_567));
        assert_eq!(whole(f64::NAN), U256::ZERO);
        assert_eq!(whole(-3.0), U256::ZERO);
    }

    #[test]
    fn a_price_of_one_is_two_to_the_96th() {
        assert_eq!(sqrt_price_x96(1.0), U160::from(1) << 96);
    }

    #[test]
    fn the_shares_of_a_pools_value_add_up_to_all_of_it() {
        for (around, beside) in [(FREE, FREE_BESIDE), (PEGGED, PEGGED_BESIDE)] {
            let sum: f64 = around.iter().map(|p| p.1).chain(beside.iter().map(|p| p.2)).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        }
    }

    #[test]
    fn dice_stay_within_one_and_repeat() {
        let (mut a, mut b) = (Dice::new(7), Dice::new(7));
        for _ in 0..1_000 {
            let roll = a.roll();
            assert!((-1.0..=1.0).contains(&roll));
            assert_eq!(roll.to_bits(), b.roll().to_bits());
        }
    }

    #[test]
    fn ticks_keep_to_the_spacing_and_the_range() {
        assert_eq!(tick_at(1.0, 60), 0);
        assert_eq!(tick_at(1.05, 60) % 60, 0);
        assert_eq!(tick_at(1e-300, 200), -887_200);
        assert_eq!(tick_at(1e300, 1), 887_272);
    }
}
