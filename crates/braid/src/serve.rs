//! `braid serve`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use braid_quoting::{StoredQuotes, feed};
use braid_server::metrics::{self, Metrics};
use braid_server::{App, AuditConfig, Config, ConnectionLimits, LimitsConfig, MarketFeed, Parts, SystemClock, serve};
use braid_store::{KeyStore, QuoteStore, Replicas, SharedKeys};
use eyre::{Report, Result, eyre};
use ipnet::IpNet;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config_file::ConfigFile;
use crate::data::cannot_store;
use crate::descriptors;
use crate::logging::{LogArgs, Logging};
use crate::market_source::{Running, Source, SourceArgs};
use crate::rules::RuleArgs;
use crate::secrets;

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    _config: ConfigFile,
    #[command(flatten)]
    source: SourceArgs,
    /// Address and port to listen on
    #[arg(long, env = "BRAID_LISTEN", value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Address and port for `/metrics` alone, which then is not on the other one
    #[arg(long, env = "BRAID_METRICS_LISTEN", value_name = "ADDR:PORT")]
    metrics_listen: Option<SocketAddr>,
    /// An API key that is valid besides those of `braid keys`; may be given several times
    #[arg(long = "api-key", env = "BRAID_API_KEYS", value_name = "KEY", value_delimiter = ',', hide_env_values = true)]
    api_keys: Vec<String>,
    /// A file with such keys, one a line
    #[arg(long, env = "BRAID_API_KEY_FILE", value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Let callers without a key quote (never build), under a limit per address
    #[arg(long, env = "BRAID_ANONYMOUS_QUOTES")]
    anonymous_quotes: bool,
    /// Calls a minute with a key, per key
    #[arg(long, env = "BRAID_RATE_LIMIT", value_name = "N", default_value_t = 600)]
    rate_limit: u32,
    /// Calls in any one second with a key, per key. By default only the minute counts
    #[arg(long, env = "BRAID_BURST_LIMIT", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    burst_limit: Option<u32>,
    /// Quotes a minute without a key, per address
    #[arg(long, env = "BRAID_ANONYMOUS_RATE_LIMIT", value_name = "N", default_value_t = 10)]
    anonymous_rate_limit: u32,
    /// Market data reads a minute without a key, per address
    #[arg(long, env = "BRAID_READ_RATE_LIMIT", value_name = "N", default_value_t = 120)]
    read_rate_limit: u32,
    /// A proxy whose `X-Forwarded-For` or `Forwarded` tells who calls, by its address or network; may be given several times
    #[arg(long = "trusted-proxy", env = "BRAID_TRUSTED_PROXIES", value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    trusted_proxies: Vec<IpNet>,
    /// Most connections at once. Lowered where the system allows fewer open files
    #[arg(long, env = "BRAID_MAX_CONNECTIONS", value_name = "N", default_value_t = 4_096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_connections: u32,
    /// Most connections at once from one address, trusted proxies aside
    #[arg(long, env = "BRAID_MAX_CONNECTIONS_PER_ADDRESS", value_name = "N", default_value_t = 512,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_connections_per_address: u32,
    /// How long a quote can be built, in seconds
    #[arg(long, env = "BRAID_QUOTE_TTL_S", value_name = "SECONDS", default_value_t = 120,
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    quote_ttl_s: u64,
    /// A web origin that browsers may call from; may be given several times. Without it, or with `*`, any origin may
    #[arg(long = "cors-origin", env = "BRAID_CORS_ORIGINS", value_name = "ORIGIN", value_delimiter = ',', value_parser = origin)]
    cors_origins: Vec<String>,
    /// Quotes that are worked out at once. By default one per core
    #[arg(long, env = "BRAID_SOLVE_THREADS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    solve_threads: Option<u16>,
    /// Pause between two checks of the self-audit, in milliseconds: each compares one swap's model with the EVM. 0 turns it off
    #[arg(long, env = "BRAID_AUDIT_EVERY_MS", value_name = "MS", default_value_t = 1_000)]
    audit_every_ms: u64,
    /// Most checks of the self-audit at one block
    #[arg(long, env = "BRAID_AUDIT_PER_BLOCK", value_name = "N", default_value_t = 16)]
    audit_per_block: u32,
    /// Most calls of the node that the self-audit takes for one block on average
    #[arg(long, env = "BRAID_AUDIT_CALLS", value_name = "N", default_value_t = 20)]
    audit_calls: u32,
    /// Longest time for a simulation in all, in milliseconds; past it the quote or build comes with `"status": "unavailable"`
    #[arg(long, env = "BRAID_SIMULATION_MS", value_name = "MS", default_value_t = 2_000,
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    simulation_ms: u64,
    /// Longest wait for a thread, in milliseconds, that a quote is accepted for; one that would wait longer is turned away
    #[arg(long, env = "BRAID_SOLVE_WAIT_MS", value_name = "MS", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(..=10_000))]
    solve_wait_ms: u64,
    /// How long requests are still taken after SIGTERM, in milliseconds, while `/ready` answers 503: time for a load balancer to see it
    #[arg(long, env = "BRAID_STOP_DELAY_MS", value_name = "MS", default_value_t = 0,
          value_parser = clap::value_parser!(u64).range(..=60_000))]
    stop_delay_ms: u64,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    log: LogArgs,
}

