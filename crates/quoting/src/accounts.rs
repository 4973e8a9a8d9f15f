//! Reads the taker's balances and allowances from the node in one message. A read that fails is unknown, and no other
//! read fails with it.

use std::sync::Arc;
use std::time::Duration;

use braid_ethereum::{Node, NodeError, SyncStatus};
use braid_execution::approvals::{allowance_calldata, balance_calldata};
use braid_execution::{permit2, proxy};
use braid_primitives::{Address, B256, Bytes, NATIVE_ETHER, U256};
use braid_protocols::Call;
use tokio::sync::watch;

use crate::block_reads::BlockReads;
use crate::shared_reads::{Answer, Question};

/// The taker's balance and allowances of one input; `None` for what was not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Balance of the taker.
    pub balance: Option<U256>,
    /// Allowance of the proxy.
    pub proxy_allowance: Option<U256>,
    /// Allowance of Permit2.
    pub permit2_allowance: Option<U256>,
}

/// The holdings of an order's inputs, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// One per input.
    pub inputs: Vec<Holding>,
    /// The words of Permit2's bitmap with the requested nonces, in order.
    pub nonce_words: Vec<Option<U256>>,
    /// True if every requested read succeeded.
    pub complete: bool,
}

impl Holdings {
    /// The holdings of a request without reads.
    pub const NONE: Self = Self { inputs: Vec::new(), nonce_words: Vec::new(), complete: true };
}

/// Reads accounts from the node, each time within a time limit.
#[derive(Clone)]
pub struct Accounts {
    /// The node, if there is one.
    pub node: Option<Node>,
    reads: Option<Arc<BlockReads>>,
    /// Longest time for one read.
    pub timeout: Duration,
}

impl Accounts {
    /// Returns a reader of a node, if there is one.
    pub fn new(node: Option<Node>, timeout: Duration) -> Self {
        let reads = node.clone().map(|node| Arc::new(BlockReads::of(node)));
        Self { node, reads, timeout }
    }

    /// Repeats at each new block the reads of the block before, as soon as the node announces it, until the follower ends.
    /// Quotes on that block's market then find the answers in memory.
    pub async fn read_ahead(self, mut status: watch::Receiver<SyncStatus>) {
        let Some(reads) = self.reads else { return };
        let mut newest = None;
        loop {
            let node_hash = status.borrow_and_update().node_hash;
            if let Some(block_hash) = node_hash.filter(|_| newest != node_hash) {
                newest = node_hash;
                reads.read_ahead(block_hash);
            }
            if status.changed().await.is_err() {
                return;
            }
        }
    }

    /// Reads the taker's balances and allowances at a block, and the use of Permit2 nonces.
    pub async fn read(&self, block_hash: B256, taker: Address, tokens: &[Address], nonces: &[U256]) -> Holdings {
        let inputs = vec![Holding::default(); tokens.len()];
        let unread = Holdings { inputs, nonce_words: Vec::new(), complete: false };
        let Some(reads) = &self.reads else { return unread };
        match tokio::time::timeout(self.timeout, ask(reads, block_hash, taker, tokens, nonces)).await {
            Ok(holdings) => holdings,
            Err(_) => {
                tracing::warn!("the node took too long to answer the reads of balances and allowances");
                unread
            }
        }
    }

    /// Returns the first words of the answers to calls at a block, and the ether of `ether_of`; `None` if the node does not
    /// answer.
    pub async fn words(
        &self,
        block_hash: B256,
        calls: Vec<Call>,
        ether_of: Option<Address>,
    ) -> Option<(Vec<Option<U256>>, Option<U256>)> {
        let node = self.node.as_ref()?;
        let ask = async {
            let words = if calls.is_empty() { Vec::new() } else { node.read(block_hash, calls).await? };
            let ether = match ether_of {
                Some(owner) => node.native_balance(block_hash, owner).await.ok(),
                None => None,
            };
            Ok((words.into_iter().map(word).collect(), ether))
        };
        self.answered("the read of an account failed", ask).await
    }

    /// Returns whether an account has code at a block; `None` if the node does not answer.
    pub async fn has_code(&self, block_hash: B256, account: Address) -> Option<bool> {
        let code = self.node.as_ref()?.code(block_hash, account);
        let code = self.answered("the read of the taker's code failed", code).await?;
        Some(!code.is_empty())
    }

    /// Returns the answers to calls at a block that run one after another, each on the state that those before it left;
    /// `None` for a call that reverts. Returns `None` if the node does not answer.
    pub async fn answers(&self, block_hash: B256, calls: Vec<Call>) -> Option<Vec<Option<Bytes>>> {
        let answers = self.node.as_ref()?.read(block_hash, calls);
        self.answered("the check of a contract's signature failed", answers).await
    }

    /// Waits for an answer within the time limit, and logs an error.
    async fn answered<T>(&self, failed: &str, ask: impl Future<Output = Result<T, NodeError>>) -> Option<T> {
        match tokio::time::timeout(self.timeout, ask).await {
            Ok(Ok(answer)) => Some(answer),
            Ok(Err(error)) => {
                tracing::warn!(%error, "{failed}");
                None
            }
            Err(_) => None,
        }
    }
}

async fn ask(reads: &BlockReads, block_hash: B256, taker: Address, tokens: &[Address], nonces: &[U256]) -> Holdings {
    let erc20 = tokens.iter().filter(|token| **token != NATIVE_ETHER);
    let about_nonces =
        nonces.iter().map(|nonce| Call { to: permit2::ADDRESS, data: permit2::nonce_bitmap_calldata(taker, *nonce) });
    let calls = about_nonces.chain(erc20.flat_map(|token| calls(*token, taker))).collect();
    let ether_of = tokens.contains(&NATIVE_ETHER).then_some(taker);
    let question = Question { block_hash, calls, ether_of };
    let answer = reads.ask(question.clone()).await;
    let complete = answer.is_complete(&question);
    let Answer { calls, ether } = answer;
    let mut words = calls.unwrap_or_default().into_iter().map(word);
    let nonce_words = nonces.iter().map(|_| words.next().flatten()).collect();
    let inputs = tokens.iter().map(|token| match *token {
        NATIVE_ETHER => Holding { balance: ether, ..Holding::default() },
        _ => {
            let mut next = || words.next().flatten();
            Holding { balance: next(), proxy_allowance: next(), permit2_allowance: next() }
        }
    });
    let inputs: Vec<Holding> = inputs.collect();
    Holdings { inputs, nonce_words, complete }
}

fn calls(token: Address, taker: Address) -> [Call; 3] {
    let call = |data| Call { to: token, data };
    [
        call(balance_calldata(taker)),
        call(allowance_calldata(taker, proxy::address())),
        call(allowance_calldata(taker, permit2::ADDRESS)),
    ]
}

/// Returns the first word of an answer, if it has one.
fn word(answer: Option<Bytes>) -> Option<U256> {
    answer.as_deref().and_then(|bytes| bytes.get(..32)).map(U256::from_be_slice)
}
