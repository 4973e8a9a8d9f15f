//! Stops pools of a flow earlier, so that its route uses less gas.
//!
//! An amount beyond the market's liquidity crosses many ticks for next to nothing: the last ones of each pool cost most of
//! the gas and pay least. Stops are tried one after the other in floating point, each time the one that loses least for
//! the gas that it saves.

use super::repair::amount_for;
use crate::prepare::active::is_large;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// Flows of which each pool takes no more than a limit.
#[derive(Clone, Debug, Default)]
struct Trimmed {
    flows: Vec<Flow>,
    /// Most that each pool takes.
    limits: Vec<f64>,
    /// What each flow pays, and the gas units of its pool and of the ticks that it crosses.
    quotes: Vec<(f64, f64)>,
    /// Value of what arrives, net of gas.
    net: f64,
    gas_units: f64,
}

/// A stop of one pool.
#[derive(Clone, Copy, Debug)]
struct Stop {
    flow: usize,
    amount_in: f64,
    /// Value lost per unit of gas saved, as last computed, and after how many stops that was; before it was ever computed,
    /// about the least that it can be.
    loss: f64,
    computed_after: Option<usize>,
}

/// Limits of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Most gas of the flows returned.
    pub(crate) gas_units: f64,
    /// Value, net of gas, below which flows are of no use.
    pub(crate) net: f64,
}

/// Returns a pair's flows with pools stopped earlier, so that they keep within limits. `order` is that of the flows' tokens,
/// each before those that it leads to. `None` if stops do not save as much, or lose too much.
///
/// What a stop loses is computed again only where it was least: it grows as other pools are stopped. In a large market it
/// is estimated before it is computed first.
pub(crate) fn trimmed(problem: &Problem<'_>, flows: &[Flow], order: &[u32], limits: Limits) -> Option<Vec<Flow>> {
    let mut network = Network::new(problem, flows, order);
    let mut best = network.whole(flows)?;
    let mut stops: Vec<Stop> = (0..flows.len()).flat_map(|at| earlier_stops(problem, &best.flows, at)).collect();
    let is_estimated = is_large(problem.prepared);
    if is_estimated {
        network.estimate(&best, limits.gas_units, &mut stops);
    }
    let mut stopped = Trimmed::default();
    let mut taken = 0;
    for _ in 0..Tuning::TRIM_TRIALS {
        if best.net < limits.net {
            return None;
        }
        if best.gas_units <= limits.gas_units {
            best.flows.retain(|flow| flow.amount_in > 0.0);
            return Some(best.flows);
        }
        let least = (0..stops.len()).min_by(|a, b| stops[*a].loss.total_cmp(&stops[*b].loss))?;
        let stop = stops[least];
        // Counts no more gas than has to be saved.
        let excess = best.gas_units - limits.gas_units;
        let is_sent = network.stop(&best, &stop, &mut stopped).is_some();
        let saved = if is_sent { (best.gas_units - stopped.gas_units).min(excess) } else { 0.0 };
        if saved <= 0.0 {
            stops.swap_remove(least);
            continue;
        }
        let loss = (best.net - stopped.net) / saved;
        if stop.computed_after != Some(taken) && stops.iter().any(|other| other.loss < loss) {
            stops[least] = Stop { loss, computed_after: Some(taken), ..stop };
            continue;
        }
        taken += 1;
        stops.retain(|other| other.flow != stop.flow);
        let known = stops.len();
        stops.extend(earlier_stops(problem, &stopped.flows, stop.flow));
        let has_grown = |at: &usize| stopped.flows[*at].amount_in > best.flows[*at].amount_in;
        for at in (0..flows.len()).filter(|at| *at != stop.flow).filter(has_grown) {
            // The other stops of the pool are still good.
            let last = earlier_stops(problem, &stopped.flows, at).into_iter().next();
            let is_new = |last: &Stop| stops.iter().all(|s| s.flow != at || s.amount_in < last.amount_in);
            stops.extend(last.filter(is_new));
        }
        if is_estimated {
            network.estimate(&stopped, limits.gas_units, &mut stops[known..]);
        }
        std::mem::swap(&mut best, &mut stopped);
    }
    None
}

