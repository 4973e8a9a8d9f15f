//! Chains that no test changes. Each is started once for all tests that only read it, and its whole state is read once.

use std::collections::HashMap;
use std::io::Read;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use braid_market::Market;
use braid_primitives::{Address, B256, Block, Bytes, U256};
use braid_simulation::source::{AccountState, Found, Reading, Wanted};
use braid_simulation::{Bounds, Fork, Simulator, StateSource, WorkPool};
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::chain::Chain;
use crate::gas_of_steps::use_every_pool;

/// A chain with the state after its newest block, and the runtime of its connections.
pub struct SharedChain {
    pub chain: Chain,
    simulator: Simulator,
    pub runtime: Runtime,
}

/// The state of a chain after its newest block, as the node dumps it. To read each value from the node by itself would
/// take the tests as long as everything else that they do.
#[derive(Deserialize)]
struct WholeState {
    accounts: HashMap<Address, Account>,
}

#[derive(Deserialize)]
struct Account {
    nonce: u64,
    balance: U256,
    code: Bytes,
    storage: HashMap<B256, B256>,
}

impl WholeState {
    async fn of(chain: &Chain) -> Self {
        let dumped: Bytes = chain.devnet.rpc().get("anvil_dumpState", json!([])).await.unwrap();
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&dumped[..]).read_to_end(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn account(&self, address: Address) -> AccountState {
        self.accounts.get(&address).map_or_else(AccountState::default, |account| AccountState {
            balance_wei: account.balance,
            nonce: account.nonce,
            code: Some(account.code.clone()),
        })
    }

    fn word(&self, (address, slot): (Address, U256)) -> U256 {
        let word = self.accounts.get(&address).and_then(|account| account.storage.get(&B256::from(slot)));
        word.map_or(U256::ZERO, |word| (*word).into())
    }
}

impl StateSource for WholeState {
    fn read<'a>(&'a self, _block: &'a Block, wanted: &'a Wanted) -> Reading<'a> {
        let accounts = wanted.accounts.keys().map(|address| (*address, self.account(*address))).collect();
        let words = wanted.words.iter().map(|word| (*word, self.word(*word))).collect();
        Box::pin(std::future::ready(Ok(Found { accounts, words, ..Found::default() })))
    }
}

/// Returns a simulator that reads a chain's state from its node for forks that wait for each read.
pub fn simulator(chain: &Chain) -> Simulator {
    simulator_of(Arc::new(chain.node.clone()))
}

fn simulator_of(source: Arc<dyn StateSource>) -> Simulator {
    let threads = WorkPool::new(1, Bounds { jobs: 1, wait: Duration::ZERO });
    Simulator::new(Some(source), Arc::new(threads))
}

impl SharedChain {
    fn make(start: impl AsyncFnOnce() -> Chain) -> Self {
        let runtime = Runtime::new().unwrap();
        let chain = runtime.block_on(start());
        let simulator = simulator_of(Arc::new(runtime.block_on(WholeState::of(&chain))));
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
