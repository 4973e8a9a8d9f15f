//! A pair as seen from one of its tokens, and the formulas of a pair that is a single range of constant liquidity.

use braid_protocols::continuous::{Direction, PairCurve};

use super::node::index32;
use crate::tuning::Tuning;

/// One pair as seen from one of its tokens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrow {
    pub(crate) pair: u32,
    /// The token at the other side.
    pub(crate) to: u32,
    /// Number of this token among the pair's coins: 0 or 1.
    pub(crate) side: u8,
    /// Whether the pair is a single range of constant liquidity.
    pub(crate) is_plain: bool,
    /// Marginal rate of selling this token, fee included; zero if that side pays nothing.
    pub(crate) spot: f64,
    /// Marginal rate of buying it with the other.
    pub(crate) back: f64,
    /// Share by which gas lowers the best average rate if `√(gas price ÷ price out)` is 1, of selling this token and of
    /// buying it: `reject_in · √gas_units`. See [`Arrow::spot_after_gas`].
    pub(crate) gas_factor: f64,
    pub(crate) gas_factor_back: f64,
    /// The most that the pair takes of this token, and of the other.
    most_in: f64,
    most_in_back: f64,
    /// The least gas of a swap, in whole units.
    gas_units: u32,
}

impl Arrow {
    /// Builds the arrow of a pair as seen from its first coin; `to` is the token of its second.
    pub(super) fn of(pair: u32, to: u32, curve: &PairCurve) -> Self {
        let [spot, back] = [0, 1].map(|side| curve.direction(side).map_or(0.0, |d| d.spot()));
        let gas_root = curve.gas_units.sqrt();
        let [gas_factor, gas_factor_back] =
            [0, 1].map(|side| curve.direction(side).map_or(0.0, |d| d.reject_in() * gas_root));
        let is_plain = curve.directions.iter().flatten().all(|direction| direction.is_plain());
        let [most_in, most_in_back] = [0, 1].map(|side| curve.direction(side).map_or(0.0, |d| d.capacity_in()));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "gas of a swap is far below 2³²")]
        let gas_units = curve.gas_units.max(1.0) as u32;
        Self { pair, to, side: 0, is_plain, spot, back, gas_factor, gas_factor_back, most_in, most_in_back, gas_units }
    }

    /// Returns the formula for selling this token, which needs no access to the curve; `None` for a pair of several
    /// ranges.
    #[inline]
    pub(crate) fn plain(&self) -> Option<Plain> {
        let (spot, gas_factor, most_in) = (self.spot, self.gas_factor, self.most_in);
        self.is_plain.then(|| Plain { spot, gas_factor, most_in, gas_units: f64::from(self.gas_units) })
    }

    /// Returns the same for buying this token.
    #[inline]
    pub(crate) fn plain_back(&self) -> Option<Plain> {
        let (spot, gas_factor, most_in) = (self.back, self.gas_factor_back, self.most_in_back);
        self.is_plain.then(|| Plain { spot, gas_factor, most_in, gas_units: f64::from(self.gas_units) })
    }

    /// Returns the least gas of a swap, in gas units.
    #[inline]
    pub(crate) fn least_gas(&self) -> f64 {
        f64::from(self.gas_units)
    }

    /// Computes an upper bound on the average rate, net of gas, of selling this token. `root` is
    /// `√(gas price ÷ price out)`.
    #[inline]
    pub(crate) fn spot_after_gas(&self, root: f64) -> f64 {
        after_gas(self.spot, self.gas_factor * root)
    }

    /// Computes the same for buying it.
    #[inline]
    pub(crate) fn back_after_gas(&self, root: f64) -> f64 {
        after_gas(self.back, self.gas_factor_back * root)
    }

    /// Computes a lower bound on the average cost of a unit of the other token, gas included, as a multiple of this
    /// token's price. `root` is `√(gas price ÷ price in)`.
    #[inline]
    pub(crate) fn cost_with_gas(&self, root: f64) -> f64 {
        let factor = 1.0 + self.gas_factor * self.spot.sqrt() * root;
        factor * factor / self.spot * (1.0 - Tuning::FORMULA_ROUNDING)
    }

    /// Returns the pair as seen from the other side; `here` is the token that the arrow leaves.
    pub(crate) fn reversed(&self, here: usize) -> Self {
        Self {
            pair: self.pair,
            to: index32(here),
            side: 1 - self.side,
            is_plain: self.is_plain,
            spot: self.back,
            back: self.spot,
            gas_factor: self.gas_factor_back,
            gas_factor_back: self.gas_factor,
            most_in: self.most_in_back,
            most_in_back: self.most_in,
            gas_units: self.gas_units,
        }
    }
}

