//! Prices of all tokens of a market, most of them computed from a few.

use crate::problem::Problem;
use crate::tuning::Tuning;

/// Prices of all tokens: those given, and those computed from them.
#[derive(Clone, Debug, Default)]
pub(crate) struct DualPrices {
    /// Price of every token; zero if it has none.
    pub(crate) price: Vec<f64>,
    /// The tokens whose prices were given, each once.
    given: Vec<usize>,
    /// See [`Self::may_earn`].
    may_earn: Vec<(usize, u32)>,
}

impl DualPrices {
    /// Computes the prices of reachable tokens from given ones. Of several prices given for one token the last counts.
    ///
    /// The `guess` of every other token moves into the interval in which no pool with a priced token trades. If that
    /// interval is empty, it moves to where no pool earns more than a negligible share of its gas or, failing that, more
    /// than its gas. Deep tokens come first, and price the others.
    pub(crate) fn of(
        problem: &Problem<'_>,
        is_reachable: &[bool],
        given: impl Iterator<Item = (usize, f64)>,
        guess: &[f64],
    ) -> Self {
        let mut dual_prices = Self { price: vec![0.0; guess.len()], ..Self::default() };
        given.for_each(|(token, price)| dual_prices.set(token, price));
        dual_prices.fill(problem, is_reachable, guess);
        dual_prices
    }

    /// Takes as given every price above zero of a reachable token, and computes those of the others.
    pub(crate) fn of_all(problem: &Problem<'_>, is_reachable: &[bool], prices: &[f64]) -> Self {
        let known = |(token, price): &(usize, f64)| is_reachable[*token] && *price > 0.0;
        Self::of(problem, is_reachable, prices.iter().copied().enumerate().filter(known), prices)
    }

    /// Gives a token's price.
    fn set(&mut self, token: usize, price: f64) {
        let known = &mut self.price[token];
        if *known <= 0.0 {
            self.given.push(token);
        }
        *known = price;
    }

    /// Returns a token's price; zero for one that no search can meet.
    #[inline]
    fn price_of(&self, token: usize) -> f64 {
        self.price.get(token).copied().unwrap_or(0.0)
    }

    /// Returns the open pools that may earn something at these prices, each once, as a token and the place of its
    /// arrow. No other pool between tokens with prices would trade, except by rounding.
    pub(crate) fn may_earn(&self) -> &[(usize, u32)] {
        &self.may_earn
    }

    /// Computes the prices of reachable tokens that were not given; see [`Self::of`].
    fn fill(&mut self, problem: &Problem<'_>, is_reachable: &[bool], guess: &[f64]) {
        let tied = self.tie_given(problem, is_reachable);
        let mut tied = tied.into_iter().peekable();
        let fill_order = problem.prepared.fill_order();
        let mut unpriced = Vec::new();
        for (token, earlier_pairs) in fill_order.steps(&problem.terms.ends()) {
            if !is_reachable[token] || self.price[token] > 0.0 {
                continue;
            }
            let place = fill_order.place(token);
            while tied.next_if(|(tied, _)| *tied < place).is_some() {}
            let mut band = Band::ANY;
            while let Some((_, limits)) = tied.next_if(|(tied, _)| *tied == place) {
                band = band.within(limits);
            }
            for earlier in earlier_pairs {
                let other = self.price_of(earlier.to as usize);
                if other > 0.0 && problem.is_open(earlier.pair) {
                    band.narrow(problem, [token, earlier.to as usize], [earlier.spot, earlier.back], other);
                }
            }
            if band.low > band.high {
                self.settle_by_gas(problem, token, guess[token]);
            } else {
                self.price[token] = band.nearest(guess[token]);
            }
            if self.price[token] <= 0.0 {
                unpriced.push(token);
            }
        }
        // Tries tokens without a price again: tokens that came after them may price them.
        let mut before = usize::MAX;
        while unpriced.len() < before {
            before = unpriced.len();
            unpriced.retain(|token| {
                self.settle_by_gas(problem, *token, guess[*token]);
                self.price[*token] <= 0.0
            });
        }
    }

    /// Records pools between tokens whose prices are given, and returns the limits that given prices set on tokens that
    /// come before them, each with that token's place, in the order of places.
    fn tie_given(&mut self, problem: &Problem<'_>, is_reachable: &[bool]) -> Vec<(usize, Band)> {
        let fill_order = problem.prepared.fill_order();
        let mut tied = Vec::new();
        for &token in &self.given {
            for earlier in fill_order.earlier_pairs(token).iter().filter(|earlier| problem.is_open(earlier.pair)) {
                let to = earlier.to as usize;
                if self.price_of(to) > 0.0 {
                    self.may_earn.push((token, earlier.arrow));
                } else if is_reachable.get(to) == Some(&true) {
                    let mut band = Band::ANY;
                    band.narrow(problem, [to, token], [earlier.back, earlier.spot], self.price[token]);
                    tied.push((fill_order.place(to), band));
                }
            }
        }
        tied.sort_by_key(|(place, _)| *place);
        tied
    }

    /// Prices a token whose pools let something be earned, and records which of them earn.
    fn settle_by_gas(&mut self, problem: &Problem<'_>, token: usize, guess: f64) {
        let price = self.within_gas(problem, token, guess);
        let graph = problem.prepared.graph();
        for (arrow, place) in problem.arrows(token).iter().zip(graph.first_arrow(token)..) {
            let other = self.price_of(arrow.to as usize);
            let trades = price < other * arrow.spot || other < price * arrow.back;
            if trades && other > 0.0 && price > 0.0 && problem.is_open(arrow.pair) {
                self.may_earn.push((token, place));
            }
        }
        self.price[token] = price;
    }

