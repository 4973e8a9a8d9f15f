//! Applies the logs of one block to a market. Pure.

use std::collections::BTreeSet;

use alloy::primitives::Log;
use braid_market::Market;
use braid_primitives::{Address, PoolId, PoolKey};
use braid_protocols::{Discovered, Freshness, Pool, Product};
use rustc_hash::FxHashMap;

use crate::Catalog;

/// Changes by a block's logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockChange {
    /// Pools with their new state, if the logs determine it, in the order of ids.
    pub changed: Vec<Pool>,
    /// Pools of the market whose state must be read at this block.
    pub stale: BTreeSet<PoolKey>,
    /// Stale pools whose earlier state may have been this block's already, with the state that the logs lead to:
    /// reading the same state confirms it.
    pub doubtful: Vec<Pool>,
    /// Pools announced in this block, in the order of the logs.
    pub announced: Vec<Discovered>,
    /// Keys in freshness events that are no pools of the market; excluded pools may be among them.
    pub unknown: BTreeSet<PoolKey>,
    /// Candidate pools: emitters of freshness events that are no pools of the market, by the kind of event.
    pub candidates: Vec<Discovered>,
    /// Contracts whose lists of pools may have grown.
    pub grown: BTreeSet<Address>,
    /// Announcements that could not be decoded.
    pub nonsense: usize,
}

/// Applies a block's logs, which must be in the order of the chain, to the market of the block before.
///
/// A log that its product cannot apply makes the pool stale. No change is applied twice: some nodes, asked for the
/// state at their head while they make the next block, answer with the state after that block. So a pool in
/// `just_read`, whose state was read at the block before, is stale if applying its logs a second time would change it
/// again.
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
            // Another announcement of a pool of the market is a log like others.
            Ok(Some(pool)) if market.pool_id(pool.key).is_none() => change.announced.push(pool),
            Err(error) => {
                tracing::warn!(%error, "a factory's announcement cannot be decoded: it is skipped");
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
                    change.candidates.extend(catalog.candidate(log));
                }
                change.unknown.extend(catalog.pools_named(log).filter(|key| market.pool_id(*key).is_none()));
            }
        }
    }
    let fresh = working.into_iter().filter(|(_, pool)| !change.stale.contains(&pool.key));
    let mut changed: Vec<(PoolId, Pool)> = fresh.collect();
    changed.sort_unstable_by_key(|(id, _)| *id);
    for (id, pool) in changed {
        if doubted.get(&id).is_none_or(|logs| is_idempotent(&pool, logs)) {
            change.changed.push(pool);
        } else {
            change.stale.insert(pool.key);
            change.doubtful.push(pool);
        }
    }
    change
}

/// Returns whether applying logs a second time leaves a pool unchanged.
fn is_idempotent(pool: &Pool, logs: &[&Log]) -> bool {
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
            tracing::warn!(%error, pool = %known.key, "a log cannot be applied to its pool: the pool is read again");
            change.stale.insert(known.key);
        }
    }
}

/// The pools that the logs of each contract concern.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    /// Pools that depend on another contract's logs.
    by_emitter: FxHashMap<Address, Vec<PoolId>>,
    /// Pools that share their contract, by product.
    by_contract: FxHashMap<Address, Vec<(Product, Vec<PoolId>)>>,
}

impl Listeners {
    /// Collects them from the pools of a market.
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

    /// Returns the pools that a log concerns: the emitter itself, the emitter's pools that the log is about, and pools
    /// that depend on the emitter.
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
