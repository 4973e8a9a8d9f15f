//! A local chain with the real pools, and its market, read by the protocols' own readers.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_devnet::{Devnet, Options, accounts, rpc::Tx, tokens};
use braid_ethereum::{LogFilter, Node};
use braid_execution::{approvals, permit2};
use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, Bytes, NATIVE_ETHER, Token, U256};
use braid_protocols::{Call, Discovered, Pool, PoolState, Product, ReadProgress, StateReader};
use futures::future::BoxFuture;
use serde_json::{Value, json};

alloy_sol_types::sol! {
    function transfer(address to, uint256 amount) external returns (bool);
}

/// The chain, with its known pools and tokens and its market.
pub struct Chain {
    pub devnet: Devnet,
    pub node: Node,
    known: Vec<Discovered>,
    tokens: Arc<Tokens>,
    pub market: Arc<Market>,
}

/// The result of a transaction.
pub struct Receipt {
    pub succeeded: bool,
    pub gas_used: u64,
    pub fee_wei: U256,
}

impl Chain {
    /// Starts the chain and reads its market. Boxed, so that this is compiled once and not for every test file.
    pub fn start() -> BoxFuture<'static, Self> {
        Box::pin(Self::started())
    }

    async fn started() -> Self {
        let devnet = Devnet::start(Options::default()).await.unwrap();
        assert_eq!(devnet.proxy(), Some(braid_execution::proxy::address()), "the proxy is where the artifact says");
        // The interval between blocks is a slot, as on mainnet, so that every trade writes oracles and accumulators.
        devnet.rpc().call("anvil_setBlockTimestampInterval", json!([12])).await.unwrap();
        let node = Node::connect(&devnet.http_url()).await.unwrap();
        let block = node.latest_block().await.unwrap();
        let code = node.code(block.hash, braid_execution::proxy::address()).await.unwrap();
        assert_eq!(&code, braid_execution::proxy::runtime_code(), "and runs the code that the artifact says");
        let known = discover(&node, &block).await;
        let mut table = Tokens::new();
        for token in tokens::TOKENS {
            let (symbol, name) = (token.symbol.to_owned(), token.name.to_owned());
            table.insert(Token { address: token.address, symbol, name, decimals: token.decimals });
        }
        // A pool's own token is a coin like others.
        for pool in &known {
            if pool.coins.contains(&pool.key.contract) && table.id(pool.key.contract).is_none() {
                let (symbol, name) = ("BPT".to_owned(), "a pool's own token".to_owned());
                table.insert(Token { address: pool.key.contract, symbol, name, decimals: 18 });
            }
        }
        let tokens = Arc::new(table);
        let market = Arc::new(Market::empty(block, Arc::clone(&tokens)));
        let mut chain = Self { devnet, node, known, tokens, market };
        chain.market = Arc::new(chain.read(&chain.known, &chain.market).await);
        chain
    }

    /// Reads some pools again at the newest block, with the pools whose state depends on their logs and those that are
    /// polled every block.
    pub async fn refresh(&mut self, pools: &[Address]) {
        let listens = |pool: &&std::sync::Arc<Pool>| {
            let protocol = pool.product;
            protocol.reads_each_block(&pool.state)
                || protocol.listens_to(&pool.state).iter().any(|to| pools.contains(to))
        };
        let listeners: Vec<Address> =
            self.market.pools().iter().filter(listens).map(|pool| pool.key.contract).collect();
        let is_changed =
            |pool: &&Discovered| pools.contains(&pool.key.contract) || listeners.contains(&pool.key.contract);
        let changed: Vec<Discovered> = self.known.iter().filter(is_changed).cloned().collect();
        self.market = Arc::new(self.read(&changed, &self.market).await);
    }

    /// Adds pools that only a list names, and tokens that only pools have as coins.
    pub async fn know(&mut self, pools: &[Discovered]) {
        let mut table = (*self.tokens).clone();
        for coin in pools.iter().flat_map(|pool| &pool.coins) {
            if table.id(*coin).is_none() {
                let (symbol, name) = ("LP".into(), "a pool's share".into());
                table.insert(Token { address: *coin, symbol, name, decimals: 18 });
            }
        }
        self.tokens = Arc::new(table);
        self.known.extend_from_slice(pools);
        self.market = Arc::new(self.read(pools, &self.market).await);
    }

    /// Reads the pools again that fulfil a condition, and the pool that wraps ether. Returns a market of only these.
    pub async fn refresh_only(&mut self, wanted: impl Fn(&Pool) -> bool) -> Arc<Market> {
        let taken = |pool: &&Arc<Pool>| pool.product == Product::WrappedEther || wanted(pool);
        let addresses: Vec<Address> = self.market.pools().iter().filter(taken).map(|pool| pool.key.contract).collect();
        let is_taken = |pool: &&Discovered| addresses.contains(&pool.key.contract);
        let again: Vec<Discovered> = self.known.iter().filter(is_taken).cloned().collect();
        self.market = Arc::new(self.read(&again, &self.market).await);
        let pools = self.market.pools().iter().filter(taken).map(|pool| (**pool).clone());
        Arc::new(Market::new(*self.market.block(), Arc::clone(&self.tokens), pools).unwrap())
    }

    /// Reads the whole market without previous states.
    pub async fn read_everything(&self) -> Market {
        self.read(&self.known, &Market::empty(*self.market.block(), Arc::clone(&self.tokens))).await
    }

    fn read<'a>(&'a self, wanted: &'a [Discovered], before: &'a Market) -> BoxFuture<'a, Market> {
        Box::pin(self.read_after(wanted, before))
    }

    async fn read_after(&self, wanted: &[Discovered], before: &Market) -> Market {
        let block = self.node.latest_block().await.unwrap();
        let states = read_states(&self.node, block.hash, wanted).await;
        let pools = wanted.iter().zip(states).map(|(pool, (state, product))| Pool {
            key: pool.key,
            product,
            coins: pool.coins.iter().map(|coin| self.tokens.id(*coin).unwrap()).collect(),
            state,
        });
        before.next(block, Arc::clone(&self.tokens), pools).unwrap()
    }

    /// Returns an account's balances of some tokens (which may include ether) at the newest block.
    pub async fn balances(&self, owner: Address, of: &[Address]) -> Vec<U256> {
        let block = self.node.latest_block().await.unwrap();
        let calls = of.iter().map(|token| Call { to: *token, data: approvals::balance_calldata(owner) }).collect();
        let answers = self.node.read(block.hash, calls).await.unwrap();
        let ether = self.node.native_balance(block.hash, owner).await.unwrap();
        let amount = |(token, answer): (&Address, Option<Bytes>)| {
            if *token == NATIVE_ETHER { ether } else { U256::from_be_slice(&answer.unwrap()) }
        };
        of.iter().zip(answers).map(amount).collect()
    }

    /// Sends a transaction from the taker, which anvil mines at once.
    pub async fn send(&self, to: Address, data: Bytes, value_wei: U256, gas_units: u64) -> Receipt {
        let tx = json!({ "from": accounts::TAKER, "to": to, "data": data, "value": value_wei, "gas": U256::from(gas_units) });
        // The answer is the receipt, once the transaction is mined (EIP-7966).
        let receipt = self.devnet.rpc().call("eth_sendTransactionSync", json!([tx])).await.unwrap();
        let quantity = |name: &str| -> U256 { receipt[name].as_str().unwrap().parse().unwrap() };
        Receipt {
            succeeded: receipt["status"] == "0x1",
            gas_used: quantity("gasUsed").to(),
            fee_wei: quantity("gasUsed") * quantity("effectiveGasPrice"),
        }
    }

    /// Sends transactions, which anvil mines in one block. Each must succeed.
    pub async fn send_together(&self, transactions: &[Tx]) {
        self.rpc("evm_setAutomine", json!([false])).await;
        let mut hashes = Vec::with_capacity(transactions.len());
        for tx in transactions {
            hashes.push(self.devnet.rpc().submit(tx).await.unwrap());
        }
        self.rpc("evm_mine", json!([])).await;
        self.rpc("evm_setAutomine", json!([true])).await;
        for (tx, hash) in transactions.iter().zip(hashes) {
            assert_eq!(self.devnet.rpc().status(hash).await.unwrap(), Some(true), "{tx:?}");
        }
    }

    /// Makes a call to the node, which must succeed.
    pub async fn rpc(&self, method: &str, params: Value) {
        self.devnet.rpc().call(method, params).await.unwrap();
    }

    /// Approves a spender for exactly this amount, with the transactions that a taker would receive.
    pub async fn approve(&self, token: Address, spender: Address, amount: U256) {
        for step in approvals::approval_transactions(token, spender, amount, None) {
            let receipt = self.send(step.to, step.data, U256::ZERO, 200_000).await;
            assert!(receipt.succeeded, "approve of {token}");
        }
    }

    /// Makes the node's wallet sign typed data as the taker.
    pub async fn sign(&self, typed: &permit2::TypedData) -> Bytes {
        let params: Value = json!([accounts::TAKER, typed.eip712]);
        self.devnet.rpc().get("eth_signTypedData_v4", params).await.unwrap()
    }

    /// Gives an account a small balance of everything, like an account that has been in use for long.
    pub async fn settle_in(&self, account: Address) {
        for token in tokens::TOKENS {
            self.devnet.fund(token.address, account, U256::ONE).await.unwrap();
        }
        self.devnet.fund_ether(account, U256::ONE).await.unwrap();
    }

    /// Gives the taker twice the amount of a token, if it has less.
    pub async fn afford(&self, token: Address, amount: U256) {
        let enough = amount * U256::from(2);
        if self.balances(accounts::TAKER, &[token]).await[0] >= enough {
            return;
        }
        if token == NATIVE_ETHER {
            self.devnet.fund_ether(accounts::TAKER, enough).await.unwrap();
        } else if tokens::TOKENS.iter().all(|listed| listed.address != token) {
            // A pool's own token belongs to the account that filled the pool.
            let call = transferCall { to: accounts::TAKER, amount: enough };
            self.devnet.send(&Tx::call(accounts::MAKER, token, &call)).await.unwrap();
        } else {
            self.devnet.fund(token, accounts::TAKER, enough).await.unwrap();
        }
    }

    /// Returns the reason with which a call of the taker reverts at the newest block.
    pub async fn why(&self, to: Address, data: Bytes, value_wei: U256) -> String {
        let tx = json!({ "from": accounts::TAKER, "to": to, "data": data, "value": value_wei });
        match self.devnet.rpc().call("eth_call", json!([tx, "latest"])).await {
            Ok(_) => "nothing, with all the gas it wants".into(),
            Err(error) => error.to_string(),
        }
    }
}

