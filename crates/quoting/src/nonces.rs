//! Assigns Permit2 nonces to quotes.
//!
//! Permit2 keeps used nonces as bits of 256-bit words. The first use of a word costs its owner about 17,100 gas more than
//! a later one. So the quotes of an owner share a few words, and prefer words in use. Two quotes of one owner do not get
//! the same nonce while both can still be signed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use braid_execution::permit2;
use braid_primitives::{Address, U256};

/// Most assigned nonces in memory; the oldest are forgotten first.
const MAX_ASSIGNED: usize = 65_536;

/// The nonces that this process assigned and that can still be signed.
#[derive(Debug, Default)]
pub(crate) struct Nonces(Mutex<Assigned>);

#[derive(Debug, Default)]
struct Assigned {
    /// Assigned nonces as Permit2's bitmaps, by owner and word, so that a search covers a word at once. A B-tree: a hash
    /// table with as many removals as insertions doubles its memory after some minutes.
    words: BTreeMap<(Address, U256), U256>,
    /// The same, oldest first, with the unix second until which each can be signed.
    order: VecDeque<(u64, Address, U256)>,
}

/// Returns the preferred nonces of a quote, one in each word that an owner's quotes share. Their words must be read.
pub(crate) fn candidates(quote_id: &[u8; 16]) -> Vec<U256> {
    (0..permit2::WORDS).map(|word| permit2::shared_nonce(quote_id, word)).collect()
}

impl Nonces {
    /// Returns a nonce that `owner` has not used and that no other of the owner's quotes has that can be signed at `now_s`.
    ///
    /// `words` are the bitmap words of [`candidates`], in order; `None` for one that was not read. If none is known, or all
    /// are full, the nonce is in a word of its own. It stays assigned until `until_s`. Times are in unix seconds.
    pub(crate) fn assign(
        &self,
        owner: Address,
        quote_id: &[u8; 16],
        words: &[Option<U256>],
        now_s: u64,
        until_s: u64,
    ) -> U256 {
        let mut assigned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        assigned.forget_expired(now_s);
        let known: Vec<(U256, U256)> =
            candidates(quote_id).into_iter().zip(words).filter_map(|(nonce, word)| Some((nonce, (*word)?))).collect();
        let (in_use, unused): (Vec<_>, Vec<_>) = known.into_iter().partition(|(_, word)| !word.is_zero());
        let mut free = in_use.into_iter().chain(unused);
        let nonce = free.find_map(|(nonce, used)| permit2::unused_nonce(used | assigned.word(owner, nonce), nonce));
        let nonce = nonce.unwrap_or_else(|| permit2::fresh_nonce(quote_id));
        assigned.insert(until_s, owner, nonce);
        nonce
    }
}

impl Assigned {
    /// Returns the bits assigned to an owner in the word of a nonce.
    fn word(&self, owner: Address, nonce: U256) -> U256 {
        self.words.get(&(owner, nonce >> 8)).copied().unwrap_or_default()
    }

    fn insert(&mut self, until_s: u64, owner: Address, nonce: U256) {
        if self.order.len() >= MAX_ASSIGNED {
            self.forget_oldest();
        }
        let word = self.words.entry((owner, nonce >> 8)).or_default();
        if !permit2::nonce_is_used(*word, nonce) {
            word.set_bit(usize::from(nonce.byte(0)), true);
            self.order.push_back((until_s, owner, nonce));
        }
    }

    fn forget_expired(&mut self, now_s: u64) {
        while self.order.front().is_some_and(|(until_s, _, _)| *until_s < now_s) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((_, owner, nonce)) = self.order.pop_front() else { return };
        if let Entry::Occupied(mut word) = self.words.entry((owner, nonce >> 8)) {
            word.get_mut().set_bit(usize::from(nonce.byte(0)), false);
            if word.get().is_zero() {
                word.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Address = Address::repeat_byte(1);

    fn quote(number: u64) -> [u8; 16] {
        u128::from(number).to_be_bytes()
    }

    fn empty() -> Vec<Option<U256>> {
        vec![Some(U256::ZERO); permit2::WORDS.into()]
    }

    #[test]
    fn quotes_of_one_owner_share_a_word_and_never_a_nonce() {
        let nonces = Nonces::default();
        let given: Vec<U256> = (0..256).map(|n| nonces.assign(OWNER, &quote(n), &empty(), 0, 60)).collect();
        assert!(given.iter().all(|nonce| *nonce >> 8 == given[0] >> 8), "one word holds them all");
        assert_eq!(given.iter().collect::<std::collections::HashSet<_>>().len(), 256);
        let next = nonces.assign(OWNER, &quote(256), &empty(), 0, 60);
        assert_eq!(next >> 8, candidates(&quote(0))[1] >> 8, "then the next word");
    }

    #[test]
    fn a_word_in_use_goes_before_a_fresh_one() {
        let nonces = Nonces::default();
        let mut words = empty();
        words[2] = Some(U256::ONE);
        assert_eq!(nonces.assign(OWNER, &quote(1), &words, 0, 60) >> 8, candidates(&quote(1))[2] >> 8);
        words[2] = Some(U256::MAX);
        assert_eq!(nonces.assign(OWNER, &quote(1), &words, 0, 60) >> 8, candidates(&quote(1))[0] >> 8);
    }

    #[test]
    fn a_used_nonce_is_not_given() {
        let nonces = Nonces::default();
        let only = U256::from(5);
        let words = vec![Some(!(U256::ONE << 5_usize)), None, None, None];
        let nonce = nonces.assign(OWNER, &quote(1), &words, 0, 60);
        assert_eq!(nonce & U256::from(0xff), only);
        assert_eq!(nonce >> 8, candidates(&quote(1))[0] >> 8);
        // For the next quote no nonce is left in the same word.
        assert_eq!(nonces.assign(OWNER, &quote(2), &words, 0, 60), permit2::fresh_nonce(&quote(2)));
    }

    #[test]
    fn where_nothing_was_read_every_quote_has_a_word_of_its_own() {
        let nonces = Nonces::default();
        assert_eq!(nonces.assign(OWNER, &quote(1), &[], 0, 60), permit2::fresh_nonce(&quote(1)));
        let unread = vec![None; permit2::WORDS.into()];
        assert_eq!(nonces.assign(OWNER, &quote(2), &unread, 0, 60), permit2::fresh_nonce(&quote(2)));
    }

    #[test]
    fn a_nonce_is_given_again_once_it_cannot_be_signed_any_more() {
        let nonces = Nonces::default();
        let words = vec![Some(!U256::ONE), None, None, None];
        let first = nonces.assign(OWNER, &quote(1), &words, 0, 60);
        assert_ne!(nonces.assign(OWNER, &quote(2), &words, 60, 120), first);
        assert_eq!(nonces.assign(OWNER, &quote(3), &words, 61, 121), first);
        // Another owner has another bitmap.
        assert_eq!(nonces.assign(Address::repeat_byte(2), &quote(3), &words, 61, 121), first);
    }

    #[test]
    fn memory_is_bounded() {
        let nonces = Nonces::default();
        for number in 0..u64::try_from(MAX_ASSIGNED).unwrap() + 10 {
            nonces.assign(OWNER, &quote(number), &[], 0, 60);
        }
        let mut assigned = nonces.0.lock().unwrap();
        let bits: usize = assigned.words.values().map(|word| word.count_ones()).sum();
        assert_eq!((assigned.order.len(), bits), (MAX_ASSIGNED, MAX_ASSIGNED));
        assigned.forget_expired(61);
        assert_eq!((assigned.order.len(), assigned.words.len()), (0, 0));
    }
}
