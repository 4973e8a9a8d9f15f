//! Checks that a snapshot is of the node's chain, by its block and a sample of its pools.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher, RandomState},
};

use braid_primitives::PoolKey;
use braid_protocols::Discovered;
use braid_store::market::{KnownPool, Snapshot};

use crate::{
    Catalog, Node, NodeError,
    proof::{Proof, announced_in, by_factories},
};

/// Pools that are confirmed before a snapshot is used. Every other one is confirmed before it joins a market.
const SAMPLE: usize = 64;

/// Why a snapshot is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotMismatch {
    /// The node does not answer.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The node has not reached the snapshot's block.
    #[error(
        "the snapshot is of block {block} and the node is at block {head}: wait for the node, or take an older snapshot"
    )]
    Ahead {
        /// The snapshot's block.
        block: u64,
        /// The node's newest.
        head: u64,
    },
    /// The node has another block at that height.
    #[error("the snapshot is of another chain: the node has another block at height {block}")]
    OtherChain {
        /// Height.
        block: u64,
    },
    /// A pool does not exist.
    #[error("the snapshot is not to be trusted: the chain knows nothing of its pool {pool}")]
    Refuted {
        /// The pool.
        pool: PoolKey,
    },
    /// No pool can be confirmed.
    #[error("the snapshot cannot be checked: the node has none of the logs that announced its pools")]
    NoProof,
}

/// Checks a snapshot against a node: the node must have its block, and confirm a sample of its pools.
pub async fn check_snapshot(node: &Node, snapshot: &Snapshot) -> Result<(), SnapshotMismatch> {
    let head = node.latest_block().await?;
    let block = snapshot.block.number;
    if head.number < block {
        return Err(SnapshotMismatch::Ahead { block, head: head.number });
    }
    if node.block_at(block).await?.is_none_or(|now| now.hash != snapshot.block.hash) {
        return Err(SnapshotMismatch::OtherChain { block });
    }
    let sample = sample(&snapshot.search.known);
    let pools: Vec<_> = sample.iter().map(|known| &known.pool).collect();
    let proofs = by_factories(node, head.hash, &pools).await?;
    let refuted = |proof: &(&&KnownPool, &Proof)| *proof.1 == Proof::Refuted;
    if let Some((known, _)) = sample.iter().zip(&proofs).find(refuted) {
        return Err(SnapshotMismatch::Refuted { pool: known.pool.key });
    }
    let silent: Vec<&KnownPool> =
        sample.iter().zip(&proofs).filter(|(_, proof)| **proof == Proof::None).map(|(known, _)| *known).collect();
    let catalog = Catalog::new(braid_protocols::Product::ALL);
    let heights: BTreeSet<u64> = silent.iter().map(|known| known.announced_at).collect();
    let announced = announced_in(node, &catalog, heights).await?;
    // A node may have pruned old logs, and return none instead of an error.
    let known_from = announced.iter().find(|(_, pools)| pools.as_ref().is_some_and(|pools| !pools.is_empty()));
    let known_from = known_from.map(|(height, _)| *height);
    if known_from.is_none() && silent.len() == sample.len() && !sample.is_empty() {
        return Err(SnapshotMismatch::NoProof);
    }
    for known in silent {
        // A block whose logs no node has contradicts nothing.
        let Some(there) = announced.get(&known.announced_at).and_then(Option::as_ref) else { continue };
        let named = |pool: &Discovered| pool.key == known.pool.key && pool.product.unnamed_coin(pool).is_some();
        let same = there.iter().any(|pool| *pool == known.pool || named(pool));
        if !same && known_from.is_some_and(|from| known.announced_at >= from) {
            return Err(SnapshotMismatch::Refuted { pool: known.pool.key });
        }
    }
    Ok(())
}

/// Returns a random sample of pools; those that would join a market come first.
fn sample(known: &[KnownPool]) -> Vec<&KnownPool> {
    let dice = RandomState::new();
    let mut all: Vec<&KnownPool> = known.iter().collect();
    all.sort_by_cached_key(|known| (known.excluded.is_some(), dice.hash_one(known.pool.key)));
    all.truncate(SAMPLE);
    all
}