const EXAMPLES: &str = "Examples:
  braid serve --rpc-url http://127.0.0.1:8545 --api-key my-key
  BRAID_RPC_URL=/var/run/geth.ipc braid serve --listen 0.0.0.0:8080 --data /var/lib/braid
  braid serve --rpc-url ws://127.0.0.1:8546 --rpc-url https://node.example/KEY    (the second where the first fails)
  braid serve --follow --redis redis://10.0.0.5    (the market comes from a service that has a node and the same --redis)

Then:
  curl -s localhost:8080/ready
  curl -s localhost:8080/v1/quote -H 'content-type: application/json' -H 'x-api-key: my-key' -d '{
    \"inputs\": [{\"chain_id\": 1, \"address\": \"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48\", \"amount\": \"1000000000\"}],
    \"outputs\": [{\"chain_id\": 1, \"address\": \"0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2\", \"ratio_bps\": 10000}],
    \"taker\": \"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\"}'

API keys for others: `braid keys create NAME`, on the same data directory, while the server runs.";

impl Args {
    /// Refuses options that contradict each other.
    pub(crate) fn check(&self) -> Result<()> {
        self.rules.follower()?;
        self.source.check()?;
        if self.rules.guesses_vaults() && !audit(self).is_on() {
            return Err(eyre!(
                "--vault and --find-vaults need the self-audit, since such a vault is quoted once it was checked: turn it on with \
                --audit-every-ms and --audit-per-block above 0, or leave these options out"
            ));
        }
        if self.metrics_listen == Some(self.listen) {
            return Err(eyre!("--listen and --metrics-listen are the same address and port: give each its own"));
        }
        Ok(())
    }
}

fn audit(args: &Args) -> AuditConfig {
    AuditConfig {
        every: Duration::from_millis(args.audit_every_ms),
        per_block: args.audit_per_block,
        calls_per_block: args.audit_calls,
        ..AuditConfig::default()
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let logging = Arc::new(args.log.start()?);
    let connections = connections(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| eyre!("the threads of the service cannot be started: {error}"))?;
    let served = runtime.block_on(serve_until_told(args, connections, &logging));
    // what still waits for a disk or a name server does not hold the process up
    runtime.shutdown_timeout(RUNTIME_SHUTDOWN);
    served
}

/// How often the shared keys are looked at.
const KEYS_EVERY: Duration = Duration::from_secs(1);

/// How long the last quotes and the newest market may take to be written.
const FINAL_WRITES: Duration = Duration::from_secs(15);

/// How long work that was begun may hold up the end of the process.
const RUNTIME_SHUTDOWN: Duration = Duration::from_secs(2);

/// How many connections there may be: as asked, and no more than the system has descriptors for.
fn connections(args: &Args) -> Result<ConnectionLimits> {
    let asked = usize::try_from(args.max_connections)?;
    let room = descriptors::room_for_connections();
    let total = asked.min(room);
    if total < asked {
        tracing::warn!(
            asked,
            total,
            "the system allows too few open files for so many connections: raise its limit (systemd: LimitNOFILE) or lower --max-connections"
        );
    }
    let per_address = usize::try_from(args.max_connections_per_address)?;
    Ok(ConnectionLimits { total, per_address, ..Config::default().connections })
}

/// A network, or a single address.
fn network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
    text.parse().ok().or_else(address).ok_or_else(|| "expected an address or a network such as 10.0.0.0/8".into())
}

