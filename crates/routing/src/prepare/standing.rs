//! Prices that leave the least arbitrage, and the pools that are out of line with them.
//!
//! Pools out of line (stale, paused, poisoned or dust) do not count in these prices. A search starts from these prices,
//! and they bound the value that a route can hold. The figure of a pool out of line is what it earned when it was the
//! worst of its token, with all worse ones already removed. Routes and bounds use all pools.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_protocols::continuous::{PairCurve, Trade};

use super::bit_set::BitSet;
use super::groups::Groups;
use super::node::WETH;
use super::prices::Prices;
use super::{Arrow, Graph};
use crate::tuning::Tuning;

/// Standing arbitrage (see the module's text). Values are in wei of ether.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// Price of every token, in wei per atomic unit; zero for one that no pool takes.
    prices: Vec<f64>,
    /// Profit of each pair at those prices, within the capacity of its curve.
    profit: Vec<f64>,
    /// Profit of a pair when it was removed; zero for one that never was.
    out_of_line: Vec<f64>,
    /// The pairs that earn something, in rising order.
    earning: Vec<u32>,
}

impl Standing {
    pub(crate) fn new(graph: &Graph, curves: &[Option<Arc<PairCurve>>], reference: &Prices, groups: &Groups) -> Self {
        let nothing = vec![0.0; curves.len()];
        let before = Self {
            prices: vec![0.0; graph.token_count()],
            profit: nothing.clone(),
            out_of_line: nothing,
            ..Self::default()
        };
        before.next(graph, curves, reference, groups, &vec![true; groups.count()])
    }

    /// Computes the same for the next block, in which only some groups are `touched`: the result for a group depends on
    /// nothing outside of it.
    pub(crate) fn next(
        &self,
        graph: &Graph,
        curves: &[Option<Arc<PairCurve>>],
        reference: &Prices,
        groups: &Groups,
        touched: &[bool],
    ) -> Self {
        let prices = (0..graph.token_count()).map(|token| reference.start(token)).collect();
        let (profit, out_of_line) = (self.profit.clone(), self.out_of_line.clone());
        let mut state = Self { prices, profit, out_of_line, earning: Vec::new() };
        let mut settle = Settle::new(graph, curves, reference);
        for (group, touched) in touched.iter().enumerate() {
            if *touched {
                settle.group(&mut state, groups.tokens(group));
            } else {
                for token in groups.tokens(group).iter().map(|token| *token as usize) {
                    state.prices[token] = self.prices[token];
                }
            }
        }
        for token in (0..graph.token_count()).filter(|token| *token != WETH && groups.of(*token).is_none()) {
            for arrow in graph.arrows(token).iter().filter(|arrow| groups.of(arrow.to as usize).is_none()) {
                state.measure_pair(&settle, token, arrow);
                let profit = state.profit[arrow.pair as usize];
                let is_above = Tuning::ARBITRAGE_LEVELS_WEI.iter().any(|level| profit > *level);
                state.out_of_line[arrow.pair as usize] = if is_above { profit } else { 0.0 };
            }
        }
        let earns = (0_u32..).zip(&state.profit).filter(|(_, profit)| **profit > 0.0);
        state.earning = earns.map(|(pair, _)| pair).collect();
        state
    }

    /// Returns the price of a token that leaves the least arbitrage, in wei per atomic unit; zero without one.
    pub(crate) fn price(&self, token: usize) -> f64 {
        self.prices[token]
    }

    /// Returns the prices of all tokens.
    pub(crate) fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// Returns the profit of a pair at those prices, in wei. A curve that continues beyond its capacity may earn more than
    /// this: see [`Self::profit_within`].
    pub(crate) fn profit(&self, pair: usize) -> f64 {
        self.profit[pair]
    }

    /// Returns the profit of a pair between two tokens at those prices, in wei, if no more than `cap` of each can reach
    /// it, also beyond the capacity of its curve.
    pub(crate) fn profit_within(&self, curve: &PairCurve, ends: [u32; 2], cap: impl Fn(usize) -> f64) -> f64 {
        let side = |side: u8| {
            let [from, to] = [ends[usize::from(side)], ends[1 - usize::from(side)]].map(|end| end as usize);
            let (price_in, price_out) = (self.prices[from], self.prices[to]);
            curve.direction(side).map_or(0.0, |d| d.most_earned(price_in, price_out, cap(from), 0.0, 0.0))
        };
        side(0).max(side(1))
    }