/// The token at the other side of an arrow, and its rates, rounded up. A search that rejects most arrows reads only this of them: five fit in
/// the memory of one arrow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoughArrow {
    pub(crate) to: u32,
    spot: f32,
    back: f32,
}

impl RoughArrow {
    fn of(arrow: &Arrow) -> Self {
        Self { to: arrow.to, spot: rounded_up(arrow.spot), back: rounded_up(arrow.back) }
    }

    /// Returns an upper bound on [`Arrow::spot`].
    #[inline]
    pub(crate) fn most_spot(self) -> f64 {
        f64::from(self.spot)
    }

    /// Returns an upper bound on [`Arrow::back`].
    #[inline]
    pub(crate) fn most_back(self) -> f64 {
        f64::from(self.back)
    }
}

/// Returns the least 32-bit number that is not below a rate.
#[allow(clippy::cast_possible_truncation, reason = "the next number up is taken where the nearest one is below")]
fn rounded_up(rate: f64) -> f32 {
    let near = rate as f32;
    if f64::from(near) < rate { near.next_up() } else { near }
}

/// Arrows out of one token.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrows<'a> {
    rough: &'a [RoughArrow],
    exact: &'a [Arrow],
}

impl<'a> Arrows<'a> {
    /// Returns each arrow with the token at its other side.
    #[inline]
    pub(crate) fn neighbours(self) -> impl Iterator<Item = (usize, &'a Arrow)> + Clone {
        self.iter().map(|(rough, arrow)| (rough.to as usize, arrow))
    }

    /// Returns each arrow after its rough form, which is to be read first.
    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a RoughArrow, &'a Arrow)> + Clone {
        self.rough.iter().zip(self.exact)
    }
}

/// Arrows out of many tokens, one token's after the other's.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArrowList {
    rough: Vec<RoughArrow>,
    exact: Vec<Arrow>,
}

impl ArrowList {
    pub(crate) fn len(&self) -> usize {
        self.exact.len()
    }

    pub(crate) fn exact(&self) -> &[Arrow] {
        &self.exact
    }

    #[inline]
    pub(crate) fn range(&self, range: std::ops::Range<u32>) -> Arrows<'_> {
        let range = range.start as usize..range.end as usize;
        Arrows { rough: &self.rough[range.clone()], exact: &self.exact[range] }
    }

    /// Replaces an arrow.
    pub(super) fn set(&mut self, place: usize, arrow: Arrow) {
        self.rough[place] = RoughArrow::of(&arrow);
        self.exact[place] = arrow;
    }
}

impl FromIterator<Arrow> for ArrowList {
    fn from_iter<T: IntoIterator<Item = Arrow>>(arrows: T) -> Self {
        let exact: Vec<Arrow> = arrows.into_iter().collect();
        Self { rough: exact.iter().map(RoughArrow::of).collect(), exact }
    }
}

/// One direction of one range of constant liquidity `L` from root rate `z`: `f(x) = spot·x / (1 + spot·x / (L·z))`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    spot: f64,
    /// `√(gas_units / (L·z))`.
    gas_factor: f64,
    most_in: f64,
    pub(crate) gas_units: f64,
}

impl Plain {
    /// Returns `1 / (L·z)`.
    #[inline]
    fn curvature(self) -> f64 {
        self.gas_factor * self.gas_factor / self.gas_units
    }

    /// Computes the output for an input; `None` beyond the end of the range.
    #[inline]
    pub(crate) fn quote(self, amount_in: f64) -> Option<f64> {
        let first = self.spot * amount_in;
        (amount_in <= self.most_in * Tuning::CAPACITY_FILLED).then(|| first / (1.0 + first * self.curvature()))
    }

