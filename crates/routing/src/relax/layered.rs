//! Minimises the dual by remaining pools of a pair (see [`Layers`]), and branches on pools.
//!
//! Every route uses a pool or does not. If it does, the pool's gas is paid in full; if it does not, the pool earns
//! nothing. The larger of both bounds holds for every route. The pools to branch on are those that the dual uses in
//! part.
//!
//! No path visits a token twice. If the dual's solution has a path that does, paths from there on track whether they
//! have visited that token: each node then exists once for paths that have, and once for the others.
//!
//! A second bound holds for routes in which no chain of steps is too long even where it crosses from one path to another. It
//! branches on the tails of tokens ([`Tail`]).

use super::newton::{Newton, Tolerance};
use super::slopes::Stage;
use super::subproblem::{Member, Subproblem};
use crate::bound::layers::{Decisions, Earning, LayerNode, LayerPrices, Layers, Tail};
use crate::prepare::active::is_large;
use crate::prepare::{RoughArrow, index32};
use crate::problem::Flow;
use crate::tuning::Tuning;

/// A search for the least dual by remaining pools.
pub(crate) struct LayerSearch<'a, 'p> {
    layers: Layers<'a, 'p>,
    /// Value of the whole trade.
    scale: f64,
    /// Value of the incumbent.
    net: f64,
    /// Prices of all tokens at which the dual with one price per token is least; zero for a token that has none.
    guess: &'a [f64],
    newton: Newton,
    /// The budget of work.
    work: u64,
    /// Whether the market is large: every round prices all of its tokens.
    is_large: bool,
}

/// A branch: its decisions, the least bound found on the routes that satisfy them, and prices near those that give it.
#[derive(Clone, Debug)]
struct Leaf {
    decisions: Decisions,
    bound: f64,
    known: Vec<(LayerNode, f64)>,
    solution: LayeredSolution,
}

/// What the dual's solution says at given prices.
#[derive(Clone, Debug, Default)]
struct LayeredSolution {
    /// The pool whose use is least clear, weighted by the gas at stake.
    unclear: Option<u32>,
    /// The token whose tail is least clear, and the most pools of one part of the routes.
    unclear_tail: Option<(u32, usize)>,
    /// A token that a path visits twice.
    repeated: Option<u32>,
    /// The flows of the pools that it rather uses than not.
    flows: Vec<Flow>,
}

/// Bounds of a pair.
#[derive(Clone, Debug)]
pub(crate) struct LayeredBounds {
    /// On all unions of paths that have at most `max_hops` pools each.
    pub(crate) of_paths: f64,
    /// On those of them in which no chain of steps is longer, even if it crosses from one path to another.
    pub(crate) of_chains: f64,
    /// The flows of the solution that gives the second; empty if the first is as good.
    pub(crate) flows: Vec<Flow>,
}

impl<'a, 'p> LayerSearch<'a, 'p> {
    /// Prepares a search for a trade of value `scale`, in which no route better than `net` is known. It starts from the
    /// prices in `guess`, or from what a token is worth if that has none.
    pub(crate) fn new(layers: Layers<'a, 'p>, scale: f64, net: f64, guess: &'a [f64]) -> Self {
        let is_large = is_large(layers.problem.prepared);
        let work = if is_large { Tuning::LAYER_WORK_OF_LARGE } else { Tuning::LAYER_WORK };
        Self { layers, scale, net, guess, newton: Newton::default(), work, is_large }
    }