    /// Returns the profit of a pair that is out of line when it was removed, in wei; zero for one in line.
    pub(crate) fn out_of_line(&self, pair: usize) -> f64 {
        self.out_of_line[pair]
    }

    /// Returns the pairs that earn something at those prices.
    pub(crate) fn earning(&self) -> &[u32] {
        &self.earning
    }

    /// Recomputes the profits of pools of tokens whose prices moved since the last call.
    fn measure(&mut self, settle: &mut Settle<'_>) {
        let mut next = 0;
        while let Some(place) = settle.moved.take_from(next) {
            next = place + 1;
            let token = settle.queue[place] as usize;
            for arrow in settle.graph.arrows(token) {
                self.measure_pair(settle, token, arrow);
            }
        }
    }

    /// Computes the profit of a pair, given as an arrow out of a token.
    fn measure_pair(&mut self, settle: &Settle<'_>, token: usize, arrow: &Arrow) {
        let (here, other) = (self.prices[token], self.prices[arrow.to as usize]);
        let may_earn = here > 0.0 && other > 0.0 && (here < arrow.spot * other || other < arrow.back * here);
        let curve = settle.curves[arrow.pair as usize].as_deref().filter(|_| may_earn);
        let prices = if arrow.side == 0 { [here, other] } else { [other, here] };
        self.profit[arrow.pair as usize] = curve.map_or(0.0, |curve| earned(curve, prices));
    }

    /// Removes the worst pair of each token of a group, of the pairs that earn more than `level`; returns whether there
    /// were such pairs.
    fn remove_above(&mut self, level: f64, pairs: &[u32], settle: &mut Settle<'_>) -> bool {
        self.measure(settle);
        let is_worse = |pair: &&u32| {
            let pair = **pair as usize;
            self.profit[pair] > level && self.out_of_line[pair] == 0.0
        };
        let mut worst: Vec<(f64, u32)> =
            pairs.iter().filter(is_worse).map(|pair| (self.profit[*pair as usize], *pair)).collect();
        worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut taken = BTreeSet::new();
        for (profit, pair) in &worst {
            let [a, b] = settle.graph.ends(*pair).map(|end| end as usize);
            // Never takes wrapped ether, which is in no group: so what is removed in one group does not depend on another.
            let is_rarer = settle.graph.arrows(a).len() <= settle.graph.arrows(b).len();
            let rarer = if b == WETH || (a != WETH && is_rarer) { a } else { b };
            if taken.insert(rarer) {
                self.out_of_line[*pair as usize] = *profit;
                settle.set_stale(a);
                settle.set_stale(b);
            }
        }
        !worst.is_empty()
    }
}

/// Coordinate descent on the sum of profits: each token's price moves to where what pools pay of it balances what they
/// take.
struct Settle<'a> {
    graph: &'a Graph,
    curves: &'a [Option<Arc<PairCurve>>],
    reference: &'a Prices,
    /// The tokens of a group, deepest first; and for each token of the groups so far, its place in its own group.
    queue: Vec<u32>,
    place: Vec<u32>,
    /// Places of tokens whose balance may be off.
    stale: BitSet,
    /// Places of tokens whose prices moved since profits were computed.
    moved: BitSet,
    /// The pools of the token that is being balanced.
    pools: Vec<TokenPool<'a>>,
    /// The relative change of a price above which neighbouring tokens are balanced again.
    tolerance: f64,
}

/// A pool of the token that is being balanced.
#[derive(Clone, Copy)]
struct TokenPool<'a> {
    /// The arrow out of the token.
    arrow: &'a Arrow,
    /// Price of the other token.
    other: f64,
    /// The pool takes the token below this price, and pays it above the next one.
    takes_below: f64,
    pays_above: f64,
}

impl<'a> Settle<'a> {
    fn new(graph: &'a Graph, curves: &'a [Option<Arc<PairCurve>>], reference: &'a Prices) -> Self {
        Self {
            graph,
            curves,
            reference,
            queue: Vec::new(),
            place: vec![u32::MAX; graph.token_count()],
            stale: BitSet::default(),
            moved: BitSet::default(),
            pools: Vec::new(),
            tolerance: Tuning::SETTLE_FINEST,
        }
    }

