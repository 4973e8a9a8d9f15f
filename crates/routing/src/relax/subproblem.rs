//! Some tokens and the pools between them, with local numbers.

use braid_protocols::continuous::{GasSpread, PairCurve, Trade};

use crate::prepare::index32;
use crate::problem::{Flow, Problem};

/// One pair of a subproblem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) pair: u32,
    pub(crate) curve: &'a PairCurve,
    /// Local numbers of coins 0 and 1.
    pub(crate) ends: [u32; 2],
    /// Marginal rates of selling coin 0, and coin 1; zero if it may not be sold: nothing flows into a single input or
    /// out of a single output.
    pub(crate) spot: [f64; 2],
    /// Value of a swap's gas, and of a unit of the gas that it uses for ticks.
    pub(crate) gas: f64,
    pub(crate) gas_price: f64,
    pub(crate) gas_spread: GasSpread,
    /// Whether the pool is certainly used: its gas is paid whatever it earns.
    pub(crate) is_forced: bool,
}

/// A set of tokens with local numbers; the outputs come last, hubs shortly before them, so that elimination fills in
/// little.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subproblem<'a> {
    /// The token of each local number.
    pub(crate) tokens: Vec<u32>,
    pub(crate) members: Vec<Member<'a>>,
    /// The lowest local number that each token shares a pool with, itself included.
    pub(crate) first: Vec<usize>,
    /// Amount supplied of each token.
    pub(crate) supply: Vec<f64>,
    /// Number of outputs, which have the last local numbers.
    pub(crate) outputs: usize,
    /// Amount of each token in a basket worth one: prices satisfy `Σ weight · price = 1`.
    pub(crate) weights: Vec<f64>,
    /// The most of each token that a route can hold.
    pub(crate) caps: Vec<f64>,
    /// Whether a pool may occur several times, as copies: it then counts with the one that earns most.
    pub(crate) has_copies: bool,
}

impl<'a> Subproblem<'a> {
    /// Builds the subproblem of a list of pools. `caps` are those of all tokens; `None` for no limits. `local` is working
    /// memory: one entry per token, all `u32::MAX` before and after.
    pub(crate) fn new(problem: &Problem<'a>, pools: &[u32], caps: Option<&[f64]>, local: &mut [u32]) -> Self {
        let mut degrees: Vec<(u32, u32)> = Vec::new();
        let graph = problem.prepared.graph();
        let mut count = |token: u32, local: &mut [u32]| {
            let at = &mut local[token as usize];
            if *at == u32::MAX {
                *at = index32(degrees.len());
                degrees.push((token, 0));
            }
            degrees[*at as usize].1 += 1;
        };
        for pair in pools {
            for token in graph.ends(*pair) {
                count(token, local);
            }
        }
        let terms = &problem.terms;
        for (token, _) in terms.supplies.iter().chain(&terms.weights) {
            count(*token, local);
        }
        let is_output = |token: u32| terms.weights.iter().any(|(output, _)| *output == token);
        degrees.sort_by_key(|(token, degree)| (is_output(*token), *degree, *token));
        for (number, (token, _)) in degrees.iter().enumerate() {
            local[*token as usize] = index32(number);
        }
        let n = degrees.len();
        let mut sub = Self {
            tokens: degrees.iter().map(|(token, _)| *token).collect(),
            members: Vec::with_capacity(pools.len()),
            first: (0..n).collect(),
            supply: vec![0.0; n],
            outputs: terms.weights.len(),
            weights: vec![0.0; n],
            caps: degrees.iter().map(|(token, _)| caps.map_or(f64::INFINITY, |caps| caps[*token as usize])).collect(),
            has_copies: false,
        };
        for (token, amount) in &terms.supplies {
            sub.supply[local[*token as usize] as usize] += amount;
        }
        for (token, weight) in &terms.weights {
            sub.weights[local[*token as usize] as usize] += weight;
        }
        // Couples all outputs, as the basket's price does.
        for row in n - sub.outputs..n {
            sub.first[row] = n - sub.outputs;
        }
        for pair in pools {
            let Some(curve) = problem.curve(*pair) else { continue };
            let tokens = graph.ends(*pair);
            let ends = tokens.map(|token| local[token as usize]);
            let low = ends[0].min(ends[1]) as usize;
            for end in ends {
                let first = &mut sub.first[end as usize];
                *first = (*first).min(low);
            }
            let open = problem.open_directions(tokens);
            let rate = |side: u8| curve.direction(side).filter(|_| open[usize::from(side)]).map_or(0.0, |d| d.spot());
            let spot = [0, 1].map(rate);
            let (gas_price, gas_spread) = (problem.gas_price, problem.gas_spread);
            let gas = curve.gas_units * gas_price;
            sub.members.push(Member { pair: *pair, curve, ends, spot, gas, gas_price, gas_spread, is_forced: false });
        }
        for (token, _) in &degrees {
            local[*token as usize] = u32::MAX;
        }
        sub
    }

