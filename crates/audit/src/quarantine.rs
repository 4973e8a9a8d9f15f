//! Pools that no quote uses because the EVM disagreed with their model.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_market::Market;
use braid_primitives::{Address, PoolId, PoolKey};
use braid_protocols::Pool;
use braid_routing::PoolFilter;
use braid_store::quarantine::{self, Quarantined};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::retry::Retry;
use crate::verdict::{Difference, Probe};

/// The pools in quarantine.
#[derive(Debug, Default)]
pub struct Quarantine(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    held: BTreeMap<PoolKey, Held>,
    saver: Option<Arc<Saver>>,
    /// Grows with every pool that comes or goes.
    version: u64,
}

#[derive(Clone, Debug)]
struct Held {
    record: Quarantined,
    retry: Retry,
}

impl Held {
    /// A pool whose check is due at once.
    fn due(record: Quarantined) -> (PoolKey, Self) {
        (record.pool, Self { record, retry: Retry::default() })
    }
}

impl Quarantine {
    /// Loads the quarantine of an earlier run from a directory, due to be checked at once, and saves every change
    /// there. A file that cannot be read is skipped with a warning: the audit finds again what was in it.
    pub fn keep_in(&self, dir: &Path) {
        let kept = quarantine::load(dir).unwrap_or_else(|error| {
            tracing::warn!(%error, "the stored quarantine cannot be read: the audit starts without it");
            Vec::new()
        });
        let mut state = self.0.lock();
        state.held.extend(kept.into_iter().map(Held::due));
        state.saver = Some(Arc::new(Saver { dir: dir.into(), next: Mutex::default(), writing: Mutex::default() }));
    }

    /// Replaces the quarantine by that of another service.
    pub(crate) fn adopt(&self, records: &[Quarantined]) {
        self.0.lock().held = records.iter().cloned().map(Held::due).collect();
    }

    /// Adds the pools that another service has in quarantine, due to be checked at once.
    pub(crate) fn inherit(&self, records: &[Quarantined]) {
        let mut state = self.0.lock();
        let before = state.held.len();
        for (pool, held) in records.iter().cloned().map(Held::due) {
            state.held.entry(pool).or_insert(held);
        }
        if state.held.len() > before {
            state.changed();
        }
    }

    /// Returns a number that changes whenever a pool comes or goes.
    pub(crate) fn version(&self) -> u64 {
        self.0.lock().version
    }

    /// Puts a pool in quarantine, or leaves it there.
    pub fn hold(&self, probe: Probe, difference: &Difference, block: u64) {
        let mut state = self.0.lock();
        let (why, token) = (difference.why.clone(), difference.token.clone());
        if let Some(held) = state.held.get_mut(&probe.pool) {
            held.retry.wait(block);
            let news = held.record.token != token;
            (held.record.why, held.record.token) = (why, token);
            if news {
                state.changed();
            }
            return;
        }
        let Probe { pool, coin_in, coin_out, amount_in } = probe;
        let token_shown = token.as_ref().map(|fault| fault.token.to_string());
        tracing::warn!(%pool, why, token = token_shown, block, "the EVM disagrees with a pool's model: no quote uses the pool until they agree");
        let record = Quarantined { pool, why, since_block: block, token, coin_in, coin_out, amount_in };
        let (_, mut held) = Held::due(record);
        held.retry.wait(block);
        state.held.insert(pool, held);
        state.changed();
    }

    /// Puts off the next check of a pool whose check had no result.
    pub fn put_off(&self, pool: PoolKey, block: u64) {
        if let Some(held) = self.0.lock().held.get_mut(&pool) {
            held.retry.wait(block);
        }
    }

    /// Releases a pool.
    pub fn release(&self, pool: PoolKey) {
        let mut state = self.0.lock();
        if state.held.remove(&pool).is_some() {
            tracing::info!(%pool, "the EVM agrees with a pool's model again: quotes may use the pool");
            state.changed();
        }
    }

