//! Asks the chain whether pools exist that only a snapshot told of.

use std::collections::{BTreeMap, BTreeSet};

use braid_primitives::{B256, U256};
use braid_protocols::{Discovered, Prediction};
use futures::{StreamExt, TryStreamExt, stream};

use crate::{Catalog, Node, NodeError};

/// How many blocks' announcements are asked for at once.
const BLOCKS_AT_ONCE: usize = 4;

/// What the chain says of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// It is what it was said to be.
    Given,
    /// It is not.
    Refuted,
    /// Nothing: no contract can be asked, or none is there.
    None,
}

/// Asks the factories of pools.
pub(crate) async fn by_factories(
    node: &Node,
    block_hash: B256,
    pools: &[&Discovered],
) -> Result<Vec<Proof>, NodeError> {
    let asked: Vec<Vec<Prediction>> = pools.iter().map(|pool| pool.product.confirmations(pool)).collect();
    let calls = asked.iter().flatten().map(|prediction| prediction.call.clone()).collect();
    let mut answers = node.read(block_hash, calls).await?.into_iter();
    let judge = |asked: &Vec<Prediction>| {
        let said: Vec<_> = asked.iter().map(|_| answers.next().flatten()).collect();
        // an account without code answers nothing
        if said.iter().all(|said| said.as_ref().is_some_and(|said| said.is_empty())) {
            return Proof::None;
        }
        let as_said = asked.iter().zip(&said).all(|(asked, said)| {
            let word = said.as_ref().and_then(|said| U256::try_from_be_slice(said.get(..32)?));
            word == Some(asked.answer)
        });
        if as_said { Proof::Given } else { Proof::Refuted }
    };
    Ok(asked.iter().map(judge).collect())
}

/// What was announced in some blocks; `None` for a block of which the node gives no logs.
pub(crate) async fn announced_in(
    node: &Node,
    catalog: &Catalog,
    heights: BTreeSet<u64>,
) -> Result<BTreeMap<u64, Option<Vec<Discovered>>>, NodeError> {
    let ask = |height: u64| async move {
        match node.logs_between(height, height, catalog.announcements()).await {
            Ok(logs) => {
                let pools = logs.iter().filter_map(|log| catalog.announced(&log.log).ok().flatten());
                Ok((height, Some(pools.collect())))
            }
            Err(NodeError::Rpc { .. } | NodeError::Pruned { .. }) => Ok((height, None)),
            Err(error) => Err(error),
        }
    };
    stream::iter(heights).map(ask).buffer_unordered(BLOCKS_AT_ONCE).try_collect().await
}
