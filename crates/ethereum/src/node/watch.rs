//! Compares several nodes with each other: who lags, who has another block at the same height, who leaves out logs. And the
//! heads that one of them pushes.

use std::{collections::BTreeMap, sync::Arc};

use alloy::pubsub::RawSubscription;
use braid_primitives::{B256, Block};
use futures::future::join_all;
use serde_json::{json, value::RawValue};

use super::{
    client::Request,
    connect::{Node, lock},
    fleet::Member,
    health::Class,
    pace::Urgency,
    wire::{Header, LogFilter, PlacedLog, hex, parse},
};
use crate::NodeError;

/// Blocks below the lowest head at which nodes are compared: the newest ones may still be replaced.
const SETTLED_BLOCKS: u64 = 2;

/// Every how many comparisons the logs of a block are compared too.
const LOGS_EVERY: u64 = 10;

const BLOCK: &str = "eth_getBlockByNumber";

/// Heads that a node pushes.
pub(crate) struct HeadStream {
    pub(crate) raw: RawSubscription,
    member: usize,
}

impl Node {
    /// Compares the nodes from now on, now and then, as long as anyone holds them.
    pub(super) fn watch(&self) {
        if self.inner.fleet.members.len() < 2 {
            return;
        }
        let (weak, every) = (Arc::downgrade(&self.inner), self.inner.config.check_every);
        tokio::spawn(async move {
            for round in 1u64.. {
                tokio::time::sleep(every).await;
                let Some(inner) = weak.upgrade() else { return };
                let node = Self { inner, urgency: Urgency::Block };
                node.compare(round % LOGS_EVERY == 0).await;
            }
        });
    }

    /// Compares the nodes now, logs included. What is found counts at once.
    pub async fn compare_nodes(&self) {
        self.compare(true).await;
    }

    async fn compare(&self, logs: bool) {
        let members = &self.inner.fleet.members;
        let newest: Vec<Option<u64>> = join_all(members.iter().map(|member| self.newest_of(member))).await;
        let Some(reference) = reference_height(&newest) else { return };
        for (member, height) in members.iter().zip(&newest) {
            let behind = height.map(|height| reference.saturating_sub(height));
            let behind = behind.filter(|blocks| *blocks > self.inner.config.lag_blocks);
            member.update(|health| health.behind = behind);
        }
        let present = members.iter().zip(&newest).filter(|(_, height)| height.is_some());
        let present: Vec<&Member> = present.map(|(member, _)| member).collect();
        let Some(lowest) = newest.iter().flatten().min().filter(|_| present.len() > 1) else { return };
        let height = lowest.saturating_sub(SETTLED_BLOCKS);
        let blocks = join_all(present.iter().map(|member| self.block_of(member, height))).await;
        let hashes: Vec<Option<B256>> = blocks.iter().map(|block| block.map(|block| block.hash)).collect();
        let Some(right) = most_common(&hashes) else { return };
        for (member, hash) in present.iter().zip(&hashes) {
            let Some(hash) = hash else { continue };
            member.update(|health| health.disagrees = (*hash != right).then_some(height));
        }
        let agreeing = present.iter().zip(&blocks).filter_map(|(member, block)| Some((*member, (*block)?)));
        let agreeing: Vec<(&Member, Block)> = agreeing.filter(|(_, block)| block.hash == right).collect();
        if logs {
            self.compare_logs(&agreeing).await;
        }
    }

    /// A log that one node has, and that fits the block's bloom, is one that the others must have.
    async fn compare_logs(&self, agreeing: &[(&Member, Block)]) {
        let Some(filter) = lock(&self.inner.filter).clone() else { return };
        let filter = &filter;
        let lists = join_all(agreeing.iter().map(|(member, block)| self.list_of(member, block, filter))).await;
        let all: BTreeMap<u64, &PlacedLog> = lists.iter().flatten().flatten().map(|log| (log.index, log)).collect();
        for ((member, block), list) in agreeing.iter().zip(&lists) {
            let Some(list) = list else { continue };
            let missing = (list.len() < all.len()).then_some(block.number);
            let known = member.health().missing_logs.is_some();
            member.update(|health| health.missing_logs = missing);
            if missing.is_some() && !known {
                self.mistrust();
            }
        }
    }

