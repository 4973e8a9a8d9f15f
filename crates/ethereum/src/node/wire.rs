//! The parts of a node's JSON that we write and read; everything else is ignored.

use alloy::{
    primitives::{Bloom, U64},
    rpc::types::Log as RpcLog,
};
use braid_primitives::{Address, B256, Block};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};

use super::endpoint::shorten;
use crate::NodeError;

/// Mainnet's first block with a base fee (EIP-1559, London).
const LONDON: u64 = 12_965_000;

/// A block header of `eth_getBlockBy…` and `newHeads`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Header {
    number: U64,
    hash: B256,
    parent_hash: B256,
    timestamp: U64,
    base_fee_per_gas: Option<U64>,
    gas_used: U64,
    gas_limit: U64,
    /// Bloom of the block's logs; some nodes leave it out.
    #[serde(default)]
    pub(super) logs_bloom: Option<Bloom>,
}

impl Header {
    /// Returns the block; an error if it has no base fee, unless it is older than base fees, whose base fee is 0.
    pub(crate) fn block(self, method: &'static str) -> Result<Block, NodeError> {
        let number = self.number.to();
        let old = (number < LONDON).then_some(U64::ZERO);
        let Some(base_fee) = self.base_fee_per_gas.or(old) else {
            return Err(NodeError::Malformed { method, why: "the block has no base fee".into() });
        };
        Ok(Block {
            number,
            hash: self.hash,
            parent_hash: self.parent_hash,
            timestamp: self.timestamp.to(),
            base_fee_per_gas_wei: base_fee.to(),
            gas_used: self.gas_used.to(),
            gas_limit: self.gas_limit.to(),
        })
    }
}

/// A log with its position in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedLog {
    /// Height of its block.
    pub block_number: u64,
    /// Hash of its block.
    pub block_hash: B256,
    /// Position in its block.
    pub index: u64,
    /// Emitter, topics and data.
    pub log: alloy::primitives::Log,
}

/// Puts logs in the order of the chain; drops logs of replaced blocks and duplicates.
pub(crate) fn place_logs(method: &'static str, logs: Vec<RpcLog>) -> Result<Vec<PlacedLog>, NodeError> {
    let mut placed = Vec::with_capacity(logs.len());
    for log in logs.into_iter().filter(|log| !log.removed) {
        let (Some(block_number), Some(block_hash), Some(index)) = (log.block_number, log.block_hash, log.log_index)
        else {
            return Err(NodeError::Malformed { method, why: "a log without a position in the chain".into() });
        };
        placed.push(PlacedLog { block_number, block_hash, index, log: log.inner });
    }
    placed.sort_by_key(|log| (log.block_number, log.index));
    placed.dedup();
    let is_same_place = |a: &PlacedLog, b: &PlacedLog| (a.block_hash, a.index) == (b.block_hash, b.index);
    if placed.windows(2).any(|pair| matches!(pair, [a, b] if is_same_place(a, b))) {
        return Err(NodeError::Malformed { method, why: "two different logs at one place of a block".into() });
    }
    Ok(placed)
}

/// Logs to ask for, by emitter and first topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Emitters; empty for any.
    pub emitters: Vec<Address>,
    /// First topics, any of which matches.
    pub topics: Vec<B256>,
}

impl LogFilter {
    /// Parameters for the logs of a block.
    pub(crate) fn at(&self, block_hash: B256) -> Value {
        self.params(json!({ "blockHash": block_hash }))
    }

    /// Parameters for the logs of a range of blocks.
    pub(crate) fn between(&self, from_block: u64, to_block: u64) -> Value {
        self.params(json!({ "fromBlock": hex(from_block), "toBlock": hex(to_block) }))
    }

    fn params(&self, mut filter: Value) -> Value {
        filter["topics"] = json!([self.topics]);
        if !self.emitters.is_empty() {
            filter["address"] = json!(self.emitters);
        }
        json!([filter])
    }
}

/// Writes a JSON-RPC quantity.
pub(super) fn hex(quantity: u64) -> String {
    format!("0x{quantity:x}")
}

/// Names a block by hash (EIP-1898).
pub(super) fn at(block_hash: B256) -> Value {
    json!({ "blockHash": block_hash })
}