    /// Returns the swap that put a pool in quarantine, of the pool whose check is overdue the longest.
    pub fn due(&self, block: u64) -> Option<Probe> {
        let state = self.0.lock();
        let due = state.held.values().filter(|held| held.retry.is_due(block));
        let Quarantined { pool, coin_in, coin_out, amount_in, .. } = due.min_by_key(|held| held.retry.due_at())?.record;
        Some(Probe { pool, coin_in, coin_out, amount_in })
    }

    /// Returns the token at fault for which a pool is in quarantine, if it is for one.
    pub fn token_of(&self, pool: PoolKey) -> Option<Address> {
        self.0.lock().held.get(&pool)?.record.token.as_ref().map(|fault| fault.token)
    }

    /// Returns whether a token at fault can be stored with a pool: it is not in quarantine, or already for this token.
    pub(crate) fn is_free_for(&self, pool: PoolKey, token: Address) -> bool {
        let state = self.0.lock();
        let held = state.held.get(&pool);
        held.is_none_or(|held| held.record.token.as_ref().is_some_and(|fault| fault.token == token))
    }

    /// Returns the pools in quarantine, in the order of their keys.
    pub fn records(&self) -> Vec<Quarantined> {
        self.0.lock().records()
    }

    /// Excludes the pools in quarantine and all pools of tokens at fault from a quote; returns how many.
    pub fn exclude(&self, market: &Market, filter: &mut PoolFilter) -> u32 {
        let pools = self.0.lock().pools(market);
        pools.iter().for_each(|pool| filter.exclude_pool(*pool));
        u32::try_from(pools.len()).unwrap_or(u32::MAX)
    }

    /// Returns how many pools of a market are in quarantine, with all pools of tokens at fault.
    pub fn count(&self, market: &Market) -> usize {
        self.0.lock().pools(market).len()
    }

    /// Returns whether a pool is in quarantine, or trades a token at fault.
    pub fn holds(&self, market: &Market, pool: PoolKey) -> bool {
        let state = self.0.lock();
        let has_fault = |pool: &Pool| {
            let mut coins = pool.coins.iter().filter_map(|id| market.tokens().get(*id));
            coins.any(|token| state.fault_of(token.address).is_some())
        };
        state.held.contains_key(&pool) || market.pool_id(pool).and_then(|id| market.pool(id)).is_some_and(has_fault)
    }

    /// Returns what a token does that keeps it from being quoted, in words that complete a sentence about it.
    pub fn fault_of(&self, token: Address) -> Option<String> {
        self.0.lock().fault_of(token).map(str::to_owned)
    }
}

impl State {
    fn records(&self) -> Vec<Quarantined> {
        self.held.values().map(|held| held.record.clone()).collect()
    }

    /// Returns the pools of a market in quarantine, and all pools of tokens at fault.
    fn pools(&self, market: &Market) -> BTreeSet<PoolId> {
        let own = self.held.keys().filter_map(|pool| market.pool_id(*pool));
        let tokens = self.held.values().filter_map(|held| held.record.token.as_ref());
        let tokens = tokens.filter_map(|fault| market.tokens().id(fault.token));
        own.chain(tokens.flat_map(|id| market.pools_of(id).iter().copied())).collect()
    }

    fn fault_of(&self, token: Address) -> Option<&str> {
        let faults = self.held.values().filter_map(|held| held.record.token.as_ref());
        faults.into_iter().find(|fault| fault.token == token).map(|fault| fault.does.as_str())
    }

    /// Counts a change, and has the quarantine saved: a few kilobytes, seldom.
    fn changed(&mut self) {
        self.version += 1;
        if let Some(saver) = &self.saver {
            saver.save(self.records());
        }
    }
}

