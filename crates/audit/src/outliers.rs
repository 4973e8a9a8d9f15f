//! Pools that pay more than all others explain. What looks too good is asked of the EVM before a quote uses it: a pool whose balance moved
//! without a log, a token that no longer leaves its pool, and a price that nobody has taken yet look the same from outside.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use braid_market::Market;
use braid_primitives::{PoolId, PoolKey, U256};
use braid_protocols::Pool;
use braid_routing::{Outlier, Prepared};
use tokio::sync::Mutex as Turns;

use crate::vaults::guessed_pools;
use crate::verdict::{Probe, Verdict};

/// One turn in so many is left to other checks, however many outliers wait.
const OTHERS_EVERY: u64 = 3;

/// From what a pool's price can earn on it is asked first, wei: less than the gas of taking it says nothing against a pool.
const LEAST_EARNED_WEI: f64 = 1e15;

/// For how many blocks the EVM's word holds for a pool whose state stays the same.
const HOLDS_BLOCKS: u64 = 64;

/// Most blocks until what could not be told is asked again.
const LONGEST_WAIT_BLOCKS: u64 = 64;

/// Pools of a market that no quote uses before the EVM agreed. Looks at many pools: found once per block.
#[derive(Debug, Default)]
pub struct Doubtful {
    /// Those of which only their own answers told what they are.
    pub guessed: Vec<PoolId>,
    /// Those that pay more than all others explain; the most first.
    pub outliers: Vec<Outlier>,
}

impl Doubtful {
    /// Those of a market.
    pub fn of(prepared: &Prepared) -> Self {
        Self { guessed: guessed_pools(prepared.market()), outliers: prepared.outliers(LEAST_EARNED_WEI) }
    }
}

/// A pool, and the positions of the coins in and out.
type Way = (PoolKey, u8, u8);

/// What the EVM said of outliers.
#[derive(Debug, Default)]
pub struct Outliers {
    asked: Mutex<HashMap<Way, Asked>>,
    turn: AtomicU64,
}

#[derive(Debug)]
struct Asked {
    /// The pool as it was then.
    pool: Arc<Pool>,
    /// The most that it was seen to pay for as it should, and at which block; zero where it could not be told.
    paid_for: U256,
    block: u64,
    tries: u32,
    /// Those who want to ask the same.
    turns: Arc<Turns<()>>,
}

impl Outliers {
    fn asked(&self) -> MutexGuard<'_, HashMap<Way, Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the EVM paid for as much, lately and of the pool as it is.
    pub fn is_paid(&self, market: &Market, probe: &Probe) -> bool {
        self.asked().get(&way(probe)).is_some_and(|asked| asked.is_paid(market, probe))
    }

    /// Swaps of a route through outliers that the EVM has not paid yet.
    pub(crate) fn unpaid(
        &self,
        market: &Market,
        outliers: &[Outlier],
        swaps: impl Iterator<Item = Probe>,
    ) -> Vec<Probe> {
        if outliers.is_empty() {
            return Vec::new();
        }
        let is_outlier = |probe: &Probe| outliers.iter().any(|outlier| way_of(market, outlier) == Some(way(probe)));
        swaps.filter(|probe| is_outlier(probe) && !self.is_paid(market, probe)).collect()
    }

    /// Outliers of which it could not be told lately whether they pay.
    pub(crate) fn untold(&self, market: &Market, outliers: &[Outlier]) -> Vec<PoolId> {
        let asked = self.asked();
        let is_untold = |way: Way| asked.get(&way).is_some_and(|asked| asked.is_untold(market, way.0));
        let untold = outliers.iter().filter(|outlier| way_of(market, outlier).is_some_and(is_untold));
        untold.map(|outlier| outlier.pool).collect()
    }

    /// Outliers that the EVM was not seen to pay, whether it was asked or not.
    pub(crate) fn unseen(&self, market: &Market, outliers: &[Outlier]) -> Vec<PoolId> {
        let asked = self.asked();
        let is_paid = |probe: &Probe| asked.get(&way(probe)).is_some_and(|asked| asked.is_paid(market, probe));
        let least = |outlier| Some(Probe { amount_in: U256::ONE, ..probe_of(market, outlier)? });
        let unseen = outliers.iter().filter(|outlier| !least(*outlier).as_ref().is_some_and(is_paid));
        unseen.map(|outlier| outlier.pool).collect()
    }

