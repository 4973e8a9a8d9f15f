//! Everything that the requests of one block share: float curves, the graph, reference prices, standing arbitrage.

pub(crate) mod active;
mod arrow;
mod bit_set;
mod core;
mod fill_order;
mod graph;
mod groups;
mod node;
mod pairs;
mod prices;
mod standing;

use std::collections::HashSet;
use std::sync::Arc;

use braid_market::Market;
use braid_primitives::{PoolId, TokenId};
use braid_protocols::continuous::PairCurve;

pub(crate) use arrow::{Arrow, Arrows, RoughArrow};
use core::Core;
pub(crate) use fill_order::FillOrder;
pub(crate) use graph::Graph;
use groups::Groups;
pub(crate) use node::{NOWHERE, Nodes, index32};
pub(crate) use pairs::{Pair, Pairs};
use prices::{Depths, Prices};

use crate::threads::Busy;
use crate::tuning::Tuning;
pub(crate) use standing::Standing;

/// A direction through a pool that pays more than the prices of all other pools and its own fees explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// The pool.
    pub pool: PoolId,
    /// Position of the coin in.
    pub coin_in: u8,
    /// Position of the coin out.
    pub coin_out: u8,
    /// Amount that is sold until the pool pays no more than others, in atomic units.
    pub amount_in: f64,
    /// Profit of that trade, in wei of ether.
    pub earned_wei: f64,
}

/// Everything about a market that does not depend on the request. Immutable; built once per block.
#[derive(Clone, Debug)]
pub struct Prepared {
    market: Arc<Market>,
    nodes: Arc<Nodes>,
    curves: Vec<Option<Arc<PairCurve>>>,
    pairs: Arc<Pairs>,
    graph: Graph,
    depths: Depths,
    prices: Prices,
    standing: Standing,
    fill_order: FillOrder,
    /// Tokens that searches pass through for any request.
    core: Core,
    /// Number of pools with a curve.
    pool_count: u32,
}

impl Prepared {
    /// Prepares a market from scratch.
    pub fn new(market: Arc<Market>) -> Self {
        let _busy = Busy::this_thread();
        let pairs = Arc::new(Pairs::of(&market));
        let curves: Vec<_> = pairs.list().iter().map(|pair| curve(&market, *pair)).collect();
        let (nodes, all) = (Arc::new(Nodes::of(&market)), (0..index32(curves.len())).collect::<Vec<_>>());
        let depths = Depths::default().refreshed(&curves, &all);
        Self::assemble(market, nodes, pairs, curves, depths, None)
    }

