//! Pools that no quote uses because the EVM did otherwise than their model said.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use braid_market::Market;
use braid_primitives::{Address, PoolKey};
use braid_routing::PoolFilter;
use braid_store::quarantine::{self, Quarantined};

use crate::verdict::{Difference, Probe};

/// Most blocks between two tries.
const LONGEST_WAIT_BLOCKS: u64 = 64;

/// The pools in quarantine.
#[derive(Debug, Default)]
pub struct Quarantine(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    held: BTreeMap<PoolKey, Held>,
    dir: Option<PathBuf>,
    /// Grows with every pool that comes or goes.
    version: u64,
}

#[derive(Clone, Debug)]
struct Held {
    record: Quarantined,
    tries: u32,
    /// Height from which it is tried again.
    due_at: u64,
}

impl Held {
    fn wait(&mut self, block: u64) {
        let blocks = 1u64.checked_shl(self.tries).unwrap_or(LONGEST_WAIT_BLOCKS).min(LONGEST_WAIT_BLOCKS);
        self.tries = self.tries.saturating_add(1);
        self.due_at = block.saturating_add(blocks);
    }
}

impl Quarantine {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up what was kept, to be tried at once, and keeps what comes. A file that cannot be read is said so, and left out:
    /// the audit finds again what was in it.
    pub fn keep_in(&self, dir: &Path) {
        let kept = quarantine::load(dir).unwrap_or_else(|error| {
            tracing::warn!(%error, "what was in quarantine is not known");
            Vec::new()
        });
        let mut state = self.state();
        state.held.extend(kept.into_iter().map(|record| (record.pool, Held { record, tries: 0, due_at: 0 })));
        state.dir = Some(dir.into());
    }

    /// Takes somebody else's word for what is in quarantine.
    pub(crate) fn adopt(&self, records: &[Quarantined]) {
        let mut state = self.state();
        let held = |record: &Quarantined| (record.pool, Held { record: record.clone(), tries: 0, due_at: 0 });
        state.held = records.iter().map(held).collect();
    }

    /// Adds what somebody else has in quarantine; it is due for a check at once.
    pub(crate) fn inherit(&self, records: &[Quarantined]) {
        let mut state = self.state();
        let before = state.held.len();
        for record in records {
            state.held.entry(record.pool).or_insert_with(|| Held { record: record.clone(), tries: 0, due_at: 0 });
        }
        if state.held.len() > before {
            state.changed();
        }
    }

    /// A number that changes whenever a pool comes or goes.
    pub(crate) fn version(&self) -> u64 {
        self.state().version
    }

    /// Puts a pool in quarantine, or leaves it there.
    pub fn hold(&self, probe: Probe, difference: &Difference, block: u64) {
        let mut state = self.state();
        let (why, token) = (difference.why.clone(), difference.token.clone());
        if let Some(held) = state.held.get_mut(&probe.pool) {
            held.wait(block);
            let news = held.record.token != token;
            (held.record.why, held.record.token) = (why, token);
            if news {
                state.changed();
            }
            return;
        }
        let Probe { pool, coin_in, coin_out, amount_in } = probe;
        let token_shown = token.as_ref().map(|fault| fault.token.to_string());
        tracing::warn!(%pool, why, token = token_shown, block, "a pool does not do what its model says: no quote uses it");
        let record = Quarantined { pool, why, since_block: block, token, coin_in, coin_out, amount_in };
        let mut held = Held { record, tries: 0, due_at: 0 };
        held.wait(block);
        state.held.insert(pool, held);
        state.changed();
    }

    /// Tries a pool that could not be verified again later.
    pub fn put_off(&self, pool: PoolKey, block: u64) {
        if let Some(held) = self.state().held.get_mut(&pool) {
            held.wait(block);
        }
    }

    /// Lets a pool out.
    pub fn lift(&self, pool: PoolKey) {
        let mut state = self.state();
        if state.held.remove(&pool).is_some() {
            tracing::info!(%pool, "a pool does what its model says again");
            state.changed();
        }
    }

    /// The swap that put a pool in quarantine, of one that is to be tried again by now; the longest overdue first.
    pub fn due(&self, block: u64) -> Option<Probe> {
        let state = self.state();
        let due = state.held.values().filter(|held| held.due_at <= block).min_by_key(|held| held.due_at)?;
        let Quarantined { pool, coin_in, coin_out, amount_in, .. } = due.record;
        Some(Probe { pool, coin_in, coin_out, amount_in })
    }