    /// Computes the least bounds found, starting with `tokens`.
    pub(crate) fn bounds(&mut self, tokens: &[u32]) -> LayeredBounds {
        let (problem, guess) = (self.layers.problem, self.guess);
        let source = LayerNode { left: problem.hops, token: index32(problem.source), seen: 0 };
        let mut known: Vec<(LayerNode, f64)> = vec![(source, guess[problem.source])];
        for left in (1..problem.hops).rev() {
            let nodes = tokens.iter().map(|token| LayerNode { left, token: *token, seen: 0 });
            let nodes = nodes.filter(|node| self.layers.is_inner(*node) && guess[node.token as usize] > 0.0);
            known.extend(nodes.map(|node| (node, guess[node.token as usize])));
        }
        let decisions = Decisions::default();
        let mut first = Leaf { decisions, bound: f64::INFINITY, known, solution: LayeredSolution::default() };
        self.settle(&mut first, Tuning::LAYER_ROUNDS, 1.0, self.work);
        let most = |leaves: &[Leaf]| leaves.iter().fold(f64::NEG_INFINITY, |most, leaf| most.max(leaf.bound));
        let mut by_pools = vec![first.clone()];
        self.branch_on_pools(&mut by_pools);
        let mut by_tails = vec![first];
        self.branch_on_tails(&mut by_tails);
        let of_paths = most(&by_pools);
        let loosest = self.loosest(&by_tails).filter(|_| by_tails.len() > 1);
        let flows = loosest.map_or_else(Vec::new, |at| std::mem::take(&mut by_tails[at].solution.flows));
        LayeredBounds { of_paths, of_chains: most(&by_tails).min(of_paths), flows }
    }

    /// Splits the loosest branch by whether its routes use a pool, again and again while that promises much.
    fn branch_on_pools(&mut self, leaves: &mut Vec<Leaf>) {
        let mut before = f64::INFINITY;
        for _ in 0..Tuning::LAYER_BRANCHES {
            let Some(at) = self.loosest(leaves) else { break };
            let gap = leaves[at].bound - self.net;
            let is_worth_it = gap < Tuning::LAYER_BRANCH_LEAVES * std::mem::replace(&mut before, gap);
            let unclear = leaves[at].solution.unclear.filter(|_| is_worth_it && !self.is_spent());
            let Some(pair) = unclear else { break };
            let leaf = leaves.swap_remove(at);
            for is_used in [true, false] {
                let mut half = leaf.clone();
                let list = if is_used { &mut half.decisions.used } else { &mut half.decisions.unused };
                list.push(pair);
                self.settle(&mut half, Tuning::LAYER_ROUNDS_OF_HALF, Tuning::NEARBY_DAMPING, 0);
                leaves.push(half);
            }
        }
    }

    /// Splits the loosest branch by the length of a token's tail. In a large market there are too many tokens for that.
    fn branch_on_tails(&mut self, leaves: &mut Vec<Leaf>) {
        self.work = self.work.saturating_add(Tuning::LAYER_TAIL_WORK);
        for _ in 0..Tuning::LAYER_TAIL_BRANCHES {
            let Some(at) = self.loosest(leaves) else { break };
            let gap = (leaves[at].bound - self.net) / leaves[at].bound.abs();
            let is_worth_it = Tuning::LAYER_TAIL_GAPS.contains(&gap) && !self.is_large && !self.is_spent();
            let unclear = leaves[at].solution.unclear_tail.filter(|_| is_worth_it);
            let Some((token, most)) = unclear else { break };
            let leaf = leaves.swap_remove(at);
            let tail = leaf.decisions.tail(token);
            for part in [Tail { most, ..tail }, Tail { least: most + 1, ..tail }] {
                let mut half = leaf.clone();
                half.limit(part);
                self.settle(&mut half, Tuning::LAYER_ROUNDS_OF_HALF, Tuning::NEARBY_DAMPING, 0);
                leaves.push(half);
            }
        }
    }

    /// Returns the position of the branch with the highest bound, unless that leaves nothing to be found.
    fn loosest(&self, leaves: &[Leaf]) -> Option<usize> {
        let loosest = (0..leaves.len()).max_by(|a, b| leaves[*a].bound.total_cmp(&leaves[*b].bound).then(b.cmp(a)));
        loosest.filter(|at| !self.is_close(leaves[*at].bound))
    }

    /// Returns whether the budget of work is used up.
    fn is_spent(&self) -> bool {
        self.newton.is_spent(self.work)
    }

    /// Returns whether a bound leaves nothing to be found.
    fn is_close(&self, bound: f64) -> bool {
        bound - self.net <= Tuning::LAYERED_CLOSE_GAP * bound.abs()
    }

