//! Which Permit2 nonce a quote is given.
//!
//! Permit2 keeps used nonces as bits of words. The first use of a word costs its owner about 17,100 gas more than any
//! later one, so that quotes share a few words of each owner, and prefer those that he has used. Two quotes of one
//! owner are not given the same nonce while both can still be signed: both might be wanted.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use braid_execution::permit2;
use braid_primitives::{Address, U256};

/// The most nonces that are remembered; beyond, the oldest are forgotten first.
const MOST_GIVEN: usize = 65_536;

/// The nonces that this process has given lately, and that may still be signed.
#[derive(Debug, Default)]
pub(crate) struct Nonces(Mutex<Given>);

#[derive(Debug, Default)]
struct Given {
    /// Who was given what: bitmaps as Permit2 keeps them, by owner and word, so that a search looks at a whole word.
    /// Sorted: a hash table that loses as many entries as it gets doubles after some minutes, for good.
    words: BTreeMap<(Address, U256), U256>,
    /// The same in the order of giving, with the last second of each, unix.
    order: VecDeque<(u64, Address, U256)>,
}

/// Returns the nonces that a quote would take in the words that an owner's quotes share: those words are to be read.
pub(crate) fn candidates(quote_id: &[u8; 16]) -> Vec<U256> {
    (0..permit2::WORDS).map(|word| permit2::shared_nonce(quote_id, word)).collect()
}

impl Nonces {
    /// Returns a nonce that `owner` has not used, and that no other quote of his was given that is still good at
    /// `now_s`.
    ///
    /// `words` are the bitmap words of [`candidates`], in order, as far as they could be read. Where none of them is
    /// known, or all are used up, the nonce is in a word of its own. It is kept for the quote until `until_s`, in unix
    /// seconds.
    pub(crate) fn give(
        &self,
        owner: Address,
        quote_id: &[u8; 16],
        words: &[Option<U256>],
        now_s: u64,
        until_s: u64,
    ) -> U256 {
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        given.forget(now_s);
        let known: Vec<(U256, U256)> =
            candidates(quote_id).into_iter().zip(words).filter_map(|(nonce, word)| Some((nonce, (*word)?))).collect();
        let (in_use, unused): (Vec<_>, Vec<_>) = known.into_iter().partition(|(_, word)| !word.is_zero());
        let mut free = in_use.into_iter().chain(unused);
        let nonce = free.find_map(|(nonce, used)| permit2::unused_nonce(used | given.word(owner, nonce), nonce));
        let nonce = nonce.unwrap_or_else(|| permit2::fresh_nonce(quote_id));
        given.keep(until_s, owner, nonce);
        nonce
    }
}

impl Given {
    /// Returns the bits that an owner was given in the word of a nonce.
    fn word(&self, owner: Address, nonce: U256) -> U256 {
        self.words.get(&(owner, nonce >> 8)).copied().unwrap_or_default()
    }

    fn keep(&mut self, until_s: u64, owner: Address, nonce: U256) {
        if self.order.len() >= MOST_GIVEN {
            self.forget_first();
        }
        let word = self.words.entry((owner, nonce >> 8)).or_default();
        if !permit2::nonce_is_used(*word, nonce) {
            word.set_bit(usize::from(nonce.byte(0)), true);
            self.order.push_back((until_s, owner, nonce));
        }
    }

    fn forget(&mut self, now_s: u64) {
        while self.order.front().is_some_and(|(until_s, _, _)| *until_s < now_s) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
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
        let given: Vec<U256> = (0..256).map(|n| nonces.give(OWNER, &quote(n), &empty(), 0, 60)).collect();
        assert!(given.iter().all(|nonce| *nonce >> 8 == given[0] >> 8), "one word holds them all");
        assert_eq!(given.iter().collect::<std::collections::HashSet<_>>().len(), 256);
        let next = nonces.give(OWNER, &quote(256), &empty(), 0, 60);
        assert_eq!(next >> 8, candidates(&quote(0))[1] >> 8, "then the next word");
    }

    #[test]
    fn a_word_in_use_goes_before_a_fresh_one() {
        let nonces = Nonces::default();
        let mut words = empty();
        words[2] = Some(U256::ONE);
        assert_eq!(nonces.give(OWNER, &quote(1), &words, 0, 60) >> 8, candidates(&quote(1))[2] >> 8);
        words[2] = Some(U256::MAX);
        assert_eq!(nonces.give(OWNER, &quote(1), &words, 0, 60) >> 8, candidates(&quote(1))[0] >> 8);
    }

    #[test]
    fn a_used_nonce_is_not_given() {
        let nonces = Nonces::default();
        let only = U256::from(5);
        let words = vec![Some(!(U256::ONE << 5_usize)), None, None, None];
        let nonce = nonces.give(OWNER, &quote(1), &words, 0, 60);
        assert_eq!(nonce & U256::from(0xff), only);
        assert_eq!(nonce >> 8, candidates(&quote(1))[0] >> 8);
        // For the next quote no nonce is left in the same word.
        assert_eq!(nonces.give(OWNER, &quote(2), &words, 0, 60), permit2::fresh_nonce(&quote(2)));
    }

    #[test]
    fn where_nothing_was_read_every_quote_has_a_word_of_its_own() {
        let nonces = Nonces::default();
        assert_eq!(nonces.give(OWNER, &quote(1), &[], 0, 60), permit2::fresh_nonce(&quote(1)));
        let unread = vec![None; permit2::WORDS.into()];
        assert_eq!(nonces.give(OWNER, &quote(2), &unread, 0, 60), permit2::fresh_nonce(&quote(2)));
    }

    #[test]
    fn a_nonce_is_given_again_once_it_cannot_be_signed_any_more() {
        let nonces = Nonces::default();
        let words = vec![Some(!U256::ONE), None, None, None];
        let first = nonces.give(OWNER, &quote(1), &words, 0, 60);
        assert_ne!(nonces.give(OWNER, &quote(2), &words, 60, 120), first);
        assert_eq!(nonces.give(OWNER, &quote(3), &words, 61, 121), first);
        // Another owner has another bitmap.
        assert_eq!(nonces.give(Address::repeat_byte(2), &quote(3), &words, 61, 121), first);
    }

    #[test]
    fn memory_is_bounded() {
        let nonces = Nonces::default();
        for number in 0..u64::try_from(MOST_GIVEN).unwrap() + 10 {
            nonces.give(OWNER, &quote(number), &[], 0, 60);
        }
        let mut given = nonces.0.lock().unwrap();
        let bits: usize = given.words.values().map(|word| word.count_ones()).sum();
        assert_eq!((given.order.len(), bits), (MOST_GIVEN, MOST_GIVEN));
        given.forget(61);
        assert_eq!((given.order.len(), given.words.len()), (0, 0));
    }
}