    /// The token at fault for which a pool is held, if it is for one.
    pub fn token_of(&self, pool: PoolKey) -> Option<Address> {
        self.state().held.get(&pool)?.record.token.as_ref().map(|fault| fault.token)
    }

    /// The pools that were found, in the order of their keys.
    pub fn records(&self) -> Vec<Quarantined> {
        self.state().records()
    }

    /// Leaves everything out of a request that is in quarantine, the pools of tokens at fault included; says how many pools.
    pub fn leave_out(&self, market: &Market, filter: &mut PoolFilter) -> u32 {
        let mut count = 0;
        for pool in market_pools(&self.state(), market) {
            filter.exclude_pool(pool);
            count += 1;
        }
        count
    }

    /// How many pools of a market are in quarantine, those of tokens at fault included.
    pub fn count(&self, market: &Market) -> usize {
        market_pools(&self.state(), market).len()
    }

    /// Whether no quote uses a pool, for its own sake or a token's.
    pub fn holds(&self, market: &Market, pool: PoolKey) -> bool {
        let state = self.state();
        let of_a_token = |pool: &braid_protocols::Pool| {
            let addresses = pool.coins.iter().filter_map(|id| market.tokens().get(*id)).map(|token| token.address);
            addresses.into_iter().any(|token| state.fault_of(token).is_some())
        };
        state.held.contains_key(&pool) || market.pool_id(pool).and_then(|id| market.pool(id)).is_some_and(of_a_token)
    }

    /// What a token does that keeps it from being quoted, in words that finish a sentence about it.
    pub fn fault_of(&self, token: Address) -> Option<String> {
        self.state().fault_of(token).map(str::to_owned)
    }
}

fn market_pools(state: &State, market: &Market) -> std::collections::BTreeSet<braid_primitives::PoolId> {
    let own = state.held.keys().filter_map(|pool| market.pool_id(*pool));
    let tokens = state.held.values().filter_map(|held| held.record.token.as_ref());
    let tokens = tokens.filter_map(|fault| market.tokens().id(fault.token));
    own.chain(tokens.flat_map(|id| market.pools_of(id).iter().copied())).collect()
}

impl State {
    fn records(&self) -> Vec<Quarantined> {
        self.held.values().map(|held| held.record.clone()).collect()
    }

    fn fault_of(&self, token: Address) -> Option<&str> {
        let faults = self.held.values().filter_map(|held| held.record.token.as_ref());
        faults.into_iter().find(|fault| fault.token == token).map(|fault| fault.does.as_str())
    }

    /// Writes a few kilobytes, on the rare occasion that something changes.
    fn changed(&mut self) {
        self.version += 1;
        let Some(dir) = &self.dir else { return };
        if let Err(error) = quarantine::save(dir, &self.records()) {
            tracing::warn!(%error, "what is in quarantine could not be written");
        }
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::{B256, U256};

    use super::*;

    fn probe(pool: u8) -> Probe {
        Probe { pool: Address::repeat_byte(pool).into(), coin_in: 0, coin_out: 1, amount_in: U256::from(5) }
    }

    fn difference() -> Difference {
        Difference { why: "it pays 2, the model says 3".into(), token: None }
    }

    #[test]
    fn a_pool_is_tried_again_ever_more_seldom_until_it_agrees() {
        let quarantine = Quarantine::default();
        let mut block = 100;
        for wait in [1, 2, 4, 8, 16, 32, 64, 64, 64] {
            quarantine.hold(probe(1), &difference(), block);
            assert_eq!(quarantine.due(block + wait - 1), None);
            block += wait;
            assert_eq!(quarantine.due(block), Some(probe(1)));
        }
        assert_eq!(quarantine.records()[0].since_block, 100);
        quarantine.lift(probe(1).pool);
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
        quarantine.lift(of_id(1).pool);
        quarantine.lift(probe(1).pool);
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
        after.lift(probe(1).pool);
        let third = Quarantine::default();
        third.keep_in(dir.path());
        assert_eq!(third.records(), []);
    }
}