    /// Finds the prices of a group's tokens, and which of its pools are out of line.
    fn group(&mut self, state: &mut Standing, tokens: &[u32]) {
        tokens.clone_into(&mut self.queue);
        let mut pairs = Vec::new();
        for (token, at) in tokens.iter().zip(0_u32..) {
            self.place[*token as usize] = at;
            pairs.extend(self.graph.arrows(*token as usize).iter().map(|arrow| arrow.pair));
        }
        pairs.sort_unstable();
        pairs.dedup();
        for pair in pairs.iter().map(|pair| *pair as usize) {
            (state.profit[pair], state.out_of_line[pair]) = (0.0, 0.0);
        }
        (self.stale, self.moved) = (BitSet::all(tokens.len()), BitSet::all(tokens.len()));
        for level in Tuning::ARBITRAGE_LEVELS_WEI {
            self.tolerance = (level / Tuning::SETTLE_DEPTH_WEI).sqrt().max(Tuning::SETTLE_FINEST);
            for _ in 0..Tuning::ARBITRAGE_ROUNDS {
                self.run(state);
                if !state.remove_above(level, &pairs, self) {
                    break;
                }
            }
        }
        self.tolerance = Tuning::SETTLE_FINEST;
        self.stale = BitSet::all(tokens.len());
        self.run(state);
        state.measure(self);
    }

    /// Marks the balance of a token of the group as possibly off.
    fn set_stale(&mut self, token: usize) {
        if self.place[token] != u32::MAX {
            self.stale.set(self.place[token] as usize);
        }
    }

    /// Balances tokens, sweep by sweep.
    fn run(&mut self, state: &mut Standing) {
        for _ in 0..Tuning::SETTLE_SWEEPS {
            let mut next = 0;
            while let Some(place) = self.stale.take_from(next) {
                next = place + 1;
                let token = self.queue[place] as usize;
                let before = state.prices[token];
                let after = self.balance(state, token, before);
                let moved = (after / before - 1.0).abs();
                if moved > self.tolerance {
                    state.prices[token] = after;
                    self.moved.set(place);
                    // Balances neighbours again, except deep ones that a shallow token does not affect.
                    let felt = moved * self.reference.depth_wei(token) / self.tolerance;
                    for arrow in self.graph.arrows(token) {
                        if self.reference.depth_wei(arrow.to as usize) < felt {
                            self.set_stale(arrow.to as usize);
                        }
                    }
                }
            }
        }
    }

    /// Finds the price at which pools pay as much of a token as they take.
    fn balance(&mut self, state: &Standing, token: usize, start: f64) -> f64 {
        if !self.may_trade(state, token, start) {
            return start;
        }
        self.gather(state, token);
        let here = self.excess(start);
        if here == 0.0 {
            return start;
        }
        // Moves the price until the sign changes, because what pools pay rises with the price, then narrows the interval
        // around the root. Only few pools trade near the present price.
        let step = Tuning::SETTLE_STEP;
        let factor: f64 = if here > 0.0 { 1.0 - step } else { 1.0 + step };
        let (mut near, mut far) = (start, start);
        let (mut excess_near, mut excess_far) = (here, here);
        let mut reach = factor;
        for _ in 0..Tuning::SETTLE_MOVES {
            far = start * reach;
            excess_far = self.excess(far);
            if excess_far * here <= 0.0 {
                break;
            }
            (near, excess_near) = (far, excess_far);
            reach = reach.powi(Tuning::SETTLE_STRIDE);
        }
        if excess_far == 0.0 || excess_far * here > 0.0 {
            return far;
        }
        self.narrow(near, far);
        // Runs regula falsi in the logarithm of the price; the value at an end that stays counts half, so that both ends
        // move (the Illinois rule).
        let (mut near_stayed, mut far_stayed) = (false, false);
        let mut price = far;
        for _ in 0..Tuning::SETTLE_CHORDS {
            let share = excess_near / (excess_near - excess_far);
            price = near * (far / near).powf(share);
            let excess = self.excess(price);
            if excess == 0.0 {
                return price;
            }
            if excess * here > 0.0 {
                (near, excess_near) = (price, excess);
                excess_far *= if far_stayed { 0.5 } else { 1.0 };
                (near_stayed, far_stayed) = (false, true);
            } else {
                (far, excess_far) = (price, excess);
                excess_near *= if near_stayed { 0.5 } else { 1.0 };
                (near_stayed, far_stayed) = (true, false);
            }
            self.narrow(near, far);
            let settled = Tuning::SETTLE_PRECISION * self.tolerance;
            if (far / near - 1.0).abs() < settled || excess.abs() < settled * here.abs() {
                break;
            }
        }
        price
    }

    /// Removes the pools that trade at no price between two.
    fn narrow(&mut self, near: f64, far: f64) {
        let (low, high) = (near.min(far), near.max(far));
        self.pools.retain(|pool| low < pool.takes_below || high > pool.pays_above);
    }

