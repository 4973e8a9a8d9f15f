//! A service on a free port with the test's own market, clock and key.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Instant;

use braid_ethereum::{FeeData, Head, Node, SyncStatus};
use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, NATIVE_ETHER, Token, U256, WETH, address};
use braid_protocols::lido::{self, STETH, WSTETH};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2};
use braid_quoting::feed;
use braid_server::{App, Config, ManualClock, MarketFeed, Parts, serve, stream};
use braid_store::replicas::stream::MarketStream;
use braid_store::{KeyStore, QuoteStore, Replicas};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

pub const KEY: &str = "test-key";
pub const TAKER: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
pub const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
pub const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
pub const WBTC: Address = address!("2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599");
/// A token of which no pool holds any, except in [`market_with_island`].
pub const LONELY: Address = address!("00000000000000000000000000000000000000aa");
/// The other coin of its only pool in [`market_with_island`].
pub const ISLAND: Address = address!("00000000000000000000000000000000000000ab");
/// 2023-11-14T22:13:20Z.
pub const NOW_MS: u64 = 1_700_000_000_000;

/// The data directory of a service: a temporary directory, or one that the caller created.
pub type DataDir = Arc<dyn AsRef<Path> + Send + Sync>;

/// The state of a service that follows a stream.
pub struct Following {
    pub heads: watch::Receiver<Option<Arc<Head>>>,
    pub status: watch::Receiver<SyncStatus>,
}

/// A running service.
pub struct Service {
    pub base: String,
    pub clock: Arc<ManualClock>,
    pub feed: Arc<MarketFeed>,
    pub app: App,
    pub dir: DataDir,
    pub client: Client,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
    follower: watch::Sender<SyncStatus>,
}

/// A job that occupies a solver thread.
pub struct Busy {
    go: mpsc::Sender<()>,
    task: JoinHandle<()>,
}

impl Busy {
    pub async fn ends(self) {
        drop(self.go);
        self.task.await.unwrap();
    }
}

impl Service {
    /// Starts a service with the market of [`market`], one key and the documented settings.
    pub async fn start() -> Self {
        Self::with(Config::default()).await
    }

    pub async fn with(config: Config) -> Self {
        let service = Self::without_market(config, Arc::new(tempfile::tempdir().unwrap()), NOW_MS).await;
        service.publish(market(1_000));
        service
    }

    pub async fn without_market(config: Config, dir: DataDir, now_ms: u64) -> Self {
        Self::sharing(config, dir, now_ms, None).await
    }

    /// Starts a service with a node for questions about takers.
    pub async fn over(node: Node, config: Config) -> Self {
        let service = Self::with_all(config, Arc::new(tempfile::tempdir().unwrap()), NOW_MS, None, Some(node)).await;
        service.publish(market(1_000));
        service
    }

    /// Starts one of several services that share a server.
    pub async fn sharing(config: Config, dir: DataDir, now_ms: u64, replicas: Option<Replicas>) -> Self {
        Self::with_all(config, dir, now_ms, replicas, None).await
    }

    async fn with_all(
        config: Config,
        dir: DataDir,
        now_ms: u64,
        replicas: Option<Replicas>,
        node: Option<Node>,
    ) -> Self {
        let clock = Arc::new(ManualClock::at(now_ms));
        let (status, receiver) = watch::channel(SyncStatus::default());
        let feed = Arc::new(MarketFeed::new(receiver));
        let app = App::new(Parts {
            config,
            clock: clock.clone(),
            feed: feed.clone(),
            node,
            keys: KeyStore::open(dir.as_ref().as_ref()).unwrap().with_fixed("test", KEY),
            quotes: QuoteStore::open(dir.as_ref().as_ref()).unwrap(),
            replicas,
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let serving = serve(app.clone(), listener, async move { drop(stopped.await) });
        let task = Some(tokio::spawn(serving));
        Self { base, clock, feed, app, dir, client: Client::new(), stop: Some(stop), task, follower: status }
    }

    /// Gives a solver thread a job that lasts until the test ends it.
    pub async fn occupies_a_thread(&self) -> Busy {
        let (go, gate) = mpsc::channel::<()>();
        let (started, has_started) = oneshot::channel();
        let work = Arc::clone(&self.app.work);
        let job = move || {
            let _ = started.send(());
            let _ = gate.recv();
        };
        let task = tokio::spawn(async move { work.run(job).await.unwrap() });
        has_started.await.unwrap();
        Busy { go, task }
    }

    pub fn data_dir(&self) -> &Path {
        self.dir.as_ref().as_ref()
    }

    pub fn publish(&self, market: Market) {
        let block = *market.block();
        let fees = FeeData { next_base_fee_per_gas_wei: 1_000_000_000, priority_fee_per_gas_wei: [1, 2, 3, 4] };
        let fees = fees.after(&block);
        self.feed.publish(Arc::new(Head { market: Arc::new(market), fees, received_at: Instant::now() }));
    }

    /// Takes the market from a Redis server from now on.
    pub fn follow(&self, url: &str) -> Following {
        let stream = MarketStream::open(url).unwrap();
        let heads = watch::Sender::default();
        let following = Following { heads: heads.subscribe(), status: self.follower.subscribe() };
        tokio::spawn(feed::follow(Arc::clone(&self.feed), heads.subscribe()));
        tokio::spawn(stream::follow(stream, Arc::clone(&self.app.audit), heads, self.follower.clone()));
        following
    }

    /// Sets the status of the follower.
    pub fn status(&self, status: SyncStatus) {
        self.follower.send_replace(status);
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.base)).header("x-api-key", KEY)
    }

