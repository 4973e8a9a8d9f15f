//! What the taker holds and has allowed, read from the node in one go. A read that fails is not known; it fails nothing
//! else.

use std::sync::Arc;
use std::time::Duration;

use braid_ethereum::{Node, NodeError, SyncStatus};
use braid_execution::approvals::{allowance_calldata, balance_calldata};
use braid_execution::{Order, permit2, proxy};
use braid_primitives::{Address, B256, Bytes, NATIVE_ETHER, U256};
use braid_protocols::Call;
use tokio::sync::watch;

use crate::block_reads::BlockReads;
use crate::shared_reads::{Answer, Question};

/// What is known of one input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// What the taker has.
    pub balance: Option<U256>,
    /// What the proxy may take.
    pub to_proxy: Option<U256>,
    /// What Permit2 may take.
    pub to_permit2: Option<U256>,
}

/// The holdings of an order's inputs, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// One per input.
    pub inputs: Vec<Holding>,
    /// The words of Permit2's bitmap that hold the nonces asked about, in order.
    pub nonce_words: Vec<Option<U256>>,
    /// Whether everything that was asked for was read.
    pub complete: bool,
}

impl Holdings {
    /// Nothing was asked for, so that nothing is missing.
    pub const NONE: Self = Self { inputs: Vec::new(), nonce_words: Vec::new(), complete: true };
}

/// Reads accounts from the node, each time within the service's time for it.
#[derive(Clone)]
pub struct Accounts {
    /// The node, if there is one.
    pub node: Option<Node>,
    reads: Option<Arc<BlockReads>>,
    /// Longest time for one reading.
    pub timeout: Duration,
}

impl Accounts {
    /// Reads from a node, if there is one, for no longer than `timeout`.
    pub fn new(node: Option<Node>, timeout: Duration) -> Self {
        let reads = node.clone().map(|node| Arc::new(BlockReads::of(node)));
        Self { node, reads, timeout }
    }

    /// Reads at each new block what was read at the one before, as soon as the node names it, until the follower is gone:
    /// a quote of its market then finds the answers.
    pub async fn read_ahead(self, mut status: watch::Receiver<SyncStatus>) {
        let Some(reads) = self.reads else { return };
        let mut newest = None;
        loop {
            let node_hash = status.borrow_and_update().node_hash;
            if let Some(block_hash) = node_hash.filter(|_| newest != node_hash) {
                newest = node_hash;
                reads.begin(block_hash);
            }
            if status.changed().await.is_err() {
                return;
            }
        }
    }

    /// Reads the taker's holdings at a block, and whether nonces of Permit2 were used.
    pub async fn read(&self, block_hash: B256, taker: Address, tokens: &[Address], nonces: &[U256]) -> Holdings {
        let inputs = vec![Holding::default(); tokens.len()];
        let unknown = Holdings { inputs, nonce_words: Vec::new(), complete: false };
        let Some(reads) = &self.reads else { return unknown };
        match tokio::time::timeout(self.timeout, ask(reads, block_hash, taker, tokens, nonces)).await {
            Ok(holdings) => holdings,
            Err(_) => {
                tracing::warn!("the node took too long to tell balances and allowances");
                unknown
            }
        }
    }

    /// Returns the first words of the answers to calls at a block, and an account's ether where that is asked for;
    /// `None` where the node does not answer.
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
        self.answered("an account could not be read", ask).await
    }

    /// Returns whether an account has code at a block; `None` where the node does not say.
    pub async fn has_code(&self, block_hash: B256, account: Address) -> Option<bool> {
        let code = self.node.as_ref()?.code(block_hash, account);
        let code = self.answered("the node could not be asked about the taker's code", code).await?;
        Some(!code.is_empty())
    }

    /// Returns what contracts answer at a block to calls that run one after another, each on what those before it did;
    /// nothing where one reverts. `None` where the node does not say.
    pub async fn answers(&self, block_hash: B256, calls: Vec<Call>) -> Option<Vec<Option<Bytes>>> {
        let answers = self.node.as_ref()?.read(block_hash, calls);
        self.answered("the node could not be asked about a contract's signature", answers).await
    }

    /// Waits for an answer, for as long as one reading may take, and logs an error.
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

/// Returns the tokens that an order takes.
pub fn tokens(order: &Order) -> Vec<Address> {
    order.inputs.iter().map(|input| input.token).collect()
}

async fn ask(reads: &BlockReads, block_hash: B256, taker: Address, tokens: &[Address], nonces: &[U256]) -> Holdings {
    let erc20 = tokens.iter().filter(|token| **token != NATIVE_ETHER);
    let about_nonces =
        nonces.iter().map(|nonce| Call { to: permit2::ADDRESS, data: permit2::nonce_bitmap_calldata(taker, *nonce) });
    let calls = about_nonces.chain(erc20.flat_map(|token| calls(*token, taker))).collect();
    let ether_of = tokens.contains(&NATIVE_ETHER).then_some(taker);
    let question = Question { block_hash, calls, ether_of };
    let answer = reads.ask(question.clone()).await;
    let complete = answer.is_whole(&question);
    let Answer { calls, ether } = answer;
    let mut words = calls.unwrap_or_default().into_iter().map(word);
    let nonce_words = nonces.iter().map(|_| words.next().flatten()).collect();
    let inputs = tokens.iter().map(|token| match *token {
        NATIVE_ETHER => Holding { balance: ether, ..Holding::default() },
        _ => {
            let mut next = || words.next().flatten();
            Holding { balance: next(), to_proxy: next(), to_permit2: next() }
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
