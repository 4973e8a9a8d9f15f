//! A search over single paths in exact arithmetic, for amounts where floating point is a poor guide: dust, and amounts
//! beyond the liquidity.
//!
//! It deepens by one hop at a time and is limited by a number of swaps. So small markets are searched completely, and
//! large ones as far as the shortest paths. A pool is not tried if the path cannot be worth more than the floor after
//! it, at the best rates of every pool that may follow.

use braid_primitives::U256;
use braid_protocols::Pool;

use crate::Request;
use crate::prepare::{Arrow, index32};
use crate::problem::potentials::Potentials;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// Returns the flows of the best exact path that the search finds within its limit, if it is worth more than `floor`,
/// net of gas. `potentials` are those of `amount`, or of a larger one.
pub(crate) fn best_path(
    problem: &Problem<'_>,
    potentials: &Potentials,
    request: &Request,
    amount: U256,
    floor: f64,
) -> Option<Vec<Flow>> {
    let left = if problem.prepared.pair_count() < Tuning::WALK_LARGE_MARKET_PAIRS {
        Tuning::WALK_SWAPS
    } else {
        Tuning::WALK_SWAPS_OF_LARGE
    };
    let mut walk = Walk { problem, potentials, request, left, floor, path: Vec::new(), best: None };
    for hops in 1..=problem.hops {
        walk.from(problem.source, amount, 0.0, hops);
    }
    walk.best
}

/// A depth-first search over paths of one length after the other.
struct Walk<'a, 'p> {
    problem: &'a Problem<'p>,
    potentials: &'a Potentials,
    request: &'a Request,
    /// Number of swaps that may still be computed.
    left: u32,
    /// The value that a path must exceed.
    floor: f64,
    /// The present path.
    path: Vec<Flow>,
    best: Option<Vec<Flow>>,
}

impl Walk<'_, '_> {
    /// Extends the path by exactly `hops` pools. Shorter paths were tried before.
    fn from(&mut self, token: usize, amount: U256, gas: f64, hops: usize) {
        let (graph, target) = (self.problem.prepared.graph(), self.problem.target);
        if hops == 1 {
            for arrow in graph.between(token, target) {
                self.step(token, &arrow, amount, gas, hops);
            }
            return;
        }
        for arrow in graph.inner_arrows(token).iter().filter(|arrow| arrow.to as usize != target) {
            if self.left == 0 {
                return;
            }
            self.step(token, arrow, amount, gas, hops);
        }
    }

    /// Extends the path by one pool, and by the others from there on.
    fn step(&mut self, token: usize, arrow: &Arrow, amount: U256, gas: f64, hops: usize) {
        let problem = self.problem;
        let to = arrow.to as usize;
        if to == problem.source || self.most(arrow, amount, hops) - gas <= self.floor {
            return;
        }
        if self.path.iter().any(|flow| flow.to == arrow.to) {
            return;
        }
        let pair = problem.prepared.pairs().get(arrow.pair);
        let used = self.path.iter().any(|flow| problem.prepared.pairs().get(flow.pair).pool == pair.pool);
        let pool = problem.prepared.market().pool(pair.pool).filter(|_| !used && problem.is_open(arrow.pair));
        let (coin_in, coin_out) = pair.in_and_out(arrow.side);
        let Some((out, units)) = pool.and_then(|pool| self.swap(pool, coin_in, coin_out, amount)) else { return };
        #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
        let gas = gas + units as f64 * problem.gas_price;
        self.path.push(Flow {
            pair: arrow.pair,
            side: arrow.side,
            from: index32(token),
            to: arrow.to,
            amount_in: f64::from(amount),
        });
        if to == problem.target {
            let net = f64::from(out) * problem.price_out - gas;
            if net > self.floor {
                (self.floor, self.best) = (net, Some(self.path.clone()));
            }
        } else {
            self.from(to, out, gas, hops - 1);
        }
        self.path.pop();
    }

    /// Returns the most that an amount can be worth after a pool, if the path has `hops` pools left with it. Allows one
    /// atomic unit more than the pool's best rate gives, since a few contracts round an output up.
    fn most(&self, arrow: &Arrow, amount: U256, hops: usize) -> f64 {
        let worth = self.potentials.worth_within(hops - 1, arrow.to as usize);
        (f64::from(amount) * arrow.spot + 1.0) * worth * Tuning::OUTWARD
    }

    /// Computes a swap's output and gas units; `None` if the pool refuses or pays nothing, or at the limit of swaps.
    fn swap(&mut self, pool: &Pool, coin_in: u8, coin_out: u8, amount: U256) -> Option<(U256, u64)> {
        self.left = self.left.checked_sub(1)?;
        let swap = pool.swap(&self.request.at, coin_in, coin_out, amount).ok()?;
        (!swap.amount_out.is_zero()).then_some((swap.amount_out, swap.gas_units))
    }
}
