//! The dual by how many pools are still to come: what no route of a pair is worth more than, where chains have no more than `max_hops` pools.
//!
//! A token that a route meets early can still be traded on more often than one that it meets late, so that each token has a price for each
//! number of pools that may still follow. A chain takes a difference in price once or twice then, and not as often as it likes. For any such
//! prices, with the output's own at every number, `price(input, hops) · amount + Σ max(0, profit − gas)` is at least the value of every route.
//! A pool's profit is the most that it earns at any one number: flows that pass it at several share one average rate, of which one number
//! makes the most (`docs/internals/certificate.md`).

use super::noise::noise;
use crate::prepare::{Arrow, index32};
use crate::problem::Problem;
use crate::tuning::Tuning;

/// A token with so many pools still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) left: usize,
    pub(crate) token: u32,
}

/// Which nodes can lie on a route: by how many pools at least lead from the input to a token.
pub(crate) struct Layers<'a, 'p> {
    pub(crate) problem: &'a Problem<'p>,
    /// Whether a token can lie on a route at all.
    pub(crate) alive: &'a [bool],
    /// The most of each token that a route can hold.
    pub(crate) caps: &'a [f64],
    /// Fewest pools from the input.
    pub(crate) ahead: Vec<u16>,
}

/// What is known of a route: pools that it uses, pools that it does not use, and tokens after which so many pools still follow, at most.
///
/// A route without circles meets a token once: what arrives there, after however many pools, goes on by chains of which the longest has
/// one certain length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) used: Vec<u32>,
    pub(crate) unused: Vec<u32>,
    pub(crate) met: Vec<Node>,
}

impl Answers {
    /// Pools still to come after a token, where that is known.
    fn left(&self, token: u32) -> Option<usize> {
        self.met.iter().find(|node| node.token == token).map(|node| node.left)
    }
}

/// Prices of all nodes: some given, the others such that no pool out of them earns more than its gas.
pub(crate) struct LayerBoard {
    /// By pools still to come and token; zero where there is no way to the output.
    price: Vec<Vec<f64>>,
    given: Vec<Node>,
}

/// A pool that earns more than its gas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earning {
    pub(crate) earned: f64,
    pub(crate) pair: u32,
    pub(crate) to: Node,
}

impl Layers<'_, '_> {
    /// Whether a route can meet a token between its ends with so many pools still to come.
    pub(crate) fn is_inner(&self, node: Node) -> bool {
        let (problem, token) = (self.problem, node.token as usize);
        token != problem.source
            && token != problem.target
            && self.alive[token]
            && (1..problem.hops).contains(&node.left)
            && usize::from(self.ahead[token]) + node.left <= problem.hops
            && self.caps[token] > 0.0
            && problem.prepared.graph().is_inner(token)
    }

    /// The node at which a flow is that arrives at a token between the ends with so many pools still to come, if it can be on a route.
    pub(crate) fn arrives(&self, node: Node, answers: &Answers) -> Option<Node> {
        let at = match answers.left(node.token) {
            Some(left) if left > node.left => return None,
            Some(left) => Node { left, ..node },
            None => node,
        };
        self.is_inner(at).then_some(at)
    }

    /// Prices of all nodes from some.
    pub(crate) fn board(&self, given: &[(Node, f64)], answers: &Answers) -> LayerBoard {
        let problem = self.problem;
        let (graph, target) = (problem.prepared.graph(), index32(problem.target));
        let mut price = vec![vec![0.0; self.alive.len()]; problem.hops + 1];
        for layer in &mut price[..problem.hops] {
            layer[problem.target] = problem.price_out;
        }
        for (node, known) in given {
            price[node.left][node.token as usize] = *known;
        }
        let mut is_given = vec![false; self.alive.len()];
        let mut reached: Vec<u32> = vec![target];
        for left in 1..problem.hops {
            for (node, _) in given.iter().filter(|(node, _)| node.left == left) {
                is_given[node.token as usize] = true;
            }
            let (below, above) = price.split_at_mut(left);
            let (below, above) = (&below[left - 1], &mut above[0]);
            let mut next: Vec<u32> = vec![target];
            // What arrives before its time waits.
            for node in answers.met.iter().filter(|node| node.left < left && below[node.token as usize] > 0.0) {
                above[node.token as usize] = below[node.token as usize];
                next.push(node.token);
            }
            for to in reached {
                for arrow in graph.arrows(to as usize) {
                    let (from, node) = (arrow.to as usize, Node { left, token: arrow.to });
                    if is_given[from] || !self.is_open(arrow.pair, answers) || self.arrives(node, answers) != Some(node)
                    {
                        continue;
                    }
                    let known = above[from];
                    self.raise(arrow, below[to as usize], &mut above[from]);
                    if known <= 0.0 && above[from] > 0.0 {
                        next.push(arrow.to);
                    }
                }
            }
            for (node, _) in given.iter().filter(|(node, _)| node.left == left) {
                is_given[node.token as usize] = false;
                next.push(node.token);
            }
            reached = next;
        }
        LayerBoard { price, given: given.iter().map(|(node, _)| *node).collect() }
    }

