//! `braid-lab bench-http`: measures quotes per second over HTTP on one market file, with keys and limits enabled.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use braid_ethereum::{FeeData, Head, SyncStatus};
use braid_lab::recorded;
use braid_market::Market;
use braid_primitives::{Token, TokenId, U256};
use braid_routing::{PoolFilter, Request};
use braid_server::{App, Config, LimitsConfig, MarketAges, MarketFeed, Parts, SystemClock, serve};
use braid_store::{KeyStore, QuoteStore};
use eyre::{Result, eyre};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use crate::bench::{Random, Recordings};
use crate::trade::Trade;
use crate::{measures, out};

const KEY: &str = "bench-key";

/// A recorded market of mainnet, used if it is available.
const RECORDED: &str = "mainnet_24721394.json";

/// The number of pools of the generated market that replaces it.
const GENERATED_POOLS: usize = 1_500;

/// The number of trades, which are sent in turn. In each turn amounts are one atomic unit larger: the service keeps the
/// solutions of a block, and what is measured is solving.
const REQUESTS: u64 = 512;

/// The number of connections that send the trades of the first turn again and again, whose solutions are known.
const KNOWN_CONNECTIONS: usize = 32;

/// Gas price of the bench's market, in wei: one gwei.
const BASE_FEE_WEI: u64 = 1_000_000_000;

/// The priority fee of every tier, in wei.
const TIP_WEI: u64 = 50_000_000;

/// The upper limit of the 99th percentile of the latency under load.
const BOUND: Duration = Duration::from_millis(20);

/// The numbers of connections that are tried to find the most quotes per second within the limit.
const SWEEP: [usize; 7] = [2, 4, 6, 8, 12, 16, 24];

/// The longest wait for a thread that the service is configured to accept in the overload measurement.
const OVERLOAD_WAIT: Duration = Duration::from_millis(20);

/// The number of connections of that measurement: several times the number that this wait allows.
const OVERLOAD_CONNECTIONS: usize = 256;

/// The pause before a refused client asks again in that measurement. It is much shorter than the service's
/// `retry-after`.
const OVERLOAD_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Market file: one that Braid wrote, or a recorded one in JSON. By default a recorded one, or a generated one if
    /// that does not exist
    #[arg(long, value_name = "FILE")]
    market: Option<PathBuf>,
    #[command(flatten)]
    recordings: Recordings,
    /// Connections that each request one quote after the other; may be given several times
    #[arg(long, value_name = "N", default_values_t = [1, 32, 256])]
    connections: Vec<usize>,
    /// Seconds per row
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    seconds: u64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(bench(args))
}

