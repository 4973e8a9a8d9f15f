//! The running chain, [`Devnet`], and its options.

use std::path::PathBuf;

use alloy::primitives::{Address, B256, Bytes, U256};
use serde_json::json;

use crate::{
    DevnetError, Kit, Mining, abi, cache, clock,
    kit::target_folder,
    node::{Node, NodeOptions},
    proxy,
    rpc::{Rpc, Tx},
    tokens::{self, Token},
    world::Progress,
};

/// The default number of blocks that are mined on top of the world before the chain is handed out; without them the
/// newest block would be years old. Each takes a sixtieth of a second, in which anvil hashes the world's 13,000
/// storage slots.
const PAST_BLOCKS: u64 = 2;
/// Seconds between these blocks.
const PAST_SECONDS: u64 = 2;

/// Options of the chain.
#[derive(Clone)]
pub struct Options {
    /// The port on 127.0.0.1, for http and websocket; 0 (the default) for a free one.
    pub port: u16,
    /// When blocks are mined; by default, one for every transaction.
    pub mining: Mining,
    /// The number of blocks mined before the chain is handed out, at least 2. The node keeps their states, so that a
    /// reorganisation or a fork can go back to them.
    pub past_blocks: u64,
    /// The `contracts` folder with its installed packages; by default, this repository's.
    pub contracts: Option<PathBuf>,
    /// The folder of the state file; by default, a folder in cargo's target folder.
    pub cache: Option<PathBuf>,
    /// A callback that receives the progress of building the world; by default, it does nothing.
    pub progress: Progress,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            mining: Mining::Automatic,
            past_blocks: PAST_BLOCKS,
            contracts: None,
            cache: None,
            progress: std::sync::Arc::new(|_, _, _| ()),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("port", &self.port).field("mining", &self.mining).finish_non_exhaustive()
    }
}

/// A running chain. The node ends when this is dropped, and also when the process ends in any other way.
#[derive(Debug)]
pub struct Devnet {
    kit: Kit,
    node: Node,
    proxy: Option<Address>,
}

/// The gas limit of transactions that set none. It is enough for the creation of a pool with a trade.
const PLENTY_OF_GAS_UNITS: u64 = 8_000_000;

impl Devnet {
    /// Starts the chain. This takes about a second, and 40 seconds the first time, when the world is built.
    ///
    /// Deploys the execution proxy if `contracts/artifacts/ExecutionProxy.json` exists.
    ///
    /// # Errors
    /// When packages are missing, the port is taken, or the node fails.
    pub async fn start(options: Options) -> Result<Self, DevnetError> {
        let kit = Kit::find(options.contracts.as_deref())?;
        let past_blocks = options.past_blocks.max(2);
        let folder = options.cache.unwrap_or_else(|| target_folder().join("braid-devnet"));
        let state = cache::state_file(&kit, &folder, &options.progress).await?;
        let node_options = NodeOptions {
            port: options.port,
            mining: options.mining,
            load_state: Some(state),
            fork_url: None,
            dump_state: None,
            timestamp: Some(clock::unix_seconds().saturating_sub(2 * past_blocks * PAST_SECONDS)),
            block_gas_units: None,
        };
        let node = Node::start(&kit, node_options).await?;
        warm_up(node.rpc(), past_blocks).await?;
        let proxy = match proxy::ProxyArtifact::find(&kit)? {
            Some(artifact) => Some(proxy::deploy_proxy(node.rpc(), &artifact).await?),
            None => None,
        };
        Ok(Self { kit, node, proxy })
    }

    /// Starts a second node, forked from the newest state of this one. It listens on a free port and mines a block per
    /// transaction.
    ///
    /// # Errors
    /// When the node fails.
    pub async fn fork(&self) -> Result<Self, DevnetError> {
        let options = NodeOptions {
            port: 0,
            mining: Mining::Automatic,
            load_state: None,
            fork_url: Some(self.http_url()),
            dump_state: None,
            timestamp: None,
            block_gas_units: None,
        };
        Ok(Self { kit: self.kit.clone(), node: Node::start(&self.kit, options).await?, proxy: self.proxy })
    }