    /// Returns whether a pool in line may trade at a price for a token, from rates that are rounded up: most do not.
    fn may_trade(&self, state: &Standing, token: usize, price: f64) -> bool {
        self.graph.to_all(token).iter().any(|(rough, arrow)| {
            let other = state.prices[rough.to as usize];
            other > 0.0
                && (price < rough.most_spot() * other || price * rough.most_back() > other)
                && state.out_of_line[arrow.pair as usize] == 0.0
        })
    }

    /// Lists the pools in line of a token.
    fn gather(&mut self, state: &Standing, token: usize) {
        self.pools.clear();
        for arrow in self.graph.arrows(token) {
            let other = state.prices[arrow.to as usize];
            if other > 0.0 && state.out_of_line[arrow.pair as usize] == 0.0 {
                let (takes_below, pays_above) = (arrow.spot * other, other / arrow.back);
                self.pools.push(TokenPool { arrow, other, takes_below, pays_above });
            }
        }
    }

    /// Computes what the listed pools pay of a token less what they take of it, at a price for it, in value.
    fn excess(&self, price: f64) -> f64 {
        let mut sum = 0.0;
        for TokenPool { arrow, other, takes_below, pays_above } in &self.pools {
            let (is_plain, side) = (arrow.is_plain, arrow.side);
            if price < *takes_below {
                let [sold, _] = self.graph.first_ranges(arrow);
                let ratio = price / takes_below;
                let amount_in = if is_plain || sold.ends_within(ratio) {
                    sold.best_amount_in(ratio)
                } else {
                    self.trade(arrow.pair, side, price, *other).map_or(0.0, |trade| trade.amount_in)
                };
                sum -= price * amount_in;
            } else if price > *pays_above {
                let [_, bought] = self.graph.first_ranges(arrow);
                let ratio = pays_above / price;
                let amount_out = if is_plain || bought.ends_within(ratio) {
                    bought.best_amount_out(ratio)
                } else {
                    self.trade(arrow.pair, 1 - side, *other, price).map_or(0.0, |trade| trade.amount_out)
                };
                sum += price * amount_out;
            }
        }
        sum
    }

    /// Returns the best trade on one side of a pair.
    fn trade(&self, pair: u32, side: u8, price_in: f64, price_out: f64) -> Option<Trade> {
        let curve = self.curves.get(pair as usize)?.as_deref()?;
        curve.direction(side)?.best_trade(price_in, price_out, f64::INFINITY, 0.0)
    }
}

/// Computes the most that a pair earns at the prices of its tokens, within the capacity of its curve: one that continues
/// beyond it at a rate in the money would earn without limit.
fn earned(curve: &PairCurve, [a, b]: [f64; 2]) -> f64 {
    let side = |side, price_in, price_out| {
        curve.direction(side).map_or(0.0, |direction| {
            let cap = if direction.is_continued() { direction.capacity_in() } else { f64::INFINITY };
            direction.most_earned(price_in, price_out, cap, 0.0, 0.0)
        })
    };
    side(0, a, b).max(side(1, b, a))
}

#[cfg(test)]
mod tests {
    use braid_primitives::{Address, U256};
    use braid_protocols::{Pool, PoolState, Product, lido};

    use super::*;
    use crate::testing::{prepared, reserved, token};

    const ETHER: u128 = 10_u128.pow(18);

    /// Three tokens of four have two pools with ether, one in ten of them a third with a token that many share; the
    /// others have one pool.
    fn pools() -> Vec<((u32, u32), [u128; 2])> {
        let mut pools = vec![((0, 1), [9_000 * ETHER, 9_000 * ETHER])];
        for token in 2..400_u32 {
            let depth = ETHER * u128::from(1 + token % 97) / 3;
            pools.push(((0, token), [depth, 7 * depth]));
            if !token.is_multiple_of(4) {
                pools.push(((0, token), [depth / 5, (7 * depth / 5) * u128::from(100 + token % 40) / 100]));
            }
            if token.is_multiple_of(10) {
                pools.push(((1, token), [depth, 7 * depth]));
            }
        }
        pools
    }

