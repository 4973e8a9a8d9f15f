//! Pools that pay more than all others explain. The EVM checks each before a quote uses it: a pool whose balance moved
//! without a log, a token that can no longer leave its pool, and a price that nobody has taken yet all look alike.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_market::Market;
use braid_primitives::{PoolId, PoolKey, U256};
use braid_protocols::Pool;
use braid_routing::{Outlier, PoolFilter, Prepared};
use parking_lot::Mutex;
use tokio::sync::Mutex as Turns;

use crate::check::amount_checked;
use crate::retry::Retry;
use crate::vaults::unlisted_vaults;
use crate::verdict::{Probe, Verdict};

/// Every how many turns other checks go first, however many outliers wait.
const OTHERS_EVERY: u64 = 3;

/// Least profit at a pool's price that makes it an outlier, in wei: one that does not pay for its gas says nothing.
const LEAST_EARNED_WEI: f64 = 1e15;

/// Blocks for which a verdict holds while the pool's state stays the same.
const HOLDS_BLOCKS: u64 = 64;

/// Pools of a market that no quote uses before the EVM agreed.
#[derive(Debug, Default)]
pub struct Doubtful {
    /// Vaults that are on no list.
    pub vaults: Vec<PoolId>,
    /// Pools that pay more than all others explain, the most profitable first.
    pub outliers: Vec<Outlier>,
}

impl Doubtful {
    /// Finds them in a market. Looks at many pools: call it once per block.
    pub fn of(prepared: &Prepared) -> Self {
        Self { vaults: unlisted_vaults(prepared.market()), outliers: prepared.outliers(LEAST_EARNED_WEI) }
    }

    /// Excludes every outlier, also those that the EVM paid for an amount: a route may sell more.
    pub(crate) fn exclude_outliers(&self, filter: &mut PoolFilter) {
        self.outliers.iter().for_each(|outlier| filter.exclude_pool(outlier.pool));
    }
}

/// A pool, and the positions of its input and output coins.
type Direction = (PoolKey, u8, u8);

/// What the EVM paid for swaps through outliers.
#[derive(Debug, Default)]
pub struct Outliers {
    checked: Mutex<HashMap<Direction, Checked>>,
    turn: AtomicU64,
}

/// The last check of a direction.
#[derive(Debug)]
struct Checked {
    /// The pool as it was then.
    pool: Arc<Pool>,
    /// Largest input that the EVM paid for as modelled, in atomic units; zero if none.
    paid_for: U256,
    /// Height of the check.
    block: u64,
    /// When a check without a result is made again.
    retry: Retry,
    /// Held by the request that checks this direction; others wait for it.
    turns: Arc<Turns<()>>,
}

impl Outliers {
    /// Returns whether the EVM paid for a swap of at least this amount, lately and with the pool's present state.
    pub fn is_paid(&self, market: &Market, probe: &Probe) -> bool {
        self.checked.lock().get(&probe.direction()).is_some_and(|checked| checked.is_paid(market, probe))
    }

    /// Returns the swaps of a route through outliers that the EVM was not seen to pay.
    pub(crate) fn unpaid_swaps(
        &self,
        market: &Market,
        outliers: &[Outlier],
        swaps: impl Iterator<Item = Probe>,
    ) -> Vec<Probe> {
        if outliers.is_empty() {
            return Vec::new();
        }
        let is_outlier =
            |probe: &Probe| outliers.iter().any(|outlier| direction_of(market, outlier) == Some(probe.direction()));
        swaps.filter(|probe| is_outlier(probe) && !self.is_paid(market, probe)).collect()
    }

    /// Returns the outliers whose last check had no result, and whose next one is not due.
    pub(crate) fn unknown(&self, market: &Market, outliers: &[Outlier]) -> Vec<PoolId> {
        let checked = self.checked.lock();
        let is_unknown = |direction: Direction| {
            checked.get(&direction).is_some_and(|checked| checked.is_unknown(market, direction.0))
        };
        let unknown = outliers.iter().filter(|outlier| direction_of(market, outlier).is_some_and(is_unknown));
        unknown.map(|outlier| outlier.pool).collect()
    }

