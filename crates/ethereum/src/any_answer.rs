//! Entry point for fuzzing a node's answers.

use alloy::rpc::types::Log;
use braid_primitives::{B256, Block};

use crate::{
    FeeData, FeeHistory,
    node::{Header, place_logs},
};

/// Parses a text as every kind of answer that a market depends on: headers, logs, fees.
pub fn read_as_any_answer(text: &str) {
    let _ = serde_json::from_str::<Header>(text).map(|header| header.block("eth_getBlockByHash"));
    let _ = serde_json::from_str::<Vec<Log>>(text).map(|logs| place_logs("eth_getLogs", logs));
    let Ok(history) = serde_json::from_str::<FeeHistory>(text) else { return };
    let block = Block {
        number: 1,
        hash: B256::ZERO,
        parent_hash: B256::ZERO,
        timestamp: 1,
        base_fee_per_gas_wei: 1,
        gas_used: 1,
        gas_limit: 2,
    };
    let tips = FeeData::new(&block, Some(&history)).priority_fee_per_gas_wei;
    assert!(tips.is_sorted(), "a dearer tier pays no less: {tips:?}");
}
