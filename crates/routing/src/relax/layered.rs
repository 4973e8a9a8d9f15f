//! The prices by pools still to come at which the dual of a pair is least ([`Layers`] says what it is), and questions about pools.
//!
//! Every route uses a pool or it does not: where it does, the pool's gas is paid in full; where it does not, the pool earns nothing. The
//! larger of both bounds holds for every route. The pools to ask about are those that the dual uses in part.

use super::newton::{Newton, Tolerance};
use super::slopes::Stage;
use super::subproblem::{Member, Subproblem};
use crate::bound::layers::{Answers, Earning, LayerBoard, Layers, Node};
use crate::prepare::index32;
use crate::tuning::Tuning;

/// A search for the least dual by pools still to come.
pub(crate) struct LayerSearch<'a, 'p> {
    pub(crate) layers: Layers<'a, 'p>,
    /// Value of the whole trade.
    pub(crate) scale: f64,
    /// What the best route known is worth.
    pub(crate) net: f64,
    pub(crate) newton: Newton,
}

/// Some answers, the least bound found on the routes that they leave, and prices near those at which it is had.
#[derive(Clone, Debug)]
struct Leaf {
    answers: Answers,
    bound: f64,
    known: Vec<(Node, f64)>,
    question: Option<Question>,
}

/// What the least dual leaves open.
#[derive(Clone, Copy, Debug)]
enum Question {
    /// Whether a pool is used.
    Used(u32),
    /// How many pools follow a token, to which what flows on from it comes back.
    Met(u32),
}

