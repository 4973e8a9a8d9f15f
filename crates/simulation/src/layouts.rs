//! Predicts which storage words contracts read, from other contracts with the same code, immutable values aside.
//!
//! A pool that was never read before reads the same slots as other pools of its kind, and a token keeps a new holder's
//! balance in the same mapping. When an attempt misses values that were never seen, the words that its contracts will
//! probably read are read too. A wrong prediction costs one word; predictions never supply values.

use std::collections::{BTreeMap, BTreeSet};

use braid_primitives::{Address, B256, U256};
use moka::sync::Cache;
use revm::bytecode::opcode::{PUSH1, PUSH32};
use revm::primitives::keccak256;

/// Most codes whose layouts are kept.
const MOST_CODES: u64 = 20_000;

/// Most fixed slots, and most mappings, that are kept of one code.
const MOST_SLOTS: usize = 48;
const MOST_MAPPINGS: usize = 8;

/// Slots below this are a contract's first variables; other slots count as fixed once two contracts have read them.
const FIRST_SLOTS: u64 = 32;

/// Slots, from 0, at which mappings are looked for.
const MAPPING_SLOTS: u64 = 32;

/// Most accounts whose words in mappings are computed.
const MOST_HOLDERS: usize = 24;

/// A mapping from addresses in a contract's storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mapping {
    slot: u64,
    /// Vyper hashes the slot before the key, Solidity after it.
    slot_first: bool,
}

impl Mapping {
    /// Returns the slot of an account's word.
    fn slot_of(self, holder: Address) -> U256 {
        let (key, slot) = (holder.into_word(), B256::from(U256::from(self.slot)));
        let [first, second] = if self.slot_first { [slot, key] } else { [key, slot] };
        U256::from_be_bytes(keccak256([first.0, second.0].concat()).0)
    }

    fn all() -> impl Iterator<Item = Self> {
        (0..MAPPING_SLOTS).flat_map(|slot| [false, true].map(|slot_first| Self { slot, slot_first }))
    }
}

/// The slots and mappings that contracts of one code read.
#[derive(Clone, Debug, Default)]
struct Layout {
    /// Slots that do not depend on the contract's address.
    fixed: BTreeSet<U256>,
    mappings: BTreeSet<Mapping>,
    /// Slots that one contract has read so far, with that contract.
    seen_once: BTreeMap<U256, Address>,
}

/// Returns what contracts of one source have in common: the hash of the code with zeros for the operands of `PUSH32`,
/// where Solidity puts immutable values. Without that, each pool of Uniswap V3 would have a code of its own.
pub(crate) fn form_of(code: &[u8]) -> B256 {
    let mut code = code.to_vec();
    let mut at = 0;
    while let Some(op) = code.get(at).copied() {
        at += 1;
        if (PUSH1..=PUSH32).contains(&op) {
            let end = code.len().min(at + usize::from(op - PUSH1) + 1);
            if op == PUSH32 {
                code[at..end].fill(0);
            }
            at = end;
        }
    }
    keccak256(code)
}

/// Layouts by the form of the code.
#[derive(Clone, Debug)]
pub(crate) struct Layouts(Cache<B256, Layout>);

impl Default for Layouts {
    fn default() -> Self {
        Self(Cache::new(MOST_CODES))
    }
}

impl Layouts {
    /// Learns from words that were read for some accounts; `code_of` returns the form of a contract's code.
    pub(crate) fn learn(
        &self,
        words: &BTreeSet<(Address, U256)>,
        holders: &BTreeSet<Address>,
        code_of: impl Fn(&Address) -> Option<B256>,
    ) {
        let mut slots: Option<BTreeMap<U256, Mapping>> = None;
        for (contract, slot) in words {
            let Some(code) = code_of(contract) else { continue };
            let mut layout = self.0.get(&code).unwrap_or_default();
            let first = layout.seen_once.get(slot).copied();
            let is_fixed = *slot < U256::from(FIRST_SLOTS) || first.is_some_and(|first| first != *contract);
            if is_fixed {
                if layout.fixed.len() >= MOST_SLOTS || !layout.fixed.insert(*slot) {
                    continue;
                }
                layout.seen_once.remove(slot);
            } else if let Some(mapping) = slots.get_or_insert_with(|| mapping_slots(holders)).get(slot) {
                if layout.mappings.len() >= MOST_MAPPINGS || !layout.mappings.insert(*mapping) {
                    continue;
                }
            } else if first.is_none() && layout.seen_once.len() < MOST_SLOTS && !layout.fixed.contains(slot) {
                layout.seen_once.insert(*slot, *contract);
            } else {
                continue;
            }
            self.0.insert(code, layout);
        }
    }

