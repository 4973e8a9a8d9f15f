//! A helper contract that reads many words of a pool in one call, and makes many calls in one. It is never deployed: an
//! `eth_call` places its code at [`ADDRESS`] by a state override, if the node supports that.
//!
//! Source: `contracts/lens/Lens.sol`; `make contracts` writes the code to `contracts/artifacts/Lens.json`.

use std::sync::LazyLock;

use alloy_primitives::{Address, Bytes, I256, U256, address};
use alloy_sol_types::{SolCall, sol};
use serde::Deserialize;

use crate::Call;

sol! {
    function probe() external pure returns (uint256 mark);
    function read(address pool, int256 spacing, int256 word, int256 last, uint256 gasBudget) external view;
    function callAll() external;
}

/// Selector of `callAll`, which batches calls.
pub const CALL_ALL: [u8; 4] = callAllCall::SELECTOR;

/// Address of the override: the last 20 bytes of the Keccak-256 hash of `braid lens`, where no contract exists.
pub const ADDRESS: Address = address!("7641e70194C64DEb8259DfEED6D865E51668BA2B");

/// Answer of [`probe`] if the override works.
pub const PROBE: U256 = U256::from_limbs([0xb4a1d, 0, 0, 0]);

/// Gas units after which one call stops between two words. Nodes allow 50 million or more per call.
pub const GAS_BUDGET: u64 = 24_000_000;

/// Gas units of an empty bitmap word, measured with a cold slot.
const WORD_GAS: u64 = 3_000;

/// Gas units of a pool's header and a few dozen ticks.
const POOL_GAS: u64 = 600_000;

const TEXT: &str = include_str!("../../../contracts/artifacts/Lens.json");

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    #[cfg(test)]
    code_hash: alloy_primitives::B256,
    deployed_bytecode: Bytes,
}

static ARTIFACT: LazyLock<Artifact> = LazyLock::new(|| serde_json::from_str(TEXT).unwrap_or_default());

/// Returns the code for the override.
pub fn runtime_code() -> &'static Bytes {
    &ARTIFACT.deployed_bytecode
}

/// Builds the call that tests the override: it returns [`PROBE`].
pub fn probe() -> Call {
    Call::new(ADDRESS, &probeCall {})
}

/// Builds the call that reads a concentrated-liquidity pool, with the ticks of the bitmap words `first..=last`.
pub fn read(pool: Address, spacing: i32, first: i32, last: i32) -> Call {
    let signed = |number: i32| I256::try_from(number).unwrap_or_default();
    let (spacing, word, last) = (signed(spacing), signed(first), signed(last));
    Call::new(ADDRESS, &readCall { pool, spacing, word, last, gasBudget: U256::from(GAS_BUDGET) })
}

/// Estimates the gas units of a call of the lens; 0 for any other call.
pub fn gas_units(call: &Call) -> u64 {
    if call.to != ADDRESS {
        return 0;
    }
    let Ok(call) = readCall::abi_decode(&call.data) else { return POOL_GAS };
    let words = call.last.saturating_sub(call.word).saturating_add(I256::ONE);
    let words = u64::try_from(words).unwrap_or_default();
    words.saturating_mul(WORD_GAS).saturating_add(POOL_GAS).min(GAS_BUDGET)
}

/// Limits a call of the lens to so few words that it takes about `gas_units`. The caller asks for the rest after the
/// answer.
pub fn within(call: Call, gas_units: u64) -> Call {
    if self::gas_units(&call) <= gas_units {
        return call;
    }
    let Ok(mut read) = readCall::abi_decode(&call.data) else { return call };
    let words = (gas_units.saturating_sub(POOL_GAS) / WORD_GAS).max(1);
    let last = read.word.saturating_add(I256::try_from(words - 1).unwrap_or_default());
    read.last = read.last.min(last);
    Call::new(call.to, &read)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn the_embedded_code_is_the_one_that_was_compiled() {
        assert!(!runtime_code().is_empty());
        assert_eq!(keccak256(runtime_code()), ARTIFACT.code_hash);
        assert_eq!(ADDRESS, Address::from_word(keccak256("braid lens")));
    }

    #[test]
    fn a_call_is_narrowed_to_the_gas_that_a_node_allows() {
        let pool = Address::repeat_byte(1);
        let whole = read(pool, 1, -3_466, 3_465);
        assert_eq!(within(whole.clone(), GAS_BUDGET), whole);
        let narrow = within(whole.clone(), 8_000_000);
        assert!(gas_units(&narrow) <= 8_000_000 && gas_units(&narrow) > 7_900_000);
        assert_eq!(narrow, read(pool, 1, -3_466, -3_466 + 2_465));
        assert_eq!(within(whole, 0), read(pool, 1, -3_466, -3_466));
    }

    #[test]
    fn the_gas_of_a_call_grows_with_its_words_up_to_the_budget() {
        let pool = Address::repeat_byte(1);
        assert_eq!(gas_units(&read(pool, 60, -58, 57)), 116 * WORD_GAS + POOL_GAS);
        assert_eq!(gas_units(&read(pool, 1, -3_466, 3_465)), 6_932 * WORD_GAS + POOL_GAS);
        assert_eq!(gas_units(&read(pool, 1, i32::MIN, i32::MAX)), GAS_BUDGET);
        assert_eq!(gas_units(&Call { to: pool, data: Bytes::new() }), 0);
    }
}
