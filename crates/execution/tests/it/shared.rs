//! Chains that no test changes. Each is started once for all tests that only read it, and reads of their state are
//! cached across tests.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use braid_market::Market;
use braid_simulation::{Bounds, Fork, Simulator, WorkPool};
use tokio::runtime::Runtime;

use crate::chain::Chain;
use crate::gas_of_steps::use_every_pool;

/// A chain with the state after its newest block, and the runtime of its connections.
pub struct SharedChain {
    pub chain: Chain,
    simulator: Simulator,
    pub runtime: Runtime,
}

/// Returns a simulator that reads a chain's state for forks that wait for each read.
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

/// Returns a chain as it starts: no trade has been made through the proxy.
pub fn unused() -> &'static SharedChain {
    static UNUSED: LazyLock<SharedChain> = LazyLock::new(|| SharedChain::make(Chain::start));
    &UNUSED
}

/// Returns a chain in which trades have been made in both directions between every two coins of every pool.
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