    pub fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.raw(path, body.to_string())
    }

    pub fn raw(&self, path: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.base)).body(body);
        request.header("content-type", "application/json").header("x-api-key", KEY)
    }

    /// Returns the quote of a request that must succeed.
    pub async fn quote(&self, body: &Value) -> Value {
        data(self.post("/v1/quote", body).send().await.unwrap()).await
    }

    /// Returns the problem of a quote request that must fail.
    pub async fn refused_quote(&self, body: &Value) -> (u16, Value) {
        problem(self.post("/v1/quote", body).send().await.unwrap()).await
    }

    pub async fn build(&self, body: &Value) -> Value {
        data(self.post("/v1/build", body).send().await.unwrap()).await
    }

    pub async fn refused_build(&self, body: &Value) -> (u16, Value) {
        problem(self.post("/v1/build", body).send().await.unwrap()).await
    }

    /// Stops in order, as on SIGTERM, and returns the data directory.
    pub async fn stop(mut self) -> DataDir {
        drop(self.stop.take());
        self.task.take().unwrap().await.unwrap();
        let Self { app, dir, .. } = self;
        // The last connection releases the stores a moment after it is closed.
        let (quotes, keys) = (Arc::clone(&app.stored.store), Arc::clone(&app.access));
        drop(app);
        while Arc::strong_count(&quotes) + Arc::strong_count(&keys) > 2 {
            tokio::task::yield_now().await;
        }
        dir
    }
}

/// Returns the data of an answer that must be a success.
pub async fn data(response: Response) -> Value {
    let status = response.status().as_u16();
    let body: Value = response.json().await.unwrap();
    assert_eq!(status, 200, "{body:#}");
    body["data"].clone()
}

/// Returns the status and the body of an answer that must be a well-formed problem.
pub async fn problem(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    let id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
    let body: Value = response.json().await.unwrap();
    assert_eq!(kind, "application/problem+json", "{body:#}");
    assert_eq!(body["status"], status);
    assert_eq!(body["request_id"], id);
    for key in ["type", "title", "code", "detail", "instance", "retryable", "errors", "error"] {
        assert!(!body[key].is_null(), "{key} is missing: {body:#}");
    }
    assert_eq!(body["error"]["code"], body["code"]);
    (status, body)
}

/// Returns a valid request: 1,000 USDC for WETH.
pub fn request() -> Value {
    json!({
        "inputs": [{"chain_id": 1, "address": USDC, "amount": "1000000000"}],
        "outputs": [{"chain_id": 1, "address": WETH, "ratio_bps": 10000}],
        "taker": TAKER,
    })
}

/// Returns the request for a swap from one token to another.
pub fn swap(from: &str, amount: &str, to: &str) -> Value {
    json!({
        "inputs": [{"chain_id": 1, "address": from, "amount": amount}],
        "outputs": [{"chain_id": 1, "address": to, "ratio_bps": 10000}],
        "taker": TAKER,
    })
}

/// Returns the request for an exact amount of one token, paid with another.
pub fn purchase(from: &str, amount: &str, to: &str) -> Value {
    json!({
        "inputs": [{"chain_id": 1, "address": from}],
        "outputs": [{"chain_id": 1, "address": to, "amount": amount}],
        "taker": TAKER,
    })
}

