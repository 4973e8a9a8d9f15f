//! Reads the logs of blocks, and checks them against the blocks' blooms; a list that contradicts its bloom is checked
//! against the receipts.

use alloy::{primitives::U64, rpc::types::Log as RpcLog};
use braid_primitives::Block;
use serde_json::json;

use super::{
    blooms::{Verdict, judge},
    client::Request,
    connect::Node,
    fee_history::{self, FeeHistory},
    health::Class,
    member::Member,
    receipts,
    wire::{LogFilter, PlacedLog, check_block, parse, place_logs},
};
use crate::NodeError;

const LOGS: &str = "eth_getLogs";
const COUNT: &str = "eth_getBlockTransactionCountByHash";

/// The logs of a block and, on request, the fee history up to it.
#[derive(Clone, Debug)]
pub struct BlockLogs {
    /// The block's logs in order.
    pub logs: Vec<PlacedLog>,
    /// Fee history up to the block, if the node returned one.
    pub fees: Option<FeeHistory>,
}

impl Node {
    /// Returns the logs of one block by hash and, if `fees`, the fee history up to it, in one message.
    ///
    /// Some nodes answer an unknown hash with no logs; so the block's transaction count is asked for too, which is null
    /// then. If the block's header was seen, the logs are checked against its bloom.
    ///
    /// # Errors
    /// [`NodeError::UnknownBlock`] when no node has the block, [`NodeError::MissingLogs`] when logs were left out.
    pub async fn block_logs(&self, block: &Block, filter: &LogFilter, fees: bool) -> Result<BlockLogs, NodeError> {
        let mut all = self.blocks_logs(std::slice::from_ref(block), filter, fees).await?;
        all.pop().ok_or(NodeError::UnknownBlock { hash: block.hash })
    }

    /// Returns the logs of several blocks, each as [`Node::block_logs`] does; the fee history is that up to the last
    /// block.
    ///
    /// # Errors
    /// As [`Node::block_logs`].
    pub async fn blocks_logs(
        &self,
        blocks: &[Block],
        filter: &LogFilter,
        fees: bool,
    ) -> Result<Vec<BlockLogs>, NodeError> {
        self.inner.filter.lock().get_or_insert_with(|| filter.clone());
        self.ask(Class::Heavy, |member| self.logs_of(member, blocks, filter, fees)).await
    }

    /// Returns the logs of blocks, each by its hash, without the checks of [`Node::blocks_logs`]: to compare them with
    /// those of ranges.
    pub(crate) async fn logs_alone(
        &self,
        blocks: &[Block],
        filter: &LogFilter,
    ) -> Result<Vec<Vec<PlacedLog>>, NodeError> {
        let request = |block: &Block| Request { method: LOGS, params: filter.at(block.hash) };
        let requests: Vec<Request> = blocks.iter().map(request).collect();
        let requests = requests.as_slice();
        self.ask(Class::Heavy, |member| async move {
            let answers = member.connection.batch(requests).await?.into_iter();
            let logs = answers.zip(blocks).map(|(raw, block)| {
                let logs = place_logs(LOGS, parse::<Vec<RpcLog>>(LOGS, &raw?)?)?;
                check_block(LOGS, block, &logs)?;
                Ok(logs)
            });
            logs.collect()
        })
        .await
    }

    /// Reads the logs of blocks from one node: from its logs, or from receipts if it gives logs only of named
    /// contracts.
    async fn logs_of(
        &self,
        member: &Member,
        blocks: &[Block],
        filter: &LogFilter,
        fees: bool,
    ) -> Result<Vec<BlockLogs>, NodeError> {
        let newest = blocks.last().filter(|_| fees).map(|block| fee_history::request(block.number));
        let needs_emitters = member.connection.limits.lock().logs_need_emitters;
        if !needs_emitters || !filter.emitters.is_empty() {
            match self.filtered_logs(member, blocks, filter, newest.clone()).await {
                Err(error) if filter.emitters.is_empty() && error.needs_emitters() => {
                    member.note_needs_emitters(&error);
                }
                // An error of the node's own at the logs alone: receipts are kept elsewhere.
                Err(error @ NodeError::Rpc { method: LOGS, .. })
                    if error.is_refusal_of_logs() && !error.is_unknown_block() =>
                {
                    let read =
                        receipts::blocks_logs(member, blocks, filter, newest).await.map_err(|_| error.clone())?;
                    let (node, number) = (member.name.as_str(), blocks.last().map(|block| block.number));
                    tracing::debug!(node, number, %error, "the logs of a block were read from its receipts");
                    return Ok(with_fees(read.0, read.1));
                }
                result => return result,
            }
        }
        let (logs, fees) = receipts::blocks_logs(member, blocks, filter, newest).await?;
        Ok(with_fees(logs, fees))
    }

