//! Tokens or vaults that checks found to behave as modelled. A quote goes through no others.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use parking_lot::Mutex;

use crate::retry::Retry;

/// What checks found of things named by `K`.
#[derive(Debug)]
pub(crate) struct Verified<K>(Mutex<State<K>>);

#[derive(Debug)]
struct State<K> {
    verified: HashSet<K>,
    unknown: HashMap<K, Unknown>,
    /// Grows with every change of `verified`.
    version: u64,
}

impl<K> Default for Verified<K> {
    fn default() -> Self {
        Self(Mutex::new(State { verified: HashSet::new(), unknown: HashMap::new(), version: 0 }))
    }
}

/// A check without a result.
#[derive(Debug)]
struct Unknown {
    why: String,
    retry: Retry,
}

impl<K: Eq + Hash> State<K> {
    fn is_due(&self, key: &K, block: u64) -> bool {
        self.unknown.get(key).is_none_or(|unknown| unknown.retry.is_due(block))
    }
}

impl<K: Eq + Hash> Verified<K> {
    /// Returns whether something is verified.
    pub(crate) fn contains(&self, key: &K) -> bool {
        self.0.lock().verified.contains(key)
    }

    /// Returns whether a check is due at a block.
    pub(crate) fn is_due(&self, key: &K, block: u64) -> bool {
        self.0.lock().is_due(key, block)
    }

    /// Returns the first id whose key is not verified, is due at a block, and passes a test.
    pub(crate) fn first_due<T>(
        &self,
        mut all: impl Iterator<Item = (K, T)>,
        block: u64,
        test: impl Fn(&K) -> bool,
    ) -> Option<T> {
        let state = self.0.lock();
        all.find(|(key, _)| !state.verified.contains(key) && state.is_due(key, block) && test(key)).map(|(_, id)| id)
    }

    /// Returns how many are verified.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().verified.len()
    }

    /// Returns a number that changes whenever the verified ones do.
    pub(crate) fn version(&self) -> u64 {
        self.0.lock().version
    }

    /// Returns all that are verified.
    pub(crate) fn all(&self) -> Vec<K>
    where
        K: Clone,
    {
        self.0.lock().verified.iter().cloned().collect()
    }

    /// Replaces all findings by those of another service.
    pub(crate) fn adopt(&self, verified: impl IntoIterator<Item = K>) {
        let mut state = self.0.lock();
        state.verified = verified.into_iter().collect();
        state.unknown.clear();
        state.version += 1;
    }

    /// Adds another service's findings on what has no findings of our own.
    pub(crate) fn inherit(&self, verified: impl IntoIterator<Item = K>) {
        let mut state = self.0.lock();
        let before = state.verified.len();
        let new: Vec<K> = verified.into_iter().filter(|key| !state.unknown.contains_key(key)).collect();
        state.verified.extend(new);
        state.version += u64::from(state.verified.len() > before);
    }

    /// Returns why something is not verified.
    pub(crate) fn why_not(&self, key: &K) -> String {
        let why = self.0.lock().unknown.get(key).map(|unknown| unknown.why.clone());
        why.unwrap_or_else(|| "its check takes longer than a quote waits".into())
    }

    /// Notes that a check agreed; returns whether that is news.
    pub(crate) fn note_verified(&self, key: K) -> bool {
        let mut state = self.0.lock();
        state.unknown.remove(&key);
        let is_news = state.verified.insert(key);
        state.version += u64::from(is_news);
        is_news
    }

    /// Notes that a check found a fault.
    pub(crate) fn note_fault(&self, key: &K) {
        let mut state = self.0.lock();
        state.unknown.remove(key);
        state.version += u64::from(state.verified.remove(key));
    }

    /// Notes that a check at a block had no result.
    pub(crate) fn note_unknown(&self, key: K, why: String, block: u64) {
        let mut state = self.0.lock();
        let mut retry = state.unknown.get(&key).map(|unknown| unknown.retry).unwrap_or_default();
        retry.wait(block);
        state.unknown.insert(key, Unknown { why, retry });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_checked_waits_until_it_is_known() {
        let (verified, key) = (Verified::default(), 1);
        assert!(verified.is_due(&key, 0) && !verified.contains(&key));
        verified.note_unknown(key, "the node is gone".into(), 100);
        verified.note_unknown(key, "the node is still gone".into(), 101);
        assert!(!verified.is_due(&key, 102) && verified.is_due(&key, 103), "twice as long after the second try");
        assert_eq!(verified.why_not(&key), "the node is still gone");
        assert!(verified.note_verified(key));
        assert!(verified.contains(&key) && verified.is_due(&key, 0));
        verified.note_fault(&key);
        assert!(!verified.contains(&key));
    }
}