    /// Returns the swap of an outlier to check now. Drops checks of pools that are no outliers any more.
    pub(crate) fn next(
        &self,
        market: &Market,
        outliers: &[Outlier],
        excluded: impl Fn(PoolKey) -> bool,
    ) -> Option<Probe> {
        let probes: Vec<Probe> = outliers.iter().filter_map(|outlier| probe_of(market, outlier)).collect();
        let is_open = |checked: &Checked, probe: &Probe| {
            // The profitable amount moves a little from block to block.
            let half = Probe { amount_in: probe.amount_in / U256::from(2), ..*probe };
            !checked.is_paid(market, &half) && !checked.is_unknown(market, probe.pool)
        };
        let found = {
            let mut checked = self.checked.lock();
            checked.retain(|known, checked| {
                Arc::strong_count(&checked.turns) > 1 || probes.iter().any(|probe| probe.direction() == *known)
            });
            if self.turn.fetch_add(1, Ordering::Relaxed) % OTHERS_EVERY == OTHERS_EVERY - 1 {
                return None;
            }
            let is_open =
                |probe: &&Probe| checked.get(&probe.direction()).is_none_or(|checked| is_open(checked, probe));
            probes.into_iter().find(|probe| is_open(&probe) && !excluded(probe.pool))
        };
        // Makes the entry that the verdict is noted in.
        found.filter(|probe| self.turns(market, probe).is_some())
    }

    /// Returns the lock of those who check the same direction.
    pub(crate) fn turns(&self, market: &Market, probe: &Probe) -> Option<Arc<Turns<()>>> {
        let pool = pool_of(market, probe.pool)?;
        let mut checked = self.checked.lock();
        let checked = checked.entry(probe.direction()).or_insert_with(|| Checked {
            pool: Arc::clone(pool),
            paid_for: U256::ZERO,
            block: 0,
            retry: Retry::default(),
            turns: Arc::default(),
        });
        Some(Arc::clone(&checked.turns))
    }

    /// Notes the verdict of a check.
    pub(crate) fn note(&self, market: &Market, probe: &Probe, verdict: &Verdict) {
        let Some(pool) = pool_of(market, probe.pool) else { return };
        let mut checked = self.checked.lock();
        let Some(checked) = checked.get_mut(&probe.direction()) else { return };
        if !checked.is_of(market, probe.pool) {
            (checked.pool, checked.paid_for, checked.retry) = (Arc::clone(pool), U256::ZERO, Retry::default());
        }
        checked.block = market.block().number;
        match verdict {
            // the check may have sold less than was asked for
            Verdict::Agrees => {
                let sold = amount_checked(market, probe);
                (checked.paid_for, checked.retry) = (sold.max(checked.paid_for), Retry::default());
            }
            Verdict::Differs(_) => (checked.paid_for, checked.retry) = (U256::ZERO, Retry::default()),
            Verdict::Unknown(_) => checked.retry.wait(checked.block),
        }
    }
}

impl Checked {
    /// Returns whether the market's pool is in the state that was checked.
    fn is_of(&self, market: &Market, key: PoolKey) -> bool {
        pool_of(market, key).is_some_and(|pool| Arc::ptr_eq(pool, &self.pool) || **pool == *self.pool)
    }

    /// As [`Outliers::is_paid`].
    fn is_paid(&self, market: &Market, probe: &Probe) -> bool {
        let holds = self.block.saturating_add(HOLDS_BLOCKS) > market.block().number;
        self.paid_for >= probe.amount_in && holds && self.is_of(market, probe.pool)
    }

