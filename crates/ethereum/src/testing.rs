//! What several tests of this crate start from.

use braid_primitives::{B256, Block};

/// Returns a block whose hash is its number.
pub(crate) fn block(number: u64) -> Block {
    Block {
        number,
        hash: B256::left_padding_from(&number.to_be_bytes()),
        parent_hash: B256::ZERO,
        timestamp: 0,
        base_fee_per_gas_wei: 1,
        gas_used: 0,
        gas_limit: 1,
    }
}