    /// Returns the node's http address.
    #[must_use]
    pub fn http_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port())
    }

    /// Returns the node's websocket address.
    #[must_use]
    pub fn ws_url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port())
    }

    /// Returns the node's port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.node.port()
    }

    /// Returns the JSON-RPC client of the node.
    #[must_use]
    pub fn rpc(&self) -> &Rpc {
        self.node.rpc()
    }

    /// Returns the address of the execution proxy; `None` if its artifact did not exist at the start.
    #[must_use]
    pub fn proxy(&self) -> Option<Address> {
        self.proxy
    }

    /// Returns every token of the chain.
    #[must_use]
    pub fn tokens(&self) -> &'static [Token] {
        tokens::TOKENS
    }

    /// Returns whether the node's process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.node.has_ended()
    }

    /// Sets the balance of `owner` in a token, in atomic units, by writing the token's storage. The total supply does
    /// not change.
    ///
    /// # Errors
    /// When the token is unknown or the node fails.
    pub async fn fund(&self, token: Address, owner: Address, amount: U256) -> Result<(), DevnetError> {
        let token = tokens::find(&token.to_string())?;
        let key = token.balance_storage_key(owner);
        self.rpc().call("anvil_setStorageAt", json!([token.address, key, B256::from(amount)])).await.map(|_| ())
    }

    /// Sets the ether balance of `owner`.
    ///
    /// # Errors
    /// When the node fails.
    pub async fn fund_ether(&self, owner: Address, amount_wei: U256) -> Result<(), DevnetError> {
        self.rpc().call("anvil_setBalance", json!([owner, amount_wei])).await.map(|_| ())
    }

    /// Returns the balance of `owner` in a token, in atomic units.
    ///
    /// # Errors
    /// When the address is not a token or the node fails.
    pub async fn balance_of(&self, token: Address, owner: Address) -> Result<U256, DevnetError> {
        self.rpc().view(token, &abi::IErc20::balanceOfCall { owner }).await
    }

    /// Returns the ether balance of `owner`, in wei.
    ///
    /// # Errors
    /// When the node fails.
    pub async fn ether_of(&self, owner: Address) -> Result<U256, DevnetError> {
        self.rpc().get("eth_getBalance", json!([owner, "latest"])).await
    }

    /// Mines this many blocks at once, with timestamps one second apart.
    ///
    /// # Errors
    /// When the node fails.
    pub async fn mine(&self, blocks: u64) -> Result<(), DevnetError> {
        self.rpc().call("anvil_mine", json!([U256::from(blocks), "0x1"])).await.map(|_| ())
    }

    /// Takes a snapshot of the state and returns its id for [`Self::revert`].
    ///
    /// # Errors
    /// When the node fails.
    pub async fn snapshot(&self) -> Result<U256, DevnetError> {
        self.rpc().get("evm_snapshot", json!([])).await
    }

    /// Reverts the state to a snapshot. Each snapshot can be used once.
    ///
    /// # Errors
    /// When the snapshot is unknown or the node fails.
    pub async fn revert(&self, snapshot: U256) -> Result<(), DevnetError> {
        if self.rpc().get::<bool>("evm_revert", json!([snapshot])).await? {
            return Ok(());
        }
        Err(DevnetError::Rpc { method: "evm_revert".into(), reason: format!("unknown snapshot {snapshot}") })
    }

    /// Sends a transaction from any account, waits until it is mined, and returns its hash. An account that is not
    /// unlocked is impersonated. With [`Mining::Manual`], use [`Rpc::submit`] and [`Self::mine`] instead.
    ///
    /// # Errors
    /// [`DevnetError::Reverted`] if the transaction was mined and reverted; otherwise the node's errors.
    pub async fn send(&self, tx: &Tx) -> Result<B256, DevnetError> {
        self.rpc().call("anvil_impersonateAccount", json!([tx.from])).await?;
        // A gas estimate holds for the second in which it is made. The first trade in a pool costs more in another
        // second.
        let tx = Tx { gas_units: tx.gas_units.or(Some(PLENTY_OF_GAS_UNITS)), ..tx.clone() };
        let (hash, succeeded) = self.rpc().submit_and_wait(&tx).await?;
        if succeeded {
            return Ok(hash);
        }
        Err(DevnetError::Reverted { what: format!("transaction {hash}"), to: tx.to })
    }

    /// Sets the code at an address.
    ///
    /// # Errors
    /// When the node fails.
    pub async fn set_code(&self, address: Address, code: &Bytes) -> Result<(), DevnetError> {
        self.rpc().call("anvil_setCode", json!([address, code])).await.map(|_| ())
    }
}

/// Mines `blocks` blocks, at least two, that end at the present time, and sets the node's clock to the real time.
async fn warm_up(rpc: &Rpc, blocks: u64) -> Result<(), DevnetError> {
    let earliest = rpc.head_timestamp().await? + 1;
    let first = clock::unix_seconds().saturating_sub(blocks * PAST_SECONDS).max(earliest);
    rpc.call("evm_setNextBlockTimestamp", json!([first])).await?;
    rpc.call("evm_mine", json!([])).await?;
    rpc.call("anvil_mine", json!([U256::from(blocks - 1), U256::from(PAST_SECONDS)])).await?;
    let now = clock::unix_seconds().max(rpc.head_timestamp().await? + 1);
    rpc.call("evm_setTime", json!([now])).await?;
    Ok(())
}
