//! Reads of contract storage, for values that no view returns. A reader asks with a special call. The caller recognises
//! its calldata and reads the slot (`eth_getStorageAt`) instead of calling.

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::{SolCall, sol};

use crate::Call;

sol! {
    /// A function that no contract has; it marks a storage read.
    function storageAt(bytes32 slotReadByBraid) external view returns (uint256 word);
}

/// Builds the call that stands for a read of a storage word.
pub(crate) fn read_word(contract: Address, slot: U256) -> Call {
    Call::new(contract, &storageAtCall { slotReadByBraid: B256::from(slot) })
}

/// Returns the slot, if the call stands for a storage read.
pub fn slot_of(call: &Call) -> Option<B256> {
    let asked = call.data.starts_with(&storageAtCall::SELECTOR) && call.data.len() == 36;
    asked.then(|| B256::from_slice(call.data.get(4..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Bytes;

    use super::*;

    #[test]
    fn a_read_tells_its_slot_and_a_call_none() {
        let read = read_word(Address::repeat_byte(1), U256::from(8));
        assert_eq!(slot_of(&read), Some(B256::from(U256::from(8))));
        let call = Call { to: Address::ZERO, data: Bytes::from_static(&[1, 2, 3, 4]) };
        assert_eq!(slot_of(&call), None);
    }
}
