//! Chains that no test changes, each made once for all tests that only read it. Reads of their state are remembered across tests.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use braid_market::Market;
use braid_simulation::{Bounds, Fork, Simulator, WorkPool};
use tokio::runtime::Runtime;

use crate::chain::Chain;
use crate::gas_of_steps::use_every_pool;

/// A chain with the state after its newest block, and the runtime that its connections live in.
pub struct SharedChain {
    pub chain: Chain,
    simulator: Simulator,
    pub runtime: Runtime,
}

/// What reads a chain's state for forks that wait.
pub fn simulator(chain: &Chain) -> Simulator {
    let threads = WorkPool::new(1, Bounds { jobs: 1, wait: Duration::ZERO });
    Simulator::new(Some(Arc::new(chain.node.clone())), Arc::new(threads))
}

impl SharedChain {
    fn make(start: impl AsyncFnOnce() -> Chain) -> Self {
        let runtime = Runtime::new().unwrap();
        let chain = runtime.block_on(start());
        let simulator = simulator(&chain);
        Self { chain, simulator, runtime }
    }

    pub fn fork(&self) -> Fork {
        self.simulator.waiting_fork(self.market().block(), self.runtime.handle().clone()).unwrap()
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