    /// Lowers a branch's bound in rounds. Each round adds the nodes that the most profitable pools lead to. A minimisation ends
    /// when the whole search has done `work`, but not before it has done a little of its own.
    fn settle(&mut self, leaf: &mut Leaf, rounds: usize, damping: f64, work: u64) {
        let mut damping = damping;
        let mut layer_prices = LayerPrices::default();
        let mut fresh = leaf.known.len();
        for round in 0..rounds {
            let sub = self.subproblem(&leaf.known, &leaf.decisions);
            let mut prices: Vec<f64> = leaf.known.iter().map(|(_, price)| *price).collect();
            prices.push(self.layers.problem.price_out);
            self.newton.damping = std::mem::replace(&mut damping, Tuning::NEARBY_DAMPING);
            let start = self.better_start(&sub, &mut prices, fresh);
            self.relax(&sub, &mut prices, start, work);
            for ((_, known), price) in leaf.known.iter_mut().zip(&prices) {
                *known = *price;
            }
            layer_prices = self.layers.layer_prices(&leaf.known, &leaf.decisions, layer_prices);
            let least = Tuning::EARNING_LEAST_SHARE * self.scale;
            let (bound, earning) = self.layers.evaluate(&layer_prices, &leaf.decisions, least);
            let solution = self.solution(&sub, &prices, leaf);
            let repeated = solution.repeated;
            if bound < leaf.bound || round == 0 {
                leaf.solution = solution;
            }
            leaf.bound = leaf.bound.min(bound);
            if self.is_close(leaf.bound) || self.is_spent() {
                break;
            }
            fresh = leaf.known.len();
            let grows = self.add_nodes(&mut leaf.known, &layer_prices, earning);
            match repeated.filter(|_| leaf.decisions.tracked.len() < Tuning::LAYER_TRACKED) {
                Some(token) => leaf.track(token),
                None if !grows => break,
                None => {}
            }
        }
    }

    /// Returns the last smoothing: a share of a swap's gas, or of the trade if that is more, because gas may be free.
    fn last_smoothing(&self) -> f64 {
        let [gas_share, trade_share] = Tuning::LAYER_LAST_SMOOTHING;
        let gas = Tuning::SWAP_GAS_UNITS * self.layers.problem.gas_price;
        (gas_share * gas).max(trade_share * self.scale)
    }

    /// Starts the nodes from `fresh` on, which are priced at what they are worth, at the prices of their tokens instead if
    /// the dual is lower there; returns its value.
    fn better_start(&mut self, sub: &Subproblem<'p>, prices: &mut [f64], fresh: usize) -> f64 {
        let sharp = Stage::Smooth { tau: self.last_smoothing(), slack: 1.0 };
        let start = self.newton.evaluate(sub, prices, sharp);
        let nodes = sub.tokens.len() - sub.outputs;
        let mut other = prices.to_vec();
        for (price, token) in other[..nodes].iter_mut().zip(&sub.tokens).skip(fresh) {
            let guess = self.guess[*token as usize];
            *price = if guess > 0.0 { guess } else { *price };
        }
        let value = if fresh < nodes { self.newton.evaluate(sub, &other, sharp) } else { start };
        if value < start {
            prices.copy_from_slice(&other);
        }
        value.min(start)
    }

    /// Minimises by Newton's method with falling smoothing, from prices at which the dual is `start`. Where prices disagree the
    /// dual has sharp edges, at which steps end far above its minimum. So the first smoothing is a share of how far the start is
    /// above the incumbent.
    fn relax(&mut self, sub: &Subproblem<'p>, prices: &mut [f64], start: f64, work: u64) {
        let (scale, last) = (self.scale, self.last_smoothing());
        let mut tau = (Tuning::LAYER_FIRST_SMOOTHING * (start - self.net).min(scale)).max(last);
        loop {
            let decrease = (Tuning::BRANCH_DECREASE * scale).max(Tuning::EARLY_DECREASE_SMOOTHING_SHARE * tau);
            let (excess, steps) = (Tuning::ROUGHLY_BALANCED_SHARE * scale, Tuning::LAYER_STEPS);
            let tolerance = Tolerance { excess, decrease, steps, work };
            self.newton.minimise(sub, prices, Stage::Smooth { tau, slack: 1.0 }, scale, tolerance);
            if tau <= last || self.is_spent() {
                return;
            }
            let next = tau * Tuning::SMOOTHING_FALL;
            tau = if next < last * Tuning::LAYER_NEARLY_LAST { last } else { next };
        }
    }

