//! Progress of reading the lists of pools that contracts keep. Pure.

use std::collections::{BTreeMap, BTreeSet};

use braid_primitives::Address;
use braid_store::market::ListRecord;

/// Most entries of a plausible list: a thousand times the largest of each kind on mainnet.
pub(crate) const MOST_ENTRIES: u64 = 100_000;

/// Most heights that are kept of one list.
const MOST_MARKS: usize = 256;

/// Progress by contract.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    /// Heights and numbers of entries read by then, ascending.
    read: BTreeMap<Address, Vec<(u64, u64)>>,
    /// Contracts whose lists may have more entries.
    due: BTreeSet<Address>,
}

impl Lists {
    /// Starts from the stored progress of some lists. All lists are due, since they may have grown.
    pub(crate) fn new(keepers: impl IntoIterator<Item = Address>, stored: &[ListRecord]) -> Self {
        let due: BTreeSet<Address> = keepers.into_iter().collect();
        let known = stored.iter().filter(|list| due.contains(&list.keeper));
        Self { read: known.map(|list| (list.keeper, list.read.clone())).collect(), due }
    }

    /// Returns the progress of every list, to be stored.
    pub(crate) fn all(&self) -> Vec<ListRecord> {
        self.read.iter().map(|(keeper, read)| ListRecord { keeper: *keeper, read: read.clone() }).collect()
    }

    /// Returns the contracts whose lists may have more entries.
    pub(crate) const fn due(&self) -> &BTreeSet<Address> {
        &self.due
    }

    /// Notes that a list may have grown.
    pub(crate) fn set_due(&mut self, keeper: Address) {
        self.due.insert(keeper);
    }

    /// Returns how many entries of a list were read.
    pub(crate) fn count(&self, keeper: Address) -> u64 {
        self.read.get(&keeper).and_then(|read| read.last()).map_or(0, |(_, count)| *count)
    }

    /// Notes that a number of entries was read at a height; `whole` if these are all.
    pub(crate) fn note(&mut self, keeper: Address, height: u64, count: u64, whole: bool) {
        let read = self.read.entry(keeper).or_default();
        read.retain(|(at, _)| *at < height);
        if read.last().is_none_or(|(_, before)| *before != count) {
            read.push((height, count));
        }
        let over = read.len().saturating_sub(MOST_MARKS);
        read.drain(..over);
        if whole {
            self.due.remove(&keeper);
        } else {
            self.due.insert(keeper);
        }
    }

    /// Drops the progress above a height, because those blocks were replaced. A list that grew in them is due.
    pub(crate) fn forget_above(&mut self, height: u64) {
        for (keeper, read) in &mut self.read {
            let before = read.len();
            read.retain(|(at, _)| *at <= height);
            if read.len() != before {
                self.due.insert(*keeper);
            }
        }
    }

    /// Drops all progress: every list is due.
    pub(crate) fn clear(&mut self) {
        self.due.extend(self.read.keys().copied());
        self.read.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: Address = Address::repeat_byte(1);
    const OTHER: Address = Address::repeat_byte(2);

    #[test]
    fn a_list_that_grew_in_a_replaced_block_is_due_from_where_it_was() {
        let mut lists = Lists::new([LIST, OTHER], &[]);
        assert_eq!(lists.due().len(), 2, "nothing was read");
        lists.note(LIST, 10, 700, true);
        lists.note(OTHER, 10, 3, true);
        lists.note(LIST, 12, 702, true);
        assert!(lists.due().is_empty());
        lists.forget_above(11);
        assert_eq!((lists.count(LIST), lists.due().contains(&LIST)), (700, true));
        assert_eq!((lists.count(OTHER), lists.due().contains(&OTHER)), (3, false), "it stood still");
        lists.forget_above(9);
        assert_eq!((lists.count(LIST), lists.count(OTHER)), (0, 0));
        assert_eq!(lists.due().len(), 2);
    }

    #[test]
    fn what_was_stored_is_gone_on_with_and_what_is_no_longer_followed_is_dropped() {
        let mut lists = Lists::new([LIST, OTHER], &[]);
        lists.note(LIST, 10, 700, true);
        lists.note(LIST, 11, 900, false);
        lists.note(OTHER, 11, 3, true);
        assert!(lists.due().contains(&LIST), "there is more of it");
        let again = Lists::new([LIST], &lists.all());
        assert_eq!((again.count(LIST), again.count(OTHER), again.due().len()), (900, 0, 1));
        assert_eq!(again.all().len(), 1);
    }

    #[test]
    fn memory_of_a_list_that_grows_in_every_block_is_bounded() {
        let mut lists = Lists::new([LIST], &[]);
        for height in 0..2_000 {
            lists.note(LIST, height, height, true);
        }
        assert_eq!((lists.all()[0].read.len(), lists.count(LIST)), (MOST_MARKS, 1_999));
        lists.note(LIST, 5_000, 1_999, true);
        assert_eq!(lists.all()[0].read.last(), Some(&(1_999, 1_999)), "a list that stands still takes no memory");
    }
}