    /// Moves the guess to where no pool earns more than a negligible share of its gas; if there is no such price, more
    /// than its gas.
    fn within_gas(&self, problem: &Problem<'_>, token: usize, guess: f64) -> f64 {
        if let Ok(band) = self.band_after_gas::<true>(problem, token, Tuning::NEGLIGIBLE_GAS_SHARE) {
            return band.nearest(guess);
        }
        let (Ok(Band { low, high }) | Err(Band { low, high })) = self.band_after_gas::<false>(problem, token, 1.0);
        if low <= high && is_price(guess) { guess.clamp(low, high) } else { (low * high).sqrt() }
    }

    /// Computes the prices at which no pool of a token earns more than a share of its gas. If there are none, returns
    /// the empty band as an error: the price below which some pool still takes the token is above the price from which
    /// another pays it. `STOPS_EARLY` returns as soon as that is known.
    fn band_after_gas<const STOPS_EARLY: bool>(
        &self,
        problem: &Problem<'_>,
        token: usize,
        gas_share: f64,
    ) -> Result<Band, Band> {
        let mut band = Band::ANY;
        let gas_price = problem.gas_price * gas_share;
        for arrow in problem.arrows(token) {
            let to = arrow.to as usize;
            let other = self.price_of(to);
            if other <= 0.0 || !problem.is_open(arrow.pair) {
                continue;
            }
            let may_raise = to != problem.source && other * arrow.spot > band.low;
            let may_lower = to != problem.target && other < band.high * arrow.back;
            if !may_raise && !may_lower {
                continue;
            }
            let root = (gas_price / other).sqrt();
            let back = arrow.reversed(token);
            let may_raise = may_raise && other * arrow.spot_after_gas(root) > band.low;
            let may_lower = may_lower && other * back.cost_with_gas(root) < band.high;
            if !may_raise && !may_lower {
                continue;
            }
            // Uses the formula for a pool of one range: it is exact, and needs no access to the curve.
            let curve = problem.curve(arrow.pair).filter(|_| !arrow.is_plain);
            let gas = curve.map_or(0.0, |curve| curve.gas_units) * gas_price;
            let direction = |side: u8| curve.and_then(|curve| curve.direction(side));
            if may_raise {
                let rate = direction(arrow.side).map_or_else(
                    || other * arrow.spot_after_gas(root),
                    |direction| direction.average_rate(other, f64::INFINITY, gas),
                );
                band.low = band.low.max(rate);
            }
            if may_lower {
                let cost = direction(1 - arrow.side).map_or_else(
                    || other * back.cost_with_gas(root),
                    |direction| direction.average_cost(other, f64::INFINITY, gas),
                );
                band.high = band.high.min(cost);
            }
            if STOPS_EARLY && band.low > band.high {
                return Err(band);
            }
        }
        if band.low > band.high { Err(band) } else { Ok(band) }
    }
}

/// An interval of prices.
#[derive(Clone, Copy, Debug)]
struct Band {
    low: f64,
    high: f64,
}

impl Band {
    const ANY: Self = Self { low: 0.0, high: f64::INFINITY };

    /// Cuts off the prices of `token` at which a pool with a token priced `other` would trade; `spot` and `back` are
    /// its marginal rates of selling the token and of buying it.
    #[inline]
    fn narrow(&mut self, problem: &Problem<'_>, [token, to]: [usize; 2], [spot, back]: [f64; 2], other: f64) {
        if to != problem.source && token != problem.target {
            self.low = self.low.max(other * spot);
        }
        if to != problem.target && token != problem.source && other < self.high * back {
            self.high = other / back;
        }
    }

    /// Returns the part of the interval that is within another.
    fn within(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.min(other.high) }
    }

    /// Returns the price nearest to a guess; without a guess, one within the interval; zero if nothing is known.
    fn nearest(self, guess: f64) -> f64 {
        let Self { low, high } = self;
        match (is_price(guess), low > 0.0, high.is_finite()) {
            (true, _, _) => guess.clamp(low, high),
            (false, true, true) => (low * high).sqrt(),
            (false, true, false) => low,
            (false, false, true) => high,
            (false, false, false) => 0.0,
        }
    }
}

/// Returns whether a guess can be a price.
fn is_price(guess: f64) -> bool {
    guess > 0.0 && guess.is_finite()
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::testing::{prepared, problem, token};

    #[test]
    fn a_pool_of_one_unit_at_an_absurd_price_moves_no_token_away_from_its_pool() {
        const ETHER: u128 = 10_u128.pow(18);
        // Token 2 is worth as much as the others; one pool has an atomic unit of it, for a ten thousandth of an ether.
        let deep = [((0, 1), [1_000 * ETHER; 2]), ((1, 2), [ETHER; 2])];
        let market = prepared(&[deep[0], deep[1], ((0, 2), [ETHER / 10_000, 1])]);
        let problem = problem(&market, token(1), U256::from(ETHER), token(0));
        let [weth, hub, odd] = [0, 1, 2].map(|position| market.node(token(position)));
        let (guess, given) = (vec![1.0; problem.token_count], [(weth, 1.0), (hub, 1.0)]);
        let dual_prices = DualPrices::of(&problem, &vec![true; problem.token_count], given.into_iter(), &guess);
        assert!((0.9..1.1).contains(&dual_prices.price[odd]), "{}", dual_prices.price[odd]);
    }
}