    /// Computes the input of the best trade if the output is worth `1 / ratio` times what the marginal rate requires;
    /// `ratio` is below 1.
    #[inline]
    pub(crate) fn best_amount_in(self, ratio: f64) -> f64 {
        ((1.0 / ratio.sqrt() - 1.0) / (self.spot * self.curvature())).min(self.most_in)
    }

    /// Tells whether that trade ends before the end of the range.
    #[inline]
    pub(crate) fn ends_within(self, ratio: f64) -> bool {
        self.best_amount_in(ratio) < self.most_in
    }

    /// Computes the output of that trade.
    #[inline]
    pub(crate) fn best_amount_out(self, ratio: f64) -> f64 {
        let most = self.spot * self.most_in;
        ((1.0 - ratio.sqrt()) / self.curvature()).min(most / (1.0 + most * self.curvature()))
    }

    /// Computes the same as [`Direction::average_rate`], for the gas of a swap.
    #[inline]
    pub(crate) fn average_rate(self, price_out: f64, cap: f64, gas_price: f64) -> f64 {
        let share = self.gas_factor * (gas_price / price_out).sqrt();
        let (left, most, slope) = (1.0 - share, cap.min(self.most_in), self.spot * self.curvature());
        if left > 0.0 && share <= left * slope * most {
            return price_out * self.spot * left * left;
        }
        price_out * self.spot / (1.0 + slope * most) - self.gas_units * gas_price / most
    }

    /// Computes the same if the average rate is best within the range; `None` if a larger trade may have a better one.
    #[inline]
    pub(crate) fn average_rate_within(self, price_out: f64, cap: f64, gas_price: f64) -> Option<f64> {
        let share = self.gas_factor * (gas_price / price_out).sqrt();
        let left = 1.0 - share;
        let is_within = left > 0.0 && share <= left * self.spot * self.curvature() * cap.min(self.most_in);
        is_within.then_some(price_out * self.spot * left * left)
    }

    /// Computes the same as [`Direction::average_cost`], for the gas of a swap.
    #[inline]
    pub(crate) fn average_cost(self, price_in: f64, cap: f64, gas_price: f64) -> f64 {
        let share = self.gas_factor * (self.spot * gas_price / price_in).sqrt();
        let (most, slope) = (cap.min(self.most_in), self.spot * self.curvature());
        if share <= slope * most {
            return price_in * (1.0 + share) * (1.0 + share) / self.spot;
        }
        (price_in + self.gas_units * gas_price / most) * (1.0 + slope * most) / self.spot
    }
}

/// The first range of one direction of a pair: the trade that pays most for its gas often ends within it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FirstRange {
    /// `√(gas_units / (L·z))`.
    gas_factor: f64,
    most_in: f64,
}

impl FirstRange {
    /// Returns the formula of this range, which is of a direction of an arrow's pair with the marginal rate `spot`.
    #[inline]
    pub(super) fn plain(self, spot: f64, arrow: &Arrow) -> Plain {
        let Self { gas_factor, most_in } = self;
        Plain { spot, gas_factor, most_in, gas_units: f64::from(arrow.gas_units) }
    }

    /// Returns the first ranges of both directions.
    pub(super) fn of(curve: &PairCurve) -> [Self; 2] {
        [0, 1].map(|side| {
            let range = curve.direction(side).map(Direction::first_range);
            range.map_or_else(Self::default, |(depth, most_in)| Self {
                gas_factor: (curve.gas_units / depth).sqrt(),
                most_in,
            })
        })
    }
}

/// Computes the best average rate, net of gas, of a pool with a marginal rate, where gas costs a share of it: rounded up.
#[inline]
fn after_gas(rate: f64, share: f64) -> f64 {
    let left = (1.0 - share).max(0.0);
    // Returns zero for a pool that cannot pay for its gas at all: its rate net of gas may be negative.
    rate * left * left * (1.0 + Tuning::FORMULA_ROUNDING)
}
#[cfg(test)]
mod tests {
    use braid_protocols::continuous::Stretch;

    use super::*;
    use crate::testing::{prepared, token};