/// Returns stops of a flow's pool at amounts at which it has crossed fewer ticks, and at zero. What they lose is not known
/// yet.
fn earlier_stops(problem: &Problem<'_>, flows: &[Flow], at: usize) -> Vec<Stop> {
    let flow = &flows[at];
    let Some((_, direction)) = problem.direction(flow.pair, flow.side).filter(|_| flow.amount_in > 0.0) else {
        return Vec::new();
    };
    let ticks: Vec<f64> =
        direction.stops_before_gas(flow.amount_in).map(|stop| stop * Tuning::CAPACITY_FILLED).collect();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a count"
    )]
    let after = |share: &f64| ticks.len().checked_sub(1).map(|last| ticks[(last as f64 * share) as usize]);
    let mut amounts: Vec<f64> = Tuning::TRIM_SHARES.iter().filter_map(after).chain([0.0]).collect();
    amounts.dedup();
    let stop = |amount_in| Stop { flow: at, amount_in, loss: f64::NEG_INFINITY, computed_after: None };
    amounts.into_iter().map(stop).collect()
}

/// A token of the flows.
#[derive(Debug)]
struct Node {
    /// Amount of it that is supplied.
    supplied: f64,
    /// Flows that lead to it.
    arriving: Vec<usize>,
    /// Flows out of it.
    leaving: Vec<usize>,
    /// Whether what arrives, or a limit of what leaves, has changed since its flows were last filled.
    has_changed: bool,
}

/// The tokens of flows, in order, without the last.
struct Network<'a, 'p> {
    problem: &'a Problem<'p>,
    nodes: Vec<Node>,
    /// The node that each flow comes from, and the one that it leads to if that is not the last.
    ends: Vec<(usize, Option<usize>)>,
    /// Flows that one fill still shares an amount among.
    open: Vec<usize>,
    /// Value of a little more of each node's token.
    prices: Vec<f64>,
}

impl<'a, 'p> Network<'a, 'p> {
    fn new(problem: &'a Problem<'p>, flows: &[Flow], order: &[u32]) -> Self {
        let tokens: Vec<u32> = order.iter().copied().filter(|token| *token as usize != problem.target).collect();
        let node = |token: &u32| {
            let those = |is_it: &dyn Fn(&Flow) -> bool| (0..flows.len()).filter(|at| is_it(&flows[*at])).collect();
            Node {
                supplied: if *token as usize == problem.source { problem.amount } else { 0.0 },
                arriving: those(&|flow| flow.to == *token),
                leaving: those(&|flow| flow.from == *token),
                has_changed: true,
            }
        };
        let at = |token: u32| tokens.iter().position(|other| *other == token);
        let ends = flows.iter().map(|flow| (at(flow.from).unwrap_or(0), at(flow.to))).collect();
        let prices = vec![0.0; tokens.len()];
        Self { problem, nodes: tokens.iter().map(node).collect(), ends, open: Vec::new(), prices }
    }

    /// Sends the whole amount through flows that no stop limits yet.
    fn whole(&mut self, flows: &[Flow]) -> Option<Trimmed> {
        let capacity = |flow: &Flow| self.problem.direction(flow.pair, flow.side).map_or(0.0, |(_, d)| d.capacity_in());
        let limits = flows.iter().map(|flow| capacity(flow) * Tuning::CAPACITY_FILLED).collect();
        let quotes = flows.iter().map(|flow| self.quote(flow)).collect();
        let planned = Trimmed { flows: flows.to_vec(), limits, quotes, ..Trimmed::default() };
        let mut sent = planned.clone();
        self.send(&planned, &mut sent)?;
        Some(sent)
    }