    async fn filtered_logs(
        &self,
        member: &Member,
        blocks: &[Block],
        filter: &LogFilter,
        fees: Option<Request>,
    ) -> Result<Vec<BlockLogs>, NodeError> {
        let of_block = |block: &Block| {
            let logs = Request { method: LOGS, params: filter.at(block.hash) };
            [logs, Request { method: COUNT, params: json!([block.hash]) }]
        };
        let requests: Vec<Request> = blocks.iter().flat_map(of_block).chain(fees).collect();
        let mut answers = member.connection.batch(&requests).await?.into_iter();
        let mut all = Vec::with_capacity(blocks.len());
        for block in blocks {
            let (Some(logs), Some(count)) = (answers.next(), answers.next()) else {
                return Err(NodeError::Malformed { method: LOGS, why: "too few answers".into() });
            };
            if parse::<Option<U64>>(COUNT, &count?)?.is_none() {
                return Err(NodeError::UnknownBlock { hash: block.hash });
            }
            let logs = place_logs(LOGS, parse::<Vec<RpcLog>>(LOGS, &logs?)?)?;
            check_block(LOGS, block, &logs)?;
            self.check_bloom(member, block, filter, &logs).await?;
            all.push(logs);
        }
        Ok(with_fees(all, fee_history::parse_answer(answers.next())))
    }

    /// Checks a node's logs of a block against the block's bloom, and suspicious ones against its receipts.
    async fn check_bloom(
        &self,
        member: &Member,
        block: &Block,
        filter: &LogFilter,
        logs: &[PlacedLog],
    ) -> Result<(), NodeError> {
        let Some(bloom) = self.inner.headers.lock().get(block.hash) else { return Ok(()) };
        match judge(&bloom, filter, logs) {
            Verdict::Plausible => {}
            Verdict::Foreign => {
                return Err(NodeError::Malformed { method: LOGS, why: "a log that the block does not have".into() });
            }
            Verdict::Suspicious => {
                if receipts::have_logs(member, block, filter).await {
                    let endpoint = member.connection.endpoint().to_string();
                    return Err(NodeError::MissingLogs { endpoint, number: block.number });
                }
            }
        }
        if !logs.is_empty() && self.inner.fleet.members.len() == 1 {
            // Several nodes are compared with each other instead.
            member.update(|health| health.missing_logs = None);
        }
        Ok(())
    }

    /// Returns a node's logs of a block, without those that the block's bloom excludes.
    pub(super) async fn plausible_logs(
        &self,
        member: &Member,
        block: &Block,
        filter: &LogFilter,
    ) -> Result<Vec<PlacedLog>, NodeError> {
        let request = Request { method: LOGS, params: filter.at(block.hash) };
        let mut logs = place_logs(LOGS, member.get::<Vec<RpcLog>>(&request).await?)?;
        if let Some(bloom) = self.inner.headers.lock().get(block.hash) {
            logs.retain(|placed| bloom.contains_raw_log(placed.log.address, placed.log.topics()));
        }
        Ok(logs)
    }
}

/// Adds the fee history to the last block.
fn with_fees(all: Vec<Vec<PlacedLog>>, fees: Option<FeeHistory>) -> Vec<BlockLogs> {
    let mut all: Vec<BlockLogs> = all.into_iter().map(|logs| BlockLogs { logs, fees: None }).collect();
    if let Some(last) = all.last_mut() {
        last.fees = fees;
    }
    all
}
