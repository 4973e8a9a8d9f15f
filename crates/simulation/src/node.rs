//! Reads state from a node, pinned to a block hash.

use std::time::Duration;

use braid_ethereum::{Node, NodeError, Urgency};
use braid_primitives::Block;

use crate::source::{Found, Reading, SourceError, StateSource, Touching, TouchingCall, Wanted};

/// Longest time for one reading.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

impl StateSource for Node {
    fn read<'a>(&'a self, block: &'a Block, wanted: &'a Wanted) -> Reading<'a> {
        let node = at_urgency(self, wanted.is_urgent);
        Box::pin(async move { in_time(read(&node, block, wanted)).await })
    }

    fn touched<'a>(&'a self, block: &'a Block, calls: &'a [TouchingCall], is_urgent: bool) -> Touching<'a> {
        let node = at_urgency(self, is_urgent);
        Box::pin(async move { in_time(node.touched(block.hash, calls)).await })
    }
}

fn at_urgency(node: &Node, is_urgent: bool) -> Node {
    node.at_urgency(if is_urgent { Urgency::Quote } else { Urgency::Background })
}

async fn in_time<T>(asked: impl Future<Output = Result<T, NodeError>>) -> Result<T, SourceError> {
    match tokio::time::timeout(READ_TIMEOUT, asked).await {
        Ok(answer) => answer.map_err(|error| SourceError(error.to_string())),
        Err(_) => Err(SourceError(format!("the node did not answer within {} s", READ_TIMEOUT.as_secs()))),
    }
}

async fn read(node: &Node, block: &Block, wanted: &Wanted) -> Result<Found, NodeError> {
    let mut found = Found::default();
    if !wanted.accounts.is_empty() || !wanted.words.is_empty() {
        let accounts: Vec<_> = wanted.accounts.iter().map(|(address, known)| (*address, *known)).collect();
        let words: Vec<_> = wanted.words.iter().copied().collect();
        let state = node.state(block.hash, &accounts, &words).await?;
        found.accounts = wanted.accounts.keys().copied().zip(state.accounts).collect();
        found.words = words.into_iter().zip(state.words).collect();
        (found.messages, found.calls) = (state.messages, state.calls);
    }
    for height in &wanted.hashes {
        let ancestor = node.block_at(*height).await?;
        found.messages += 1;
        found.calls += 1;
        found.hashes.extend(ancestor.map(|ancestor| (*height, ancestor.hash)));
    }
    Ok(found)
}