    /// The swap of an outlier that should be asked about now; forgets what was said of pools that are none any more.
    pub(crate) fn next(&self, market: &Market, outliers: &[Outlier], aside: impl Fn(PoolKey) -> bool) -> Option<Probe> {
        let probes: Vec<Probe> = outliers.iter().filter_map(|outlier| probe_of(market, outlier)).collect();
        let is_open = |asked: &Asked, probe: &Probe| {
            // what there is to earn moves a little from block to block
            let half = Probe { amount_in: probe.amount_in / U256::from(2), ..*probe };
            !asked.is_paid(market, &half) && !asked.is_untold(market, probe.pool)
        };
        let found = {
            let mut asked = self.asked();
            asked.retain(|known, asked| {
                Arc::strong_count(&asked.turns) > 1 || probes.iter().any(|probe| way(probe) == *known)
            });
            if self.turn.fetch_add(1, Ordering::Relaxed) % OTHERS_EVERY == OTHERS_EVERY - 1 {
                return None;
            }
            let is_open = |probe: &&Probe| asked.get(&way(probe)).is_none_or(|asked| is_open(asked, probe));
            probes.into_iter().find(|probe| is_open(&probe) && !aside(probe.pool))
        };
        // what a check says is noted where it was asked for
        found.filter(|probe| self.turns(market, probe).is_some())
    }

    /// The turns of those who want to ask the same.
    pub(crate) fn turns(&self, market: &Market, probe: &Probe) -> Option<Arc<Turns<()>>> {
        let pool = pool_of(market, probe.pool)?;
        let mut asked = self.asked();
        let asked = asked.entry(way(probe)).or_insert_with(|| Asked {
            pool: Arc::clone(pool),
            paid_for: U256::ZERO,
            block: 0,
            tries: 0,
            turns: Arc::default(),
        });
        Some(Arc::clone(&asked.turns))
    }

    /// Notes what a check said.
    pub(crate) fn note(&self, market: &Market, probe: &Probe, verdict: &Verdict) {
        let Some(pool) = pool_of(market, probe.pool) else { return };
        let mut asked = self.asked();
        let Some(asked) = asked.get_mut(&way(probe)) else { return };
        if !asked.is_of(market, probe.pool) {
            (asked.pool, asked.paid_for, asked.tries) = (Arc::clone(pool), U256::ZERO, 0);
        }
        asked.block = market.block().number;
        match verdict {
            Verdict::Agrees => (asked.paid_for, asked.tries) = (probe.amount_in.max(asked.paid_for), 0),
            Verdict::Differs(_) => (asked.paid_for, asked.tries) = (U256::ZERO, 0),
            Verdict::Unknown(_) => asked.tries = asked.tries.saturating_add(1),
        }
    }
}

impl Asked {
    /// Whether the market's pool is as it was when it was asked about.
    fn is_of(&self, market: &Market, key: PoolKey) -> bool {
        pool_of(market, key).is_some_and(|pool| Arc::ptr_eq(pool, &self.pool) || **pool == *self.pool)
    }

    /// Whether the EVM paid for as much, lately and of the pool as it is.
    fn is_paid(&self, market: &Market, probe: &Probe) -> bool {
        let holds = self.block.saturating_add(HOLDS_BLOCKS) > market.block().number;
        self.paid_for >= probe.amount_in && holds && self.is_of(market, probe.pool)
    }

    /// Whether it could not be told of the pool as it is, and it is too early to ask again.
    fn is_untold(&self, market: &Market, pool: PoolKey) -> bool {
        let is_early = self.tries > 0 && market.block().number < self.due_at();
        is_early && self.is_of(market, pool)
    }

    /// Height from which it is asked again.
    fn due_at(&self) -> u64 {
        let wait = 1_u64.checked_shl(self.tries.saturating_sub(1)).unwrap_or(u64::MAX);
        self.block.saturating_add(wait.min(LONGEST_WAIT_BLOCKS))
    }
}

fn way(probe: &Probe) -> Way {
    (probe.pool, probe.coin_in, probe.coin_out)
}

fn way_of(market: &Market, outlier: &Outlier) -> Option<Way> {
    Some((market.pool(outlier.pool)?.key, outlier.coin_in, outlier.coin_out))
}

fn probe_of(market: &Market, outlier: &Outlier) -> Option<Probe> {
    let (pool, coin_in, coin_out) = way_of(market, outlier)?;
    let amount_in = U256::try_from(outlier.amount_in.clamp(1.0, 1e36)).unwrap_or(U256::ONE);
    Some(Probe { pool, coin_in, coin_out, amount_in })
}