/// Saves the quarantine. The quarantine is locked when it changes, and every quote reads it: so the disk is waited for on a
/// thread for blocking work.
#[derive(Debug)]
struct Saver {
    dir: PathBuf,
    /// What to write next.
    next: Mutex<Option<Vec<Quarantined>>>,
    /// Locked while a file is written.
    writing: Mutex<()>,
}

impl Saver {
    /// Has the pools written after what is being written; at once if there is no runtime.
    fn save(self: &Arc<Self>, pools: Vec<Quarantined>) {
        let is_awaited = self.next.lock().replace(pools).is_some();
        if is_awaited {
            return;
        }
        let saver = Arc::clone(self);
        let write = move || saver.write();
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(write)),
            Err(_) => write(),
        }
    }

    fn write(&self) {
        let _writing = self.writing.lock();
        let Some(pools) = self.next.lock().take() else { return };
        if let Err(error) = quarantine::save(&self.dir, &pools) {
            tracing::warn!(%error, "the quarantine could not be saved: a restart will not know the newest change");
        }
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::{B256, U256};

    use std::time::Duration;

    use super::*;

    fn probe(pool: u8) -> Probe {
        Probe { pool: Address::repeat_byte(pool).into(), coin_in: 0, coin_out: 1, amount_in: U256::from(5) }
    }

    fn difference() -> Difference {
        Difference { why: "it pays 2, the model says 3".into(), token: None }
    }

    #[test]
    fn a_pool_waits_longer_after_each_difference_until_it_agrees() {
        let quarantine = Quarantine::default();
        let mut block = 100;
        for wait in [1, 2, 4] {
            quarantine.hold(probe(1), &difference(), block);
            assert_eq!(quarantine.due(block + wait - 1), None);
            block += wait;
            assert_eq!(quarantine.due(block), Some(probe(1)));
        }
        assert_eq!(quarantine.records()[0].since_block, 100);
        quarantine.release(probe(1).pool);
        assert_eq!((quarantine.due(u64::MAX), quarantine.records().len()), (None, 0));
    }

    #[test]
    fn pools_that_share_a_contract_are_held_one_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let quarantine = Quarantine::default();
        quarantine.keep_in(dir.path());
        let of_id =
            |id| Probe { pool: PoolKey::with_id(Address::repeat_byte(1), B256::with_last_byte(id)), ..probe(1) };
        for probe in [of_id(1), of_id(2)] {
            quarantine.hold(probe, &difference(), 7);
        }
        quarantine.release(of_id(1).pool);
        quarantine.release(probe(1).pool);
        let after = Quarantine::default();
        after.keep_in(dir.path());
        assert_eq!((after.records().len(), after.due(0)), (1, Some(of_id(2))));
    }

    #[test]
    fn what_is_held_is_there_after_a_restart_and_tried_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let before = Quarantine::default();
        before.keep_in(dir.path());
        before.hold(probe(1), &difference(), 7);
        let after = Quarantine::default();
        after.keep_in(dir.path());
        assert_eq!((after.records(), after.due(0)), (before.records(), Some(probe(1))));
        after.release(probe(1).pool);
        let third = Quarantine::default();
        third.keep_in(dir.path());
        assert_eq!(third.records(), []);
    }

    /// The file was written while the quarantine was locked, so that every quote waited for a disk that did not answer.
    #[tokio::test]
    async fn nobody_waits_for_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let quarantine = Quarantine::default();
        quarantine.keep_in(dir.path());
        let saver = quarantine.0.lock().saver.clone().unwrap();
        {
            let _disk = saver.writing.lock();
            for pool in 1..=3 {
                quarantine.hold(probe(pool), &difference(), 7);
            }
            quarantine.release(probe(2).pool);
            assert_eq!((quarantine.records().len(), quarantine::load(dir.path()).unwrap().len()), (2, 0));
        }
        let written = async {
            while quarantine::load(dir.path()).unwrap() != quarantine.records() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(600), written).await.unwrap();
    }
}
