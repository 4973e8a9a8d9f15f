//! What is known to be sound, of tokens or of vaults that somebody named. A quote goes through no other.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most blocks between two tries of what could not be verified.
const LONGEST_WAIT_BLOCKS: u64 = 64;

/// What is known.
#[derive(Debug)]
pub(crate) struct Ledger<K>(Mutex<State<K>>);

#[derive(Debug)]
struct State<K> {
    sound: HashSet<K>,
    unknown: HashMap<K, Unknown>,
    /// Grows with every change of what is sound.
    version: u64,
}

impl<K> Default for Ledger<K> {
    fn default() -> Self {
        Self(Mutex::new(State { sound: HashSet::new(), unknown: HashMap::new(), version: 0 }))
    }
}

/// What could not be verified.
#[derive(Debug)]
struct Unknown {
    why: String,
    tries: u32,
    /// Height from which it is tried again.
    due_at: u64,
}

impl<K: Eq + Hash> Ledger<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something is known to be sound.
    pub(crate) fn is_sound(&self, what: &K) -> bool {
        self.state().sound.contains(what)
    }

    /// Whether what could not be verified should be tried at a block.
    pub(crate) fn is_due(&self, what: &K, block: u64) -> bool {
        self.state().unknown.get(what).is_none_or(|unknown| unknown.due_at <= block)
    }

    /// The first of many that is not known to be sound, is due at a block, and passes a test; each beside its id.
    pub(crate) fn first_open<T>(
        &self,
        mut all: impl Iterator<Item = (K, T)>,
        block: u64,
        test: impl Fn(K) -> bool,
    ) -> Option<T>
    where
        K: Copy,
    {
        let state = self.state();
        let is_due = |what: &K| state.unknown.get(what).is_none_or(|unknown| unknown.due_at <= block);
        all.find(|(what, _)| !state.sound.contains(what) && is_due(what) && test(*what)).map(|(_, id)| id)
    }

    /// How many are known to be sound.
    pub(crate) fn count(&self) -> usize {
        self.state().sound.len()
    }

    /// A number that changes whenever what is sound does.
    pub(crate) fn version(&self) -> u64 {
        self.state().version
    }

    /// Everything that is known to be sound.
    pub(crate) fn sound(&self) -> Vec<K>
    where
        K: Clone,
    {
        self.state().sound.iter().cloned().collect()
    }

    /// Takes somebody else's word for what is sound, and forgets the rest.
    pub(crate) fn adopt(&self, sound: impl IntoIterator<Item = K>) {
        let mut state = self.state();
        state.sound = sound.into_iter().collect();
        state.unknown.clear();
        state.version += 1;
    }

    /// Takes somebody else's word for what is sound, where we found nothing ourselves.
    pub(crate) fn inherit(&self, sound: impl IntoIterator<Item = K>) {
        let mut state = self.state();
        let before = state.sound.len();
        let open: Vec<K> = sound.into_iter().filter(|what| !state.unknown.contains_key(what)).collect();
        state.sound.extend(open);
        state.version += u64::from(state.sound.len() > before);
    }

    /// Why something is not known to be sound.
    pub(crate) fn why(&self, what: &K) -> String {
        let why = self.state().unknown.get(what).map(|unknown| unknown.why.clone());
        why.unwrap_or_else(|| "its check takes longer than a quote waits".into())
    }

    /// Notes that something is sound; whether that is news.
    pub(crate) fn is_found_sound(&self, what: K) -> bool {
        let mut state = self.state();
        state.unknown.remove(&what);
        let is_news = state.sound.insert(what);
        state.version += u64::from(is_news);
        is_news
    }

    /// Notes that something is not: nothing is known of it until it is checked again.
    pub(crate) fn is_found_at_fault(&self, what: &K) {
        let mut state = self.state();
        state.unknown.remove(what);
        state.version += u64::from(state.sound.remove(what));
    }

    /// Notes that something could not be verified: it is tried again after 1, 2, 4, … blocks.
    pub(crate) fn is_not_known(&self, what: K, why: String, block: u64) {
        let mut state = self.state();
        let tries = state.unknown.get(&what).map_or(0, |unknown| unknown.tries);
        let blocks = 1u64.checked_shl(tries).unwrap_or(LONGEST_WAIT_BLOCKS).min(LONGEST_WAIT_BLOCKS);
        let due_at = block.saturating_add(blocks);
        state.unknown.insert(what, Unknown { why, tries: tries.saturating_add(1), due_at });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_checked_is_tried_ever_more_seldom_until_it_is_known() {
        let (known, what) = (Ledger::default(), 1);
        assert!(known.is_due(&what, 0) && !known.is_sound(&what));
        let mut block = 100;
        for wait in [1, 2, 4, 8, 16, 32, 64, 64] {
            known.is_not_known(what, "the node is gone".into(), block);
            assert!(!known.is_due(&what, block + wait - 1) && known.is_due(&what, block + wait));
            block += wait;
        }
        assert_eq!(known.why(&what), "the node is gone");
        known.is_found_sound(what);
        assert!(known.is_sound(&what));
        known.is_found_at_fault(&what);
        assert!(!known.is_sound(&what));
    }
}
