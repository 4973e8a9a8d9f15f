//! Chooses the swap to check next. Pure.

use std::collections::VecDeque;

use braid_primitives::{PoolKey, U256};
use braid_protocols::Pool;
use braid_routing::Prepared;

use crate::verdict::Probe;

/// Most swaps of quotes that wait to be checked; the oldest are dropped.
const RECENT: usize = 256;

/// Every how many checks the next pool in turn is checked, whether quotes use it or not.
const ROUND_EVERY: u64 = 4;

/// Value of a swap of a pool in turn, in ether, if the token has a price.
const WORTH_ETHER: f64 = 0.05;

/// Swaps of quotes, and the position of the round over all pools.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    recent: VecDeque<Probe>,
    turn: u64,
    round: usize,
    /// Whether a pool in quarantine went before the queue last time.
    gave_way: bool,
}

impl Queue {
    /// Adds a swap that a quote makes; it replaces a waiting one of the same pool and coins.
    pub(crate) fn used(&mut self, probe: Probe) {
        if let Some(waiting) = self.recent.iter_mut().find(|waiting| waiting.direction() == probe.direction()) {
            *waiting = probe;
            return;
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(probe);
    }

    /// Returns whether a pool in quarantine goes before the queue now: every other time. Each pool is due again after some
    /// blocks, so that enough of them would leave no check to any other pool.
    pub(crate) fn gives_way(&mut self) -> bool {
        self.gave_way = !self.gave_way;
        self.gave_way
    }

    /// Returns the next swap, of a pool that is not excluded.
    pub(crate) fn next(&mut self, prepared: &Prepared, excluded: impl Fn(PoolKey) -> bool) -> Option<Probe> {
        self.turn = self.turn.wrapping_add(1);
        if !self.turn.is_multiple_of(ROUND_EVERY) {
            while let Some(probe) = self.recent.pop_front() {
                if !excluded(probe.pool) {
                    return Some(probe);
                }
            }
        }
        let pools = prepared.market().pools();
        for _ in 0..pools.len() {
            let (lap, at) = (self.round / pools.len(), self.round % pools.len());
            self.round = self.round.wrapping_add(1);
            let pool = pools.get(at)?;
            if !pool.product.wraps_ether() && !excluded(pool.key) {
                return Some(small_swap(prepared, pool, lap));
            }
        }
        None
    }
}

/// Returns a small swap of a pool; each lap takes the next pair of its coins.
pub(crate) fn small_swap(prepared: &Prepared, pool: &Pool, lap: usize) -> Probe {
    let coins = pool.coins.len().max(2);
    let from = lap % coins;
    let to = (from + 1 + (lap / coins) % (coins - 1)) % coins;
    let id = pool.coins.get(from).copied();
    let decimals = id.and_then(|id| prepared.market().tokens().get(id)).map_or(0, |token| token.decimals);
    let whole = 10_f64.powi(i32::from(decimals));
    let price = id.and_then(|id| prepared.reference_price(id)).filter(|price| *price > 0.0);
    let amount = price.map_or(whole / 1_000.0, |price| WORTH_ETHER / price * whole);
    let amount_in = U256::try_from(amount.clamp(1.0, 1e36)).unwrap_or(U256::ONE);
    // A pool has fewer coins than a byte counts.
    let [coin_in, coin_out] = [from, to].map(|coin| u8::try_from(coin).unwrap_or(0));
    Probe { pool: pool.key, coin_in, coin_out, amount_in }
}

#[cfg(test)]
mod tests {
    use braid_primitives::Address;

    use super::*;

    fn probe(pool: u8, amount: u64) -> Probe {
        Probe { pool: Address::repeat_byte(pool).into(), coin_in: 0, coin_out: 1, amount_in: U256::from(amount) }
    }

    #[test]
    fn a_swap_waits_once_with_its_newest_amount_and_the_oldest_are_forgotten() {
        let mut queue = Queue::default();
        queue.used(probe(1, 5));
        queue.used(probe(1, 6));
        assert_eq!(queue.recent, [probe(1, 6)]);
        for index in 0..2 * RECENT as u64 {
            queue.used(Probe { pool: Address::left_padding_from(&index.to_be_bytes()).into(), ..probe(0, 1) });
        }
        assert_eq!(queue.recent.len(), RECENT);
        assert!(!queue.recent.contains(&probe(1, 6)));
    }
}
