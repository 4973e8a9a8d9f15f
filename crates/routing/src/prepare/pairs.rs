//! Pairs: two coins of a pool, which the optimiser prices as a market of their own.
//!
//! A pool of two coins is one pair, one of `n` coins is `n·(n−1)/2`. Each pair has the curve of the pool in its present
//! state. So the sum of what pairs earn bounds what the pool earns if each trade of a route pays at most what its pair's
//! curve says: if the route uses the pool once, or trades that worsen each other's prices, as any two from the same coin or
//! to the same coin of a weighted pool do. In a pool with a stable invariant of several coins, or of which the share is a
//! coin, one trade can improve the price of another; the bound does not cover that. Exact amounts always come from the
//! pool itself, with the state changes that the route made to it before.

use std::ops::Range;

use braid_market::Market;
use braid_primitives::PoolId;
use braid_protocols::Product;

use super::index32;

/// Two coins of a pool (see the module's text).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) pool: PoolId,
    /// Positions among the pool's coins, the lower one first. Side 0 sells the first, side 1 the second.
    pub(crate) coins: [u8; 2],
    /// The pool's product: a request may exclude it.
    pub(crate) product: Product,
}

/// Every pair of a market. Those of a pool are neighbours.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    list: Vec<Pair>,
    /// Position of each pool's first pair, and the end of the list.
    first: Vec<u32>,
}

impl Pairs {
    pub(crate) fn of(market: &Market) -> Self {
        let mut pairs = Self { list: Vec::with_capacity(market.pools().len()), first: vec![0] };
        for (pool, id) in market.pools().iter().zip(0_u32..) {
            let coins = (0_u8..).zip(&pool.coins).map(|(position, _)| position);
            for high in coins {
                pairs.list.extend((0..high).map(|low| Pair {
                    pool: PoolId(id),
                    coins: [low, high],
                    product: pool.product,
                }));
            }
            pairs.first.push(index32(pairs.list.len()));
        }
        pairs
    }

    /// Returns every pair, in the order of ids.
    pub(crate) fn list(&self) -> &[Pair] {
        &self.list
    }

    #[inline]
    pub(crate) fn get(&self, pair: u32) -> Pair {
        self.list[pair as usize]
    }

    /// Counts the pools of some pairs, which are given in the order of ids.
    pub(crate) fn count_pools(&self, pairs: impl Iterator<Item = u32>) -> u32 {
        // Counts each pool at its first pair: the pairs of a pool are neighbours.
        let pools = pairs.map(|pair| self.get(pair).pool);
        let (count, _) =
            pools.fold((0_u32, None), |(count, last), pool| (count + u32::from(last != Some(pool)), Some(pool)));
        count
    }

    /// Returns the ids of a pool's pairs.
    pub(crate) fn of_pool(&self, pool: PoolId) -> Range<u32> {
        let at = |index: usize| self.first.get(index).copied().unwrap_or(0);
        at(pool.index())..at(pool.index() + 1)
    }

    /// Returns the pair of two coins of a pool, and the side that sells `coin_in`.
    pub(crate) fn find(&self, pool: PoolId, coin_in: u8, coin_out: u8) -> Option<(u32, u8)> {
        let (low, high) = (u32::from(coin_in.min(coin_out)), u32::from(coin_in.max(coin_out)));
        let range = self.of_pool(pool);
        let pair = range.start + high * high.saturating_sub(1) / 2 + low;
        (low < high && range.contains(&pair)).then_some((pair, u8::from(coin_in > coin_out)))
    }
}

impl Pair {
    /// Returns the positions of the coin in and the coin out if a side is sold.
    #[inline]
    pub(crate) fn in_and_out(self, side: u8) -> (u8, u8) {
        let [low, high] = self.coins;
        if side == 0 { (low, high) } else { (high, low) }
    }
}
