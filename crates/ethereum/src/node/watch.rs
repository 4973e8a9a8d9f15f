//! Compares nodes with each other, for lag, other blocks at the same height and missing logs; and takes the heads that
//! a node pushes.

use std::{collections::BTreeMap, sync::Arc};

use alloy::pubsub::RawSubscription;
use braid_primitives::{B256, Block};
use futures::future::join_all;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{
    blocks::check_height,
    connect::Node,
    health::Class,
    member::Member,
    pace::Urgency,
    wire::{Header, PlacedLog, parse},
};
use crate::NodeError;

/// Blocks below the lowest head at which nodes are compared: newer ones may still be replaced.
const SETTLED_BLOCKS: u64 = 2;

/// Blocks above the heads of all other nodes from which on a node has to show its head.
const FAR_AHEAD: u64 = 32;

/// Every how many comparisons the logs of a block are compared too.
const LOGS_EVERY: u64 = 10;

/// Heads that a node pushes.
pub(crate) struct HeadStream {
    pub(crate) raw: RawSubscription,
    member: usize,
    /// Number of the connection over which they come.
    connection: u64,
}

impl Node {
    /// Starts to compare the nodes at intervals, while anything holds them.
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

    /// Compares the nodes now, with logs. Faults count at once.
    pub async fn compare_nodes(&self) {
        self.compare(true).await;
    }

    async fn compare(&self, logs: bool) {
        let members = &self.inner.fleet.members;
        let newest = members.iter().map(|member| member.answer(Class::Quick, self.newest_block_of(member)));
        let mut heads: Vec<Option<u64>> =
            join_all(newest).await.into_iter().map(|block| Some(block.ok()?.number)).collect();
        let invented = self.invented(&heads).await;
        for index in &invented {
            heads[*index] = None;
        }
        let Some(reference) = reference_height(&heads) else { return };
        for (index, (member, head)) in members.iter().zip(&heads).enumerate() {
            if invented.contains(&index) {
                continue;
            }
            let behind = head.map(|head| reference.saturating_sub(head));
            let behind = behind.filter(|blocks| *blocks > self.inner.config.lag_blocks);
            member.update(|health| health.behind = behind);
        }
        let present: Vec<&Member> =
            members.iter().zip(&heads).filter(|(_, head)| head.is_some()).map(|(member, _)| member).collect();
        let Some(lowest) = heads.iter().flatten().min().filter(|_| present.len() > 1) else { return };
        let agreeing = self.compare_blocks(&present, lowest.saturating_sub(SETTLED_BLOCKS)).await;
        if logs {
            self.compare_logs(&agreeing).await;
        }
    }

    /// Returns the nodes that claim a head far above all others and do not have it. Each is at fault from now on.
    async fn invented(&self, heads: &[Option<u64>]) -> Vec<usize> {
        let members = &self.inner.fleet.members;
        let mut invented = Vec::new();
        for (index, (member, head)) in members.iter().zip(heads).enumerate() {
            let others = heads.iter().enumerate().filter(|(other, _)| *other != index);
            let others = others.filter_map(|(_, head)| *head).max();
            let Some((head, others)) = head.zip(others) else { continue };
            if head <= others.saturating_add(FAR_AHEAD) {
                continue;
            }
            if let Ok(None) = member.answer(Class::Quick, self.block_of(member, head)).await {
                member.update(|health| health.disagrees = Some(head));
                invented.push(index);
            }
        }
        invented
    }

    /// Compares the nodes' blocks at a height; returns the nodes that have the block of the majority, with the block.
    async fn compare_blocks<'a>(&self, members: &[&'a Member], height: u64) -> Vec<(&'a Member, Block)> {
        let blocks = members.iter().map(|member| member.answer(Class::Quick, self.block_of(member, height)));
        let blocks: Vec<Option<Block>> = join_all(blocks).await.into_iter().map(|block| block.ok().flatten()).collect();
        let hashes: Vec<Option<B256>> = blocks.iter().map(|block| block.map(|block| block.hash)).collect();
        let Some(right) = most_common(&hashes) else { return Vec::new() };
        let answered = members.iter().zip(blocks).filter_map(|(member, block)| Some((*member, block?)));
        let answered = answered.inspect(|(member, block)| {
            member.update(|health| health.disagrees = (block.hash != right).then_some(height));
        });
        answered.filter(|(_, block)| block.hash == right).collect()
    }

    /// Compares the nodes' logs of a block: a log that one node has, and that fits the block's bloom, is missing at the
    /// others.
    async fn compare_logs(&self, agreeing: &[(&Member, Block)]) {
        let Some(filter) = self.inner.filter.lock().clone() else { return };
        let logs = agreeing
            .iter()
            .map(|(member, block)| member.answer(Class::Heavy, self.plausible_logs(member, block, &filter)));
        let lists: Vec<Option<Vec<PlacedLog>>> = join_all(logs).await.into_iter().map(Result::ok).collect();
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

    /// Returns whether a node can push heads.
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
            let asked_at = Instant::now();
            let subscribed = async {
                member.prove().await?;
                member.connection.subscribe_heads().await
            };
            match subscribed.await {
                Ok((connection, raw)) => {
                    // A node that failed before answers again.
                    member.update(|health| health.answered(Class::Quick, asked_at.elapsed()));
                    let all = &self.inner.fleet.members;
                    let member = all.iter().position(|other| std::ptr::eq(other, member)).unwrap_or_default();
                    return Ok(HeadStream { raw, member, connection });
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Ends a subscription at its node.
    pub(crate) async fn unsubscribe_heads(&self, stream: &HeadStream) {
        if let Some(member) = self.inner.fleet.members.get(stream.member) {
            member.connection.unsubscribe(stream.connection, &stream.raw).await;
        }
    }

    /// Returns whether the node that pushes heads is unhealthy while another one is healthy.
    pub(crate) fn is_outdone(&self, stream: &HeadStream) -> bool {
        let members = &self.inner.fleet.members;
        let faulty = members.get(stream.member).is_some_and(|member| member.fault().is_some());
        faulty && members.iter().any(|member| member.fault().is_none())
    }

    /// Reads a pushed head.
    pub(crate) fn head_of(&self, stream: &HeadStream, notice: &RawValue) -> Result<Block, NodeError> {
        const METHOD: &str = "eth_subscribe";
        let block = self.remember(METHOD, parse::<Header>(METHOD, notice)?)?;
        check_height(METHOD, block.number)?;
        if let Some(member) = self.inner.fleet.members.get(stream.member) {
            member.health().head = Some(block.number);
        }
        Ok(block)
    }
}

/// Returns the height that lag is measured from: of three nodes or more the second highest, so that one node that
/// invents blocks does not decide; of two the higher one.
fn reference_height(heads: &[Option<u64>]) -> Option<u64> {
    let mut heights: Vec<u64> = heads.iter().flatten().copied().collect();
    heights.sort_unstable_by(|a, b| b.cmp(a));
    heights.get(usize::from(heights.len() > 2)).copied()
}

/// Returns the hash that most nodes have; in a tie the one of the node that was named first.
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
