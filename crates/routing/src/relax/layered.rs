//! Minimises the dual by remaining pools of a pair (see [`Layers`]), and branches on pools.
//!
//! Every route uses a pool or does not. If it does, the pool's gas is paid in full; if it does not, the pool earns
//! nothing. The larger of both bounds holds for every route. The pools to branch on are those that the dual uses in
//! part.
//!
//! No path visits a token twice. If the dual's solution has a path that does, paths from there on track whether they
//! have visited that token: each node then exists once for paths that have, and once for the others.

use super::newton::{Newton, Tolerance};
use super::slopes::Stage;
use super::subproblem::{Member, Subproblem};
use crate::bound::layers::{Decisions, Earning, LayerNode, LayerPrices, Layers};
use crate::prepare::active::is_large;
use crate::prepare::{RoughArrow, index32};
use crate::tuning::Tuning;

/// A search for the least dual by remaining pools.
pub(crate) struct LayerSearch<'a, 'p> {
    layers: Layers<'a, 'p>,
    /// Value of the whole trade.
    scale: f64,
    /// Value of the incumbent.
    net: f64,
    newton: Newton,
    /// Whether the market is large: every round prices all of its tokens.
    is_large: bool,
}

/// A branch: its decisions, the least bound found on the routes that satisfy them, and prices near those that give it.
#[derive(Clone, Debug)]
struct Leaf {
    decisions: Decisions,
    bound: f64,
    known: Vec<(LayerNode, f64)>,
    /// The pool whose use is least clear.
    unclear: Option<u32>,
}

impl<'a, 'p> LayerSearch<'a, 'p> {
    /// Prepares a search for a trade of value `scale`, in which no route better than `net` is known.
    pub(crate) fn new(layers: Layers<'a, 'p>, scale: f64, net: f64) -> Self {
        let is_large = is_large(layers.problem.prepared);
        Self { layers, scale, net, newton: Newton::default(), is_large }
    }

    /// Computes the least bound found, starting with `tokens` and their prices in `guess`.
    pub(crate) fn bound(&mut self, tokens: &[u32], guess: &[f64]) -> f64 {
        let problem = self.layers.problem;
        let source = LayerNode { left: problem.hops, token: index32(problem.source), seen: 0 };
        let mut known: Vec<(LayerNode, f64)> = vec![(source, guess[problem.source])];
        for left in (1..problem.hops).rev() {
            let nodes = tokens.iter().map(|token| LayerNode { left, token: *token, seen: 0 });
            let nodes = nodes.filter(|node| self.layers.is_inner(*node) && guess[node.token as usize] > 0.0);
            known.extend(nodes.map(|node| (node, guess[node.token as usize])));
        }
        let mut first = Leaf { decisions: Decisions::default(), bound: f64::INFINITY, known, unclear: None };
        self.settle(&mut first, Tuning::LAYER_ROUNDS, 1.0);
        let mut leaves = vec![first];
        let mut before = f64::INFINITY;
        for _ in 0..Tuning::LAYER_BRANCHES {
            let loosest = (0..leaves.len()).max_by(|a, b| leaves[*a].bound.total_cmp(&leaves[*b].bound).then(b.cmp(a)));
            let Some(at) = loosest.filter(|at| !self.is_close(leaves[*at].bound)) else { break };
            let gap = leaves[at].bound - self.net;
            let is_worth_it = !self.is_large || gap < Tuning::LAYER_BRANCH_LEAVES * std::mem::replace(&mut before, gap);
            let unclear = leaves[at].unclear.filter(|_| is_worth_it && !self.is_spent());
            let Some(pair) = unclear else { break };
            let leaf = leaves.swap_remove(at);
            for is_used in [true, false] {
                let mut half = leaf.clone();
                let list = if is_used { &mut half.decisions.used } else { &mut half.decisions.unused };
                list.push(pair);
                self.settle(&mut half, Tuning::LAYER_ROUNDS_OF_HALF, Tuning::NEARBY_DAMPING);
                leaves.push(half);
            }
        }
        leaves.iter().fold(f64::NEG_INFINITY, |most, leaf| most.max(leaf.bound))
    }

    /// Returns whether the budget of work is used up.
    fn is_spent(&self) -> bool {
        self.newton.is_spent(if self.is_large { Tuning::LAYER_WORK_OF_LARGE } else { Tuning::LAYER_WORK })
    }

    /// Returns whether a bound leaves nothing to be found.
    fn is_close(&self, bound: f64) -> bool {
        bound - self.net <= Tuning::LAYERED_CLOSE_GAP * bound.abs()
    }