    /// Prepares the market that follows this one: curves of unchanged pools are shared.
    #[must_use]
    pub fn next(&self, market: Arc<Market>) -> Self {
        let _busy = Busy::this_thread();
        let same = self.market.shares_topology_with(&market);
        let pairs = if same { Arc::clone(&self.pairs) } else { Arc::new(Pairs::of(&market)) };
        let nodes = if same { Arc::clone(&self.nodes) } else { Arc::new(Nodes::of(&market)) };
        let (before, after) = (self.market.pools(), market.pools());
        let by_time = market.dependent_pools().filter(|(_, pool)| pool.depends_on_time());
        let by_time: HashSet<PoolId> = by_time.map(|(id, _)| id).collect();
        let is_kept = |pair: &Pair| match (before.get(pair.pool.index()), after.get(pair.pool.index())) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new) && !by_time.contains(&pair.pool),
            _ => false,
        };
        let mut changed = Vec::new();
        let fresh = |(index, pair): (usize, &Pair)| {
            if is_kept(pair) {
                return self.curves.get(index).cloned().flatten();
            }
            changed.push(index32(index));
            curve(&market, *pair)
        };
        let curves: Vec<_> = pairs.list().iter().enumerate().map(fresh).collect();
        let depths = self.depths.refreshed(&curves, &changed);
        Self::assemble(market, nodes, pairs, curves, depths, same.then_some((self, &changed)))
    }

    /// Assembles the parts. `before` is the previous market with the same pairs, and the pairs whose curves may have
    /// changed since.
    fn assemble(
        market: Arc<Market>,
        nodes: Arc<Nodes>,
        pairs: Arc<Pairs>,
        curves: Vec<Option<Arc<PairCurve>>>,
        depths: Depths,
        before: Option<(&Self, &Vec<u32>)>,
    ) -> Self {
        let refreshed = before.and_then(|(before, changed)| before.graph.refreshed(&curves, changed));
        let same_graph = refreshed.is_some();
        let graph = refreshed.unwrap_or_else(|| Graph::new(&market, &nodes, &pairs, &curves));
        let prices = Prices::new(&graph, &depths);
        let deepest_first = prices.deepest_first(before.map(|(before, _)| (&before.prices, before.deepest_first())));
        let groups = Groups::new(&graph, &prices, &deepest_first);
        let standing = match before.filter(|_| same_graph) {
            Some((before, changed)) => {
                let touched = groups.touched(&graph, &prices, &before.prices, changed);
                before.standing.next(&graph, &curves, &prices, &groups, &touched)
            }
            None => Standing::new(&graph, &curves, &prices, &groups),
        };
        let core = Core::new(&graph, &standing, &prices, &deepest_first);
        let with_curve = (0_u32..).zip(curves.iter()).filter(|(_, curve)| curve.is_some()).map(|(pair, _)| pair);
        let pool_count = pairs.count_pools(with_curve);
        let fill_order = FillOrder::new(&graph, deepest_first);
        Self { market, nodes, pairs, curves, graph, depths, prices, standing, fill_order, core, pool_count }
    }

    /// Returns the market.
    pub fn market(&self) -> &Arc<Market> {
        &self.market
    }

    /// Returns a token's reference price: the mid price in ether per whole token, before impact and fees, along the
    /// deepest pools; `None` for a token whose pools are too shallow.
    pub fn reference_price(&self, token: TokenId) -> Option<f64> {
        let decimals = self.market.tokens().get(token)?.decimals;
        let node = self.node(token);
        let deep_enough = self.prices.depth_wei(node) >= Tuning::SHOWN_PRICE_LEAST_DEPTH_WEI;
        let wei = self.prices.wei_per_unit(node).filter(|_| deep_enough)?;
        Some(wei * 10_f64.powi(i32::from(decimals)) / 1e18)
    }

    /// Returns the node of a token in the graph; `NOWHERE` for one without pools.
    pub(crate) fn node(&self, token: TokenId) -> usize {
        self.nodes.node(token)
    }

    /// Returns the token at a node.
    pub(crate) fn token(&self, node: u32) -> TokenId {
        self.nodes.token(node)
    }

    /// Returns the wei of ether per atomic unit of a token, however shallow its pools.
    pub(crate) fn wei_per_unit(&self, node: usize) -> Option<f64> {
        self.prices.wei_per_unit(node)
    }

    /// Returns every token, those with the deepest pools first.
    pub(crate) fn deepest_first(&self) -> &[u32] {
        self.fill_order.tokens()
    }

    /// Returns the order in which prices are filled in: the same, with the pools that each token shares with those before
    /// it.
    pub(crate) fn fill_order(&self) -> &FillOrder {
        &self.fill_order
    }

    /// Returns the depth of the pools behind a token's reference price: what moves it by one percent along the deepest
    /// pools, in wei of ether; 0 without a price.
    pub fn depth_wei(&self, token: TokenId) -> f64 {
        self.prices.depth_wei(self.node(token))
    }

    /// Computes the most of a token that all pools could pay, in wei of ether at its reference price; 0 without a
    /// price. The pairs of one pool each count.
    pub fn payable_wei(&self, token: TokenId) -> f64 {
        let token = self.node(token);
        let buys =
            self.graph.arrows(token).iter().filter_map(|arrow| self.curve(arrow.pair)?.direction(1 - arrow.side));
        buys.map(|direction| direction.capacity_out()).sum::<f64>() * self.prices.wei_per_unit(token).unwrap_or(0.0)
    }

    /// Returns the directions through pools that pay more than the prices of all other pools and their own fees
    /// explain, if at least `least_wei` of ether could be earned on them; the greatest first.
    pub fn outliers(&self, least_wei: f64) -> Vec<Outlier> {
        let earning = self.standing.earning().iter().filter(|pair| self.standing.profit(**pair as usize) >= least_wei);
        let mut outliers: Vec<Outlier> =
            earning.flat_map(|pair| [0, 1].map(|side| self.outlier(*pair, side))).flatten().collect();
        outliers.retain(|outlier| outlier.earned_wei >= least_wei);
        outliers.sort_by(|a, b| b.earned_wei.total_cmp(&a.earned_wei).then(a.pool.cmp(&b.pool)));
        outliers
    }

    /// Computes what can be earned on one side of a pair at the prices of all others.
    fn outlier(&self, pair: u32, side: u8) -> Option<Outlier> {
        let (Pair { pool, coins, .. }, direction) = (self.pairs.get(pair), self.curve(pair)?.direction(side)?);
        let [low, high] = self.graph.ends(pair).map(|node| self.standing.price(node as usize));
        let (price_in, price_out) = if side == 0 { (low, high) } else { (high, low) };
        let [coin_in, coin_out] = if side == 0 { coins } else { [coins[1], coins[0]] };
        let trade = direction.best_trade(price_in, price_out, f64::INFINITY, 0.0)?;
        let earned_wei = price_out * trade.amount_out - price_in * trade.amount_in;
        Some(Outlier { pool, coin_in, coin_out, amount_in: trade.amount_in, earned_wei })
    }

    /// Returns [`Prepared::depth_wei`] of a node.
    pub(crate) fn node_depth_wei(&self, node: usize) -> f64 {
        self.prices.depth_wei(node)
    }

    /// Returns the tokens that searches pass through for any request.
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// Returns the number of pools with a curve.
    pub(crate) fn pool_count(&self) -> u32 {
        self.pool_count
    }

    /// Returns prices without arbitrage, and the arbitrage that the market offers at them.
    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    #[inline]
    pub(crate) fn curve(&self, pair: u32) -> Option<&PairCurve> {
        self.curves.get(pair as usize).and_then(Option::as_deref)
    }

    pub(crate) fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    pub(crate) fn pair_count(&self) -> usize {
        self.curves.len()
    }
}

/// Returns the curve of a pair in the block after the market's; `None` if its pool has none.
fn curve(market: &Market, pair: Pair) -> Option<Arc<PairCurve>> {
    let pool = market.pool(pair.pool)?;
    PairCurve::of(pool, pair.coins, &market.block().next()).map(Arc::new)
}