async fn bench(args: &Args) -> Result<()> {
    let market = market(args)?;
    out::line(format_args!(
        "{} pools, {} tokens, block {}",
        market.pools().len(),
        market.tokens().len(),
        market.block().number
    ))?;
    out::line(format_args!("server and clients share this machine: {}", crate::bench::machine()))?;
    let dir = std::env::temp_dir().join(format!("braid-bench-{}", std::process::id()));
    braid_store::prepare_dir(&dir)?;
    let market = Arc::new(market);
    let server = Server::start(Arc::clone(&market), &dir.join("usual"), Config::default().solve_wait).await?;
    out::line(format_args!(
        "\n| connections | quotes/s | p50 ms | p99 ms | no route | turned away |\n| --- | --- | --- | --- | --- | --- |"
    ))?;
    let length = Duration::from_secs(args.seconds);
    out::line(format_args!("{}", server.solving().line("solving alone")))?;
    for connections in &args.connections {
        let row = load(&server, *connections, length).await?;
        out::line(format_args!("{}", row.line(&connections.to_string())))?;
    }
    let row = load_again(&server, KNOWN_CONNECTIONS, length).await?;
    out::line(format_args!("{}", row.line(&format!("{KNOWN_CONNECTIONS}, solutions known"))))?;
    let mut best = 0.0f64;
    for connections in SWEEP {
        let row = load(&server, connections, length).await?;
        if measures::quantile(&row.took, 0.99) < BOUND && row.turned_away.is_empty() {
            best = best.max(row.per_s());
        }
    }
    out::line(format_args!("\n{best:.0} quotes/s with a 99th percentile below {} ms", BOUND.as_millis()))?;
    server.stop().await;
    let server = Server::start(market, &dir.join("overload"), OVERLOAD_WAIT).await?;
    let row = load(&server, OVERLOAD_CONNECTIONS, length).await?;
    out::line(format_args!("\n{}", row.overloaded()))?;
    server.stop().await;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

fn market(args: &Args) -> Result<Market> {
    let usual = args.recordings.market(RECORDED);
    let file = args.market.clone().or_else(|| usual.exists().then(|| usual.clone()));
    match file {
        Some(file) => {
            out::line(format_args!("market: {}", file.display()))?;
            Ok(recorded::open(&file)?.market)
        }
        None => {
            out::line(format_args!("market: generated ({} is not there)", usual.display()))?;
            crate::bench::generated_market(GENERATED_POOLS, 1)
        }
    }
}

struct Server {
    address: SocketAddr,
    feed: Arc<MarketFeed>,
    questions: Vec<Request>,
    trades: Arc<Trades>,
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
    _status: watch::Sender<SyncStatus>,
}

impl Server {
    async fn start(market: Arc<Market>, dir: &std::path::Path, solve_wait: Duration) -> Result<Self> {
        braid_store::prepare_dir(dir)?;
        let (status, receiver) = watch::channel(SyncStatus::default());
        let feed = Arc::new(MarketFeed::new(receiver));
        let fees = FeeData { next_base_fee_per_gas_wei: BASE_FEE_WEI, priority_fee_per_gas_wei: [TIP_WEI; 4] };
        let head = Head { market, fees, received_at: Instant::now() };
        feed.publish(Arc::new(head));
        let (questions, trades) = requests(&feed)?.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let limits = LimitsConfig { keyed_per_min: u32::MAX, ..LimitsConfig::default() };
        let ages = MarketAges { stale_after: Duration::MAX, ..MarketAges::default() };
        let app = App::new(Parts {
            config: Config { limits, solve_wait, ages, ..Config::default() },
            clock: Arc::new(SystemClock),
            feed: Arc::clone(&feed),
            node: None,
            keys: KeyStore::open(dir)?.with_fixed("bench", KEY),
            quotes: QuoteStore::open(dir)?,
            replicas: None,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(app, listener, async move { drop(stopped.await) }));
        let trades = Arc::new(Trades { trades, asked: AtomicU64::new(0) });
        Ok(Self { address, feed, questions, trades, stop, task, _status: status })
    }

    /// Solves the same requests one after the other on this thread, to show the solver's part of the times below.
    fn solving(&self) -> Row {
        let mut row = Row::default();
        let Some(published) = self.feed.latest() else { return row };
        let started = Instant::now();
        for question in &self.questions {
            let asked = Instant::now();
            row.no_route += usize::from(braid_routing::solve(&published.prepared, question).is_err());
            row.took.push(asked.elapsed());
        }
        row.elapsed = started.elapsed();
        row.took.sort_unstable();
        row
    }

    async fn stop(self) {
        drop(self.stop);
        drop(self.task.await);
    }
}

/// Returns the requests, which are the same every time: between the tokens with the most pools, worth 0.03 to 300
/// ether.
fn requests(feed: &MarketFeed) -> Result<Vec<(Request, Trade)>> {
    let published = feed.latest().ok_or_else(|| eyre!("the market is empty"))?;
    let market = &published.head.market;
    let mut ranked: Vec<(usize, TokenId, &Token)> =
        market.tokens().iter().map(|(id, token)| (market.pools_of(id).len(), id, token)).collect();
    ranked.sort_by_key(|(pools, id, _)| (std::cmp::Reverse(*pools), *id));
    ranked.retain(|(_, id, _)| published.prepared.reference_price(*id).is_some());
    ranked.truncate(40);
    if ranked.len() < 2 {
        return Err(eyre!("the market has fewer than two tokens with a price"));
    }
    let pick = |random: u64| ranked.get(usize::try_from(random % ranked.len() as u64).unwrap_or(0));
    let mut requests = Vec::new();
    let mut random = Random::new(7);
    while requests.len() < usize::try_from(REQUESTS)? {
        let (Some((_, from, sold)), Some((_, to, bought))) = (pick(random.next()), pick(random.next())) else {
            continue;
        };
        let ether = 0.03 * 10f64.powf((random.next() % 4_000) as f64 / 1_000.0);
        let price = published.prepared.reference_price(*from).unwrap_or(1.0);
        let amount = U256::from(ether / price * 10f64.powi(i32::from(sold.decimals)));
        if from != to && !amount.is_zero() {
            let question = Request {
                inputs: vec![(*from, amount)],
                outputs: vec![(*to, 10_000)],
                max_hops: 4,
                filter: PoolFilter::default(),
                gas_price_wei: BASE_FEE_WEI + TIP_WEI,
                max_steps: Config::default().max_steps,
                at: market.block().next(),
            };
            requests.push((question, Trade { sold: sold.address, amount, bought: bought.address, simulate: false }));
        }
    }
    Ok(requests)
}

/// The trades that all connections ask for in turn.
struct Trades {
    trades: Vec<Trade>,
    /// The number of requests so far.
    asked: AtomicU64,
}

impl Trades {
    /// Returns the body of the next request, which differs from all before.
    fn next(&self) -> Option<String> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let trade = self.trades.get(usize::try_from(asked % REQUESTS).ok()?)?;
        Some(trade.body(asked / REQUESTS))
    }
}

#[derive(Default)]
struct Row {
    took: Vec<Duration>,
    no_route: usize,
    turned_away: Vec<Duration>,
    elapsed: Duration,
}

impl Row {
    fn per_s(&self) -> f64 {
        self.took.len() as f64 / self.elapsed.as_secs_f64()
    }

    fn line(&self, connections: &str) -> String {
        let per_s = self.per_s();
        let (p50, p99) = (measures::ms(&self.took, 0.5), measures::ms(&self.took, 0.99));
        let (no_route, turned_away) = (self.no_route, self.turned_away.len());
        format!("| {connections} | {per_s:.0} | {p50:.2} | {p99:.2} | {no_route} | {turned_away} |")
    }

    /// Returns a line with the results of the overload measurement.
    fn overloaded(&self) -> String {
        let offered = (self.took.len() + self.turned_away.len()) as f64 / self.elapsed.as_secs_f64();
        let (per_s, p50, p99) = (self.per_s(), measures::ms(&self.took, 0.5), measures::ms(&self.took, 0.99));
        let (early_p50, early_p99) = (measures::ms(&self.turned_away, 0.5), measures::ms(&self.turned_away, 0.99));
        let (count, wait) = (self.turned_away.len(), OVERLOAD_WAIT.as_millis());
        format!(
            "under {offered:.0} requests/s, {wait} ms of waiting accepted: {per_s:.0} quotes/s answered, p50 {p50:.2} ms, \
             p99 {p99:.2} ms; {count} turned away with Retry-After, p50 {early_p50:.2} ms, p99 {early_p99:.2} ms"
        )
    }
}

async fn load(server: &Server, connections: usize, length: Duration) -> Result<Row> {
    let trades = Arc::clone(&server.trades);
    load_with(server, connections, length, move || trades.next()).await
}

/// Sends the same requests again and again.
async fn load_again(server: &Server, connections: usize, length: Duration) -> Result<Row> {
    let bodies: Arc<Vec<String>> = Arc::new(server.trades.trades.iter().map(|trade| trade.body(0)).collect());
    let asked = Arc::new(AtomicU64::new(0));
    let next = move || bodies.get(usize::try_from(asked.fetch_add(1, Ordering::Relaxed) % REQUESTS).ok()?).cloned();
    load_with(server, connections, length, next).await
}

/// Sends requests over some connections at once for a while.
async fn load_with(
    server: &Server,
    connections: usize,
    length: Duration,
    next: impl Fn() -> Option<String> + Clone + Send + 'static,
) -> Result<Row> {
    // Creating a client costs more than a quote. One client serves all connections and keeps them open.
    let client = reqwest::Client::builder().pool_max_idle_per_host(connections).tcp_nodelay(true).build()?;
    let started = Instant::now();
    let workers = (0..connections).map(|_| {
        let (address, next, client) = (server.address, next.clone(), client.clone());
        tokio::spawn(async move { ask(&client, address, next, started + length).await })
    });
    let mut row = Row::default();
    for worker in workers.collect::<Vec<_>>() {
        let part = worker.await??;
        row.took.extend(part.took);
        row.no_route += part.no_route;
        row.turned_away.extend(part.turned_away);
    }
    row.elapsed = started.elapsed();
    row.took.sort_unstable();
    row.turned_away.sort_unstable();
    Ok(row)
}

/// Sends requests over one connection until the time is over. Answers without a route count as answers; refused
/// requests do not.
async fn ask(
    client: &reqwest::Client,
    address: SocketAddr,
    next: impl Fn() -> Option<String>,
    until: Instant,
) -> Result<Row> {
    let url = format!("http://{address}/v1/quote");
    let mut row = Row::default();
    while let Some(body) = next() {
        let asked = Instant::now();
        if asked >= until {
            break;
        }
        let call = client.post(&url).header("content-type", "application/json").header("x-api-key", KEY);
        let response = call.body(body.clone()).send().await?;
        let status = response.status().as_u16();
        let retry_after = response.headers().contains_key("retry-after");
        response.bytes().await?;
        match status {
            200 => row.took.push(asked.elapsed()),
            422 => {
                row.no_route += 1;
                row.took.push(asked.elapsed());
            }
            503 if retry_after => {
                row.turned_away.push(asked.elapsed());
                tokio::time::sleep(OVERLOAD_PAUSE).await;
            }
            other => return Err(eyre!("the service answered {other} to {body}")),
        }
    }
    Ok(row)
}