    /// Sends the whole amount through flows again, of which one is stopped.
    fn stop(&mut self, planned: &Trimmed, stop: &Stop, sent: &mut Trimmed) -> Option<()> {
        sent.flows.clone_from(&planned.flows);
        sent.limits.clone_from(&planned.limits);
        sent.quotes.clone_from(&planned.quotes);
        sent.limits[stop.flow] = stop.amount_in.min(planned.limits[stop.flow]);
        self.nodes.iter_mut().for_each(|node| node.has_changed = false);
        self.nodes[self.ends[stop.flow].0].has_changed = true;
        self.send(planned, sent)
    }

    /// Shares out again what arrives at each token, within the limits to what pools take: the others of the same token take
    /// the rest. If there are none, less is sent to the token; `None` if that is impossible.
    fn send(&mut self, planned: &Trimmed, sent: &mut Trimmed) -> Option<()> {
        for _ in 0..Tuning::TRIM_PASSES {
            let mut is_over = false;
            for at in 0..self.nodes.len() {
                if !std::mem::take(&mut self.nodes[at].has_changed) {
                    continue;
                }
                let paid: f64 = self.nodes[at].arriving.iter().map(|flow| sent.quotes[*flow].0).sum();
                let arrives = self.nodes[at].supplied + paid;
                let left = self.fill(at, arrives, planned, sent);
                if left > arrives * Tuning::TRIM_LEFT_SHARE {
                    if self.nodes[at].supplied > 0.0 {
                        return None;
                    }
                    is_over = true;
                    self.hold_back(at, 1.0 - left / arrives, sent)?;
                }
            }
            if !is_over {
                self.value(sent);
                return Some(());
            }
        }
        None
    }

    /// Shares an amount among the flows out of a token, in the proportions planned and within limits. Returns what no flow
    /// takes.
    fn fill(&mut self, node: usize, arrives: f64, planned: &Trimmed, sent: &mut Trimmed) -> f64 {
        let mut open = std::mem::take(&mut self.open);
        open.clone_from(&self.nodes[node].leaving);
        let mut left = arrives;
        loop {
            let sum: f64 = open.iter().map(|at| planned.flows[*at].amount_in).sum();
            if sum <= 0.0 {
                open.iter().for_each(|at| self.set(*at, 0.0, sent));
                break;
            }
            let factor = left / sum;
            let is_full = |at: usize, sent: &Trimmed| planned.flows[at].amount_in * factor > sent.limits[at];
            if !open.iter().any(|at| is_full(*at, sent)) {
                open.iter().for_each(|at| self.set(*at, planned.flows[*at].amount_in * factor, sent));
                left = 0.0;
                break;
            }
            open.retain(|at| {
                let is_full = is_full(*at, sent);
                if is_full {
                    left -= sent.limits[*at];
                    self.set(*at, sent.limits[*at], sent);
                }
                !is_full
            });
        }
        self.open = open;
        left
    }

    /// Limits the flows to a token to a share of what they pay.
    fn hold_back(&mut self, node: usize, share: f64, sent: &mut Trimmed) -> Option<()> {
        for at in &self.nodes[node].arriving {
            let flow = &sent.flows[*at];
            let (_, direction) = self.problem.direction(flow.pair, flow.side)?;
            sent.limits[*at] = amount_for(direction, flow.amount_in, share);
        }
        for at in 0..self.nodes[node].arriving.len() {
            let from = self.ends[self.nodes[node].arriving[at]].0;
            self.nodes[from].has_changed = true;
        }
        Some(())
    }

    /// Estimates what stops lose per unit of gas saved, from below: curves are concave, so that a pool loses at least what
    /// its last amounts earn, and others gain at most their marginal rates.
    fn estimate(&mut self, sent: &Trimmed, most_gas_units: f64, stops: &mut [Stop]) {
        for node in (0..self.nodes.len()).rev() {
            self.prices[node] = self.price_without(node, None, sent).unwrap_or(0.0);
        }
        let excess = sent.gas_units - most_gas_units;
        for stop in stops {
            let flow = &sent.flows[stop.flow];
            let Some(price_in) = self.price_without(self.ends[stop.flow].0, Some(stop.flow), sent) else { continue };
            let (paid, gas_units) = sent.quotes[stop.flow];
            let (paid_less, gas_units_less) = match stop.amount_in {
                0.0 => (0.0, 0.0),
                amount_in => self.quote(&Flow { amount_in, ..*flow }),
            };
            let saved = gas_units - gas_units_less;
            if saved > 0.0 {
                let lost =
                    (paid - paid_less) * self.price_out_of(stop.flow) - (flow.amount_in - stop.amount_in) * price_in;
                stop.loss = (lost - saved * self.problem.gas_price) / saved.min(excess);
            }
        }
    }