    /// Returns how many prices the solver may move: with one output its price is given, with several only the price of
    /// the basket is.
    pub(crate) fn free(&self) -> usize {
        if self.outputs == 1 { self.tokens.len() - 1 } else { self.tokens.len() }
    }

    /// Returns the share that each output takes of a basket worth one, in value, by local number from the first output
    /// on.
    pub(crate) fn shares<'s>(&'s self, prices: &'s [f64]) -> impl Iterator<Item = (usize, f64)> + 's {
        let first = self.tokens.len() - self.outputs;
        (first..)
            .zip(self.weights[first..].iter().zip(&prices[first..]))
            .map(|(at, (weight, price))| (at, weight * price))
    }

    /// Scales prices so that the basket costs one.
    pub(crate) fn normalise(&self, prices: &mut [f64]) {
        if self.outputs == 1 {
            let last = self.tokens.len() - 1;
            prices[last] = 1.0 / self.weights[last];
            return;
        }
        let sum: f64 = self.shares(prices).map(|(_, share)| share).sum();
        for price in prices {
            *price /= sum;
        }
    }
}

impl Member<'_> {
    /// Returns the coin that is sold at these prices, if any.
    #[inline]
    pub(crate) fn side(&self, prices: &[f64]) -> Option<usize> {
        let [a, b] = self.ends.map(|end| prices[end as usize]);
        if a < self.spot[0] * b { Some(0) } else { (b < self.spot[1] * a).then_some(1) }
    }

    /// Returns the pool's best trade at these prices if it takes no more of a token than `cap` says, after the coin that
    /// it sells and the local numbers of the tokens in and out; `None` if it does not trade.
    #[inline(always)]
    pub(crate) fn trade(&self, prices: &[f64], cap: impl FnOnce(usize) -> f64) -> Option<(usize, [usize; 2], Trade)> {
        let side = self.side(prices)?;
        let (from, to) = (self.ends[side] as usize, self.ends[1 - side] as usize);
        let direction = self.curve.directions[side].as_ref()?;
        let trade =
            direction.best_trade_spread(prices[from], prices[to], cap(from), self.gas_price, self.gas_spread)?;
        Some((side, [from, to], trade))
    }

    /// Returns the flow of that trade, without caps.
    pub(crate) fn flow(&self, tokens: &[u32], prices: &[f64]) -> Option<Flow> {
        let (side, [from, to], trade) = self.trade(prices, |_| f64::INFINITY)?;
        let side = u8::from(side == 1);
        Some(Flow { pair: self.pair, side, from: tokens[from], to: tokens[to], amount_in: trade.amount_in })
    }

    /// Computes the pool's profit within the caps: as a multiple of its gas, and in value net of the gas of ticks;
    /// `None` if there is no trade.
    pub(crate) fn earned(&self, sub: &Subproblem<'_>, prices: &[f64]) -> Option<(f64, f64)> {
        let (_, [from, to], trade) = self.trade(prices, |from| sub.caps[from])?;
        let profit = prices[to] * trade.amount_out - prices[from] * trade.amount_in;
        let gas = self.gas + trade.gas_units * self.gas_price;
        let ratio = if gas > 0.0 { profit / gas } else { f64::INFINITY };
        Some((ratio, profit - trade.gas_units * self.gas_price))
    }

    /// Computes profit less gas, ticks included, within the caps; `None` if there is no trade.
    pub(crate) fn gain_within(&self, sub: &Subproblem<'_>, prices: &[f64]) -> Option<f64> {
        self.earned(sub, prices).map(|(_, profit)| profit - self.gas)
    }

    /// Computes profit less gas, without caps; minus the gas if there is no trade.
    pub(crate) fn gain(&self, prices: &[f64]) -> f64 {
        let profit = self.trade(prices, |_| f64::INFINITY).map_or(0.0, |(_, [from, to], trade)| {
            prices[to] * trade.amount_out - prices[from] * trade.amount_in - trade.gas_units * self.gas_price
        });
        profit - self.gas
    }
}
