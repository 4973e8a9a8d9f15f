//! The bound by remaining pools, also as a part of a solve that may run while its other parts do.

use crate::bound::layers::Layers;
use crate::problem::{Flow, Problem};
use crate::relax::LayerSearch;

/// A bound that is still to be computed: everything that it needs, as of when the solver decided to compute it.
pub(super) struct LayeredTask<'p> {
    pub(super) problem: Problem<'p>,
    pub(super) alive: Vec<bool>,
    pub(super) caps: Vec<f64>,
    pub(super) price: Vec<f64>,
    pub(super) incumbent: Vec<Flow>,
    /// Value of the incumbent.
    pub(super) net: f64,
    /// The bound so far.
    pub(super) bound: f64,
}

impl LayeredTask<'_> {
    /// Computes the bound.
    pub(super) fn run(self) -> f64 {
        bound(&self.problem, &self.alive, &self.caps, &self.price, &self.incumbent, [self.net, self.bound])
    }
}

/// Computes the least bound of a pair by remaining pools, starting from the tokens of the incumbent and their prices.
pub(super) fn bound(
    problem: &Problem<'_>,
    alive: &[bool],
    caps: &[f64],
    price: &[f64],
    incumbent: &[Flow],
    [net, bound]: [f64; 2],
) -> f64 {
    let layers = Layers::new(problem, alive, caps);
    let mut tokens: Vec<u32> = incumbent.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    tokens.sort_unstable();
    tokens.dedup();
    LayerSearch::new(layers, bound.max(problem.gas_price), net).bound(&tokens, price).min(bound)
}
