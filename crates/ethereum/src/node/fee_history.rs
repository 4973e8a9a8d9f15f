//! What others paid for gas in the newest blocks.

use serde::Deserialize;
use serde_json::json;

use super::{client::Request, connect::Node, wire::hex};
use crate::NodeError;

pub(super) const METHOD: &str = "eth_feeHistory";

/// How many blocks of tips are looked at.
pub const HISTORY_BLOCKS: u64 = 20;

/// The percentile of a block's tips, weighted by gas, that each tier pays, cheapest tier first.
pub const PERCENTILES: [u8; 4] = [10, 30, 60, 90];

/// `eth_feeHistory`, as far as tiers need it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeeHistory {
    /// Share of the gas limit used, per block, oldest first.
    #[serde(default)]
    pub gas_used_ratio: Vec<f64>,
    /// Priority fees in wei per gas, per block, at the percentiles asked for; missing on some nodes for empty blocks.
    #[serde(default)]
    pub reward: Option<Vec<Vec<alloy::primitives::U128>>>,
}

impl Node {
    /// Fee history up to a block.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn fee_history(&self, block_number: u64) -> Result<FeeHistory, NodeError> {
        let Request { method, params } = request(block_number);
        self.get(method, params).await
    }
}

/// The request for the history up to a block.
pub(super) fn request(block_number: u64) -> Request {
    Request { method: METHOD, params: json!([hex(HISTORY_BLOCKS), hex(block_number), PERCENTILES]) }
}