/// A web origin as browsers send it, or `*`.
fn origin(text: &str) -> Result<String, String> {
    let host = text.split_once("://").map(|(_, host)| host);
    let is_origin = |host: &str| !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    if text == "*" || host.is_some_and(is_origin) {
        return Ok(text.to_owned());
    }
    Err("expected * or a scheme and a host such as https://app.example, without a path".into())
}

async fn serve_until_told(args: &Args, connections: ConnectionLimits, logging: &Arc<Logging>) -> Result<()> {
    args.check()?;
    // from now on no signal ends the process but by way of its end
    let hangups = heard(SignalKind::hangup())?;
    let mut stopping = Stopping::heard()?;
    let started = tokio::select! {
        started = start(args, connections) => started?,
        () = stopping.told() => return Ok(()),
    };
    let Started { app, listener, metrics, running, feed, sharing } = started;
    tracing::info!(address = %listener.local_addr().unwrap_or(args.listen), "listening; /ready tells when quotes are answered");
    let following = tokio::spawn(feed::follow(feed, running.heads()));
    let telling = tokio::spawn(tell_progress(running.status()));
    let running = running.serve(&app, &args.source);
    let sharing = sharing.map(|keys| tokio::spawn(refresh_keys(keys, args.source.data.data_dir.clone())));
    let reloading = tokio::spawn(reload_on_hangup(hangups, Arc::clone(logging)));
    let measuring = metrics.map(|listener| tokio::spawn(serve_metrics(listener, Arc::clone(&app.metrics))));
    serve(app.clone(), listener, async move { stopping.told().await }).await;
    for task in [following, telling, reloading].into_iter().chain(measuring).chain(sharing) {
        task.abort();
    }
    if tokio::time::timeout(FINAL_WRITES, finish(app.stored, running)).await.is_err() {
        tracing::error!(
            "the disk does not take the last quotes and the newest market in time: the process ends without"
        );
    }
    Ok(())
}

/// What a service has at hand before it answers.
struct Started {
    app: App,
    listener: TcpListener,
    metrics: Option<TcpListener>,
    running: Running,
    feed: Arc<MarketFeed>,
    sharing: Option<SharedKeys>,
}

async fn start(args: &Args, connections: ConnectionLimits) -> Result<Started> {
    let pools = args.rules.follower()?;
    let replicas = match &args.source.redis {
        Some(url) => Some(Replicas::connect(url).await?),
        None => None,
    };
    let sharing = replicas.clone().map(SharedKeys::of);
    if let Some(keys) = &sharing {
        braid_store::prepare_dir(&args.source.data.data_dir).map_err(cannot_store)?;
        keys.refresh(&args.source.data.data_dir).await.map_err(cannot_store)?;
    }
    let (keys, quotes) = stores(args)?;
    let source = Source::prepare(&args.source, pools)?;
    let listener = TcpListener::bind(args.listen).await.map_err(|error| cannot_listen(args.listen, &error))?;
    let metrics = match args.metrics_listen {
        Some(address) => Some(TcpListener::bind(address).await.map_err(|error| cannot_listen(address, &error))?),
        None => None,
    };
    let running = source.start(&args.source).await?;
    let feed = Arc::new(MarketFeed::new(running.status()));
    let app = App::new(Parts {
        config: config(args, connections),
        clock: Arc::new(SystemClock),
        feed: Arc::clone(&feed),
        node: running.node(),
        keys,
        quotes,
        replicas,
    });
    Ok(Started { app, listener, metrics, running, feed, sharing })
}

/// The signals that end the service. They are heard from before the first connection: one that comes while it starts ends it as well as
/// one that comes later.
struct Stopping {
    interrupts: Signal,
    terminations: Signal,
}

impl Stopping {
    fn heard() -> Result<Self> {
        Ok(Self { interrupts: heard(SignalKind::interrupt())?, terminations: heard(SignalKind::terminate())? })
    }

    /// Completes on Ctrl-C or SIGTERM.
    async fn told(&mut self) {
        tokio::select! {
            _ = self.interrupts.recv() => {}
            _ = self.terminations.recv() => {}
        }
        tracing::info!("stopping: requests under way are finished first");
    }
}

fn heard(kind: SignalKind) -> Result<Signal> {
    signal(kind).map_err(|error| eyre!("signals cannot be heard: {error}"))
}

