//! Searches again as if gas were more expensive, after a route used more of it than a transaction may.

use braid_protocols::continuous::GasSpread;

use super::{Solver, better_of, net_of};
use crate::exact::candidate::{Candidate, best_run};
use crate::exact::trim;
use crate::plan;
use crate::prepare::active::is_large;
use crate::problem::{Flow, Problem};
use crate::threads::Helper;
use crate::tuning::Tuning;

/// What a search found.
struct Searched {
    /// The best route after it.
    best: Option<Candidate>,
    /// Whether it stayed within the limit.
    is_within: bool,
    /// The routes that did not.
    over_gas: Vec<Candidate>,
}

/// The search that is likely to be next.
struct NextSearch {
    /// The assumed cost of the most gas that a route may use, as a share of the trade.
    share: f64,
    /// The route that it starts from.
    from: Option<Candidate>,
    /// Its result, if a thread was free for it.
    found: Option<Searched>,
}

impl Solver<'_> {
    /// Searches as if gas were more expensive, until a route stays within the gas that a transaction may use. Returns the
    /// best route, at first `best`.
    ///
    /// First among the tokens that the first split ended with, with the gas of range ends charged where they are. In a
    /// large market nothing more is tried, except for a basket whose bound says nothing.
    pub(super) fn save_gas(&self, bound: f64, best: Option<Candidate>) -> Option<Candidate> {
        let near = self.trim_and_save_near_gas(bound, best.clone());
        if is_large(self.prepared) && (self.problem.is_pair() || !self.is_lost(bound, near.as_ref())) {
            return near;
        }
        let mut far = best;
        for share in Tuning::DEARER_GAS_SHARES {
            let dear = self.problem.at_dearer_gas(bound, share);
            let is_within = self.stays_within(|| {
                self.offer_paths(&dear, &mut far);
                self.split(&dear, &mut far);
            });
            if is_within {
                break;
            }
        }
        self.trim_gas(better_of(near, far))
    }

    /// Trims routes that used too much gas, and searches again at dearer gas among the tokens that the first split ended with;
    /// both at once if a thread is free. Returns the best route, at first `best`.
    fn trim_and_save_near_gas(&self, bound: f64, best: Option<Candidate>) -> Option<Candidate> {
        let Some(helper) = Helper::free() else {
            return better_of(self.trim_gas(best.clone()), self.save_near_gas(bound, best));
        };
        let (copy, from) = (self.for_another_thread(), best.clone());
        // The copy trims these routes; the searches collect their own.
        self.over_gas.take();
        let (trimmed, near) = helper.both(move || copy.trim_gas(from), || self.save_near_gas(bound, best));
        better_of(trimmed.flatten(), near)
    }

    /// Stops the pools of the best routes that used too much gas at earlier ticks, until they use no more than a transaction
    /// may. Returns the best of them and `best`.
    pub(super) fn trim_gas(&self, best: Option<Candidate>) -> Option<Candidate> {
        let mut over_gas = self.over_gas.take();
        if !self.problem.is_pair() {
            return best;
        }
        over_gas.retain(|found| found.route.gas_units() <= Tuning::TRIM_MOST_TIMES * self.problem.max_gas_units);
        over_gas.sort_by(|a, b| b.net.total_cmp(&a.net));
        over_gas.dedup_by_key(|found| found.route.gas_units());
        over_gas.into_iter().fold(best, |best, over| {
            let net = net_of(best.as_ref()).unwrap_or(f64::NEG_INFINITY);
            better_of(best, (over.net > net).then(|| self.trimmed(&over, net)).flatten())
        })
    }

    /// Returns the exact route of a route's flows with pools stopped earlier; `None` if it still uses too much gas, or is worth
    /// less than `net`. The pools left are balanced again, and stopped again if that takes too much gas, as long as it brings
    /// something.
    fn trimmed(&self, over: &Candidate, net: f64) -> Option<Candidate> {
        let mut best = self.stopped(&self.flows_of(Some(over)), net)?;
        for _ in 0..Tuning::TRIM_BALANCED {
            let Some(balanced) = self.balanced(&self.flows_of(Some(&best)), over.net) else { break };
            let Some(better) = self.stopped(&balanced, best.net).filter(|found| found.net > best.net) else { break };
            best = better;
        }
        Some(best)
    }

    /// Returns the exact route of flows of which pools are stopped earlier, if it uses no more gas than a transaction may and
    /// is worth more than `net`. Exact routes use a little more gas than planned: then less is planned.
    fn stopped(&self, flows: &[Flow], net: f64) -> Option<Candidate> {
        let order = plan::topological_order(self.prepared, self.request, flows).ok()?;
        let [most_gas_units, mut planned] = [in_floats(self.problem.max_gas_units); 2];
        for _ in 0..Tuning::TRIM_RUNS {
            let limits = trim::Limits { gas_units: planned, net };
            let flows = trim::trimmed(&self.problem, flows, &order, limits)?;
            let found = best_run(&self.problem, self.request, &flows, None)?;
            let gas_units = found.route.gas_units();
            if gas_units <= self.problem.max_gas_units {
                return Some(found).filter(|found| found.route.steps.len() <= self.problem.max_steps);
            }
            planned *= Tuning::TRIM_FURTHER * most_gas_units / in_floats(gas_units);
        }
        None
    }

    /// Finds about the lowest price of gas at which routes stay within the limit, and returns the best route on the way
    /// there, at first `best`: a higher price leaves gas unused. Routes that use a little too much are trimmed.
    ///
    /// The search that is likely to be next starts from the same route, so that a free thread may run it already. Its
    /// result is dropped if another search is next.
    fn save_near_gas(&self, bound: f64, mut best: Option<Candidate>) -> Option<Candidate> {
        let search = |solver: &Self, share: f64, mut best: Option<Candidate>| {
            let near = Problem { gas_spread: GasSpread::Near, ..solver.problem.at_dearer_gas(bound, share) };
            let is_within = solver.stays_within(|| {
                solver.offer_among(&near, bound, &mut best);
            });
            Searched { best, is_within, over_gas: solver.over_gas.take() }
        };
        let mut over_gas = self.over_gas.take();
        let mut expected: Option<NextSearch> = None;
        let mut is_within = |share: f64, likely: Option<f64>| {
            let found = match expected.take().filter(|next| next.share.total_cmp(&share).is_eq()) {
                Some(NextSearch { found: Some(found), .. }) => found,
                Some(NextSearch { from, .. }) => search(self, share, from),
                None => {
                    let (here, from) = (best.clone(), best.clone());
                    let helper = likely.and_then(|likely| Some((likely, Helper::free()?)));
                    let (next, found) = if let Some((likely, helper)) = helper {
                        let (copy, there) = (self.for_another_thread(), best.clone());
                        helper.both(move || search(&copy, likely, there), || search(self, share, here))
                    } else {
                        (None, search(self, share, here))
                    };
                    expected = likely.map(|share| NextSearch { share, from, found: next });
                    found
                }
            };
            best = better_of(best.take(), found.best);
            over_gas.extend(found.over_gas);
            found.is_within
        };
        let shares = Tuning::NEAR_GAS_SHARES;
        let halvings = Tuning::NEAR_GAS_HALVINGS[usize::from(is_large(self.prepared))];
        let first = (0..shares.len()).find(|at| is_within(shares[*at], shares.get(at + 1).copied()));
        if let Some(at) = first.filter(|at| *at > 0) {
            let (mut low, mut high) = (shares[at - 1], shares[at]);
            for left in (0..halvings).rev() {
                let middle = (low * high).sqrt();
                // Expects the lower half next, as it mostly is.
                let likely = (left > 0).then(|| (low * middle).sqrt());
                *if is_within(middle, likely) { &mut high } else { &mut low } = middle;
            }
        }
        self.over_gas.replace(over_gas);
        self.trim_gas(best)
    }

    /// Runs a search, and returns whether it found a route and none uses more gas than a transaction may. A search that
    /// found none says nothing about the gas that routes use.
    fn stays_within(&self, search: impl FnOnce()) -> bool {
        self.exceeded_gas.set(false);
        self.fitted_gas.set(false);
        search();
        self.fitted_gas.get() && !self.exceeded_gas.get()
    }
}

/// Converts an amount of gas.
#[allow(clippy::cast_precision_loss, reason = "gas is far below 2⁵³")]
fn in_floats(gas_units: u64) -> f64 {
    gas_units as f64
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::testing::{prepared, request, token};

    #[test]
    fn a_search_that_finds_no_route_does_not_count_as_within_the_limit() {
        const ETHER: u128 = 10_u128.pow(18);
        let market = prepared(&[((1, 2), [1_000 * ETHER; 2])]);
        let request = request(&market, token(1), U256::from(ETHER), token(2));
        let solver = Solver::new(&market, &request, Problem::new(&market, &request).unwrap());
        // The wrapper of ether is pair 0.
        let [from, to] = [1, 2].map(|at| u32::try_from(market.node(token(at))).unwrap());
        let flow = Flow { pair: 1, side: 0, from, to, amount_in: 1e18 };
        let mut best = None;
        assert!(solver.stays_within(|| solver.offer(&mut best, &[flow])));
        assert!(best.is_some());
        assert!(!solver.stays_within(|| {}));
    }
}
