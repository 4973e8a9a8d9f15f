//! Append-only collections whose clones share storage, so that many successive markets cost little more than one.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Number of elements that are copied together if one changes.
const CHUNK: usize = 256;

/// Size up to which a layer is copied instead of getting a new layer on top.
const SMALL_LAYER: usize = 512;

/// A list. Clones share it. Changing or adding an element copies only the chunk with that element.
#[derive(Clone, Debug)]
pub(crate) struct Chunks<T>(Vec<Arc<Vec<T>>>);

impl<T: Clone> Chunks<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * CHUNK + last.len())
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        self.0.get(index / CHUNK)?.get(index % CHUNK)
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        Arc::make_mut(self.0.get_mut(index / CHUNK)?).get_mut(index % CHUNK)
    }

    pub(crate) fn push(&mut self, element: T) {
        match self.0.last_mut().filter(|last| last.len() < CHUNK) {
            Some(last) => Arc::make_mut(last).push(element),
            None => self.0.push(Arc::new(vec![element])),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flat_map(|chunk| chunk.iter())
    }
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Positions by key. Clones share it. Later additions go into new layers, each less than half as large as the one
/// before, so there are few layers to search and entries are rarely copied.
#[derive(Clone, Debug)]
pub(crate) struct Index<K>(Vec<Arc<FxHashMap<K, u32>>>);

impl<K: Copy + Eq + Hash> Index<K> {
    pub(crate) fn get(&self, key: &K) -> Option<u32> {
        self.0.iter().find_map(|layer| layer.get(key).copied())
    }

    /// Adds a key that is not present.
    pub(crate) fn insert(&mut self, key: K, position: u32) {
        if let Some(own) = self.0.last_mut().and_then(Arc::get_mut) {
            own.insert(key, position);
            return;
        }
        let mut layer = FxHashMap::from_iter([(key, position)]);
        while let Some(before) = self.0.pop_if(|before| before.len() <= SMALL_LAYER.max(2 * layer.len())) {
            layer.extend(before.iter());
        }
        self.0.push(Arc::new(layer));
    }
}

impl<K> Default for Index<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_keeps_what_it_had_and_shares_what_did_not_change() {
        let mut list = Chunks::default();
        (0..1_000).for_each(|n| list.push(n));
        let before = list.clone();
        *list.get_mut(300).unwrap() = 7;
        list.push(8);
        assert_eq!((before.len(), before.get(300), before.get(1_000)), (1_000, Some(&300), None));
        assert_eq!((list.len(), list.get(300), list.get(1_000)), (1_001, Some(&7), Some(&8)));
        assert_eq!(list.iter().count(), 1_001);
        let shared = list.0.iter().zip(&before.0).filter(|(new, old)| Arc::ptr_eq(new, old)).count();
        assert_eq!((list.0.len(), shared), (4, 2), "the chunk that changed and the last are copies");
    }

    #[test]
    fn many_clones_of_an_index_that_grows_take_little_more_than_one() {
        let mut index = Index::default();
        let mut kept = Vec::new();
        for step in 0..256u32 {
            (0..256).for_each(|n| index.insert(step * 256 + n, n));
            kept.push(index.clone());
            assert!(index.0.len() <= 9, "{} layers", index.0.len());
        }
        for (step, kept) in (0u32..).zip(&kept) {
            assert_eq!(kept.get(&(step * 256 + 255)), Some(255));
            assert_eq!(kept.get(&(step * 256 + 256)), None, "what came later is not in an older one");
        }
        let mut layers: Vec<(*const FxHashMap<u32, u32>, usize)> = kept
            .iter()
            .rev()
            .take(64)
            .flat_map(|index| &index.0)
            .map(|layer| (Arc::as_ptr(layer), layer.len()))
            .collect();
        layers.sort_unstable();
        layers.dedup();
        let entries: usize = layers.iter().map(|(_, entries)| entries).sum();
        assert!(entries < 6 * 65_536, "{entries} entries in all where 64 copies would be four million");
    }
}