fn pool_of(market: &Market, key: PoolKey) -> Option<&Arc<Pool>> {
    market.pools().get(market.pool_id(key)?.index())
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_market::Tokens;
    use braid_primitives::{Address, B256, Block, TokenId};
    use braid_protocols::{PoolState, Product, uniswap_v2};

    const ETHER: u128 = 10_u128.pow(18);

    /// Wrapped ether and a token in three pools; the first has so much of its first coin, where 900 ether would be in line with the others.
    fn prepared(block: u64, reserve: u128) -> Prepared {
        let block = Block {
            number: block,
            hash: B256::with_last_byte(1),
            parent_hash: B256::ZERO,
            timestamp: block * 12,
            base_fee_per_gas_wei: 1,
            gas_used: 0,
            gas_limit: 30_000_000,
        };
        let pool = |address: u8, reserve0: u128| Pool {
            key: Address::repeat_byte(address).into(),
            product: Product::UniswapV2,
            coins: [TokenId(1), TokenId(2)].into_iter().collect(),
            state: PoolState::UniswapV2(uniswap_v2::State { reserve0, reserve1: 100 * ETHER, fee_bps: 30 }),
        };
        let mut tokens = Tokens::new();
        let token = braid_primitives::Token {
            address: Address::with_last_byte(9),
            symbol: "T".into(),
            name: String::new(),
            decimals: 18,
        };
        tokens.insert(token);
        let pools = [pool(1, reserve), pool(2, 900 * ETHER), pool(3, 900 * ETHER)];
        let market = Market::new(block, Arc::new(tokens), pools).unwrap();
        Prepared::new(Arc::new(market))
    }

    fn first(prepared: &Prepared) -> (Vec<Outlier>, Probe) {
        let outliers = Doubtful::of(prepared).outliers;
        let probe = probe_of(prepared.market(), &outliers[0]).unwrap();
        assert_eq!(probe.pool, Address::repeat_byte(1).into());
        (outliers, probe)
    }

    #[test]
    fn a_pool_in_line_is_no_outlier() {
        assert_eq!(Doubtful::of(&prepared(7, 900 * ETHER)).outliers, []);
    }

    #[test]
    fn what_was_paid_holds_for_less_of_the_same_state_and_for_some_blocks() {
        let known = Outliers::default();
        let now = prepared(7, 2_000 * ETHER);
        let (outliers, probe) = first(&now);
        assert_eq!(known.next(now.market(), &outliers, |_| false), Some(probe));
        known.note(now.market(), &probe, &Verdict::Agrees);
        let more = Probe { amount_in: probe.amount_in + U256::ONE, ..probe };
        assert!(known.is_paid(now.market(), &probe) && !known.is_paid(now.market(), &more));
        assert_eq!(known.unpaid(now.market(), &outliers, [probe, more].into_iter()), [more]);
        assert_eq!(known.next(now.market(), &outliers, |_| false), None);
        assert!(known.is_paid(prepared(70, 2_000 * ETHER).market(), &probe));
        assert!(!known.is_paid(prepared(71, 2_000 * ETHER).market(), &probe), "it is asked again after a while");
        assert!(!known.is_paid(prepared(8, 2_001 * ETHER).market(), &probe), "and where the pool moved");
    }

    #[test]
    fn what_could_not_be_told_is_left_out_and_asked_again_ever_later() {
        let known = Outliers::default();
        let mut asked_at = Vec::new();
        for block in 1..=200 {
            let now = prepared(block, 2_000 * ETHER);
            let (outliers, probe) = first(&now);
            known.turn.store(0, Ordering::Relaxed);
            assert_eq!(known.unseen(now.market(), &outliers).len(), outliers.len());
            if let Some(asked) = known.next(now.market(), &outliers, |_| false) {
                assert_eq!(asked, probe);
                asked_at.push(block);
                known.note(now.market(), &probe, &Verdict::Unknown("no node".into()));
            }
            assert_eq!(known.untold(now.market(), &outliers), [outliers[0].pool]);
        }
        assert_eq!(asked_at, [1, 2, 4, 8, 16, 32, 64, 128, 192]);
    }

    #[test]
    fn a_swap_that_could_not_be_told_waits_though_a_smaller_one_was_paid() {
        let known = Outliers::default();
        let now = prepared(7, 2_000 * ETHER);
        let (outliers, probe) = first(&now);
        assert!(known.turns(now.market(), &probe).is_some());
        known.note(now.market(), &Probe { amount_in: U256::ONE, ..probe }, &Verdict::Agrees);
        known.note(now.market(), &probe, &Verdict::Unknown("no node".into()));
        assert_eq!(known.next(now.market(), &outliers, |_| false), None);
        assert_eq!(known.next(prepared(8, 2_000 * ETHER).market(), &outliers, |_| false), Some(probe));
    }

    #[test]
    fn one_turn_of_three_is_left_to_others() {
        let known = Outliers::default();
        let now = prepared(7, 2_000 * ETHER);
        let (outliers, _) = first(&now);
        let turns = [(); 6].map(|()| known.next(now.market(), &outliers, |_| false).is_some());
        assert_eq!(turns, [true, true, false, true, true, false]);
    }
}
