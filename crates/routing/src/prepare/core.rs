//! The tokens that searches of a large market pass through for any request.
//!
//! Most tokens of a market have pools only with a few others, at high fees. To pass through such a token costs two
//! fees, and pays only if the prices on its sides differ by more. Searches leave these tokens inactive; column
//! generation adds those whose pools would earn at the dual prices of the whole market. The core is the rest: the
//! deepest tokens, and the tokens of some depth that are cheap to pass through at prices without arbitrage.

use super::arrow::ArrowList;
use super::prices::Prices;
use super::{Arrow, Arrows, Graph, Standing, index32};
use crate::tuning::Tuning;

/// The tokens of the core, and the arrows that lead to them.
#[derive(Clone, Debug)]
pub(crate) struct Core {
    tokens: Vec<bool>,
    /// Arrows into the core, by the token that they leave.
    arrows: ArrowList,
    start: Vec<u32>,
}

impl Core {
    pub(crate) fn new(graph: &Graph, standing: &Standing, prices: &Prices, deepest_first: &[u32]) -> Self {
        let is_deep = |token| prices.depth_wei(token) >= Tuning::CORE_LEAST_DEPTH_WEI;
        let is_core = |token| graph.is_inner(token) && is_deep(token) && is_cheap(graph, standing, token);
        let mut tokens: Vec<bool> = (0..graph.token_count()).map(is_core).collect();
        for token in deepest_first.iter().take(Tuning::CORE_DEEPEST_TOKENS) {
            tokens[*token as usize] = true;
        }
        let (mut arrows, mut start): (Vec<Arrow>, _) = (Vec::with_capacity(graph.arrow_count()), vec![0]);
        for token in 0..graph.token_count() {
            arrows.extend(graph.inner_arrows(token).iter().filter(|arrow| tokens[arrow.to as usize]));
            start.push(index32(arrows.len()));
        }
        Self { tokens, arrows: arrows.into_iter().collect(), start }
    }

    /// Returns whether each token is in the core.
    pub(crate) fn tokens(&self) -> &[bool] {
        &self.tokens
    }

    /// Returns the arrows from a token to inner tokens of the core.
    #[inline]
    pub(crate) fn arrows(&self, token: usize) -> Arrows<'_> {
        self.arrows.range(self.start[token]..self.start[token + 1])
    }
}

/// Returns whether passing through a token costs little at prices without arbitrage.
fn is_cheap(graph: &Graph, standing: &Standing, token: usize) -> bool {
    // Finds the prices between which no pool trades.
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    for arrow in graph.arrows(token) {
        let other = standing.price(arrow.to as usize);
        if other > 0.0 && standing.out_of_line(arrow.pair as usize) == 0.0 {
            low = low.max(other * arrow.spot);
            high = high.min(other / arrow.back);
        }
    }
    // Counts a token without prices around it as cheap: it is not known to be expensive.
    low <= 0.0 || !high.is_finite() || high < low * (1.0 + Tuning::CORE_CHEAP_SHARE)
}
