//! Logs from the receipts of blocks: where a node's list of logs is in doubt, and where it gives logs only of named contracts.

use alloy::rpc::types::Log as RpcLog;
use braid_primitives::Block;
use serde::Deserialize;
use serde_json::json;

use super::{
    client::Request,
    fee_history::{self, FeeHistory},
    fleet::Member,
    wire::{LogFilter, PlacedLog, hex, parse, place_logs},
};
use crate::NodeError;

const METHOD: &str = "eth_getBlockReceipts";

/// Blocks whose receipts share a message.
const BLOCKS_PER_MESSAGE: u64 = 4;

/// What a follower asks of a node for one block, answered together.
#[derive(Clone, Debug)]
pub struct BlockLogs {
    /// The block's logs in order.
    pub logs: Vec<PlacedLog>,
    /// Fee history up to that block, if the node gave one.
    pub fees: Option<FeeHistory>,
}

/// As much of a receipt as shows which logs a block has.
#[derive(Deserialize)]
struct Receipt {
    logs: Vec<RpcLog>,
}

impl LogFilter {
    fn matches(&self, log: &alloy::primitives::Log) -> bool {
        let topic = self.topics.is_empty() || log.topics().first().is_some_and(|topic0| self.topics.contains(topic0));
        topic && (self.emitters.is_empty() || self.emitters.contains(&log.address))
    }

    fn of(&self, receipts: Vec<Receipt>) -> Result<Vec<PlacedLog>, NodeError> {
        let logs = receipts.into_iter().flat_map(|receipt| receipt.logs);
        place_logs(METHOD, logs.filter(|log| self.matches(&log.inner)).collect())
    }
}

/// Whether a block's receipts have logs that the filter wants. A node that gives no receipts is believed.
pub(super) async fn show(member: &Member, block: &Block, filter: &LogFilter) -> bool {
    let request = Request { method: METHOD, params: json!([block.hash]) };
    let Ok(Some(receipts)) = member.get::<Option<Vec<Receipt>>>(&request).await else { return false };
    receipts.iter().flat_map(|receipt| &receipt.logs).any(|log| filter.matches(&log.inner))
}

/// The logs of blocks by hash, with the fee history that the last of `requests` may ask for.
pub(super) async fn blocks_logs(
    member: &Member,
    requests: &[Request],
    blocks: &[Block],
    filter: &LogFilter,
) -> Result<Vec<BlockLogs>, NodeError> {
    let request = |block: &Block| Request { method: METHOD, params: json!([block.hash]) };
    let fees = requests.iter().filter(|request| request.method == fee_history::METHOD).cloned();
    let asked: Vec<Request> = blocks.iter().map(request).chain(fees).collect();
    let mut answers = member.connection.batch(&asked).await?.into_iter();
    let mut all = Vec::with_capacity(blocks.len());
    for block in blocks {
        let raw = answers.next().unwrap_or(Err(NodeError::UnknownBlock { hash: block.hash }))?;
        let receipts: Option<Vec<Receipt>> = parse(METHOD, &raw)?;
        let logs = filter.of(receipts.ok_or(NodeError::UnknownBlock { hash: block.hash })?)?;
        if logs.iter().any(|log| log.block_hash != block.hash) {
            return Err(NodeError::Malformed { method: METHOD, why: "logs of another block".into() });
        }
        all.push(BlockLogs { logs, fees: None });
    }
    if let (Some(last), Some(Ok(raw))) = (all.last_mut(), answers.next()) {
        last.fees = parse(fee_history::METHOD, &raw).ok();
    }
    Ok(all)
}

/// The logs of a range of blocks, both ends included.
pub(super) async fn logs_between(
    member: &Member,
    from: u64,
    to: u64,
    filter: &LogFilter,
) -> Result<Vec<PlacedLog>, NodeError> {
    let (mut next, mut logs) = (from, Vec::new());
    while next <= to {
        let end = next.saturating_add(BLOCKS_PER_MESSAGE - 1).min(to);
        let request = |block| Request { method: METHOD, params: json!([hex(block)]) };
        let requests: Vec<Request> = (next..=end).map(request).collect();
        for raw in member.connection.batch(&requests).await? {
            let receipts: Option<Vec<Receipt>> = parse(METHOD, &raw?)?;
            let missing = || NodeError::Malformed { method: METHOD, why: "null for a block".into() };
            logs.extend(filter.of(receipts.ok_or_else(missing)?)?);
        }
        let Some(after) = end.checked_add(1) else { break };
        next = after;
    }
    Ok(logs)
}