    #[test]
    fn the_next_block_is_prepared_from_the_groups_that_it_touched_and_as_if_from_nothing() {
        let mut pools = pools();
        let mut followed = prepared(&pools);
        for round in 0..30_usize {
            for step in 0..3 {
                let place = (round * 131 + step * 57) % pools.len();
                let [a, b] = &mut pools[place].1;
                // In every third change a pool is put far out of line.
                let by = if step == 2 { 50 } else { 101 };
                (*a, *b) = (*a * by / 100, *b * 100 / by);
            }
            followed = followed.next(reserved(followed.market(), &pools));
            let afresh = prepared(&pools);
            assert_eq!(followed.standing(), afresh.standing(), "round {round}");
            assert_eq!(followed.deepest_first(), afresh.deepest_first(), "round {round}");
            assert!(followed.standing().out_of_line.iter().any(|profit| *profit > 0.0));
        }
    }

    /// A wrapper's curve goes on beyond its capacity at a rate that the price of its token meets only nearly.
    #[test]
    fn a_curve_that_continues_earns_no_more_than_its_capacity() {
        let before = prepared(&[((0, 1), [ETHER, 1_200_000 * ETHER]), ((0, 2), [ETHER, 1_000_000 * ETHER])]);
        let shares = lido::State {
            total_pooled_ether_wei: U256::from(12_000 * ETHER),
            total_shares: U256::from(10_000 * ETHER),
            stake_limit: lido::StakeLimit::Unlimited,
            stopped: false,
        };
        let wrapping = Pool {
            key: Address::repeat_byte(0xee).into(),
            product: Product::LidoWsteth,
            coins: [token(1), token(2)].into_iter().collect(),
            state: PoolState::Lido(shares),
        };
        let market = before.market();
        let with = market.next(*market.block(), Arc::clone(market.tokens()), [wrapping]).unwrap();
        let with = crate::Prepared::new(Arc::new(with));
        assert!(with.curve(3).unwrap().is_continued());
        assert!(with.standing().profit.iter().all(|profit| profit.is_finite()));
        let (ends, profit) = (with.graph().ends(3), with.standing().profit(3));
        let within = |cap: f64| with.standing().profit_within(with.curve(3).unwrap(), ends, |_| cap);
        assert!(profit > 0.0 && within(1e25) > 2.0 * profit, "{profit} within its capacity");
    }

    #[test]
    fn a_pool_that_joins_counts_as_if_it_had_always_been_there() {
        let mut more = pools();
        let before = prepared(&more);
        more.push(((0, 8), [9 * ETHER, 63 * ETHER]));
        let afresh = prepared(&more);
        let (market, joined) = (before.market(), afresh.market().pools().last().unwrap());
        let next = market.next(*market.block(), Arc::clone(market.tokens()), [(**joined).clone()]).unwrap();
        let followed = before.next(Arc::new(next));
        assert_eq!(followed.standing(), afresh.standing());
        assert_eq!(followed.deepest_first(), afresh.deepest_first());
        assert_ne!(followed.deepest_first(), before.deepest_first());
        let count = followed.graph().token_count();
        assert!((0..count).all(|token| followed.prices.is_as_before(&afresh.prices, token)));
    }

    #[test]
    fn a_pool_touches_the_group_of_its_token_and_no_other() {
        let mut pools = pools();
        let before = prepared(&pools);
        let groups =
            |prepared: &crate::Prepared| Groups::new(prepared.graph(), &prepared.prices, prepared.deepest_first());
        assert!(groups(&before).count() > 200);
        let count_touched = |place: usize, pools: &mut Vec<((u32, u32), [u128; 2])>| {
            pools[place].1[0] += ETHER / 1_000;
            let after = before.next(reserved(before.market(), pools));
            let pair = (0..u32::try_from(after.pair_count()).unwrap()).filter(|pair| {
                let [old, new] = [&before, &after].map(|prepared| prepared.curve(*pair).map(std::ptr::from_ref));
                old != new
            });
            let changed: Vec<u32> = pair.collect();
            assert_eq!(changed.len(), 1);
            let touched = groups(&after).touched(after.graph(), &after.prices, &before.prices, &changed);
            touched.iter().filter(|touched| **touched).count()
        };
        let own = pools.iter().position(|((a, b), _)| (*a, *b) == (0, 7)).unwrap();
        assert_eq!(count_touched(own, &mut pools.clone()), 1);
        let lone = pools.iter().position(|((a, b), _)| (*a, *b) == (0, 8)).unwrap();
        assert_eq!(count_touched(lone, &mut pools.clone()), 0, "a token with one pool is in no group");
        let shared = pools.iter().position(|((a, b), _)| (*a, *b) == (1, 10)).unwrap();
        assert_eq!(count_touched(shared, &mut pools), 1);
    }
}