    /// Computes the value of a little more of a node's token, which the flows out of it that are below their limits share,
    /// without one of them. `None` if there is none.
    fn price_without(&self, node: usize, without: Option<usize>, sent: &Trimmed) -> Option<f64> {
        let (mut amount, mut value) = (0.0, 0.0);
        for at in self.nodes[node].leaving.iter().filter(|at| Some(**at) != without) {
            let flow = &sent.flows[*at];
            if flow.amount_in > 0.0 && flow.amount_in < sent.limits[*at] {
                let rate =
                    self.problem.direction(flow.pair, flow.side).map_or(0.0, |(_, d)| d.marginal(flow.amount_in));
                amount += flow.amount_in;
                value += flow.amount_in * rate * self.price_out_of(*at);
            }
        }
        (amount > 0.0).then(|| value / amount)
    }

    /// Returns the value of a little more of the token that a flow pays.
    fn price_out_of(&self, flow: usize) -> f64 {
        self.ends[flow].1.map_or(self.problem.price_out, |to| self.prices[to])
    }

    /// Sets the amount of a flow.
    fn set(&mut self, at: usize, amount_in: f64, sent: &mut Trimmed) {
        let flow = &mut sent.flows[at];
        if flow.amount_in.total_cmp(&amount_in).is_ne() {
            flow.amount_in = amount_in;
            sent.quotes[at] = self.quote(flow);
            if let Some(to) = self.ends[at].1 {
                self.nodes[to].has_changed = true;
            }
        }
    }

    /// Computes what a flow pays, and the gas units of its pool and of the ticks that it crosses.
    fn quote(&self, flow: &Flow) -> (f64, f64) {
        let Some((curve, direction)) = self.problem.direction(flow.pair, flow.side) else { return (0.0, 0.0) };
        let (paid, on_the_way) = direction.quote(flow.amount_in);
        (paid, curve.gas_units + on_the_way)
    }

