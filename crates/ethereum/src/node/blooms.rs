//! Checks lists of logs against the blooms of block headers. Pure.
//!
//! A header's bloom contains the emitters and topics of all its block's logs. A log that it excludes is not the
//! block's; an empty list is suspicious if the bloom contains a topic that was asked for.

use std::collections::VecDeque;

use alloy::primitives::{Bloom, BloomInput};
use braid_primitives::B256;

use super::wire::{LogFilter, PlacedLog};

/// Headers whose blooms are kept.
const REMEMBERED: usize = 192;

/// Blooms of the newest headers by block hash. A hash for which nodes returned different blooms has none, so that one
/// node's false header cannot discredit the logs of others.
#[derive(Debug, Default)]
pub(super) struct Blooms(VecDeque<(B256, Option<Box<Bloom>>)>);

impl Blooms {
    pub(super) fn insert(&mut self, hash: B256, bloom: Bloom) {
        if let Some((_, known)) = self.0.iter_mut().rev().find(|(known, _)| *known == hash) {
            if known.as_deref().is_some_and(|known| *known != bloom) {
                *known = None;
            }
            return;
        }
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((hash, Some(Box::new(bloom))));
    }

    pub(super) fn get(&self, hash: B256) -> Option<Bloom> {
        self.0.iter().rev().find(|(known, _)| *known == hash).and_then(|(_, bloom)| bloom.as_deref().copied())
    }
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The bloom does not contradict the list.
    Plausible,
    /// The list is empty, but the block may have such logs.
    Suspicious,
    /// The list has a log that the block does not have.
    Foreign,
}

/// Checks a list of logs, asked for by a filter, against the bloom of its block.
pub(super) fn judge(bloom: &Bloom, filter: &LogFilter, logs: &[PlacedLog]) -> Verdict {
    if logs.iter().any(|placed| !bloom.contains_raw_log(placed.log.address, placed.log.topics())) {
        return Verdict::Foreign;
    }
    let has = |bytes: &[u8]| bloom.contains_input(BloomInput::Raw(bytes));
    let topics = filter.topics.is_empty() || filter.topics.iter().any(|topic| has(topic.as_slice()));
    let emitters = filter.emitters.is_empty() || filter.emitters.iter().any(|emitter| has(emitter.as_slice()));
    if logs.is_empty() && topics && emitters && !bloom.is_zero() { Verdict::Suspicious } else { Verdict::Plausible }
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Address, Bytes, Log};

    use std::slice::from_ref;

    use super::*;

    fn placed(emitter: u8, topic: u8) -> PlacedLog {
        let log =
            Log::new_unchecked(Address::repeat_byte(emitter), vec![B256::repeat_byte(topic)], Bytes::from_static(&[1]));
        PlacedLog { block_number: 1, block_hash: B256::ZERO, index: 0, log }
    }

    fn bloom(logs: &[PlacedLog]) -> Bloom {
        logs.iter().map(|placed| &placed.log).collect()
    }

    #[test]
    fn a_bloom_tells_an_empty_list_that_should_not_be_and_a_log_of_another_block() {
        let filter = LogFilter { emitters: vec![], topics: vec![B256::repeat_byte(7)] };
        let (wanted, other) = (placed(1, 7), placed(2, 8));
        assert_eq!(judge(&bloom(&[]), &filter, &[]), Verdict::Plausible);
        assert_eq!(judge(&bloom(from_ref(&other)), &filter, &[]), Verdict::Plausible, "nothing that was asked for");
        assert_eq!(judge(&bloom(from_ref(&wanted)), &filter, &[]), Verdict::Suspicious);
        assert_eq!(judge(&bloom(from_ref(&wanted)), &filter, from_ref(&wanted)), Verdict::Plausible);
        assert_eq!(judge(&bloom(&[wanted]), &filter, &[other]), Verdict::Foreign);
        let narrow = LogFilter { emitters: vec![Address::repeat_byte(9)], ..filter };
        assert_eq!(
            judge(&bloom(&[placed(1, 7)]), &narrow, &[]),
            Verdict::Plausible,
            "of no emitter that was asked for"
        );
    }

    #[test]
    fn blooms_are_forgotten_in_the_order_in_which_they_came() {
        let mut blooms = Blooms::default();
        for byte in 0..=REMEMBERED {
            blooms.insert(B256::left_padding_from(&byte.to_be_bytes()), Bloom::repeat_byte(1));
        }
        assert_eq!((blooms.get(B256::ZERO), blooms.0.len()), (None, REMEMBERED));
        assert!(blooms.get(B256::left_padding_from(&REMEMBERED.to_be_bytes())).is_some());
    }

    #[test]
    fn a_bloom_that_two_headers_of_one_hash_do_not_share_counts_for_nothing() {
        let mut blooms = Blooms::default();
        let [truth, lie] = [1, 2].map(Bloom::repeat_byte);
        blooms.insert(B256::ZERO, truth);
        blooms.insert(B256::ZERO, truth);
        assert_eq!(blooms.get(B256::ZERO), Some(truth));
        for later in [lie, truth, lie] {
            blooms.insert(B256::ZERO, later);
            assert_eq!(blooms.get(B256::ZERO), None, "nobody knows which of them lied");
        }
    }
}
