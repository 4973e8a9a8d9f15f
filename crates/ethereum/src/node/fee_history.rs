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

    /// Reads the answer to [`Self::fees_request`], if there is a usable one. A refusal is remembered, unless it may
    /// concern the block alone.
    pub(super) fn parse_fees(&self, answer: Option<Result<Box<RawValue>, NodeError>>) -> Option<FeeHistory> {
        match answer? {
            Ok(raw) => parse(METHOD, &raw).ok(),
            Err(error) => {
                if !error.is_refusal_of_parameters() && self.fees.note(&error) {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::node::{client::Connection, endpoint::Endpoint};

    /// A node that was one block behind once gave no tips for an hour.
    #[test]
    fn only_a_missing_method_ends_the_requests_for_the_fee_history() {
        let rpc = |code, message: &str| NodeError::Rpc { method: METHOD, code, message: message.into() };
        let http = |status| NodeError::Http { endpoint: "http://a.example".into(), method: METHOD, status };
        let goes_on_after = |error: NodeError| {
            let endpoint = Endpoint::parse("http://a.example").unwrap();
            let connection = Connection::new(endpoint, Duration::from_secs(1), 8);
            let member = Member::new(connection, "a.example".into());
            assert_eq!(member.parse_fees(Some(Err(error))), None);
            member.fees_request(7).is_some()
        };
        for error in [
            rpc(-32_602, "Invalid block number params"),
            rpc(-32_602, "invalid params"),
            rpc(-32_000, "request beyond head block: requested 8, head 7"),
            http(429),
            http(503),
        ] {
            assert!(goes_on_after(error.clone()), "{error}");
        }
        for error in [
            rpc(-32_601, "the method eth_feeHistory does not exist/is not available"),
            rpc(-32_602, "method not supported"),
            http(403),
        ] {
            assert!(!goes_on_after(error.clone()), "{error}");
        }
    }
}
