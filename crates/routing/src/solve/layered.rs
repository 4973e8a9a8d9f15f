//! The bound by remaining pools, also as a part of a solve that may run while its other parts do.

use crate::bound::layers::Layers;
use crate::problem::{Flow, Problem};
use crate::relax::{LayerSearch, LayeredBounds};
use crate::tuning::Tuning;

/// A bound that is still to be computed: everything that it needs, as of when the solver decided to compute it.
pub(super) struct LayeredTask<'p> {
    pub(super) problem: Problem<'p>,
    pub(super) is_reachable: Vec<bool>,
    pub(super) caps: Vec<f64>,
    pub(super) price: Vec<f64>,
    /// The first tokens to have prices of their own.
    pub(super) tokens: Vec<u32>,
    /// Value of the incumbent.
    pub(super) net: f64,
    /// The bound so far.
    pub(super) bound: f64,
}

/// What narrowing a split's bound gave.
#[derive(Default)]
pub(super) struct Narrowed<'p> {
    pub(super) bound: f64,
    /// A flow in which no chain is too long, which may be a better route; empty if there is none.
    pub(super) flows: Vec<Flow>,
    /// The part that takes longest in a large market: what the solver tries next does not depend on it.
    pub(super) task: Option<LayeredTask<'p>>,
}

impl LayeredTask<'_> {
    /// Computes the bound.
    pub(super) fn run(self) -> f64 {
        let known = [self.net, self.bound];
        bounds(&self.problem, &self.is_reachable, &self.caps, &self.price, &self.tokens, known).of_paths
    }
}

/// Computes the least bounds of a pair by remaining pools, starting from some tokens and their prices.
pub(super) fn bounds(
    problem: &Problem<'_>,
    is_reachable: &[bool],
    caps: &[f64],
    price: &[f64],
    tokens: &[u32],
    [net, bound]: [f64; 2],
) -> LayeredBounds {
    let layers = Layers::new(problem, is_reachable, caps);
    let found = LayerSearch::new(layers, bound.max(problem.gas_price), net, price).bounds(tokens);
    LayeredBounds { of_paths: found.of_paths.min(bound), of_chains: found.of_chains.min(bound), ..found }
}

/// Returns the tokens of a flow.
pub(super) fn tokens_of(flows: &[Flow]) -> Vec<u32> {
    let mut tokens: Vec<u32> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens
}

/// Returns the tokens of the incumbent, and of the others the few whose pools earn most at the prices of the dual, which
/// `earning` lists: most of these get prices of their own anyway, a round later.
pub(super) fn first_tokens(problem: &Problem<'_>, incumbent: &[Flow], mut earning: Vec<(f64, u32)>) -> Vec<u32> {
    let mut tokens = tokens_of(incumbent);
    let most = tokens.len() + Tuning::LAYER_FIRST_TOKENS;
    earning.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for token in earning.into_iter().flat_map(|(_, pair)| problem.prepared.graph().ends(pair)) {
        let is_end = [problem.source, problem.target].contains(&(token as usize));
        if tokens.len() < most && !is_end && !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    tokens.sort_unstable();
    tokens
}