impl<'p> LayerSearch<'_, 'p> {
    /// The least bound found, from `tokens` on whose prices `guess` knows.
    pub(crate) fn bound(&mut self, tokens: &[u32], guess: &[f64]) -> f64 {
        let problem = self.layers.problem;
        let source = Node { left: problem.hops, token: index32(problem.source) };
        let mut known: Vec<(Node, f64)> = vec![(source, guess[problem.source])];
        for left in (1..problem.hops).rev() {
            let nodes = tokens.iter().map(|token| Node { left, token: *token });
            let nodes = nodes.filter(|node| self.layers.is_inner(*node) && guess[node.token as usize] > 0.0);
            known.extend(nodes.map(|node| (node, guess[node.token as usize])));
        }
        let mut first = Leaf { answers: Answers::default(), bound: f64::INFINITY, known, question: None };
        self.settle(&mut first, Tuning::LAYER_ROUNDS, 1.0);
        let mut leaves = vec![first];
        for _ in 0..Tuning::LAYER_QUESTIONS {
            let loosest = (0..leaves.len()).max_by(|a, b| leaves[*a].bound.total_cmp(&leaves[*b].bound).then(b.cmp(a)));
            let Some(at) = loosest.filter(|at| !self.is_close(leaves[*at].bound)) else { break };
            let Some(question) = leaves[at].question.filter(|_| !self.newton.is_spent(Tuning::LAYER_WORK)) else {
                break;
            };
            let leaf = leaves.swap_remove(at);
            for mut part in self.parts(&leaf, question) {
                self.settle(&mut part, Tuning::LAYER_ROUNDS_OF_PART, Tuning::NEARBY_DAMPING);
                leaves.push(part);
            }
        }
        leaves.iter().fold(f64::NEG_INFINITY, |most, leaf| most.max(leaf.bound))
    }

    /// A leaf for each answer to a question.
    fn parts(&self, leaf: &Leaf, question: Question) -> Vec<Leaf> {
        let with = |change: &dyn Fn(&mut Leaf)| {
            let mut part = leaf.clone();
            change(&mut part);
            part
        };
        match question {
            Question::Used(pair) => {
                vec![with(&|part| part.answers.used.push(pair)), with(&|part| part.answers.unused.push(pair))]
            }
            Question::Met(token) => {
                let nodes = (1..self.layers.problem.hops).map(|left| Node { left, token });
                let nodes = nodes.filter(|node| self.layers.is_inner(*node));
                let part = |node: Node| {
                    with(&|part| {
                        part.answers.met.push(node);
                        let price = part
                            .known
                            .iter()
                            .find(|(known, _)| *known == node)
                            .or_else(|| part.known.iter().find(|(known, _)| known.token == token));
                        let price = price.map(|(_, price)| *price);
                        part.known.retain(|(known, _)| known.token != token);
                        part.known.extend(price.map(|price| (node, price)));
                    })
                };
                nodes.map(part).collect()
            }
        }
    }

    fn is_close(&self, bound: f64) -> bool {
        bound - self.net <= Tuning::LAYERED_CLOSE_GAP * bound.abs()
    }

    /// Lowers a leaf's bound in rounds, each over the nodes of those before and those that their pools earn most by.
    fn settle(&mut self, leaf: &mut Leaf, rounds: usize, damping: f64) {
        let mut damping = damping;
        for round in 0..rounds {
            let sub = self.subproblem(&leaf.known, &leaf.answers);
            let mut prices: Vec<f64> = leaf.known.iter().map(|(_, price)| *price).collect();
            prices.push(self.layers.problem.price_out);
            self.newton.damping = std::mem::replace(&mut damping, Tuning::NEARBY_DAMPING);
            self.relax(&sub, &mut prices);
            for ((_, known), price) in leaf.known.iter_mut().zip(&prices) {
                *known = *price;
            }
            let board = self.layers.board(&leaf.known, &leaf.answers);
            let least = Tuning::EARNING_LEAST_SHARE * self.scale;
            let (bound, earning) = self.layers.evaluate(&board, &leaf.answers, least);
            if bound < leaf.bound || round == 0 {
                leaf.question = self.question(&sub, &prices, leaf);
            }
            leaf.bound = leaf.bound.min(bound);
            let is_spent = self.newton.is_spent(Tuning::LAYER_WORK);
            if self.is_close(leaf.bound) || is_spent || !self.take_in(&mut leaf.known, &board, earning) {
                break;
            }
        }
    }

    /// Newton along falling smoothness.
    fn relax(&mut self, sub: &Subproblem<'p>, prices: &mut [f64]) {
        let (scale, gas) = (self.scale, Tuning::SWAP_GAS_UNITS * self.layers.problem.gas_price);
        for share in Tuning::LAYER_SMOOTHING {
            let tau = (share * gas).max(Tuning::LEAST_SMOOTHING * scale);
            let tolerance = Tolerance {
                excess: Tuning::ROUGHLY_BALANCED_SHARE * scale,
                decrease: Tuning::BRANCH_DECREASE * scale,
                steps: Tuning::LAYER_STEPS,
            };
            self.newton.minimise(sub, prices, Stage::Smooth { tau, slack: 1.0 }, scale, tolerance);
        }
    }

    /// What is least clear at these prices, by what is at stake: a token met twice before a pool used in part.
    fn question(&self, sub: &Subproblem<'p>, prices: &[f64], leaf: &Leaf) -> Option<Question> {
        let tau = Tuning::LAYER_SMOOTHING[1] * Tuning::SWAP_GAS_UNITS * self.layers.problem.gas_price;
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
        let circle = met_again(&flows, &leaf.known);
        circle.map(Question::Met).or(unclear.map(|(_, pair)| Question::Used(pair)))
    }

    /// The pools between nodes, and the output, which is the last of them.
    fn subproblem(&self, nodes: &[(Node, f64)], answers: &Answers) -> Subproblem<'p> {
        let (layers, problem) = (&self.layers, self.layers.problem);
        let graph = problem.prepared.graph();
        let (tokens, last) = (layers.alive.len(), nodes.len());
        let mut local = vec![u32::MAX; tokens * problem.hops];
        for ((node, _), number) in nodes.iter().zip(0_u32..).filter(|((node, _), _)| node.left < problem.hops) {
            local[node.left * tokens + node.token as usize] = number;
        }
        let mut members: Vec<Member<'p>> = Vec::new();
        for ((node, _), number) in nodes.iter().zip(0_u32..) {
            for arrow in graph.arrows(node.token as usize) {
                let to = if arrow.to as usize == problem.target {
                    index32(last)
                } else {
                    let to = Node { left: node.left - 1, token: arrow.to };
                    layers.arrives(to, answers).map_or(u32::MAX, |to| local[to.left * tokens + to.token as usize])
                };
                if to == u32::MAX || arrow.spot <= 0.0 || !layers.is_open(arrow.pair, answers) {
                    continue;
                }
                let Some(curve) = problem.curve(arrow.pair) else { continue };
                let ends = if arrow.side == 0 { [number, to] } else { [to, number] };
                let mut spot = [0.0; 2];
                spot[usize::from(arrow.side)] = arrow.spot;
                let (gas_price, gas) = (problem.gas_price, curve.gas_units * problem.gas_price);
                let is_forced = answers.used.contains(&arrow.pair);
                members.push(Member { pair: arrow.pair, curve, ends, spot, gas, gas_price, is_forced });
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
        let caps = tokens.iter().map(|token| layers.caps[*token as usize]).collect();
        Subproblem { tokens, members, first, supply, outputs: 1, weights, caps, has_copies: true }
    }

    /// Adds the nodes that the pools which earn most lead to; whether there are any.
    fn take_in(&self, known: &mut Vec<(Node, f64)>, board: &LayerBoard, mut earning: Vec<Earning>) -> bool {
        earning.sort_by(|a, b| b.earned.total_cmp(&a.earned).then(a.to.cmp(&b.to)));
        let before = known.len();
        let room = Tuning::LAYER_NODES.min(before + Tuning::LAYER_NODES_PER_ROUND);
        for Earning { to, .. } in earning {
            let is_new = to.token as usize != self.layers.problem.target && known.iter().all(|(node, _)| *node != to);
            if is_new && known.len() < room {
                known.push((to, board.price(to)));
            }
        }
        known[before..].sort_by(|(a, _), (b, _)| b.left.cmp(&a.left).then(a.token.cmp(&b.token)));
        known.len() > before
    }
}