/// Returns a market of six V2 pools over five tokens, at about 3,000 dollars per ether. The first one holds `weth`
/// whole ether.
pub fn market(weth: u128) -> Market {
    market_with(weth, &[], &[])
}

/// Returns the same market with one more pool, whose tokens no other pool holds, so they have no price.
pub fn market_with_island() -> Market {
    let pool = (7, Product::UniswapV2, (LONELY, 1_000_000), (ISLAND, 1_000_000));
    market_with(1_000, &[(ISLAND, "ISLE", 18)], &[pool])
}

/// Returns the same market with the wrapper of stETH, at 1.2 stETH for each wstETH.
pub fn market_with_wrapped_steth() -> Market {
    let market = market(1_000);
    let mut tokens = Tokens::clone(market.tokens());
    let coins = [(STETH, "stETH"), (WSTETH, "wstETH")].map(|(address, symbol)| {
        let name = format!("{symbol} of the test");
        tokens.insert(Token { address, symbol: symbol.into(), name, decimals: 18 });
        tokens.id(address).unwrap()
    });
    let state = lido::State {
        total_pooled_ether_wei: U256::from(12_000_000_000_000_000_000_000_u128),
        total_shares: U256::from(10_000_000_000_000_000_000_000_u128),
        stake_limit: lido::StakeLimit::Paused,
        stopped: false,
    };
    let pool = Pool {
        key: WSTETH.into(),
        product: Product::LidoWsteth,
        coins: coins.into_iter().collect(),
        state: PoolState::Lido(state),
    };
    market.next(*market.block(), Arc::new(tokens), vec![pool]).unwrap()
}

type Row = (u8, Product, (Address, u128), (Address, u128));

fn market_with(weth: u128, more_tokens: &[(Address, &str, u8)], more_pools: &[Row]) -> Market {
    let mut tokens = Tokens::new();
    let own = [(USDC, "USDC", 6), (DAI, "DAI", 18), (WBTC, "WBTC", 8), (LONELY, "ALONE", 18)];
    for (address, symbol, decimals) in own.iter().chain(more_tokens).copied() {
        tokens.insert(Token { address, symbol: symbol.into(), name: format!("{symbol} of the test"), decimals });
    }
    const ETHER: u128 = 1_000_000_000_000_000_000;
    let rows: [Row; 6] = [
        (1, Product::UniswapV2, (WETH, weth * ETHER), (USDC, 3_000_000_000_000)),
        (2, Product::SushiswapV2, (WETH, 500 * ETHER), (USDC, 1_500_300_000_000)),
        (3, Product::UniswapV2, (DAI, 2_000_000 * ETHER), (USDC, 2_000_000_000_000)),
        (4, Product::UniswapV2, (WETH, 900 * ETHER), (DAI, 2_700_000 * ETHER)),
        (5, Product::SushiswapV2, (WETH, 300 * ETHER), (WBTC, 1_000_000_000)),
        (6, Product::UniswapV2, (WBTC, 2_000_000_000), (USDC, 1_800_000_000_000)),
    ];
    let mut pools: Vec<Pool> = rows
        .iter()
        .chain(more_pools)
        .copied()
        .map(|(number, product, a, b)| {
            let (first, second) = if a.0 < b.0 { (a, b) } else { (b, a) };
            let coins = [first, second].iter().map(|side| tokens.id(side.0).unwrap()).collect();
            let state = uniswap_v2::State { reserve0: first.1, reserve1: second.1, fee_bps: 30 };
            Pool { key: Address::with_last_byte(number).into(), product, coins, state: PoolState::UniswapV2(state) }
        })
        .collect();
    let ether = [NATIVE_ETHER, WETH].iter().map(|token| tokens.id(*token).unwrap()).collect();
    pools.push(Pool {
        key: WETH.into(),
        product: Product::WrappedEther,
        coins: ether,
        state: PoolState::WrappedEther(braid_protocols::wrapped_ether::State),
    });
    let tokens = Arc::new(tokens);
    let block = Block {
        number: 20_000_000,
        hash: B256::repeat_byte(7),
        parent_hash: B256::repeat_byte(6),
        timestamp: NOW_MS / 1_000,
        base_fee_per_gas_wei: 1_000_000_000,
        gas_used: 15_000_000,
        gas_limit: 30_000_000,
    };
    Market::empty(block, tokens.clone()).next(block, tokens, pools).unwrap()
}