    /// Returns what the solution at these prices says.
    fn solution(&self, sub: &Subproblem<'p>, prices: &[f64], leaf: &Leaf) -> LayeredSolution {
        let tau = self.last_smoothing();
        let (mut ends_of_flows, mut unclear): (Vec<[usize; 2]>, Option<(f64, u32)>) = (Vec::new(), None);
        let (mut leaving, mut flows) = (vec![0.0; leaf.known.len()], Vec::new());
        for copies in sub.members.chunk_by(|a, b| a.pair == b.pair) {
            let gains =
                copies.iter().map(|copy| copy.gain_within(sub, prices).map_or(f64::NEG_INFINITY, |gain| gain / tau));
            let gains: Vec<f64> = gains.collect();
            let (pair, is_used) = (copies[0].pair, copies[0].is_forced);
            let most = gains.iter().copied().fold(if is_used { f64::NEG_INFINITY } else { 0.0 }, f64::max);
            let odds = gains.iter().map(|gain| (gain - most).exp());
            let sum = odds.clone().sum::<f64>() + if is_used { 0.0 } else { (-most).exp() };
            let mut flow: Option<Flow> = None;
            for (copy, odds) in copies.iter().zip(odds) {
                let Some((side, ends, trade)) = copy.trade(prices, |from| sub.caps[from]) else { continue };
                let [from, to] = ends;
                let amount_in = odds / sum * trade.amount_in;
                leaving[from] += amount_in * prices[from];
                if odds / sum > Tuning::BRANCH_WEIGHTS.start {
                    ends_of_flows.push(ends);
                }
                let [from, to] = [from, to].map(|end| sub.tokens[end]);
                let before = flow.filter(|flow| flow.from == from).map_or(0.0, |flow| flow.amount_in);
                flow = Some(Flow { pair, side: u8::from(side == 1), from, to, amount_in: before + amount_in });
            }
            let weight = 1.0 - if is_used { 0.0 } else { (-most).exp() / sum };
            flows.extend(flow.filter(|_| weight > 0.5));
            let stake = weight * (1.0 - weight) * copies[0].gas;
            if Tuning::BRANCH_WEIGHTS.contains(&weight) && unclear.is_none_or(|(most, _)| stake > most) {
                unclear = Some((stake, pair));
            }
        }
        let unclear_tail = unclear_tail(&leaf.known, &leaving, prices);
        let repeated = repeated_token(&ends_of_flows, &leaf.known);
        LayeredSolution { unclear: unclear.map(|(_, pair)| pair), unclear_tail, repeated, flows }
    }

