//! The logs of blocks, and whether a node's list of them is whole: what its block's bloom speaks against is checked against
//! the receipts.

use alloy::{
    primitives::{Bloom, U64},
    rpc::types::Log as RpcLog,
};
use braid_primitives::{B256, Block};
use serde_json::json;

use super::{
    blooms::{Verdict, judge},
    client::Request,
    connect::{Node, lock},
    fee_history,
    fleet::Member,
    health::Class,
    receipts::{self, BlockLogs},
    wire::{LogFilter, PlacedLog, parse, place_logs},
};
use crate::NodeError;

const LOGS: &str = "eth_getLogs";

impl Node {
    fn bloom_of(&self, block_hash: B256) -> Option<Bloom> {
        lock(&self.inner.headers).get(block_hash)
    }

    /// The logs of one block by hash, and on demand the fee history up to it, in one message.
    ///
    /// Some nodes answer a hash that they do not know with no logs at all; so the block's transaction count is asked for
    /// along with them, which is null then. Where the block's header was seen, the logs are held against its bloom.
    ///
    /// # Errors
    /// [`NodeError::UnknownBlock`] when no node has the block, [`NodeError::MissingLogs`] when logs were left out.
    pub async fn block_logs(&self, block: &Block, filter: &LogFilter, fees: bool) -> Result<BlockLogs, NodeError> {
        let mut all = self.blocks_logs(std::slice::from_ref(block), filter, fees).await?;
        all.pop().ok_or(NodeError::UnknownBlock { hash: block.hash })
    }

    /// As [`Node::block_logs`] for several blocks at once; the fee history is that of the last one.
    ///
    /// # Errors
    /// As [`Node::block_logs`].
    pub async fn blocks_logs(
        &self,
        blocks: &[Block],
        filter: &LogFilter,
        fees: bool,
    ) -> Result<Vec<BlockLogs>, NodeError> {
        lock(&self.inner.filter).get_or_insert_with(|| filter.clone());
        let mut requests = Vec::with_capacity(blocks.len() * 2 + 1);
        for block in blocks {
            requests.push(Request { method: LOGS, params: filter.at(block.hash) });
            requests.push(Request { method: COUNT, params: json!([block.hash]) });
        }
        let newest = blocks.last().filter(|_| fees);
        requests.extend(newest.map(|block| fee_history::request(block.number)));
        let requests = requests.as_slice();
        self.ask(Class::Heavy, |member| self.logs_of(member, requests, blocks, filter)).await
    }

    async fn logs_of(
        &self,
        member: &Member,
        requests: &[Request],
        blocks: &[Block],
        filter: &LogFilter,
    ) -> Result<Vec<BlockLogs>, NodeError> {
        if member.connection.limits.learnt().logs_need_emitters && filter.emitters.is_empty() {
            return receipts::blocks_logs(member, requests, blocks, filter).await;
        }
        let mut answers = member.connection.batch(requests).await?.into_iter();
        let mut all = Vec::with_capacity(blocks.len());
        for block in blocks {
            let (Some(logs), Some(count)) = (answers.next(), answers.next()) else {
                return Err(NodeError::Malformed { method: LOGS, why: "too few answers".into() });
            };
            if parse::<Option<U64>>(COUNT, &count?)?.is_none() {
                return Err(NodeError::UnknownBlock { hash: block.hash });
            }
            let logs = match logs {
                Err(error) if filter.emitters.is_empty() && error.is_a_call_for_emitters() => {
                    member.note_call_for_emitters(&error);
                    return receipts::blocks_logs(member, requests, blocks, filter).await;
                }
                logs => place_logs(LOGS, parse::<Vec<RpcLog>>(LOGS, &logs?)?)?,
            };
            if logs.iter().any(|log| log.block_hash != block.hash) {
                return Err(NodeError::Malformed { method: LOGS, why: "logs of another block".into() });
            }
            self.hold_against_bloom(member, block, filter, &logs).await?;
            all.push(BlockLogs { logs, fees: None });
        }
        if let (Some(last), Some(Ok(raw))) = (all.last_mut(), answers.next()) {
            last.fees = parse(fee_history::METHOD, &raw).ok();
        }
        Ok(all)
    }

    async fn hold_against_bloom(
        &self,
        member: &Member,
        block: &Block,
        filter: &LogFilter,
        logs: &[PlacedLog],
    ) -> Result<(), NodeError> {
        let Some(bloom) = self.bloom_of(block.hash) else { return Ok(()) };
        match judge(&bloom, filter, logs) {
            Verdict::Plausible => {}
            Verdict::Foreign => {
                return Err(NodeError::Malformed { method: LOGS, why: "a log that the block does not have".into() });
            }
            Verdict::Suspicious => {
                if receipts::show(member, block, filter).await {
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

    /// The logs of a block as one node has them, without those that the block's bloom rules out.
    pub(super) async fn plausible_logs(
        &self,
        member: &Member,
        block: &Block,
        filter: &LogFilter,
    ) -> Result<Vec<PlacedLog>, NodeError> {
        let request = Request { method: LOGS, params: filter.at(block.hash) };
        let mut logs = place_logs(LOGS, member.get::<Vec<RpcLog>>(&request).await?)?;
        if let Some(bloom) = self.bloom_of(block.hash) {
            logs.retain(|placed| bloom.contains_raw_log(placed.log.address, placed.log.topics()));
        }
        Ok(logs)
    }
}

const COUNT: &str = "eth_getBlockTransactionCountByHash";