    async fn list_of(&self, member: &Member, block: &Block, filter: &LogFilter) -> Option<Vec<PlacedLog>> {
        member.answer(Class::Heavy, self.plausible_logs(member, block, filter)).await.ok()
    }

    async fn newest_of(&self, member: &Member) -> Option<u64> {
        let request = Request { method: BLOCK, params: json!(["latest", false]) };
        let block = self.header_of(member, &request).await?;
        member.health().head = Some(block.number);
        Some(block.number)
    }

    async fn block_of(&self, member: &Member, height: u64) -> Option<Block> {
        self.header_of(member, &Request { method: BLOCK, params: json!([hex(height), false]) }).await
    }

    async fn header_of(&self, member: &Member, request: &Request) -> Option<Block> {
        let work = async {
            let header: Option<Header> = member.get(request).await?;
            header.map(|header| self.remember(BLOCK, header)).transpose()
        };
        member.answer(Class::Quick, work).await.ok().flatten()
    }

    /// Whether a node can push heads.
    pub(crate) fn can_subscribe(&self) -> bool {
        self.inner.fleet.members.iter().any(|member| member.connection.endpoint().can_subscribe())
    }

    /// Subscribes to new heads at the best node that can push them.
    pub(crate) async fn subscribe_heads(&self) -> Result<HeadStream, NodeError> {
        let mut failure = NodeError::Unsupported { what: "subscriptions" };
        for member in self.inner.fleet.ranked() {
            if !member.connection.endpoint().can_subscribe() {
                continue;
            }
            let subscribed = async {
                member.prove().await?;
                member.connection.subscribe_heads().await
            };
            match subscribed.await {
                Ok(raw) => {
                    let all = &self.inner.fleet.members;
                    let member = all.iter().position(|other| std::ptr::eq(other, member)).unwrap_or_default();
                    return Ok(HeadStream { raw, member });
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Tells whether the node that pushes heads is unhealthy while another one is not.
    pub(crate) fn is_outdone(&self, stream: &HeadStream) -> bool {
        let members = &self.inner.fleet.members;
        let faulty = members.get(stream.member).is_some_and(|member| member.fault().is_some());
        faulty && members.iter().any(|member| member.fault().is_none())
    }

    /// What a pushed head says, if it can be read.
    pub(crate) fn head_of(&self, stream: &HeadStream, notice: &RawValue) -> Result<Block, NodeError> {
        const METHOD: &str = "eth_subscribe";
        let block = self.remember(METHOD, parse::<Header>(METHOD, notice)?)?;
        if let Some(member) = self.inner.fleet.members.get(stream.member) {
            member.health().head = Some(block.number);
        }
        Ok(block)
    }
}

/// The height that others are measured by: the highest that two nodes reach, so that one that makes up blocks does not
/// decide; of two nodes the higher one's.
fn reference_height(newest: &[Option<u64>]) -> Option<u64> {
    let mut heights: Vec<u64> = newest.iter().flatten().copied().collect();
    heights.sort_unstable_by(|a, b| b.cmp(a));
    if heights.len() > 2 { heights.get(1).copied() } else { heights.first().copied() }
}

/// The hash that most nodes have; where as many have another one, that of the node that was named first.
fn most_common(hashes: &[Option<B256>]) -> Option<B256> {
    let votes = |hash: &B256| hashes.iter().flatten().filter(|other| *other == hash).count();
    let most = hashes.iter().flatten().map(votes).max()?;
    hashes.iter().flatten().find(|hash| votes(hash) == most).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_that_makes_up_blocks_does_not_make_the_others_late() {
        assert_eq!(reference_height(&[Some(100), Some(1 << 60), Some(101)]), Some(101));
        assert_eq!(reference_height(&[Some(100), None, Some(107)]), Some(107));
        assert_eq!(reference_height(&[None]), None);
    }

    #[test]
    fn the_majority_is_believed_and_in_a_tie_who_was_named_first() {
        let [a, b] = [1, 2].map(B256::with_last_byte);
        assert_eq!(most_common(&[Some(a), Some(b), Some(b)]), Some(b));
        assert_eq!(most_common(&[Some(a), Some(b)]), Some(a));
        assert_eq!(most_common(&[None, Some(b), Some(a)]), Some(b));
        assert_eq!(most_common(&[None, None]), None);
    }
}
