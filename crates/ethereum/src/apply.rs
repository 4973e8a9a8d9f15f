//! What the logs of one block do to a market. Pure.

use std::collections::BTreeSet;

use alloy::primitives::Log;
use braid_market::Market;
use braid_primitives::{Address, PoolId, PoolKey};
use braid_protocols::{Discovered, Freshness, Pool, Product};
use rustc_hash::FxHashMap;

use crate::Catalog;

/// The outcome of a block's logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockChange {
    /// Pools whose new state the logs carried, in the order of ids.
    pub changed: Vec<Pool>,
    /// Pools of the market that must be read again at this block.
    pub stale: BTreeSet<PoolKey>,
    /// Those among them that are stale because their state may have been this block's already, and what the logs make of it: a reading
    /// that says the same confirms both.
    pub doubtful: Vec<Pool>,
    /// Pools announced in this block, in the order of the logs.
    pub announced: Vec<Discovered>,
    /// What freshness events name that is no pool of the market: left-out pools may be among them.
    pub unknown: BTreeSet<PoolKey>,
    /// Emitters of freshness events that are no pool of the market and may be one, by what they emitted.
    pub suggested: Vec<Discovered>,
    /// Contracts whose lists of pools may be longer.
    pub grown: BTreeSet<Address>,
    /// Announcements that could not be understood.
    pub nonsense: usize,
}

/// Applies a block's logs, which must be in the order of the chain, to the market of the block before.
///
/// A log that its product cannot apply makes the pool stale; nothing is guessed. Nor is anything counted twice: some nodes, asked for the
/// state of their head while they make the next block, answer with that of the next. Of the pools in `just_read`, whose state was asked for
/// at the block before, those are stale whose logs would change a state once more that they changed already.
pub fn apply_logs<'a>(
    catalog: &Catalog,
    market: &Market,
    just_read: &BTreeSet<PoolKey>,
    logs: impl IntoIterator<Item = &'a Log>,
) -> BlockChange {
    let mut change = BlockChange::default();
    let mut working: FxHashMap<PoolId, Pool> = FxHashMap::default();
    let mut doubted: FxHashMap<PoolId, Vec<&Log>> = FxHashMap::default();
    let listeners = Listeners::of(market);
    for log in logs {
        if catalog.may_have_grown(log) {
            change.grown.insert(log.address);
            continue;
        }
        match catalog.announced(log) {
            // of a pool of the market, what announces it again is a log like others
            Ok(Some(pool)) if market.pool_id(pool.key).is_none() => change.announced.push(pool),
            Err(error) => {
                tracing::warn!(%error, "a factory announced something that is no pool");
                change.nonsense += 1;
            }
            Ok(_) => {
                let mut heard = false;
                for id in listeners.of_log(market, log) {
                    heard = true;
                    apply_one(market, id, log, &mut working, &mut change);
                    if market.pools().get(id.index()).is_some_and(|pool| just_read.contains(&pool.key)) {
                        doubted.entry(id).or_default().push(log);
                    }
                }
                if !heard {
                    change.unknown.insert(log.address.into());
                    change.suggested.extend(catalog.suggested(log));
                }
                change.unknown.extend(catalog.ids_named(log).filter(|key| market.pool_id(*key).is_none()));
            }
        }
    }
    let fresh = working.into_iter().filter(|(_, pool)| !change.stale.contains(&pool.key));
    let mut changed: Vec<(PoolId, Pool)> = fresh.collect();
    changed.sort_unstable_by_key(|(id, _)| *id);
    for (id, pool) in changed {
        if doubted.get(&id).is_none_or(|logs| says_the_same_twice(&pool, logs)) {
            change.changed.push(pool);
        } else {
            change.stale.insert(pool.key);
            change.doubtful.push(pool);
        }
    }
    change
}

/// Whether logs leave a pool as it is to which they were applied.
fn says_the_same_twice(pool: &Pool, logs: &[&Log]) -> bool {
    let (product, mut state) = (pool.product, pool.state.clone());
    let heard = |log: &&&Log| log.topics().first().is_some_and(|topic0| product.freshness_topics().contains(topic0));
    let mut applied = logs.iter().filter(heard).map(|log| product.apply(&mut state, log));
    applied.all(|done| matches!(done, Ok(Freshness::Applied | Freshness::Unaffected))) && state == pool.state
}

fn apply_one(market: &Market, id: PoolId, log: &Log, working: &mut FxHashMap<PoolId, Pool>, change: &mut BlockChange) {
    let Some(known) = market.pool(id) else { return };
    if change.stale.contains(&known.key) {
        return;
    }
    let protocol = known.product;
    if !log.topics().first().is_some_and(|topic0| protocol.freshness_topics().contains(topic0)) {
        return;
    }
    let untouched = !working.contains_key(&id);
    let pool = working.entry(id).or_insert_with(|| known.clone());
    match protocol.apply(&mut pool.state, log) {
        Ok(Freshness::Applied) => {}
        Ok(Freshness::Unaffected) => {
            if untouched {
                working.remove(&id);
            }
        }
        Ok(Freshness::Stale) => {
            change.stale.insert(known.key);
        }
        Err(error) => {
            tracing::warn!(%error, pool = %known.key, "a log does not fit its pool, which is read again");
            change.stale.insert(known.key);
        }
    }
}

/// Which pools the logs of a contract concern.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    /// Pools that want to hear of other contracts' logs.
    by_emitter: FxHashMap<Address, Vec<PoolId>>,
    /// Pools that share their contract with others, by their products.
    by_contract: FxHashMap<Address, Vec<(Product, Vec<PoolId>)>>,
}

impl Listeners {
    /// Asks the pools of a market that may depend on others' logs.
    pub(crate) fn of(market: &Market) -> Self {
        let mut listeners = Self::default();
        for (id, pool) in market.dependent_pools() {
            for emitter in pool.product.listens_to(&pool.state) {
                if emitter != pool.key.contract {
                    listeners.by_emitter.entry(emitter).or_default().push(id);
                }
            }
            if pool.key.id.is_some() {
                let products = listeners.by_contract.entry(pool.key.contract).or_default();
                match products.iter_mut().find(|(product, _)| *product == pool.product) {
                    Some((_, pools)) => pools.push(id),
                    None => products.push((pool.product, vec![id])),
                }
            }
        }
        listeners
    }

    /// The pools that a log concerns: the pool that the emitter is, those of its pools that the log is about, and those that listen to it.
    pub(crate) fn of_log(&self, market: &Market, log: &Log) -> Vec<PoolId> {
        let mut concerned: Vec<PoolId> = market.pool_id(log.address).into_iter().collect();
        for (product, pools) in self.by_contract.get(&log.address).into_iter().flatten() {
            match product.log_pool_id(log) {
                Some(id) => {
                    let named = market.pool_id(PoolKey::with_id(log.address, id));
                    concerned.extend(named.filter(|id| pools.contains(id)));
                }
                None => concerned.extend(pools),
            }
        }
        concerned.extend(self.by_emitter.get(&log.address).into_iter().flatten());
        concerned
    }
}

#[cfg(test)]
mod tests;