    /// Raises the price of the token that an arrow leads back to until the pool earns no more than its gas.
    fn raise(&self, arrow: &Arrow, price_out: f64, price: &mut f64) {
        let problem = self.problem;
        if price_out * arrow.back <= *price {
            return;
        }
        let gas_price = problem.gas_price;
        if price_out * arrow.back_after_gas((gas_price / price_out).sqrt()) <= *price {
            return;
        }
        let cap = self.caps[arrow.to as usize];
        let rate = if let Some(plain) = arrow.plain_back() {
            plain.average_rate(price_out, cap, gas_price)
        } else {
            let Some((curve, direction)) = problem.direction(arrow.pair, 1 - arrow.side) else { return };
            direction.average_rate(price_out, cap, curve.gas_units * gas_price)
        };
        *price = price.max(rate * Tuning::OUTWARD);
    }

    pub(crate) fn is_open(&self, pair: u32, answers: &Answers) -> bool {
        self.problem.is_open(pair) && !answers.unused.contains(&pair)
    }

    /// The dual at a board's prices over the routes that the answers leave, and the pools that earn more than `least`.
    pub(crate) fn evaluate(&self, board: &LayerBoard, answers: &Answers, least: f64) -> (f64, Vec<Earning>) {
        let problem = self.problem;
        let graph = problem.prepared.graph();
        let mut terms: Vec<(Earning, f64)> = Vec::new();
        for &from in &board.given {
            let arrows = graph.arrows(from.token as usize).iter();
            let arrows =
                arrows.filter(|arrow| self.is_open(arrow.pair, answers) && !answers.used.contains(&arrow.pair));
            terms.extend(arrows.filter_map(|arrow| self.term(board, answers, from, arrow, 1.0)));
        }
        terms.sort_unstable_by(|(a, _), (b, _)| {
            a.pair.cmp(&b.pair).then(b.earned.total_cmp(&a.earned)).then(a.to.cmp(&b.to))
        });
        let mut bound = board.price(Node { left: problem.hops, token: index32(problem.source) }) * problem.amount;
        for pool in terms.chunk_by(|(a, _), (b, _)| a.pair == b.pair) {
            bound += pool[0].0.earned + pool.iter().map(|(_, noise)| *noise).fold(0.0, f64::max);
        }
        bound += answers.used.iter().map(|pair| self.used_term(board, answers, *pair)).sum::<f64>();
        let earning = terms.into_iter().map(|(earning, _)| earning).filter(|earning| earning.earned > least);
        (bound + Tuning::BOUND_ROUNDING * bound.abs(), earning.collect())
    }

    /// What a pool that is used for certain earns at most, less its gas.
    fn used_term(&self, board: &LayerBoard, answers: &Answers, pair: u32) -> f64 {
        let problem = self.problem;
        let graph = problem.prepared.graph();
        let gas = problem.curve(pair).map_or(0.0, |curve| curve.gas_units) * problem.gas_price;
        let mut most = 0.0_f64;
        for from in graph.ends(pair) {
            let Some(arrow) = graph.arrows(from as usize).iter().find(|arrow| arrow.pair == pair) else { continue };
            for left in 1..=problem.hops {
                let node = Node { left, token: from };
                let is_source = from as usize == problem.source && left == problem.hops;
                if is_source || self.arrives(node, answers) == Some(node) {
                    let earned = self
                        .term(board, answers, node, arrow, 0.0)
                        .map_or(0.0, |(earning, noise)| earning.earned + noise);
                    most = most.max(earned);
                }
            }
        }
        most - gas
    }

    /// What a pool out of a node earns more than a share of its gas, and what rounding may have lost of it.
    fn term(
        &self,
        board: &LayerBoard,
        answers: &Answers,
        from: Node,
        arrow: &Arrow,
        gas_share: f64,
    ) -> Option<(Earning, f64)> {
        let problem = self.problem;
        let (here, there) = (from.token as usize, arrow.to as usize);
        let to = Node { left: from.left - 1, token: arrow.to };
        let to = if there == problem.target { to } else { self.arrives(to, answers)? };
        let (price_in, price_out) = (board.price(from), board.price(to));
        let root = (problem.gas_price * gas_share / price_out).sqrt();
        if price_out <= 0.0 || price_in >= price_out * arrow.spot_after_gas(root) {
            return None;
        }
        let (curve, direction) = problem.direction(arrow.pair, arrow.side)?;
        let (gas, cap) = (curve.gas_units * problem.gas_price * gas_share, self.caps[here]);
        let earned = direction.most_earned(price_in, price_out, cap, gas, problem.gas_price);
        let noise = noise(direction, price_in, price_out, cap);
        Some((Earning { earned, pair: arrow.pair, to }, noise))
    }
}

impl LayerBoard {
    pub(crate) fn price(&self, node: Node) -> f64 {
        self.price[node.left][node.token as usize]
    }
}
