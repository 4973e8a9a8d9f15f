//! Reads the tips that transactions of the newest blocks paid.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    client::Request,
    connect::Node,
    health::Class,
    member::Member,
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

impl Member {
    /// Returns the request for the history up to a block, unless the node has refused one.
    pub(super) fn fees_request(&self, block_number: u64) -> Option<Request> {
        (!self.fees.is_recent()).then(|| request(block_number))
    }

    /// Reads the answer to [`Self::fees_request`], if there is a usable one. A refusal is remembered.
    pub(super) fn parse_fees(&self, answer: Option<Result<Box<RawValue>, NodeError>>) -> Option<FeeHistory> {
        match answer? {
            Ok(raw) => parse(METHOD, &raw).ok(),
            Err(error) => {
                if self.fees.note(&error) {
                    let node = self.name.as_str();
                    tracing::warn!(node, %error, "the node gives no fee history: gas prices use the least tips");
                }
                None
            }
        }
    }
}

/// Asks for the history up to a block.
fn request(block_number: u64) -> Request {
    Request { method: METHOD, params: json!([hex(HISTORY_BLOCKS), hex(block_number), PERCENTILES]) }
}