    /// Returns at most `most` words that accounts with known code will probably read for these accounts, among those
    /// that are `wanted`: fixed slots first, then mappings.
    pub(crate) fn likely(
        &self,
        holders: &BTreeSet<Address>,
        code_of: impl Fn(&Address) -> Option<B256>,
        most: usize,
        wanted: impl Fn(&(Address, U256)) -> bool,
    ) -> Vec<(Address, U256)> {
        if most == 0 {
            return Vec::new();
        }
        let known = |contract: &Address| Some((*contract, self.0.get(&code_of(contract)?)?));
        let known: Vec<(Address, Layout)> = holders.iter().take(MOST_HOLDERS).filter_map(known).collect();
        let fixed = known.iter().flat_map(|(contract, layout)| layout.fixed.iter().map(|slot| (*contract, *slot)));
        let mappings = known.iter().flat_map(|(contract, layout)| layout.mappings.iter().map(|of| (*contract, *of)));
        let mapped = mappings.flat_map(|(contract, mapping)| {
            holders.iter().take(MOST_HOLDERS).map(move |holder| (contract, mapping.slot_of(*holder)))
        });
        fixed.chain(mapped).filter(wanted).take(most).collect()
    }
}

/// Returns the slot of each account in each mapping that a contract may have.
fn mapping_slots(holders: &BTreeSet<Address>) -> BTreeMap<U256, Mapping> {
    let holders = holders.iter().take(MOST_HOLDERS).copied();
    holders.flat_map(|holder| Mapping::all().map(move |mapping| (mapping.slot_of(holder), mapping))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: B256 = B256::repeat_byte(0xc0);

    fn account(byte: u8) -> Address {
        Address::repeat_byte(byte)
    }

    fn accounts(bytes: &[u8]) -> BTreeSet<Address> {
        bytes.iter().map(|byte| account(*byte)).collect()
    }

    fn small(slot: u64) -> U256 {
        U256::from(slot)
    }

    #[test]
    fn a_new_pool_reads_the_slots_of_the_others_and_a_new_holder_has_the_same_mapping() {
        let layouts = Layouts::default();
        for (slot, slot_first) in [(3, false), (9, true)] {
            let balances = Mapping { slot, slot_first };
            let words = [(account(1), small(8)), (account(1), balances.slot_of(account(5)))];
            layouts.learn(&words.into(), &accounts(&[1, 5]), |_| Some(CODE));
            let likely =
                layouts.likely(&accounts(&[2, 6]), |contract| (*contract == account(2)).then_some(CODE), 99, |_| true);
            assert!(likely.contains(&(account(2), small(8))));
            assert!(likely.contains(&(account(2), balances.slot_of(account(6)))));
            assert!(likely.iter().all(|(contract, _)| *contract == account(2)));
        }
    }

    #[test]
    fn a_slot_far_away_counts_once_two_contracts_have_read_it() {
        let (layouts, far) = (Layouts::default(), small(1 << 40));
        let learn = |byte: u8| layouts.learn(&[(account(byte), far)].into(), &accounts(&[byte]), |_| Some(CODE));
        let is_likely = || layouts.likely(&accounts(&[7]), |_| Some(CODE), 99, |_| true).contains(&(account(7), far));
        learn(1);
        learn(1);
        assert!(!is_likely(), "it may be that contract's alone");
        learn(2);
        assert!(is_likely());
    }

    #[test]
    fn codes_that_differ_in_immutable_values_alone_have_one_form() {
        let code = |immutable: u8, constant: u8| {
            let mut code = vec![PUSH32];
            code.extend([immutable; 32]);
            // A PUSH2 whose operand looks like a PUSH32, and a PUSH32 that is cut off.
            code.extend([0x61, PUSH32, constant, 0x54, PUSH32, immutable]);
            code
        };
        assert_eq!(form_of(&code(1, 5)), form_of(&code(2, 5)));
        assert_ne!(form_of(&code(1, 5)), form_of(&code(1, 6)));
        assert_ne!(form_of(&[PUSH32]), form_of(&[]));
    }

    #[test]
    fn what_is_kept_of_a_code_is_bounded() {
        let layouts = Layouts::default();
        for round in 0..4u64 {
            for byte in [1, 2] {
                let words = (0..1_000).map(|slot| (account(byte), small(slot * 4 + round))).collect();
                layouts.learn(&words, &accounts(&[byte]), |_| Some(CODE));
            }
        }
        let likely = |most: usize| layouts.likely(&accounts(&[1]), |_| Some(CODE), most, |_| true).len();
        assert!(likely(1_000) <= MOST_SLOTS);
        assert_eq!((likely(3), likely(0)), (3, 0));
        assert!(layouts.0.get(&CODE).unwrap().seen_once.len() <= MOST_SLOTS);
    }
}