/// A token to which a flow comes back that has passed it, if there is one. Flows lead from node to node; the last node is the output.
fn met_again(flows: &[[usize; 2]], nodes: &[(Node, f64)]) -> Option<u32> {
    // From nodes met late to those met early: what a node leads to is known before what leads to it.
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

    use super::*;
    use crate::problem::Problem;
    use crate::problem::potentials::Potentials;
    use crate::problem::reachable::{hops_ahead, reachable};
    use crate::testing::{prepared, problem, token};

    const ETHER: f64 = 1e18;

    /// The least bound found, where nothing is known of the best route.
    fn bound(problem: &Problem<'_>) -> f64 {
        let potentials = Potentials::with_first_slippage(problem);
        let (alive, price) = (reachable(problem), potentials.start_prices(problem));
        let layers = Layers { problem, alive: &alive, caps: &potentials.cap, ahead: hops_ahead(problem) };
        let scale = potentials.bound(problem).max(problem.gas_price);
        let ends = [problem.source, problem.target].map(index32);
        LayerSearch { layers, scale, net: f64::NEG_INFINITY, newton: Newton::default() }.bound(&ends, &price)
    }

    /// The value net of gas of a route that takes tokens in an order and sells a share of what is there to each pool that leads on.
    fn value(problem: &Problem<'_>, order: &[usize], shares: &[f64]) -> f64 {
        let graph = problem.prepared.graph();
        let mut held = vec![0.0; graph.token_count()];
        held[problem.source] = problem.amount;
        let (mut gas, mut used) = (0.0, 0);
        let mut depth = vec![0; held.len()];
        for (place, token) in order.iter().enumerate() {
            let ahead = |arrow: &&crate::prepare::Arrow| order[place + 1..].contains(&(arrow.to as usize));
            let arrows: Vec<_> = graph.arrows(*token).iter().filter(ahead).collect();
            let share = |arrow: &crate::prepare::Arrow| shares[arrow.pair as usize % shares.len()];
            let all: f64 = arrows.iter().map(|arrow| share(arrow)).sum();
            let amount = std::mem::take(&mut held[*token]);
            for arrow in arrows.iter().filter(|arrow| share(arrow) > 0.0 && amount > 0.0) {
                let to = arrow.to as usize;
                depth[to] = depth[to].max(depth[*token] + 1);
                let Some((curve, direction)) = problem.direction(arrow.pair, arrow.side) else { continue };
                held[to] += direction.quote(amount * share(arrow) / all).0;
                gas += curve.gas_units * problem.gas_price;
                used += 1;
            }
        }
        let is_short = used > 0 && depth[problem.target] <= problem.hops;
        if is_short { held[problem.target] * problem.price_out - gas } else { f64::NEG_INFINITY }
    }

    /// Orders of the tokens between the ends.
    fn orders(problem: &Problem<'_>, inner: &[usize]) -> Vec<Vec<usize>> {
        let mut orders = vec![vec![problem.source]];
        for _ in inner {
            let longer = orders.iter().flat_map(|order| {
                let left = inner.iter().filter(|token| !order.contains(token));
                left.map(|token| order.iter().copied().chain([*token]).collect())
            });
            orders = longer.collect();
        }
        orders.iter_mut().for_each(|order| order.push(problem.target));
        orders
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn no_route_without_circles_is_worth_more(
            pools in prop::collection::vec(((0_u32..5, 1_u32..5), 0.05_f64..400.0, 0.7_f64..1.4), 5..10),
            shares in prop::collection::vec(0.0_f64..1.0, 10),
            steps in prop::collection::vec((0_usize..10, prop_oneof![Just(0.0), 0.0_f64..2.0]), 60),
            amount in 0.02_f64..50.0,
        ) {
            let pools: Vec<_> = pools.into_iter().map(|((a, step), depth, tilt)| {
                ((a, (a + step) % 5), [(depth * ETHER) as u128, (depth * tilt * ETHER) as u128])
            }).collect();
            let market = prepared(&pools);
            let [from, to] = [token(1), token(0)];
            prop_assume!([from, to].iter().all(|end| market.node(*end) != crate::problem::NOWHERE));
            let problem = problem(&market, from, U256::from((amount * ETHER) as u128), to);
            let inner: Vec<usize> = [2, 3, 4].map(|place| market.node(token(place))).into_iter()
                .filter(|node| *node != crate::problem::NOWHERE).collect();
            let bound = bound(&problem);
            for order in orders(&problem, &inner) {
                // Climbs from random shares: a change is kept where it is worth more.
                let mut shares = shares.clone();
                let mut best = value(&problem, &order, &shares);
                for (at, factor) in &steps {
                    let mut next = shares.clone();
                    next[*at] *= factor;
                    let found = value(&problem, &order, &next);
                    if found > best {
                        (best, shares) = (found, next);
                    }
                }
                prop_assert!(best <= bound * (1.0 + 1e-9), "{best} by {order:?}, the bound is {bound}");
            }
        }
    }

    #[test]
    fn a_difference_in_price_far_from_the_trade_costs_the_bound_nothing() {
        let deep = [(1_000.0 * ETHER) as u128; 2];
        let cheap = [(100.0 * ETHER) as u128, (120.0 * ETHER) as u128];
        // 1 – 0 is the trade; 2 to 6 are a ring of their own, five pools long, where a pool pays a fifth more than the others.
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
        let deep = [(1_000.0 * ETHER) as u128; 2];
        // 1 – 2 – 0, and beside it a crumb of 3 that is cheap for 2, and a deep pool that takes it back.
        let crumb = [(1.0 * ETHER) as u128, (3.0 * ETHER) as u128];
        let pools = [((1, 2), deep), ((2, 0), deep)];
        let calm = prepared(&pools);
        let apart = prepared(&pools.into_iter().chain([((2, 3), crumb), ((2, 3), deep)]).collect::<Vec<_>>());
        let amount = U256::from(10.0 * ETHER);
        let [calm, apart] = [&calm, &apart].map(|market| bound(&problem(market, token(1), amount, token(0))));
        assert!((apart / calm - 1.0).abs() < 1e-7, "{apart} beside the circle, {calm} without it");
    }
}