    /// Returns whether the check of the pool's present state had no result, and the next one is not due.
    fn is_unknown(&self, market: &Market, pool: PoolKey) -> bool {
        !self.retry.is_due(market.block().number) && self.is_of(market, pool)
    }
}

fn direction_of(market: &Market, outlier: &Outlier) -> Option<Direction> {
    Some((market.pool(outlier.pool)?.key, outlier.coin_in, outlier.coin_out))
}

fn probe_of(market: &Market, outlier: &Outlier) -> Option<Probe> {
    let (pool, coin_in, coin_out) = direction_of(market, outlier)?;
    let amount_in = U256::try_from(outlier.amount_in.clamp(1.0, 1e36)).unwrap_or(U256::ONE);
    Some(Probe { pool, coin_in, coin_out, amount_in })
}

fn pool_of(market: &Market, key: PoolKey) -> Option<&Arc<Pool>> {
    market.pools().get(market.pool_id(key)?.index())
}

#[cfg(test)]
mod tests {
    use braid_primitives::Address;
    use braid_protocols::Product;

    use super::*;
    use crate::testing::{ETHER, prepared};

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
        assert_eq!(known.unpaid_swaps(now.market(), &outliers, [probe, more].into_iter()), [more]);
        assert_eq!(known.next(now.market(), &outliers, |_| false), None);
        assert!(known.is_paid(prepared(70, 2_000 * ETHER).market(), &probe));
        assert!(!known.is_paid(prepared(71, 2_000 * ETHER).market(), &probe), "it is asked again after a while");
        assert!(!known.is_paid(prepared(8, 2_001 * ETHER).market(), &probe), "and where the pool moved");
    }

    /// The pool's model refuses the amount, so that the EVM was asked for a hundredth of it.
    #[test]
    fn what_was_paid_is_no_more_than_what_was_sold() {
        let known = Outliers::default();
        let now = prepared(7, 2_000 * ETHER);
        let (_, probe) = first(&now);
        let [asked, sold] =
            [1, 100].map(|part| Probe { amount_in: (U256::from(1) << 112) / U256::from(part), ..probe });
        assert!(known.turns(now.market(), &asked).is_some());
        known.note(now.market(), &asked, &Verdict::Agrees);
        assert!(known.is_paid(now.market(), &sold) && !known.is_paid(now.market(), &asked));
        let more = Probe { amount_in: sold.amount_in + U256::ONE, ..sold };
        assert!(!known.is_paid(now.market(), &more));
    }

    /// The route of the last search is not checked again, and sold more of an outlier than the EVM had paid for.
    #[test]
    fn the_last_search_uses_no_outlier_though_a_smaller_swap_was_paid() {
        let (known, mut filter) = (Outliers::default(), PoolFilter::default());
        let now = prepared(7, 2_000 * ETHER);
        let (outliers, probe) = first(&now);
        assert_eq!(known.next(now.market(), &outliers, |_| false), Some(probe));
        known.note(now.market(), &probe, &Verdict::Agrees);
        assert!(known.is_paid(now.market(), &probe));
        let allows = |filter: &PoolFilter| filter.allows(outliers[0].pool, Product::UniswapV2);
        assert!(allows(&filter));
        Doubtful::of(&now).exclude_outliers(&mut filter);
        assert!(!allows(&filter));
    }

    #[test]
    fn what_could_not_be_told_is_left_out_and_asked_again_ever_later() {
        let known = Outliers::default();
        let mut asked_at = Vec::new();
        for block in 1..=200 {
            let now = prepared(block, 2_000 * ETHER);
            let (outliers, probe) = first(&now);
            known.turn.store(0, Ordering::Relaxed);
            if let Some(asked) = known.next(now.market(), &outliers, |_| false) {
                assert_eq!(asked, probe);
                asked_at.push(block);
                known.note(now.market(), &probe, &Verdict::Unknown("no node".into()));
            }
            assert_eq!(known.unknown(now.market(), &outliers), [outliers[0].pool]);
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