    /// Builds the problem of the pools between nodes. The output is the last node.
    fn subproblem(&self, nodes: &[(LayerNode, f64)], decisions: &Decisions) -> Subproblem<'p> {
        let (layers, problem) = (&self.layers, self.layers.problem);
        let last = nodes.len();
        let mut numbers: Vec<(LayerNode, u32)> = nodes.iter().map(|(node, _)| *node).zip(0_u32..).collect();
        numbers.sort_unstable();
        let number_of =
            |node: LayerNode| numbers.binary_search_by_key(&node, |(node, _)| *node).ok().map(|at| numbers[at].1);
        let tokens = layers.set_of(nodes.iter().map(|(node, _)| node.token));
        let mut members: Vec<Member<'p>> = Vec::new();
        for ((node, _), number) in nodes.iter().zip(0_u32..) {
            let is_likely = |rough: RoughArrow| rough.to as usize == problem.target || layers.is_in(&tokens, rough.to);
            for arrow in layers.arrows(node.token, is_likely) {
                let to = if arrow.to as usize == problem.target {
                    Some(index32(last))
                } else {
                    let is_known = layers.is_in(&tokens, arrow.to);
                    let to = is_known.then(|| layers.arrives(node.left - 1, arrow.to, node.seen, decisions));
                    to.flatten().and_then(number_of)
                };
                let to = to.filter(|_| arrow.spot > 0.0 && layers.is_open(arrow.pair, decisions));
                let Some((to, curve)) = to.zip(problem.curve(arrow.pair)) else { continue };
                let ends = if arrow.side == 0 { [number, to] } else { [to, number] };
                let mut spot = [0.0; 2];
                spot[usize::from(arrow.side)] = arrow.spot;
                let (gas_price, gas) = (problem.gas_price, curve.gas_units * problem.gas_price);
                let is_forced = decisions.used.contains(&arrow.pair);
                let gas_spread = problem.gas_spread;
                members.push(Member { pair: arrow.pair, curve, ends, spot, gas, gas_price, gas_spread, is_forced });
            }
        }
        members.sort_unstable_by_key(|member| (member.pair, member.ends));
        let mut first: Vec<usize> = (0..=last).collect();
        for copies in members.chunk_by(|a, b| a.pair == b.pair) {
            let ends = || copies.iter().flat_map(|member| member.ends);
            let low = ends().min().unwrap_or(0) as usize;
            ends().for_each(|end| first[end as usize] = first[end as usize].min(low));
        }
        let mut supply = vec![0.0; last + 1];
        supply[0] = problem.amount;
        let mut weights = vec![0.0; last + 1];
        weights[last] = 1.0 / problem.price_out;
        let mut tokens: Vec<u32> = nodes.iter().map(|(node, _)| node.token).collect();
        tokens.push(index32(problem.target));
        let caps = tokens.iter().map(|token| layers.cap(*token)).collect();
        Subproblem { tokens, members, first, supply, outputs: 1, weights, caps, has_copies: true }
    }

    /// Adds the nodes that the most profitable pools lead to; returns whether there are any.
    fn add_nodes(
        &self,
        known: &mut Vec<(LayerNode, f64)>,
        layer_prices: &LayerPrices,
        mut earning: Vec<Earning>,
    ) -> bool {
        earning.sort_by(|a, b| b.earned.total_cmp(&a.earned).then(a.to.cmp(&b.to)));
        let before = known.len();
        let room = Tuning::LAYER_NODES.min(before + Tuning::LAYER_NODES_PER_ROUND);
        for Earning { to, .. } in earning {
            let is_new = to.token as usize != self.layers.problem.target && known.iter().all(|(node, _)| *node != to);
            if is_new && known.len() < room {
                known.push((to, self.layers.price(layer_prices, to)));
            }
        }
        known[before..].sort_by(|(a, _), (b, _)| b.left.cmp(&a.left).then(a.token.cmp(&b.token)));
        known.len() > before
    }
}

impl Leaf {
    /// Restricts the branch to routes with such a tail of a token. Whatever arrives there with more pools left counts as having
    /// as many as the tail has at most.
    fn limit(&mut self, tail: Tail) {
        self.decisions.tails.retain(|known| known.token != tail.token);
        self.decisions.tails.push(tail);
        let is_longer = |node: &LayerNode| node.token == tail.token && node.left > tail.most;
        let mut moved: Vec<(LayerNode, f64)> = Vec::new();
        for (node, price) in self.known.iter().filter(|(node, _)| is_longer(node)) {
            let node = LayerNode { left: tail.most, ..*node };
            if self.known.iter().chain(&moved).all(|(known, _)| *known != node) {
                moved.push((node, *price));
            }
        }
        self.known.retain(|(node, _)| node.token != tail.token || (tail.least..=tail.most).contains(&node.left));
        self.known.extend(moved);
    }

    /// Makes paths track from here on whether they have visited a token.
    fn track(&mut self, token: u32) {
        self.decisions.tracked.push(token);
        let bit = self.decisions.bit(token);
        for (node, _) in self.known.iter_mut().filter(|(node, _)| node.token == token) {
            node.seen |= bit;
        }
    }
}

/// Returns the token, with a number of pools, of which most would be lost if all of it had at most so many pools left, while
/// some of it has no more. `leaving` is the value that leaves each node.
fn unclear_tail(nodes: &[(LayerNode, f64)], leaving: &[f64], prices: &[f64]) -> Option<(u32, usize)> {
    let mut best: Option<(f64, (u32, usize))> = None;
    for (at, (node, _)) in nodes.iter().enumerate().skip(1) {
        let (mut within, mut lost) = (0.0, 0.0);
        for (other, (known, _)) in nodes.iter().enumerate().filter(|(_, (known, _))| known.token == node.token) {
            if known.left <= node.left {
                within += leaving[other];
            } else {
                lost += leaving[other] * (1.0 - prices[at] / prices[other]).max(Tuning::LAYER_TAIL_LEAST_LOSS);
            }
        }
        let stake = within.min(lost);
        if stake > best.map_or(0.0, |(most, _)| most) {
            best = Some((stake, (node.token, node.left)));
        }
    }
    best.map(|(_, tail)| tail)
}

