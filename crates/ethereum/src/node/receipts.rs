//! Reads logs from the receipts of blocks: if a node's list of logs is in doubt, or if it gives logs only of named
//! contracts.

use alloy::rpc::types::Log as RpcLog;
use braid_primitives::Block;
use serde::Deserialize;
use serde_json::json;

use super::{
    client::Request,
    fee_history::{self, FeeHistory},
    member::Member,
    wire::{LogFilter, PlacedLog, check_block, hex, parse, place_logs},
};
use crate::NodeError;

const METHOD: &str = "eth_getBlockReceipts";

/// Blocks whose receipts share a message.
const BLOCKS_PER_MESSAGE: u64 = 4;

/// The logs of a receipt; its other fields are ignored.
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

/// Returns whether a block's receipts have logs that match a filter. A node that returns no receipts is asked for the
/// logs by the block's height; false if it has none then either.
pub(super) async fn have_logs(member: &Member, block: &Block, filter: &LogFilter) -> bool {
    let request = Request { method: METHOD, params: json!([block.hash]) };
    if let Ok(Some(receipts)) = member.get::<Option<Vec<Receipt>>>(&request).await {
        return receipts.iter().flat_map(|receipt| &receipt.logs).any(|log| filter.matches(&log.inner));
    }
    let request = Request { method: "eth_getLogs", params: filter.between(block.number, block.number) };
    let Ok(logs) = member.get::<Vec<RpcLog>>(&request).await else { return false };
    logs.iter().any(|log| log.block_hash == Some(block.hash) && filter.matches(&log.inner))
}

/// Returns the logs of blocks by hash, and the answer to a request for the fee history.
pub(super) async fn blocks_logs(
    member: &Member,
    blocks: &[Block],
    filter: &LogFilter,
    fees: Option<Request>,
) -> Result<(Vec<Vec<PlacedLog>>, Option<FeeHistory>), NodeError> {
    let receipts = blocks.iter().map(|block| Request { method: METHOD, params: json!([block.hash]) });
    let requests: Vec<Request> = receipts.chain(fees).collect();
    let mut answers = member.connection.batch(&requests).await?.into_iter();
    let mut all = Vec::with_capacity(blocks.len());
    for block in blocks {
        let unknown = || NodeError::UnknownBlock { hash: block.hash };
        let raw = answers.next().unwrap_or_else(|| Err(unknown()))?;
        let receipts: Option<Vec<Receipt>> = parse(METHOD, &raw)?;
        let logs = filter.of(receipts.ok_or_else(unknown)?)?;
        check_block(METHOD, block, &logs)?;
        all.push(logs);
    }
    Ok((all, fee_history::parse_answer(answers.next())))
}

/// Returns the logs of a range of blocks, both ends included.
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