    #[test]
    fn a_first_range_says_what_the_whole_curve_says_or_nothing() {
        let stretches = [
            // The price is on a tick, and the range beyond is empty.
            Stretch { end: 1.01, liquidity: 1e20, gas_units: 20_000.0 },
            Stretch { end: 1.0, liquidity: 0.0, gas_units: 20_000.0 },
            Stretch { end: 0.99, liquidity: 1e21, gas_units: 20_000.0 },
            Stretch { end: 0.5, liquidity: 3e20, gas_units: 0.0 },
        ];
        let direction = Direction::new(0.997, 1.01, &stretches).unwrap();
        let curve = PairCurve { directions: [None, Some(direction.clone())], gas_units: 100_000.0 };
        let [_, FirstRange { gas_factor, most_in }] = FirstRange::of(&curve);
        let plain = Plain { spot: direction.spot(), gas_factor, most_in, gas_units: curve.gas_units };
        let mut said = 0;
        for (cap, gas_price) in
            [1e17, 1e20, 1e24].into_iter().flat_map(|cap| [1e6, 1e9, 1e12, 1e14].map(|gas| (cap, gas)))
        {
            let rate = direction.average_rate(1.5, cap, curve.gas_units * gas_price);
            if let Some(within) = plain.average_rate_within(1.5, cap, gas_price) {
                assert!((within / rate - 1.0).abs() < 1e-9, "{cap} {gas_price}: {within} {rate}");
                said += 1;
            }
        }
        assert!((3..10).contains(&said), "{said}");
    }

    #[test]
    fn one_formula_trades_what_the_curve_of_one_stretch_trades() {
        const ETHER: u128 = 10_u128.pow(18);
        let market = prepared(&[((0, 1), [1_000 * ETHER, 3_000 * ETHER]), ((0, 1), [7 * ETHER, 10_u128.pow(9)])]);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        for arrow in market.graph().arrows(token(0).index()) {
            for (side, plain) in [(arrow.side, arrow.plain().unwrap()), (1 - arrow.side, arrow.plain_back().unwrap())] {
                let direction = market.curve(arrow.pair).unwrap().direction(side).unwrap();
                for ratio in [0.999_9, 0.7, 1e-6, 1e-60] {
                    let trade = direction.best_trade(direction.spot() * ratio, 1.0, f64::INFINITY, 0.0).unwrap();
                    let (sold, bought) = (plain.best_amount_in(ratio), plain.best_amount_out(ratio));
                    assert!(near(sold, trade.amount_in), "{ratio}: {sold} {trade:?}");
                    assert!(near(bought, trade.amount_out), "{ratio}: {bought} {trade:?}");
                }
            }
        }
    }

    #[test]
    fn one_formula_says_what_the_curve_of_one_stretch_says() {
        const ETHER: u128 = 10_u128.pow(18);
        let pools = [[1_000 * ETHER, 3_000 * ETHER], [10_u128.pow(3), 40 * ETHER], [7 * ETHER, 10_u128.pow(9)]];
        let market = prepared(&pools.map(|reserves| ((0, 1), reserves)));
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        for arrow in market.graph().arrows(token(0).index()) {
            let (curve, plain) =
                (market.curve(arrow.pair).unwrap(), [arrow.plain().unwrap(), arrow.plain_back().unwrap()]);
            for (side, plain) in [arrow.side, 1 - arrow.side].into_iter().zip(plain) {
                let direction = curve.direction(side).unwrap();
                for amount in [1e2, 1e12, 1e18, 1e22] {
                    let quoted = plain.quote(amount);
                    assert!(quoted.is_none_or(|out| near(out, direction.quote(amount).0)), "{quoted:?}");
                    for gas_price in [0.0, 1e9, 1e12] {
                        let gas = curve.gas_units * gas_price;
                        let (rate, cost) =
                            (direction.average_rate(1.5, amount, gas), direction.average_cost(1.5, amount, gas));
                        assert!(near(plain.average_rate(1.5, amount, gas_price), rate), "{amount} {gas_price} {rate}");
                        assert!(near(plain.average_cost(1.5, amount, gas_price), cost), "{amount} {gas_price} {cost}");
                    }
                }
            }
        }
    }
}
