//! Two coins of a pool: what the optimiser treats as a market of its own.
//!
//! A pool of two coins is one pair, one of `n` coins is `n·(n−1)/2`. Each pair's curve is that of the pool as it stands, so
//! that summing what pairs earn bounds what the pool earns when a route uses it once, or several times from the same coin
//! or to the same coin: the trades then get in each other's way. Exact amounts are always those of the pool itself, with
//! what the route did to it before.

use std::ops::Range;

use braid_market::Market;
use braid_primitives::PoolId;

use super::index32;

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) pool: PoolId,
    /// Positions among the pool's coins; the first is the lower one. Selling the first is side 0, selling the second side 1.
    pub(crate) coins: [u8; 2],
}

/// Every pair of a market. Those of a pool are neighbours.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    list: Vec<Pair>,
    /// Where each pool's pairs begin, and where the last pool's end.
    first: Vec<u32>,
}

impl Pairs {
    pub(crate) fn of(market: &Market) -> Self {
        let mut pairs = Self { list: Vec::with_capacity(market.pools().len()), first: vec![0] };
        for (pool, id) in market.pools().iter().zip(0_u32..) {
            let coins = (0_u8..).zip(&pool.coins).map(|(position, _)| position);
            for high in coins {
                pairs.list.extend((0..high).map(|low| Pair { pool: PoolId(id), coins: [low, high] }));
            }
            pairs.first.push(index32(pairs.list.len()));
        }
        pairs
    }

    /// Every pair, in the order of ids.
    pub(crate) fn list(&self) -> &[Pair] {
        &self.list
    }

    #[inline]
    pub(crate) fn get(&self, pair: u32) -> Pair {
        self.list[pair as usize]
    }

    /// How many pools have a pair that a test holds for.
    pub(crate) fn count_pools(&self, test: impl Fn(u32) -> bool) -> u32 {
        let pairs = (0_u32..).zip(&self.list).filter(|(id, _)| test(*id));
        // The pairs of a pool are neighbours.
        let (count, _) = pairs.fold((0_u32, None), |(count, last), (_, pair)| {
            (count + u32::from(last != Some(pair.pool)), Some(pair.pool))
        });
        count
    }

    /// The ids of a pool's pairs.
    pub(crate) fn of_pool(&self, pool: PoolId) -> Range<u32> {
        let at = |index: usize| self.first.get(index).copied().unwrap_or(0);
        at(pool.index())..at(pool.index() + 1)
    }

    /// The pair of two coins of a pool, and the side that sells the first of them.
    pub(crate) fn find(&self, pool: PoolId, coin_in: u8, coin_out: u8) -> Option<(u32, u8)> {
        let (low, high) = (u32::from(coin_in.min(coin_out)), u32::from(coin_in.max(coin_out)));
        let range = self.of_pool(pool);
        let pair = range.start + high * high.saturating_sub(1) / 2 + low;
        (low < high && range.contains(&pair)).then_some((pair, u8::from(coin_in > coin_out)))
    }
}

impl Pair {
    /// Positions of the coin in and the coin out for selling from a side.
    #[inline]
    pub(crate) fn in_and_out(self, side: u8) -> (u8, u8) {
        let [low, high] = self.coins;
        if side == 0 { (low, high) } else { (high, low) }
    }
}