/// Returns a transaction of the taker.
pub fn taking(to: Address, data: Bytes, value_wei: U256, gas_units: u64) -> Tx {
    Tx { from: accounts::TAKER, to, data, value_wei, gas_units: Some(gas_units) }
}

/// Returns every pool that a factory announced, and the fixed ones, in the order of the products.
async fn discover(node: &Node, head: &Block) -> Vec<Discovered> {
    let mut found = Vec::new();
    for product in Product::ALL {
        let protocol = product;
        found.extend(protocol.fixed_pools());
        for source in protocol.sources() {
            let filter = LogFilter { emitters: vec![source.emitter], topics: vec![source.topic0] };
            let logs = node.logs_between(0, head.number, &filter).await.unwrap();
            found.extend(logs.iter().map(|placed| protocol.discover(&placed.log).unwrap()));
        }
    }
    for pool in &mut found {
        if let Some(call) = pool.product.unnamed_coin(pool) {
            let answer = node.read(head.hash, vec![call]).await.unwrap().remove(0).unwrap();
            pool.coins.insert(0, Address::from_word(B256::from_slice(&answer)));
        }
    }
    // The local chain has only some of the listed vaults.
    let own: Vec<Address> = found.iter().map(|pool| pool.key.contract).collect();
    let listed = |coin: &Address| tokens::TOKENS.iter().any(|token| token.address == *coin);
    let exists = |coin: &Address| *coin == NATIVE_ETHER || listed(coin) || own.contains(coin);
    found.retain(|pool| pool.coins.iter().all(exists));
    // Several products of one vault contract share its announcements.
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|pool| seen.insert(pool.key));
    // The same holds for listed pools. An announced pool exists, even if its key is not a contract with code.
    let mut there = Vec::with_capacity(found.len());
    for pool in found {
        let announced = pool.product.fixed_pools().is_empty();
        if announced || !node.code(head.hash, pool.key.contract).await.unwrap().is_empty() {
            there.push(pool);
        }
    }
    let found = there;
    assert!(found.len() > 60, "only {} pools", found.len());
    found
}

