//! What the taker holds and has allowed, read from the node in one go. A read that fails is not known; it fails nothing else.

use braid_ethereum::Node;
use braid_execution::approvals::{allowance_calldata, balance_calldata};
use braid_execution::{Order, permit2, proxy};
use braid_primitives::{Address, B256, Bytes, NATIVE_ETHER, U256};
use braid_protocols::Call;

use crate::app::App;

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

/// Reads the taker's holdings at a block, and whether nonces of Permit2 were used, within the service's time for it.
pub async fn read(app: &App, block_hash: B256, taker: Address, tokens: &[Address], nonces: &[U256]) -> Holdings {
    let unknown = Holdings { inputs: vec![Holding::default(); tokens.len()], nonce_words: Vec::new(), complete: false };
    let Some(node) = &app.node else { return unknown };
    match tokio::time::timeout(app.config.account_timeout, ask(node, block_hash, taker, tokens, nonces)).await {
        Ok(holdings) => holdings,
        Err(_) => {
            tracing::warn!("the node took too long to tell balances and allowances");
            unknown
        }
    }
}

/// The tokens that an order takes.
pub fn tokens(order: &Order) -> Vec<Address> {
    order.inputs.iter().map(|input| input.token).collect()
}

async fn ask(node: &Node, block_hash: B256, taker: Address, tokens: &[Address], nonces: &[U256]) -> Holdings {
    let erc20 = tokens.iter().filter(|token| **token != NATIVE_ETHER);
    let about_nonces =
        nonces.iter().map(|nonce| Call { to: permit2::ADDRESS, data: permit2::nonce_bitmap_calldata(taker, *nonce) });
    let calls = about_nonces.chain(erc20.flat_map(|token| calls(*token, taker))).collect::<Vec<_>>();
    let wants_ether = tokens.contains(&NATIVE_ETHER);
    let (answers, ether) = tokio::join!(
        async { if calls.is_empty() { Ok(Vec::new()) } else { node.read(block_hash, calls.clone()).await } },
        async { if wants_ether { node.native_balance(block_hash, taker).await.map(Some) } else { Ok(None) } },
    );
    for error in [answers.as_ref().err(), ether.as_ref().err()].into_iter().flatten() {
        tracing::warn!(%error, "balances and allowances could not be read");
    }
    let complete = answers.is_ok() && ether.is_ok();
    let mut words = answers.unwrap_or_default().into_iter().map(word);
    let nonce_words = nonces.iter().map(|_| words.next().flatten()).collect();
    let ether = ether.unwrap_or_default();
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

/// The first word of an answer, if it has one.
pub(crate) fn word(answer: Option<Bytes>) -> Option<U256> {
    answer.as_deref().and_then(|bytes| bytes.get(..32)).map(U256::from_be_slice)
}