async fn finish(quotes: StoredQuotes, running: Running) {
    let flushed = tokio::task::spawn_blocking(move || quotes.store.flush()).await;
    match flushed {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "the last quotes could not be written"),
        Err(error) => tracing::error!(%error, "the last quotes could not be written"),
    }
    running.stop().await;
    tracing::info!("stopped");
}

fn config(args: &Args, connections: ConnectionLimits) -> Config {
    let config = Config {
        connections,
        trusted_proxies: args.trusted_proxies.clone(),
        anonymous_quotes: args.anonymous_quotes,
        limits: LimitsConfig {
            reads_per_min: args.read_rate_limit,
            anonymous_quotes_per_min: args.anonymous_rate_limit,
            keyed_per_min: args.rate_limit,
            keyed_burst: args.burst_limit,
        },
        quote_ttl_ms: args.quote_ttl_s.saturating_mul(1_000),
        cors_origins: args.cors_origins.clone(),
        audit: audit(args),
        solve_wait: Duration::from_millis(args.solve_wait_ms),
        simulation_time: Duration::from_millis(args.simulation_ms),
        metrics_apart: args.metrics_listen.is_some(),
        stop_delay: Duration::from_millis(args.stop_delay_ms),
        ..Config::default()
    };
    match args.solve_threads.map(usize::from) {
        Some(threads) => Config { solve_threads: threads, solve_queue: 256 * threads, ..config },
        None => config,
    }
}

fn stores(args: &Args) -> Result<(KeyStore, QuoteStore)> {
    let dir = &args.source.data.data_dir;
    braid_store::prepare_dir(dir).map_err(cannot_store)?;
    let keys = KeyStore::open(dir).map_err(cannot_store)?;
    let named = secrets::with(&args.api_keys, args.api_key_file.as_ref())?;
    let keys = named
        .iter()
        .enumerate()
        .fold(keys, |keys, (index, key)| keys.with_fixed(&format!("given at the start, {}", index + 1), key));
    Ok((keys, QuoteStore::open(dir).map_err(cannot_store)?))
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Report {
    let help = match error.kind() {
        std::io::ErrorKind::AddrInUse => "another program listens there: stop it, or name another port with --listen",
        std::io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege: name another port with --listen",
        _ => "name an address of this machine with --listen",
    };
    eyre!("cannot listen on {address}: {help}")
}

/// Keeps the copy of the shared keys up to date.
async fn refresh_keys(keys: SharedKeys, dir: PathBuf) {
    let mut told = None;
    let mut ticks = tokio::time::interval(KEYS_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // once, and not every second for as long as it lasts
        let error = keys.refresh(&dir).await.err().map(|error| error.to_string());
        if let Some(error) = error.as_ref().filter(|error| told.as_ref() != Some(*error)) {
            tracing::warn!(
                error,
                "the shared keys could not be copied: the copy in the data directory counts until they can"
            );
        }
        told = error;
    }
}

/// Answers `/metrics` on a port of its own.
async fn serve_metrics(listener: TcpListener, metrics: Arc<Metrics>) {
    if let Err(error) = axum::serve(listener, metrics::router(metrics)).await {
        tracing::error!(%error, "metrics are not served any more");
    }
}

/// Reads at each SIGHUP what is to be logged, from the same command line, environment and file as at the start.
async fn reload_on_hangup(mut hangups: Signal, logging: Arc<Logging>) {
    while hangups.recv().await.is_some() {
        let changed = match crate::try_parsed() {
            Ok(crate::Command::Serve(args)) => logging.change(&args.log),
            Ok(_) => Ok(()),
            Err(why) => Err(eyre!(why)),
        };
        if let Err(error) = changed {
            tracing::warn!(%error, "the configuration could not be read anew: what was logged is logged");
        }
    }
}

/// Says in the log how the synchronisation goes, once per change of what matters to a person.
async fn tell_progress(mut status: tokio::sync::watch::Receiver<braid_ethereum::SyncStatus>) {
    let mut told = None;
    loop {
        let now = status.borrow_and_update().clone();
        let phase = (now.phase, now.last_error.clone());
        if told.as_ref() != Some(&phase) {
            let error = now.last_error.as_deref().unwrap_or("");
            tracing::info!(phase = ?now.phase, pools = now.pools, market_block = now.market_block, error, "market");
            told = Some(phase);
        }
        if status.changed().await.is_err() {
            return;
        }
    }
}