/// Returns a token that a flow passes twice, if there is one. Flows lead from node to node; the last node is the
/// output.
fn repeated_token(flows: &[[usize; 2]], nodes: &[(LayerNode, f64)]) -> Option<u32> {
    // Goes from nodes with few remaining pools to those with many: what a node leads to is known before what leads to it.
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_unstable_by_key(|at| nodes[*at].0.left);
    let mut leads: Vec<Vec<u32>> = vec![Vec::new(); nodes.len() + 1];
    for at in order {
        let mut tokens: Vec<u32> = Vec::new();
        for [_, to] in flows.iter().filter(|[from, _]| *from == at) {
            tokens.extend(&leads[*to]);
            tokens.extend(nodes.get(*to).map(|(node, _)| node.token));
        }
        tokens.sort_unstable();
        tokens.dedup();
        if tokens.contains(&nodes[at].0.token) {
            return Some(nodes[at].0.token);
        }
        leads[at] = tokens;
    }
    None
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;
    use crate::problem::Problem;
    use crate::problem::potentials::Potentials;
    use crate::problem::reachable::reachable;
    use crate::problem::support::longest_path;
    use crate::testing::{prepared, problem, request, token};
    use crate::{Request, plan, solve};

    const ETHER: f64 = 1e18;

    /// Computes the least bound found without a known route.
    fn bound(problem: &Problem<'_>) -> f64 {
        bounds(problem, f64::NEG_INFINITY).of_paths
    }

    /// Computes the least bounds found if a route of value `net` is known.
    fn bounds(problem: &Problem<'_>, net: f64) -> LayeredBounds {
        let potentials = Potentials::with_first_slippage(problem, None);
        let (is_reachable, price) = (reachable(problem), potentials.start_prices(problem));
        let layers = Layers::new(problem, &is_reachable, &potentials.cap);
        let scale = potentials.bound(problem).max(problem.gas_price);
        // Starts from the ends, or from all tokens if a route is known.
        let is_first = |token: usize| net > 0.0 || [problem.source, problem.target].contains(&token);
        let tokens: Vec<u32> = (0..problem.token_count).filter(|token| is_first(*token)).map(index32).collect();
        LayerSearch::new(layers, scale, net, &price).bounds(&tokens)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "amounts of small markets")]
    fn units(ether: f64) -> u128 {
        (ether * ETHER) as u128
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(22), ..ProptestConfig::with_cases(1_000) })]

        #[test]
        fn no_route_is_worth_more(
            pools in prop::collection::vec(((0_u32..6, 1_u32..6), 0.05_f64..400.0, 0.8_f64..1.25), 5..14),
            amount in 0.02_f64..50.0,
            hops in 2_u8..5,
            gwei in 0_u64..20,
        ) {
            let pools = pools.into_iter().map(|((a, step), depth, tilt)| ((a, (a + step) % 6), [units(depth), units(depth * tilt)]));
            let market = prepared(&pools.collect::<Vec<_>>());
            let request = Request {
                max_hops: hops,
                gas_price_wei: gwei * 1_000_000_000,
                ..request(&market, token(1), U256::from(units(amount)), token(0))
            };
            let Ok(found) = solve(&market, &request) else { return Ok(()) };
            let flows = plan::flows_of(&market, &found.route);
            let splits = flows.iter().any(|flow| flows.iter().any(|other| other.from == flow.from && other.pair != flow.pair));
            prop_assert!(splits || flows.len() <= usize::from(hops), "a path of {} pools, {hops} are allowed", flows.len());
            let Ok(certificate) = found.certificate else { return Ok(()) };
            let (problem, achieved) = (Problem::new(&market, &request).unwrap(), f64::from(certificate.achieved_value_wei));
            let least = bound(&problem);
            prop_assert!(achieved <= least * (1.0 + 1e-9) + 2.0, "a route is worth {achieved}, the bound is {least}");
            // A worse route is known, so that there is something to branch for.
            let LayeredBounds { of_paths, of_chains, .. } = bounds(&problem, 0.97 * achieved);
            prop_assert!(of_chains <= of_paths);
            let is_chain = longest_path(&flows) <= usize::from(hops);
            prop_assert!(!is_chain || achieved <= of_chains * (1.0 + 1e-9) + 2.0, "{achieved} by chains, the bound is {of_chains}");
        }
    }

    #[test]
    fn a_chain_that_crosses_from_one_path_to_another_does_not_count_if_it_is_too_long() {
        let deep = [units(100_000.0); 2];
        let shallow = [units(400.0); 2];
        // 1 – 2 is shallow, and 1 – 3 – 2 is not; 2 – 0 is shallow, and 2 – 4 – 5 – 0 is not. The longer ways to 2 and on from 2
        // together are five pools.
        let (to_2, from_2) = ([((1, 3), deep), ((3, 2), deep)], [((2, 4), deep), ((4, 5), deep), ((5, 0), deep)]);
        let straight = [((1, 2), shallow), ((2, 0), shallow)];
        let amount = U256::from(20.0 * ETHER);
        let achieved = |long: &[_]| {
            let market = prepared(&[&straight, long].concat());
            let found = solve(&market, &request(&market, token(1), amount, token(0))).unwrap();
            f64::from(found.certificate.unwrap().achieved_value_wei)
        };
        // A route whose chains have at most four pools uses one of the longer ways at most.
        let most = achieved(&to_2).max(achieved(&from_2));
        let market = prepared(&[&straight, &to_2[..], &from_2[..]].concat());
        let LayeredBounds { of_paths, of_chains, .. } = bounds(&problem(&market, token(1), amount, token(0)), most);
        assert!(of_paths > 1.003 * most, "{of_paths} over unions of paths, {most} over chains");
        assert!((of_chains / most - 1.0).abs() < 1e-4, "{of_chains}, and {most} is the most over chains");
    }

    #[test]
    fn a_difference_in_price_far_from_the_trade_costs_the_bound_nothing() {
        let deep = [units(1_000.0); 2];
        let cheap = [units(100.0), units(120.0)];
        // 1 – 0 is the trade; 2 to 6 are a ring of their own, five pools long, in which one pool pays a fifth more than
        // the others.
        let ring = [((2, 3), deep), ((3, 4), deep), ((4, 5), deep), ((5, 6), deep), ((2, 6), cheap)];
        let pools = [((1, 0), deep), ((1, 2), deep), ((2, 0), deep)];
        let calm = prepared(&pools);
        let apart = prepared(&pools.into_iter().chain(ring).collect::<Vec<_>>());
        let amount = U256::from(10.0 * ETHER);
        let [calm, apart] = [&calm, &apart].map(|market| bound(&problem(market, token(1), amount, token(0))));
        assert!((apart / calm - 1.0).abs() < 1e-7, "{apart} beside the ring, {calm} without it");
    }

    #[test]
    fn a_circle_by_way_of_a_token_that_a_route_holds_is_not_counted() {
        let deep = [units(1_000.0); 2];
        // 1 – 2 – 0, and next to it a small amount of 3 that is cheap for 2, a deep pool that takes it back, and a tiny
        // pool that leads on.
        let crumb = [units(1.0), units(3.0)];
        let pools = [((1, 2), deep), ((2, 0), deep)];
        let calm = prepared(&pools);
        let apart = prepared(
            &pools.into_iter().chain([((2, 3), crumb), ((2, 3), deep), ((3, 0), [1_000; 2])]).collect::<Vec<_>>(),
        );
        let amount = U256::from(10.0 * ETHER);
        for gas_price in [0.0, 15e9] {
            let bound = |market| bound(&Problem { gas_price, ..problem(market, token(1), amount, token(0)) });
            let [calm, apart] = [&calm, &apart].map(bound);
            assert!(
                (apart / calm - 1.0).abs() < 1e-7,
                "{apart} beside the circle, {calm} without it, gas at {gas_price}"
            );
        }
    }
}
