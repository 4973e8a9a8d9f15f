//! Reads logs from the receipts of blocks: if a node's list of logs is in doubt, or if it gives logs only of named
//! contracts.

use alloy::rpc::types::Log as RpcLog;
use braid_primitives::Block;
use serde::Deserialize;
use serde_json::json;

use super::{
    client::Request,
    fee_history::FeeHistory,
    member::Member,
    wire::{LogFilter, PlacedLog, check_block, hex, parse, place_logs},
};
use crate::NodeError;

const METHOD: &str = "eth_getBlockReceipts";

/// Blocks whose receipts share a message.
const BLOCKS_PER_MESSAGE: usize = 4;

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

    /// Returns the matching logs of a block's receipts. Some nodes number logs by transaction; their place in the block
    /// is that in the list.
    fn of(&self, receipts: Vec<Receipt>) -> Result<Vec<PlacedLog>, NodeError> {
        let logs = receipts.into_iter().flat_map(|receipt| receipt.logs).zip(0..);
        let numbered = logs.map(|(log, index)| RpcLog { log_index: Some(index), ..log });
        place_logs(METHOD, numbered.filter(|log| self.matches(&log.inner)).collect())
    }
}

/// Returns whether a block, whose bloom is not zero, has logs that match a filter, by its receipts. A node that returns no
/// receipts is asked for the logs by the block's height; false if it has none then either.
///
/// # Errors
/// [`NodeError::UnknownBlock`] if the receipts have no log at all, which contradicts the bloom: erigon answers so until it
/// has made them.
pub(super) async fn have_logs(member: &Member, block: &Block, filter: &LogFilter) -> Result<bool, NodeError> {
    let request = Request { method: METHOD, params: json!([block.hash]) };
    if let Ok(Some(receipts)) = member.get::<Option<Vec<Receipt>>>(&request).await {
        let mut logs = receipts.iter().flat_map(|receipt| &receipt.logs).peekable();
        return match logs.peek() {
            None => Err(NodeError::UnknownBlock { hash: block.hash }),
            Some(_) => Ok(logs.any(|log| filter.matches(&log.inner))),
        };
    }
    let request = Request { method: "eth_getLogs", params: filter.between(block.number, block.number) };
    let Ok(logs) = member.get::<Vec<RpcLog>>(&request).await else { return Ok(false) };
    Ok(logs.iter().any(|log| log.block_hash == Some(block.hash) && filter.matches(&log.inner)))
}

/// Returns the logs of blocks by hash, and the answer to a request for the fee history. `has_logs` tells blocks that are
/// known to have logs: the node does not have those whose receipts have none.
pub(super) async fn blocks_logs(
    member: &Member,
    blocks: &[Block],
    filter: &LogFilter,
    has_logs: impl Fn(&Block) -> bool,
    fees: Option<Request>,
) -> Result<(Vec<Vec<PlacedLog>>, Option<FeeHistory>), NodeError> {
    let (mut all, mut fee_history) = (Vec::with_capacity(blocks.len()), None);
    for chunk in blocks.chunks(BLOCKS_PER_MESSAGE) {
        let is_last = all.len() + chunk.len() == blocks.len();
        let receipts = chunk.iter().map(|block| Request { method: METHOD, params: json!([block.hash]) });
        let requests: Vec<Request> = receipts.chain(fees.clone().filter(|_| is_last)).collect();
        let mut answers = member.connection.batch(&requests).await?.into_iter();
        for block in chunk {
            let unknown = || NodeError::UnknownBlock { hash: block.hash };
            let raw = answers.next().unwrap_or_else(|| Err(unknown())).map_err(|error| error.about(block.hash))?;
            let receipts: Option<Vec<Receipt>> = parse(METHOD, &raw)?;
            let receipts = receipts.ok_or_else(unknown)?;
            if receipts.iter().all(|receipt| receipt.logs.is_empty()) && has_logs(block) {
                return Err(unknown());
            }
            let logs = filter.of(receipts)?;
            check_block(METHOD, block, &logs)?;
            all.push(logs);
        }
        fee_history = member.parse_fees(answers.next());
    }
    Ok((all, fee_history))
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
        let end = next.saturating_add(BLOCKS_PER_MESSAGE as u64 - 1).min(to);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the logs of several transactions, each numbered from 0, all but the first at each number were dropped.
    #[test]
    fn logs_that_are_numbered_by_transaction_are_all_kept_in_order() {
        let log = |byte: u8| RpcLog {
            inner: alloy::primitives::Log::new_unchecked(
                alloy::primitives::Address::repeat_byte(byte),
                vec![],
                [].into(),
            ),
            block_number: Some(7),
            block_hash: Some(Default::default()),
            log_index: Some(0),
            ..RpcLog::default()
        };
        let receipts = [1, 2, 3].map(|byte| Receipt { logs: vec![log(byte)] });
        let placed = LogFilter::default().of(receipts.into()).unwrap();
        let emitters: Vec<_> = placed.iter().map(|placed| (placed.index, placed.log.address.0[0])).collect();
        assert_eq!(emitters, [(0, 1), (1, 2), (2, 3)]);
    }
}
