//! What several tests of this crate start from.

use braid_primitives::{B256, Block};

/// Returns a block of a time, with little gas to pay.
pub(crate) fn block(timestamp_s: u64) -> Block {
    Block {
        number: 24_700_000,
        hash: B256::repeat_byte(1),
        parent_hash: B256::ZERO,
        timestamp: timestamp_s,
        base_fee_per_gas_wei: 1,
        gas_used: 0,
        gas_limit: 30_000_000,
    }
}
