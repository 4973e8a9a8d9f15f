//! Cold and warm, zero and not: the part of the EVM's accounting that depends on what came before.

use std::collections::{BTreeMap, BTreeSet};

use braid_primitives::Address;

/// Touching an account for the first time, on top of a warm access (EIP-2929: 2,600 − 100).
const COLD_ACCOUNT_GAS_UNITS: u64 = 2_500;
/// Reading a storage slot for the first time, on top of a warm read (EIP-2929: 2,100 − 100).
const COLD_SLOT_GAS_UNITS: u64 = 2_000;
/// A warm read, or a write to a slot that was written before.
const WARM_GAS_UNITS: u64 = 100;
/// The first write of a slot from zero (EIP-2200).
const SET_GAS_UNITS: u64 = 20_000;
/// The first write of a slot from something (EIP-2929: 5,000 − 2,100).
const RESET_GAS_UNITS: u64 = 2_900;
/// Refund for clearing a slot (EIP-3529).
const CLEAR_REFUND_GAS_UNITS: u64 = 4_800;

/// A balance or an allowance in a token's storage: whose, and for whom.
type Slot = (Address, Address, Address);

/// What a slot held before the transaction, and what it holds now: all that the price of a write depends on.
#[derive(Clone, Copy, Debug)]
struct State {
    was_zero: bool,
    is_zero: bool,
    written: bool,
}

/// Gas so far.
#[derive(Debug, Default)]
pub(super) struct Meter {
    pub(super) gas_units: u64,
    pub(super) refund_gas_units: i64,
    accounts: BTreeSet<Address>,
    slots: BTreeMap<Slot, State>,
}

impl Meter {
    /// Work that costs the same whatever came before.
    pub(super) fn work(&mut self, gas_units: u64) {
        self.gas_units += gas_units;
    }

    /// Work that is paid for and refunded.
    pub(super) fn lend(&mut self, gas_units: u64) {
        self.gas_units += gas_units;
        self.refund_gas_units += i64::try_from(gas_units).unwrap_or(i64::MAX);
    }

    /// An account that is warm from the start.
    pub(super) fn warm(&mut self, account: Address) {
        self.accounts.insert(account);
    }

    /// The surcharge of an account's first access.
    pub(super) fn touch(&mut self, account: Address) {
        if self.accounts.insert(account) {
            self.gas_units += COLD_ACCOUNT_GAS_UNITS;
        }
    }

    /// Reads a slot that held something (or zero) before the transaction.
    pub(super) fn read(&mut self, slot: Slot, was_zero: bool) {
        self.gas_units += WARM_GAS_UNITS;
        if !self.slots.contains_key(&slot) {
            self.gas_units += COLD_SLOT_GAS_UNITS;
            self.slots.insert(slot, State { was_zero, is_zero: was_zero, written: false });
        }
    }

    /// Reads and then writes a slot, leaving zero, what was there before the transaction, or another value.
    pub(super) fn write(&mut self, slot: Slot, was_zero: bool, leaves_zero: bool) {
        self.read(slot, was_zero);
        let Some(state) = self.slots.get_mut(&slot) else { return };
        let untouched = !state.written || (state.was_zero && state.is_zero);
        self.gas_units += match (untouched, state.was_zero, leaves_zero) {
            (true, true, true) => WARM_GAS_UNITS,
            (true, true, false) => SET_GAS_UNITS,
            (true, false, _) => RESET_GAS_UNITS,
            (false, _, _) => WARM_GAS_UNITS,
        };
        let clear = i64::try_from(CLEAR_REFUND_GAS_UNITS).unwrap_or(i64::MAX);
        self.refund_gas_units += match (state.was_zero, state.is_zero, leaves_zero) {
            (true, false, true) => i64::try_from(SET_GAS_UNITS - WARM_GAS_UNITS).unwrap_or(i64::MAX),
            (false, false, true) => clear,
            (false, true, false) => -clear,
            _ => 0,
        };
        *state = State { is_zero: leaves_zero, written: true, ..*state };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Slot = (Address::ZERO, Address::ZERO, Address::ZERO);

    fn measured(writes: &[(bool, bool)]) -> (u64, i64) {
        let mut meter = Meter::default();
        for (was_zero, leaves_zero) in writes {
            meter.write(SLOT, *was_zero, *leaves_zero);
        }
        (meter.gas_units, meter.refund_gas_units)
    }

    #[test]
    fn a_balance_that_comes_and_goes_costs_what_eip_2200_says() {
        assert_eq!(measured(&[(true, false)]), (2_100 + 20_000, 0));
        assert_eq!(measured(&[(true, false), (true, true)]), (2_100 + 20_000 + 200, 19_900));
        let again = measured(&[(true, false), (true, true), (true, false), (true, true)]);
        assert_eq!(again, (2_100 + 2 * (20_000 + 200) + 100, 2 * 19_900));
    }

    #[test]
    fn a_balance_that_was_there_is_reset_once() {
        assert_eq!(measured(&[(false, false)]), (2_100 + 2_900, 0));
        assert_eq!(measured(&[(false, false), (false, false)]), (2_100 + 2_900 + 200, 0));
        assert_eq!(measured(&[(false, true)]), (2_100 + 2_900, 4_800));
        assert_eq!(measured(&[(false, true), (false, false)]), (2_100 + 2_900 + 200, 0));
    }

    #[test]
    fn only_the_first_access_is_cold() {
        let mut meter = Meter::default();
        meter.warm(Address::repeat_byte(1));
        meter.touch(Address::repeat_byte(1));
        assert_eq!(meter.gas_units, 0);
        meter.touch(Address::repeat_byte(2));
        meter.touch(Address::repeat_byte(2));
        assert_eq!(meter.gas_units, 2_500);
    }
}
