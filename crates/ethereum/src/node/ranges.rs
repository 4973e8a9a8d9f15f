//! Reads the logs of ranges of blocks, in pieces that a node accepts.

use std::time::Duration;

use alloy::primitives::U64;
use serde_json::json;

use super::{
    client::Request,
    connect::Node,
    health::Class,
    limits::warn_if_few,
    member::Member,
    receipts, refusals,
    wire::{LogFilter, PlacedLog, place_logs},
};
use crate::NodeError;

const LOGS: &str = "eth_getLogs";

/// Most logs of an answer after which the next range may be larger.
const COMFORTABLE_LOGS: usize = 2_000;

/// Longest time of such an answer.
const COMFORTABLE_TIME: Duration = Duration::from_secs(4);

/// Timeouts in a row, each with half the blocks of the one before, after which the request fails.
const TIMEOUTS_IN_A_ROW: u32 = 3;

impl Node {
    /// Returns the logs of a range of blocks of the node's present chain, both ends included, in the order of the
    /// chain. Learns how many blocks a node accepts at once.
    ///
    /// # Errors
    /// [`NodeError`]; [`NodeError::Pruned`] if no node has logs this old.
    pub async fn logs_between(
        &self,
        from_block: u64,
        to_block: u64,
        filter: &LogFilter,
    ) -> Result<Vec<PlacedLog>, NodeError> {
        let (mut next, mut logs) = (from_block, Vec::new());
        while next <= to_block {
            let (more, after) = self.first_logs_between(next, to_block, filter).await?;
            logs.extend(more);
            let Some(after) = after else { break };
            next = after;
        }
        Ok(logs)
    }

