//! An upper bound on the value that a route can hold at any point, and so on the input of each of its pools.

use braid_protocols::continuous::PairCurve;

use super::Solver;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::tuning::Tuning;

impl Solver<'_> {
    /// Tightens the caps to what a route better than `net` can hold; returns whether any got tighter.
    pub(super) fn tighten(&self, problem: &Problem<'_>, potentials: &mut Potentials, net: f64) -> bool {
        let standing = self.prepared.standing();
        let held = self.held_value(problem, &potentials.cap, net);
        held.is_some_and(|held| potentials.tighten(problem, held, |token| standing.price(token)))
    }

    /// Computes the most value, at prices without arbitrage, that a route better than `net` can hold at any point: what
    /// such a route can pay for gas is limited, and every pool whose arbitrage it collects costs gas. A pool earns no more
    /// than it does on the amount that can reach it; so a first bound on the value held narrows the next.
    fn held_value(&self, problem: &Problem<'_>, caps: &[f64], net: f64) -> Option<f64> {
        let standing = self.prepared.standing();
        let is_priced = problem.terms.ends().into_iter().all(|end| standing.price(end) > 0.0);
        if !is_priced || problem.gas_price <= 0.0 {
            return None;
        }
        let scale = problem.unit_price(standing.prices());
        let value_in = problem.terms.supplied_value(standing.prices());
        let slack = (value_in - net * scale).max(0.0);
        let mut held = f64::INFINITY;
        let (mut ratio, mut profits) = (0.0_f64, 0.0);
        // Lists the pools whose profit pays for their own gas, or nearly, and those that may earn more than they do within
        // their capacity; of a basket, the profits of all others count in full.
        let mut self_paying: Vec<(u32, [usize; 2], f64)> = Vec::new();
        for &pair in standing.earning() {
            let profit = standing.profit(pair as usize);
            let Some(ends) = problem.is_open(pair).then(|| self.earning_direction(problem, pair)).flatten() else {
                continue;
            };
            let curve = problem.curve(pair);
            let gas = curve.map_or(0.0, |curve| curve.gas_units) * problem.gas_price * scale;
            if curve.is_some_and(PairCurve::is_continued) {
                self_paying.push((pair, ends, gas));
            } else if profit < Tuning::SELF_PAYING_GAS_SHARE * gas {
                ratio = ratio.max(profit / (gas - profit));
            } else if !problem.is_pair() {
                profits += profit;
            } else {
                self_paying.push((pair, ends, gas));
            }
        }
        for _ in 0..Tuning::HELD_NARROWINGS {
            let (mut free, mut ratio) = (profits, ratio);
            for (pair, [from, to], gas) in &self_paying {
                let side = u8::from(self.prepared.graph().ends(*pair)[0] as usize != *from);
                let Some((_, direction)) = problem.direction(*pair, side) else { continue };
                let (price_in, price_out) = (standing.price(*from), standing.price(*to));
                let cap = caps.get(*from).copied().unwrap_or(0.0).min(held / price_in);
                let profit = direction.most_earned(price_in, price_out, cap, 0.0, 0.0) * Tuning::FAR_OUTWARD;
                if profit < Tuning::SELF_PAYING_GAS_SHARE * gas {
                    ratio = ratio.max(profit / (gas - profit));
                } else {
                    free += profit;
                }
            }
            let next = (value_in + free + (slack + free) * ratio) * Tuning::FAR_OUTWARD;
            let settled = next > held * Tuning::HELD_SETTLED_SHARE;
            held = held.min(next);
            if settled || self_paying.is_empty() {
                break;
            }
        }
        Some(held)
    }

    /// Returns the direction in which a pair earns at prices without arbitrage, if a route may use it.
    fn earning_direction(&self, problem: &Problem<'_>, pair: u32) -> Option<[usize; 2]> {
        let standing = self.prepared.standing();
        let ends = self.prepared.graph().ends(pair);
        let side = (0_u8..2).find(|side| {
            let (from, to) = (ends[usize::from(*side)] as usize, ends[1 - usize::from(*side)] as usize);
            let rate = problem.direction(pair, *side).map_or(0.0, |(_, direction)| direction.spot());
            standing.price(from) < rate * standing.price(to)
        })?;
        let [from, to] = [usize::from(side), 1 - usize::from(side)].map(|at| ends[at] as usize);
        problem.open_directions(ends)[usize::from(side)].then_some([from, to])
    }
}
