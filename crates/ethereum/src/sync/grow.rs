//! Reads on in the lists of pools that contracts keep.

use std::collections::BTreeSet;

use braid_primitives::{Address, B256, Bytes, PoolKey, U256};
use braid_protocols::{Call, DecodeError, Discovered, PoolList, Product};

use super::synchronizer::Synchronizer;
use crate::{FollowError, lists::MOST_ENTRIES};

/// Most new entries of one list that are read at a time.
const ENTRIES_AT_ONCE: u64 = 2_000;

/// A list, and the product whose record names it.
type Kept = (Product, &'static dyn PoolList);

impl Synchronizer {
    /// Reads what is new in some lists at a block. The pools found are known and wait to be read; their keys.
    ///
    /// A keeper that answers nothing, or nonsense, adds nothing; it is asked again when it speaks.
    pub(super) async fn grow(
        &mut self,
        keepers: impl IntoIterator<Item = Address>,
        height: u64,
        block_hash: B256,
    ) -> Result<BTreeSet<PoolKey>, FollowError> {
        let lists: Vec<Kept> = keepers.into_iter().filter_map(|keeper| self.catalog.list_of(keeper)).collect();
        let mut found = BTreeSet::new();
        if lists.is_empty() {
            return Ok(found);
        }
        let counts = self.node.read(block_hash, lists.iter().map(|(_, list)| list.count()).collect()).await?;
        let mut read = Vec::with_capacity(lists.len());
        let mut asked: Vec<(Kept, Call)> = Vec::new();
        for ((product, list), said) in lists.into_iter().zip(&counts) {
            let before = if list.loses_entries() { 0 } else { self.known.lists.count(list.keeper()) };
            let count = believable(list, said.as_ref());
            let end = count.min(before.saturating_add(ENTRIES_AT_ONCE));
            asked.extend((before.min(count)..end).map(|index| ((product, list), list.entry(index))));
            read.push((list.keeper(), end, end == count || list.loses_entries()));
        }
        let entries = self.node.read(block_hash, asked.iter().map(|(_, call)| call.clone()).collect()).await?;
        let mut new: Vec<(Kept, Address)> = Vec::new();
        let mut nonsense = 0_usize;
        for ((kept, _), entry) in asked.iter().zip(&entries) {
            match address(entry.as_ref()) {
                Some(pool) if self.known.get(pool.into()).is_some() => {}
                Some(pool) if found.insert(pool.into()) => new.push((*kept, pool)),
                Some(_) => {}
                None => nonsense += 1,
            }
        }
        if nonsense > 0 {
            tracing::warn!(nonsense, "lists of pools have entries that are no addresses");
        }
        for (pool, reason) in self.describe(&new, block_hash).await? {
            let key = pool.key;
            let follows = self.catalog.follows(pool.product);
            if follows {
                self.known.insert(pool, height);
            }
            if let Some(reason) = reason {
                self.known.leave_out(key, reason);
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

    /// What lists say of their entries; one of which a list says nothing that makes sense is a pool without coins, and why.
    async fn describe(
        &self,
        entries: &[(Kept, Address)],
        block_hash: B256,
    ) -> Result<Vec<(Discovered, Option<String>)>, FollowError> {
        let questions: Vec<Vec<Call>> = entries.iter().map(|((_, list), pool)| list.questions(*pool)).collect();
        let answers = self.node.read(block_hash, questions.concat()).await?;
        let mut rest = answers.as_slice();
        let mut pools = Vec::with_capacity(entries.len());
        for (((product, list), pool), questions) in entries.iter().zip(&questions) {
            let (own, others) = rest.split_at(questions.len().min(rest.len()));
            rest = others;
            let nothing = |error: DecodeError| (unknown(*pool, *product), Some(error.to_string()));
            pools.push(list.understand(*pool, own).map_or_else(nothing, |described| (described, None)));
        }
        Ok(pools)
    }

    /// Every list may be longer than was read: nobody watched.
    pub(super) fn doubt_lists(&mut self) {
        for (_, list) in self.catalog.lists() {
            self.known.lists.set_due(list.keeper());
        }
    }

    /// Reads on in all lists that are due, at a block.
    pub(super) async fn grow_all(&mut self, height: u64, block_hash: B256) -> Result<BTreeSet<PoolKey>, FollowError> {
        let due = self.known.lists.due().clone();
        self.grow(due, height, block_hash).await
    }
}

fn unknown(address: Address, product: Product) -> Discovered {
    Discovered { key: address.into(), product, coins: Vec::new(), fee_pips: 0, tick_spacing: 0 }
}

/// How many entries a list has; none if that is not to be believed.
fn believable(list: &dyn PoolList, said: Option<&Bytes>) -> u64 {
    let count = said.and_then(|said| U256::try_from_be_slice(said.get(..32)?));
    match count {
        Some(count) if count <= U256::from(MOST_ENTRIES) => count.saturating_to(),
        Some(count) => {
            tracing::warn!(list = %list.keeper(), %count, "a list of pools says that it has more than any has: left alone");
            0
        }
        // a contract that is not on this chain answers nothing
        None => 0,
    }
}

/// The address that a word is, unless it is none.
pub(super) fn address(entry: Option<&Bytes>) -> Option<Address> {
    let word = U256::try_from_be_slice(entry?.get(..32)?)?;
    (!word.is_zero() && word.bit_len() <= 160).then(|| Address::from_word(word.into()))
}
