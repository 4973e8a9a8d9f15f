//! Asks the chain to confirm pools that only a snapshot contains.

use std::collections::{BTreeMap, BTreeSet};

use braid_primitives::{B256, U256};
use braid_protocols::{Discovered, Prediction};
use futures::{StreamExt, TryStreamExt, stream};

use crate::{Catalog, Node, NodeError, node::PlacedLog};

/// Blocks whose announcements are asked for at once.
const BLOCKS_AT_ONCE: usize = 4;

/// The chain's answer about a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The pool is as the snapshot says.
    Given,
    /// It is not.
    Refuted,
    /// No contract can be asked, or there is none at the address.
    None,
}

/// Asks the factories of pools to confirm them.
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
        // An account without code answers nothing.
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

/// Returns the pools that were announced in some blocks; `None` for a block whose logs no node has.
pub(crate) async fn announced_in(
    node: &Node,
    catalog: &Catalog,
    heights: BTreeSet<u64>,
) -> Result<BTreeMap<u64, Option<Vec<Discovered>>>, NodeError> {
    let ask = |height: u64| async move {
        let logs = logs_of(node, catalog, height).await?;
        let announced = |logs: Vec<PlacedLog>| {
            logs.iter().filter_map(|log| catalog.announced(&log.log).ok().flatten()).collect::<Vec<_>>()
        };
        Ok((height, logs.map(announced)))
    };
    stream::iter(heights).map(ask).buffer_unordered(BLOCKS_AT_ONCE).try_collect().await
}

/// Returns a block's announcements; `None` if no node has its logs: nodes say so, or fail at this block again while
/// they answer for their newest one.
async fn logs_of(node: &Node, catalog: &Catalog, height: u64) -> Result<Option<Vec<PlacedLog>>, NodeError> {
    let ask = |height| node.logs_between(height, height, catalog.announcements());
    let is_lack = |error: &NodeError| matches!(error, NodeError::Pruned { .. }) || error.is_pruned_history();
    match ask(height).await {
        Err(error) if is_lack(&error) => Ok(None),
        Err(error @ NodeError::Rpc { .. }) if !error.is_rate_limit() => {
            ask(node.height().await?).await?;
            match ask(height).await {
                Err(error @ NodeError::Rpc { .. }) if !error.is_rate_limit() => Ok(None),
                Err(error) if is_lack(&error) => Ok(None),
                logs => logs.map(Some),
            }
        }
        logs => logs.map(Some),
    }
}
