//! Reads the tips that transactions of the newest blocks paid.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    client::Request,
    connect::Node,
    health::Class,
    wire::{hex, parse},
};
use crate::NodeError;

const METHOD: &str = "eth_feeHistory";

/// Blocks of the history.
pub const HISTORY_BLOCKS: u64 = 20;

/// Percentile of a block's tips, weighted by gas, that each tier pays, cheapest tier first.
pub const PERCENTILES: [u8; 4] = [10, 30, 60, 90];

/// The parts of an `eth_feeHistory` answer that tiers need.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeeHistory {
    /// Share of the gas limit used, per block, oldest first.
    #[serde(default)]
    pub gas_used_ratio: Vec<f64>,
    /// Tips in wei per gas, per block, at [`PERCENTILES`]; missing on some nodes for empty blocks.
    #[serde(default)]
    pub reward: Option<Vec<Vec<alloy::primitives::U128>>>,
}

impl Node {
    /// Returns the fee history up to a block.
    pub async fn fee_history(&self, block_number: u64) -> Result<FeeHistory, NodeError> {
        let request = &request(block_number);
        self.ask(Class::Quick, |member| member.get(request)).await
    }
}

/// Asks for the history up to a block.
pub(super) fn request(block_number: u64) -> Request {
    Request { method: METHOD, params: json!([hex(HISTORY_BLOCKS), hex(block_number), PERCENTILES]) }
}

/// Reads the answer to [`request`], if there is a usable one.
pub(super) fn parse_answer(answer: Option<Result<Box<RawValue>, NodeError>>) -> Option<FeeHistory> {
    parse(METHOD, &answer?.ok()?).ok()
}