/// Runs the pools' readers together, with one batch of calls per round. Returns each state with the product that it
/// identifies.
async fn read_states(node: &Node, at: B256, pools: &[Discovered]) -> Vec<(PoolState, Product)> {
    let mut readers: Vec<Box<dyn StateReader>> = pools.iter().map(|pool| pool.product.reader(pool)).collect();
    let mut done: BTreeMap<usize, PoolState> = BTreeMap::new();
    let mut waiting: Vec<(usize, ReadProgress)> =
        readers.iter_mut().enumerate().map(|(index, reader)| (index, reader.start())).collect();
    while !waiting.is_empty() {
        let mut batch = Vec::new();
        let mut sizes = Vec::new();
        for (index, progress) in waiting.drain(..) {
            match progress {
                ReadProgress::Done(state) => drop(done.insert(index, state)),
                ReadProgress::Calls(calls) => {
                    sizes.push((index, calls.len()));
                    batch.extend(calls);
                }
            }
        }
        let mut answers = node.read(at, batch).await.unwrap().into_iter();
        for (index, size) in sizes {
            let own: Vec<Option<Bytes>> = answers.by_ref().take(size).collect();
            waiting.push((index, readers[index].feed(&own).unwrap()));
        }
    }
    let shown = |(index, state): (usize, PoolState)| (state, readers[index].product().unwrap_or(pools[index].product));
    done.into_iter().map(shown).collect()
}