    /// Returns the logs of the first blocks of a range, and the block after them at which reading failed; `None` if all
    /// were read.
    ///
    /// # Errors
    /// As [`Node::logs_between`], if not even the logs of the first block could be read.
    pub(crate) async fn first_logs_between(
        &self,
        from_block: u64,
        to_block: u64,
        filter: &LogFilter,
    ) -> Result<(Vec<PlacedLog>, Option<u64>), NodeError> {
        self.ask(Class::Heavy, |member| async move {
            let (mut next, mut logs) = (from_block, Vec::new());
            match member.add_logs_between(&mut next, to_block, filter, &mut logs).await {
                Ok(()) => Ok((logs, None)),
                Err(_) if next > from_block => Ok((logs, Some(next))),
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// Returns how many blocks a range that starts at `from` may have, and whether several ranges may be asked for at
    /// once.
    pub(crate) fn range_blocks(&self, from: u64, filter: &LogFilter) -> (u64, bool) {
        let ranked = self.inner.fleet.ranked();
        let has = |member: &&Member| member.connection.limits.lock().first_logs <= from;
        let Some(member) = ranked.iter().copied().find(has).or(ranked.first().copied()) else { return (1, false) };
        let mut limits = member.connection.limits.lock();
        let size = limits.blocks(filter);
        (size.now(), size.is_steady())
    }
}

impl Member {
    /// Adds the logs of the blocks from `next` on, which moves on to the first block that was not read.
    async fn add_logs_between(
        &self,
        next: &mut u64,
        to: u64,
        filter: &LogFilter,
        logs: &mut Vec<PlacedLog>,
    ) -> Result<(), NodeError> {
        let mut timeouts = 0;
        while *next <= to {
            let (blocks, first_logs, by_receipts) = {
                let mut limits = self.connection.limits.lock();
                let blocks = limits.blocks(filter).now();
                (blocks, limits.first_logs, limits.logs_need_emitters && filter.emitters.is_empty())
            };
            if *next < first_logs {
                return Err(self.pruned(first_logs));
            }
            if by_receipts {
                logs.extend(receipts::logs_between(self, *next, to, filter).await?);
                break;
            }
            let end = next.saturating_add(blocks - 1).min(to);
            let asked = end - *next + 1;
            let asked_at = tokio::time::Instant::now();
            match self.range(*next, end, filter).await {
                Ok(more) => {
                    let grows = more.len() <= COMFORTABLE_LOGS && asked_at.elapsed() <= COMFORTABLE_TIME;
                    self.connection.limits.lock().blocks(filter).answered(asked, grows);
                    logs.extend(more);
                    let Some(after) = end.checked_add(1) else { break };
                    (*next, timeouts) = (after, 0);
                }
                Err(error) if filter.emitters.is_empty() && error.needs_emitters() => {
                    self.note_needs_emitters(&error);
                }
                Err(error) if error.is_rate_limit() => return Err(error),
                Err(error) => {
                    if asked == 1 || error.is_pruned_history() {
                        self.check_pruned(*next, filter, &error).await?;
                    }
                    timeouts += u32::from(matches!(error, NodeError::Timeout { .. }));
                    let is_limit = error.may_be_a_limit() || self.cuts_off(&error).await;
                    if asked == 1 || !is_limit || timeouts > TIMEOUTS_IN_A_ROW {
                        return Err(error);
                    }
                    self.note_refusal(*next, end, filter, &error);
                }
            }
        }
        Ok(())
    }

    async fn range(&self, from: u64, to: u64, filter: &LogFilter) -> Result<Vec<PlacedLog>, NodeError> {
        place_logs(LOGS, self.get(&Request { method: LOGS, params: filter.between(from, to) }).await?)
    }

    /// Returns whether the node closed the connection rather than answer, and answers otherwise: the answer was too long,
    /// or took too long.
    async fn cuts_off(&self, error: &NodeError) -> bool {
        matches!(error, NodeError::Unreachable { .. }) && self.answers().await
    }

    fn note_refusal(&self, from: u64, to: u64, filter: &LogFilter, error: &NodeError) {
        let stated = refusals::blocks(error.message(), from, to);
        let mut limits = self.connection.limits.lock();
        let size = limits.blocks(filter);
        let were_few = size.is_few();
        let news = size.refused(to - from + 1, stated, error.speaks_of_size());
        let (node, blocks) = (self.name.as_str(), size.now());
        if news {
            tracing::debug!(node, %error, blocks, "asking for the logs of fewer blocks at once");
            warn_if_few(node, size, were_few, "blocks in a range of logs", error);
        }
    }

    pub(super) fn note_needs_emitters(&self, error: &NodeError) {
        let mut limits = self.connection.limits.lock();
        if !std::mem::replace(&mut limits.logs_need_emitters, true) {
            let node = self.name.as_str();
            tracing::warn!(node, %error, "the node gives logs only of named contracts: logs of blocks are read from receipts");
        }
    }

    fn pruned(&self, first_block: u64) -> NodeError {
        NodeError::Pruned { endpoint: self.connection.endpoint().to_string(), first_block }
    }

    /// Searches for the first block whose logs the node has, after it refused those of an old one.
    ///
    /// # Errors
    /// [`NodeError::Pruned`] if there is such a block; otherwise the refusal has another reason.
    async fn check_pruned(&self, refused: u64, filter: &LogFilter, error: &NodeError) -> Result<(), NodeError> {
        if !matches!(error, NodeError::Rpc { .. }) {
            return Ok(());
        }
        let Some(first_block) = self.first_logs(refused, filter).await? else { return Ok(()) };
        let known = std::mem::replace(&mut self.connection.limits.lock().first_logs, first_block);
        if known != first_block {
            let node = self.name.as_str();
            tracing::warn!(node, %error, first_block, "the node pruned its history: pools announced before this block are not found there");
        }
        Err(self.pruned(first_block))
    }

    /// Returns the first block after a refused one whose logs the node has; `None` if its history is not pruned.
    async fn first_logs(&self, refused: u64, filter: &LogFilter) -> Result<Option<u64>, NodeError> {
        let head: U64 = self.get(&Request { method: "eth_blockNumber", params: json!([]) }).await?;
        let (mut below, mut above) = (refused, head.to::<u64>());
        // A pruned history lacks everything that is older, too.
        let older = refused / 2;
        if older < refused && self.has_logs(older, filter).await? {
            return Ok(None);
        }
        if above <= below || self.has_logs(below, filter).await? || !self.has_logs(above, filter).await? {
            return Ok(None);
        }
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            if self.has_logs(middle, filter).await? { above = middle } else { below = middle }
        }
        // A single block may be refused for its size; a pruned history is refused everywhere.
        for part in 1..4 {
            if self.has_logs(refused + (below - refused) / 4 * part, filter).await? {
                return Ok(None);
            }
        }
        Ok((below > refused).then_some(above))
    }

    async fn has_logs(&self, block: u64, filter: &LogFilter) -> Result<bool, NodeError> {
        match self.range(block, block, filter).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_rate_limit() => Err(error),
            Err(NodeError::Rpc { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
