//! Tokens that routes pass through for their own sake.
//!
//! Most tokens of a market hang on a few others by pools with high fees: to pass through one costs both fees, and it pays
//! only where prices on its sides are further apart than that. Searches leave such tokens asleep; the bound over the whole
//! market wakes those that would earn at the prices found. The core is what is left: the deepest tokens, and of those with
//! some depth the ones that are cheap to pass through at prices without arbitrage.

use super::prices::Prices;
use super::{Graph, Standing};

/// The deepest tokens, always in the core.
const DEEPEST: usize = 64;
/// A token is cheap to pass through where both fees, less what its pools are apart, are below this share of the value.
const CHEAP: f64 = 2e-3;
/// What moves a token's price by a percent, in wei: below, passing through would hardly earn its gas on any trade.
const SHALLOW_WEI: f64 = 3e17;

/// Whether each token is in the core.
pub(crate) fn tokens(graph: &Graph, standing: &Standing, prices: &Prices, deepest_first: &[u32]) -> Vec<bool> {
    let is_deep = |token| prices.depth_wei(token) >= SHALLOW_WEI;
    let is_core = |token| graph.is_inner(token) && is_deep(token) && is_cheap(graph, standing, token);
    let mut core: Vec<bool> = (0..graph.token_count()).map(is_core).collect();
    for token in deepest_first.iter().take(DEEPEST) {
        core[*token as usize] = true;
    }
    core
}

fn is_cheap(graph: &Graph, standing: &Standing, token: usize) -> bool {
    // The prices between which no pool trades.
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    for arrow in graph.arrows(token) {
        let other = standing.price(arrow.to as usize);
        if other > 0.0 && standing.out_of_line(arrow.pair as usize) == 0.0 {
            low = low.max(other * arrow.spot);
            high = high.min(other / arrow.back);
        }
    }
    // A token without prices around it is not known to be dear.
    low <= 0.0 || !high.is_finite() || high < low * (1.0 + CHEAP)
}