/// Checks that logs are of a block.
pub(super) fn check_block(method: &'static str, block: &Block, logs: &[PlacedLog]) -> Result<(), NodeError> {
    if logs.iter().any(|log| log.block_hash != block.hash) {
        return Err(NodeError::Malformed { method, why: "logs of another block".into() });
    }
    Ok(())
}

/// Reads the result of a request. The reason of a failure may quote the result, so it is shortened.
pub(super) fn parse<T: DeserializeOwned>(method: &'static str, raw: &RawValue) -> Result<T, NodeError> {
    let malformed = |error: serde_json::Error| NodeError::Malformed { method, why: shorten(&error.to_string()) };
    serde_json::from_str(raw.get()).map_err(malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(block: u64, index: u64, removed: bool) -> RpcLog {
        RpcLog {
            block_number: Some(block),
            block_hash: Some(B256::with_last_byte(7)),
            log_index: Some(index),
            removed,
            ..RpcLog::default()
        }
    }

    /// A search of blocks before London compared none of them, and the node that gave them counted as failing.
    #[test]
    fn a_block_has_a_base_fee_unless_it_is_older_than_base_fees() {
        let header = |number: u64, base_fee: Option<u64>| Header {
            number: U64::from(number),
            hash: B256::ZERO,
            parent_hash: B256::ZERO,
            timestamp: U64::ZERO,
            base_fee_per_gas: base_fee.map(U64::from),
            gas_used: U64::ZERO,
            gas_limit: U64::from(1),
            logs_bloom: None,
        };
        let base_fee = |number, base_fee| {
            header(number, base_fee).block("eth_getBlockByNumber").map(|block| block.base_fee_per_gas_wei)
        };
        assert_eq!(base_fee(12_964_999, None), Ok(0));
        assert!(matches!(base_fee(12_965_000, None), Err(NodeError::Malformed { .. })));
        assert_eq!(base_fee(12_965_000, Some(1_000_000_000)), Ok(1_000_000_000), "the base fee of that block");
        assert_eq!(base_fee(3, Some(7)), Ok(7), "a local chain");
    }

    #[test]
    fn logs_come_out_in_chain_order_whatever_order_they_came_in() {
        let logs = vec![log(2, 0, false), log(1, 5, false), log(1, 2, false), log(1, 3, true), log(1, 5, false)];
        let placed = place_logs("eth_getLogs", logs).unwrap();
        let places: Vec<_> = placed.iter().map(|l| (l.block_number, l.index)).collect();
        assert_eq!(places, [(1, 2), (1, 5), (2, 0)], "ordered, without removed and repeated logs");
    }

    /// Of logs that a node numbers by transaction, all but one at each number were dropped.
    #[test]
    fn two_logs_at_one_place_are_an_error() {
        let other = RpcLog {
            inner: alloy::primitives::Log::new_unchecked(Address::repeat_byte(1), vec![], [].into()),
            ..log(1, 5, false)
        };
        let error = place_logs("eth_getLogs", vec![log(1, 5, false), other]).unwrap_err();
        assert!(matches!(error, NodeError::Malformed { .. }));
    }

    #[test]
    fn an_error_does_not_repeat_a_long_answer() {
        let answer = RawValue::from_string(format!("\"{}\"", "7".repeat(1 << 20))).unwrap();
        let error = parse::<Vec<RpcLog>>("eth_getLogs", &answer).unwrap_err();
        assert!(error.to_string().len() < 500, "{} characters", error.to_string().len());
    }

    #[test]
    fn a_pending_log_is_no_log() {
        let error = place_logs("eth_getLogs", vec![RpcLog::default()]).unwrap_err();
        assert!(matches!(error, NodeError::Malformed { .. }));
    }

    #[test]
    fn a_filter_names_every_topic_once_and_emitters_only_when_there_are_some() {
        let any = LogFilter { emitters: vec![], topics: vec![B256::ZERO] }.at(B256::ZERO);
        assert!(any[0].get("address").is_none());
        assert_eq!(any[0]["topics"][0].as_array().unwrap().len(), 1);
        let some = LogFilter { emitters: vec![Address::ZERO], topics: vec![] }.between(1, 255);
        assert_eq!(some[0]["toBlock"], "0xff");
        assert_eq!(some[0]["address"].as_array().unwrap().len(), 1);
    }
}
