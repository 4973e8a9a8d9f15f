//! Reads the logs of blocks, and checks them against the blocks' blooms; a list that contradicts its bloom is checked
//! against the receipts.

use alloy::rpc::types::Log as RpcLog;
use braid_primitives::Block;
use futures::future::BoxFuture;

use super::{
    blooms::{Verdict, judge},
    client::Request,
    connect::Node,
    fee_history::FeeHistory,
    health::Class,
    member::Member,
    presence::Presence,
    receipts,
    wire::{LogFilter, PlacedLog, check_block, parse, place_logs},
};
use crate::NodeError;

const LOGS: &str = "eth_getLogs";

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
    /// then, or the block itself if the node has no such method. If the block's header was seen, the logs are checked
    /// against its bloom.
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
        self.logs_in_parts(blocks, filter, fees).await
    }

    /// Reads the logs of blocks; in halves if they are too much for one answer of a node that answers otherwise.
    fn logs_in_parts<'a>(
        &'a self,
        blocks: &'a [Block],
        filter: &'a LogFilter,
        fees: bool,
    ) -> BoxFuture<'a, Result<Vec<BlockLogs>, NodeError>> {
        Box::pin(async move {
            let error = match self.ask(Class::Heavy, |member| self.logs_of(member, blocks, filter, fees)).await {
                Err(error) if blocks.len() > 1 => error,
                result => return result,
            };
            let may_be_long = error.may_be_a_limit() || matches!(error, NodeError::Unreachable { .. });
            if !may_be_long || error.is_rate_limit() || self.height().await.is_err() {
                return Err(error);
            }
            tracing::debug!(%error, blocks = blocks.len(), "asking for the logs of fewer blocks in a message");
            let (first, others) = blocks.split_at(blocks.len() / 2);
            let mut all = self.logs_in_parts(first, filter, false).await?;
            all.extend(self.logs_in_parts(others, filter, fees).await?);
            Ok(all)
        })
    }

    /// Returns the logs of blocks as [`Node::blocks_logs`] does, with a filter that no block is followed by.
    pub(crate) async fn logs_by_hash(
        &self,
        blocks: &[Block],
        filter: &LogFilter,
    ) -> Result<Vec<Vec<PlacedLog>>, NodeError> {
        let all = self.logs_in_parts(blocks, filter, false).await?;
        Ok(all.into_iter().map(|block| block.logs).collect())
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
        let newest = blocks.last().filter(|_| fees).and_then(|block| member.fees_request(block.number));
        let has_logs = |block: &Block| self.inner.headers.lock().get(block.hash).is_some_and(|bloom| !bloom.is_zero());
        let needs_emitters = member.connection.limits.lock().logs_need_emitters;
        if !needs_emitters || !filter.emitters.is_empty() {
            match self.filtered_logs(member, blocks, filter, newest.clone()).await {
                Err(error) if filter.emitters.is_empty() && error.needs_emitters() => {
                    member.note_needs_emitters(&error);
                }
                // A failure at the logs alone: receipts are kept elsewhere.
                Err(error) if fails_at_logs(member, &error).await => {
                    let read = match receipts::blocks_logs(member, blocks, filter, has_logs, newest).await {
                        Err(unknown @ NodeError::UnknownBlock { .. }) => return Err(unknown),
                        read => read.map_err(|_| error.clone())?,
                    };
                    let (node, number) = (member.name.as_str(), blocks.last().map(|block| block.number));
                    tracing::debug!(node, number, %error, "the logs of a block were read from its receipts");
                    return Ok(with_fees(read.0, read.1));
                }
                result => return result,
            }
        }
        let (logs, fees) = receipts::blocks_logs(member, blocks, filter, has_logs, newest).await?;
        Ok(with_fees(logs, fees))
    }

    async fn filtered_logs(
        &self,
        member: &Member,
        blocks: &[Block],
        filter: &LogFilter,
        fees: Option<Request>,
    ) -> Result<Vec<BlockLogs>, NodeError> {
        let fees = &fees;
        member.with_presence(|presence| self.logs_of_present(member, blocks, filter, presence, fees.clone())).await
    }

    /// Reads the logs of blocks from a node's logs, and whether it has the blocks, in one message.
    async fn logs_of_present(
        &self,
        member: &Member,
        blocks: &[Block],
        filter: &LogFilter,
        presence: Presence,
        fees: Option<Request>,
    ) -> Result<Vec<BlockLogs>, NodeError> {
        let of_block =
            |block: &Block| [Request { method: LOGS, params: filter.at(block.hash) }, presence.request(block.hash)];
        let requests: Vec<Request> = blocks.iter().flat_map(of_block).chain(fees).collect();
        let mut answers = member.connection.batch(&requests).await?.into_iter();
        let mut all = Vec::with_capacity(blocks.len());
        for block in blocks {
            let (Some(logs), Some(present)) = (answers.next(), answers.next()) else {
                return Err(NodeError::Malformed { method: LOGS, why: "too few answers".into() });
            };
            presence.check(block.hash, present)?;
            let logs = logs.map_err(|error| error.about(block.hash))?;
            let logs = place_logs(LOGS, parse::<Vec<RpcLog>>(LOGS, &logs)?)?;
            check_block(LOGS, block, &logs)?;
            self.check_bloom(member, block, filter, &logs).await?;
            all.push(logs);
        }
        Ok(with_fees(all, member.parse_fees(answers.next())))
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
                if receipts::have_logs(member, block, filter).await? {
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

/// Returns whether a node failed at a request for logs, and may answer others.
async fn fails_at_logs(member: &Member, error: &NodeError) -> bool {
    match error {
        NodeError::Rpc { method, .. } | NodeError::Malformed { method, .. } => {
            *method == LOGS && !error.is_rate_limit() && !error.is_unknown_block()
        }
        NodeError::Timeout { .. } | NodeError::Unreachable { .. } => member.answers().await,
        _ => false,
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