    /// Lowers a branch's bound in rounds. Each round adds the nodes that the most profitable pools lead to.
    fn settle(&mut self, leaf: &mut Leaf, rounds: usize, damping: f64) {
        let mut damping = damping;
        let mut layer_prices = LayerPrices::default();
        for round in 0..rounds {
            let sub = self.subproblem(&leaf.known, &leaf.decisions);
            let mut prices: Vec<f64> = leaf.known.iter().map(|(_, price)| *price).collect();
            prices.push(self.layers.problem.price_out);
            self.newton.damping = std::mem::replace(&mut damping, Tuning::NEARBY_DAMPING);
            self.relax(&sub, &mut prices);
            for ((_, known), price) in leaf.known.iter_mut().zip(&prices) {
                *known = *price;
            }
            layer_prices = self.layers.layer_prices(&leaf.known, &leaf.decisions, layer_prices);
            let least = Tuning::EARNING_LEAST_SHARE * self.scale;
            let (bound, earning) = self.layers.evaluate(&layer_prices, &leaf.decisions, least);
            let (unclear, repeated) = self.unclear(&sub, &prices, leaf);
            if bound < leaf.bound || round == 0 {
                leaf.unclear = unclear;
            }
            leaf.bound = leaf.bound.min(bound);
            if self.is_close(leaf.bound) || self.is_spent() {
                break;
            }
            let grows = self.add_nodes(&mut leaf.known, &layer_prices, earning);
            match repeated.filter(|_| leaf.decisions.tracked.len() < Tuning::LAYER_TRACKED) {
                Some(token) => leaf.track(token),
                None if !grows => break,
                None => {}
            }
        }
    }

    /// Returns a share of a swap's gas, or of the trade if that is more: gas may be free.
    fn smoothing(&self, [gas_share, trade_share]: [f64; 2]) -> f64 {
        let gas = Tuning::SWAP_GAS_UNITS * self.layers.problem.gas_price;
        (gas_share * gas).max(trade_share * self.scale)
    }

    /// Minimises by Newton's method with falling smoothing.
    fn relax(&mut self, sub: &Subproblem<'p>, prices: &mut [f64]) {
        let scale = self.scale;
        for share in Tuning::LAYER_SMOOTHING {
            let tau = self.smoothing(share);
            let tolerance = Tolerance {
                excess: Tuning::ROUGHLY_BALANCED_SHARE * scale,
                decrease: Tuning::BRANCH_DECREASE * scale,
                steps: Tuning::LAYER_STEPS,
            };
            self.newton.minimise(sub, prices, Stage::Smooth { tau, slack: 1.0 }, scale, tolerance);
        }
    }

    /// Returns the pool whose use is least clear at these prices, weighted by the gas at stake; and a token that a path
    /// visits twice.
    fn unclear(&self, sub: &Subproblem<'p>, prices: &[f64], leaf: &Leaf) -> (Option<u32>, Option<u32>) {
        let tau = self.smoothing(Tuning::LAYER_SMOOTHING[1]);
        let (mut flows, mut unclear): (Vec<[usize; 2]>, Option<(f64, u32)>) = (Vec::new(), None);
        for copies in sub.members.chunk_by(|a, b| a.pair == b.pair) {
            let gains =
                copies.iter().map(|copy| copy.gain_within(sub, prices).map_or(f64::NEG_INFINITY, |gain| gain / tau));
            let gains: Vec<f64> = gains.collect();
            let (pair, is_used) = (copies[0].pair, copies[0].is_forced);
            let most = gains.iter().copied().fold(if is_used { f64::NEG_INFINITY } else { 0.0 }, f64::max);
            let odds = gains.iter().map(|gain| (gain - most).exp());
            let sum = odds.clone().sum::<f64>() + if is_used { 0.0 } else { (-most).exp() };
            for (copy, odds) in copies.iter().zip(odds) {
                if let Some(side) = copy.side(prices).filter(|_| odds / sum > Tuning::BRANCH_WEIGHTS.start) {
                    flows.push([side, 1 - side].map(|coin| copy.ends[coin] as usize));
                }
            }
            let weight = 1.0 - if is_used { 0.0 } else { (-most).exp() / sum };
            let stake = weight * (1.0 - weight) * copies[0].gas;
            if Tuning::BRANCH_WEIGHTS.contains(&weight) && unclear.is_none_or(|(most, _)| stake > most) {
                unclear = Some((stake, pair));
            }
        }
        (unclear.map(|(_, pair)| pair), repeated_token(&flows, &leaf.known))
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
    /// Makes paths track from here on whether they have visited a token.
    fn track(&mut self, token: u32) {
        self.decisions.tracked.push(token);
        let bit = self.decisions.bit(token);
        for (node, _) in self.known.iter_mut().filter(|(node, _)| node.token == token) {
            node.seen |= bit;
        }
    }
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
    use crate::testing::{prepared, problem, request, token};
    use crate::{Request, plan, solve};

    const ETHER: f64 = 1e18;

    /// Computes the least bound found without a known route.
    fn bound(problem: &Problem<'_>) -> f64 {
        let potentials = Potentials::with_first_slippage(problem, None);
        let (is_reachable, price) = (reachable(problem), potentials.start_prices(problem));
        let layers = Layers::new(problem, &is_reachable, &potentials.cap);
        let scale = potentials.bound(problem).max(problem.gas_price);
        let ends = [problem.source, problem.target].map(index32);
        LayerSearch::new(layers, scale, f64::NEG_INFINITY).bound(&ends, &price)
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
            let (achieved, bound) = (f64::from(certificate.achieved_value_wei), bound(&Problem::new(&market, &request).unwrap()));
            prop_assert!(achieved <= bound * (1.0 + 1e-9) + 2.0, "a route is worth {achieved}, the bound is {bound}");
        }
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
