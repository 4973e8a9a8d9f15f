//! Reads new entries of the lists of pools that contracts keep.

use std::collections::BTreeSet;

use braid_primitives::{Address, B256, Bytes, PoolKey, U256};
use braid_protocols::{Call, DecodeError, Discovered, PoolList, Product};
use braid_store::market::{Exclusion, ExclusionKind};

use super::synchronizer::Synchronizer;
use crate::{FollowError, lists::MOST_ENTRIES};

/// Most new entries of one list that are read at a time.
const ENTRIES_AT_ONCE: u64 = 2_000;

/// A list and its product.
type ProductList = (Product, &'static dyn PoolList);

impl Synchronizer {
    /// Reads new entries of some lists at a block. Adds the pools to those that wait to be read, and returns their
    /// keys.
    ///
    /// A contract without a plausible answer adds nothing; it is asked again when it emits a log.
    pub(super) async fn read_lists(
        &mut self,
        keepers: impl IntoIterator<Item = Address>,
        height: u64,
        block_hash: B256,
    ) -> Result<BTreeSet<PoolKey>, FollowError> {
        let lists: Vec<ProductList> = keepers.into_iter().filter_map(|keeper| self.catalog.list_of(keeper)).collect();
        let mut found = BTreeSet::new();
        if lists.is_empty() {
            return Ok(found);
        }
        let counts = self.node.read(block_hash, lists.iter().map(|(_, list)| list.count()).collect()).await?;
        let mut read = Vec::with_capacity(lists.len());
        let mut asked: Vec<(ProductList, Call)> = Vec::new();
        for ((product, list), said) in lists.into_iter().zip(&counts) {
            let before = if list.loses_entries() { 0 } else { self.known.lists.count(list.keeper()) };
            let count = plausible_count(list, said.as_ref());
            let end = count.min(before.saturating_add(ENTRIES_AT_ONCE));
            asked.extend((before.min(count)..end).map(|index| ((product, list), list.entry(index))));
            read.push((list.keeper(), end, end == count || list.loses_entries()));
        }
        let entries = self.node.read(block_hash, asked.iter().map(|(_, call)| call.clone()).collect()).await?;
        let mut new: Vec<(ProductList, Address)> = Vec::new();
        let mut nonsense = 0_usize;
        for ((list, _), entry) in asked.iter().zip(&entries) {
            match address(entry.as_ref()) {
                Some(pool) if self.known.get(pool.into()).is_some() => {}
                Some(pool) if found.insert(pool.into()) => new.push((*list, pool)),
                Some(_) => {}
                None => nonsense += 1,
            }
        }
        if nonsense > 0 {
            tracing::warn!(nonsense, "lists of pools have entries that are no addresses: they are skipped");
        }
        for (pool, reason) in self.describe(&new, block_hash).await? {
            let key = pool.key;
            let follows = self.catalog.follows(pool.product);
            if follows {
                self.known.insert(pool, height);
            }
            if let Some(reason) = reason {
                self.known.exclude(key, Exclusion { kind: ExclusionKind::Pool, reason });
            } else if follows {
                continue;
            }
            found.remove(&key);
        }
        self.pending.extend(found.iter().copied());
        for (keeper, count, whole) in read {
            self.known.lists.note(keeper, height, count, whole);
        }
        Ok(found)
    }

    /// Asks lists to describe their entries. An entry without a plausible description is a pool without coins, with the
    /// reason.
    async fn describe(
        &self,
        entries: &[(ProductList, Address)],
        block_hash: B256,
    ) -> Result<Vec<(Discovered, Option<String>)>, FollowError> {
        let questions: Vec<Vec<Call>> = entries.iter().map(|((_, list), pool)| list.questions(*pool)).collect();
        let answers = self.node.read(block_hash, questions.concat()).await?;
        let mut rest = answers.as_slice();
        let mut pools = Vec::with_capacity(entries.len());
        for (((product, list), pool), questions) in entries.iter().zip(&questions) {
            let (own, others) = rest.split_at(questions.len().min(rest.len()));
            rest = others;
            let undescribed = |error: DecodeError| (unknown(*pool, *product), Some(error.to_string()));
            pools.push(list.understand(*pool, own).map_or_else(undescribed, |described| (described, None)));
        }
        Ok(pools)
    }

    /// Marks every list as due, after blocks whose logs were not all seen.
    pub(super) fn set_lists_due(&mut self) {
        for (_, list) in self.catalog.lists() {
            self.known.lists.set_due(list.keeper());
        }
    }

    /// Reads new entries of all lists that are due, at a block.
    pub(super) async fn read_due_lists(
        &mut self,
        height: u64,
        block_hash: B256,
    ) -> Result<BTreeSet<PoolKey>, FollowError> {
        let due = self.known.lists.due().clone();
        self.read_lists(due, height, block_hash).await
    }
}

fn unknown(address: Address, product: Product) -> Discovered {
    Discovered { key: address.into(), product, coins: Vec::new(), fee_pips: 0, tick_spacing: 0 }
}

/// Returns how many entries a list has; 0 if its answer is implausible.
fn plausible_count(list: &dyn PoolList, said: Option<&Bytes>) -> u64 {
    let count = said.and_then(|said| U256::try_from_be_slice(said.get(..32)?));
    match count {
        Some(count) if count <= U256::from(MOST_ENTRIES) => count.saturating_to(),
        Some(count) => {
            tracing::warn!(list = %list.keeper(), %count, "a list of pools has implausibly many entries: it is skipped");
            0
        }
        // A contract that is not on this chain answers nothing.
        None => 0,
    }
}

/// Returns the address in a word; `None` if it is zero or no address.
pub(super) fn address(entry: Option<&Bytes>) -> Option<Address> {
    let word = U256::try_from_be_slice(entry?.get(..32)?)?;
    (!word.is_zero() && word.bit_len() <= 160).then(|| Address::from_word(word.into()))
}
