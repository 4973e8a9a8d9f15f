//! Chains that no test changes, each made once for all tests that only read it. Reads of their state are remembered across tests.

use std::sync::LazyLock;

use braid_market::Market;
use braid_simulation::{Fork, NodeState};
use tokio::runtime::Runtime;

use crate::chain::Chain;
use crate::gas_of_steps::use_every_pool;

/// A chain with the state after its newest block, and the runtime that its connections live in.
pub struct SharedChain {
    pub chain: Chain,
    pub fork: Fork,
    pub runtime: Runtime,
}

impl SharedChain {
    fn make(start: impl AsyncFnOnce() -> Chain) -> Self {
        let runtime = Runtime::new().unwrap();
        let chain = runtime.block_on(start());
        let block = *chain.market.block();
        let state = NodeState::new(chain.node.clone(), block.hash, runtime.handle().clone());
        Self { chain, fork: Fork::new(block, Box::new(state)), runtime }
    }

    pub fn market(&self) -> &Market {
        &self.chain.market
    }
}

/// A chain as it starts: nobody has traded in its pools through the proxy.
pub fn unused() -> &'static SharedChain {
    static UNUSED: LazyLock<SharedChain> = LazyLock::new(|| SharedChain::make(Chain::start));
    &UNUSED
}

/// A chain in whose every pool somebody has traded, one way and the other between every two coins.
pub fn used() -> &'static SharedChain {
    static USED: LazyLock<SharedChain> = LazyLock::new(|| {
        SharedChain::make(async || {
            let mut chain = Chain::start().await;
            use_every_pool(&mut chain).await;
            chain
        })
    });
    &USED
}