    /// Computes the value and the gas of flows.
    fn value(&self, sent: &mut Trimmed) {
        let used = || sent.flows.iter().zip(&sent.quotes).filter(|(flow, _)| flow.amount_in > 0.0);
        let gas_units: f64 = used().map(|(_, (_, gas_units))| gas_units).sum();
        let arriving = used().filter(|(flow, _)| flow.to as usize == self.problem.target);
        let paid: f64 = arriving.map(|(_, (paid, _))| paid).sum();
        sent.net = paid * self.problem.price_out - gas_units * self.problem.gas_price;
        sent.gas_units = gas_units;
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::Prepared;
    use crate::prepare::index32;
    use crate::testing::{prepared, problem, token};

    const UNIT: u128 = 10_u128.pow(18);

    /// Returns a market of 1 – 2 – 0, 1 – 3 – 0, 2 – 3 and 1 – 0. Pair 0 is the wrapper of ether.
    fn market() -> Prepared {
        let pools = [(1, 2), (1, 3), (2, 3), (2, 0), (3, 0), (1, 0)];
        prepared(&pools.map(|coins| (coins, [1_000 * UNIT; 2])))
    }

    /// Returns flows of 100 units of 1 to 0 through all of its pools.
    fn flows(market: &Prepared) -> [Flow; 6] {
        let node = |at: u32| index32(market.node(token(at)));
        let flow = |pair: u32, [from, to]: [u32; 2], amount: f64| {
            let side = u8::from(market.graph().ends(pair)[0] != node(from));
            Flow { pair, side, from: node(from), to: node(to), amount_in: amount * 1e18 }
        };
        [
            flow(1, [1, 2], 40.0),
            flow(2, [1, 3], 30.0),
            flow(3, [2, 3], 10.0),
            flow(4, [2, 0], 20.0),
            flow(5, [3, 0], 30.0),
            flow(6, [1, 0], 30.0),
        ]
    }

    #[test]
    fn a_stop_loses_no_less_than_estimated() {
        let market = market();
        let problem = Problem { gas_price: 1e10, ..problem(&market, token(1), U256::from(100 * UNIT), token(0)) };
        let (flows, order) = (flows(&market), [1, 2, 3, 0].map(|at| index32(market.node(token(at)))));
        let mut network = Network::new(&problem, &flows, &order);
        let whole = network.whole(&flows).unwrap();
        // Each of these saves the gas of one pool at least, and no more than that is counted.
        let most_gas_units = whole.gas_units - 1_000.0;
        let stop = |flow| Stop { flow, amount_in: 0.0, loss: f64::NEG_INFINITY, computed_after: None };
        let mut stops: Vec<Stop> = (0..flows.len()).map(stop).collect();
        network.estimate(&whole, most_gas_units, &mut stops);
        for stop in stops {
            let mut sent = Trimmed::default();
            network.stop(&whole, &stop, &mut sent).unwrap();
            let loss = (whole.net - sent.net) / 1_000.0;
            // Pools that get nothing any more save their gas too, which the estimate does not know.
            let saved_beyond = sent.flows.iter().filter(|flow| flow.amount_in == 0.0).count() > 1;
            assert!(saved_beyond || stop.loss <= loss + 1e-9 * loss.abs(), "{}: {} above {loss}", stop.flow, stop.loss);
            // Less has to reach a token if its only pool is stopped: what that loses is not estimated.
            let is_only = flows.iter().filter(|flow| flow.from == flows[stop.flow].from).count() == 1;
            assert_eq!(stop.loss.is_finite(), !is_only, "{}", stop.flow);
        }
    }

    #[test]
    fn a_stop_sends_what_is_left_as_if_everything_were_sent_anew() {
        let market = market();
        let problem = problem(&market, token(1), U256::from(100 * UNIT), token(0));
        let (node, flows) = (|at: u32| index32(market.node(token(at))), flows(&market));
        let order = [1, 2, 3, 0].map(node);
        let mut network = Network::new(&problem, &flows, &order);
        let whole = network.whole(&flows).unwrap();
        let arrives = |to: u32, sent: &Trimmed| -> f64 {
            sent.flows.iter().zip(&sent.quotes).filter(|(flow, _)| flow.to == node(to)).map(|(_, (paid, _))| paid).sum()
        };
        let leaves = |from: u32, sent: &Trimmed| -> f64 {
            sent.flows.iter().filter(|flow| flow.from == node(from)).map(|flow| flow.amount_in).sum()
        };
        for (at, kept) in [(0, 0.5), (0, 0.0), (2, 0.0), (3, 0.2), (5, 0.0), (4, 0.3)] {
            let stop = Stop { flow: at, amount_in: whole.flows[at].amount_in * kept, loss: 0.0, computed_after: None };
            let mut sent = Trimmed::default();
            network.stop(&whole, &stop, &mut sent).unwrap();
            assert!(sent.flows[at].amount_in <= stop.amount_in * (1.0 + 1e-9), "{at}");
            assert!((leaves(1, &sent) / 100e18 - 1.0).abs() < 1e-9, "{at}: all of the input is sent");
            for token in [2, 3] {
                let [arrives, leaves] = [arrives(token, &sent), leaves(token, &sent)];
                assert!((arrives - leaves).abs() <= 1e-9 * 100e18, "{at}: {arrives} of {token}, {leaves} sent on");
            }
            let anew: Vec<(f64, f64)> = sent.flows.iter().map(|flow| network.quote(flow)).collect();
            assert_eq!(sent.quotes, anew, "{at}: what each flow pays is that of its amount");
            assert!(
                (sent.net - (arrives(0, &sent) * problem.price_out - sent.gas_units * problem.gas_price)).abs() < 1.0
            );
        }
    }
}
