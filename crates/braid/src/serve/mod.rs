//! `braid serve`: runs the service.

mod args;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use braid_quoting::{StoredQuotes, feed};
use braid_server::metrics::{self, Metrics};
use braid_server::{App, ConnectionLimits, MarketFeed, Parts, SystemClock, serve};
use braid_store::{KeyStore, QuoteStore, Replicas, SharedKeys};
use eyre::{Report, Result, eyre};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::data::cannot_store;
use crate::logging::Logging;
use crate::market_source::{Running, Source};

pub(crate) use args::Args;

pub(crate) fn run(args: &Args) -> Result<()> {
    let logging = Arc::new(args.log.start()?);
    let connections = args.connections()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| eyre!("the threads of the service cannot be started: {error}"))?;
    let served = runtime.block_on(serve_until_told(args, connections, &logging));
    // blocking work, such as a slow disk or name server, does not delay the end of the process
    runtime.shutdown_timeout(RUNTIME_SHUTDOWN);
    served
}

/// Time between two reads of the shared keys.
const KEYS_EVERY: Duration = Duration::from_secs(1);

/// Longest time for writing the last quotes and the newest market.
const FINAL_WRITES: Duration = Duration::from_secs(15);

/// Longest wait for running work at the end of the process.
const RUNTIME_SHUTDOWN: Duration = Duration::from_secs(2);

async fn serve_until_told(args: &Args, connections: ConnectionLimits, logging: &Arc<Logging>) -> Result<()> {
    args.check()?;
    // from here on a signal ends the process in order
    let hangups = heard(SignalKind::hangup())?;
    let mut stopping = Stopping::heard()?;
    let started = tokio::select! {
        started = start(args, connections) => started?,
        () = stopping.told() => return Ok(()),
    };
    let Started { app, listener, metrics, running, feed, sharing } = started;
    tracing::info!(address = %listener.local_addr().unwrap_or(args.listen), "listening; /ready tells when quotes are answered");
    let following = tokio::spawn(feed::follow(feed, running.heads()));
    let telling = tokio::spawn(log_progress(running.status()));
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

/// The parts of a service that are opened before it listens.
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
        Some(url) => Some(Replicas::open(url).await?),
        None => None,
    };
    let sharing = replicas.clone().map(SharedKeys::of);
    if let Some(keys) = &sharing {
        braid_store::prepare_dir(&args.source.data.data_dir).map_err(cannot_store)?;
        if replicas.as_ref().is_some_and(Replicas::is_healthy) {
            keys.refresh(&args.source.data.data_dir).await.map_err(cannot_store)?;
        }
    }
    let (keys, quotes) = stores(args)?;
    if let Some(warning) = args.warning(&keys)? {
        tracing::warn!("{warning}");
    }
    let source = Source::prepare(&args.source, pools)?;
    let listener = listen("--listen", args.listen).await?;
    let metrics = match args.metrics_listen {
        Some(address) => Some(listen("--metrics-listen", address).await?),
        None => None,
    };
    let running = source.start(&args.source).await?;
    let feed = Arc::new(MarketFeed::new(running.status()));
    let config = args.config(connections);
    if !braid_routing::use_threads(config.solve_threads) && config.solve_threads > 1 {
        tracing::warn!("no more threads can be started: long quotes take longer; raise the limit of processes");
    }
    let app = App::new(Parts {
        config,
        clock: Arc::new(SystemClock),
        feed: Arc::clone(&feed),
        node: running.node(),
        keys,
        quotes,
        replicas,
    });
    Ok(Started { app, listener, metrics, running, feed, sharing })
}

/// The signals that end the service. They are handled from before the first connection on, so that one during the start
/// ends it too.
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
    signal(kind).map_err(|error| eyre!("the handler of signals cannot be installed: {error}"))
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

fn stores(args: &Args) -> Result<(KeyStore, QuoteStore)> {
    let dir = &args.source.data.data_dir;
    braid_store::prepare_dir(dir).map_err(cannot_store)?;
    Ok((args.key_store()?, QuoteStore::open(dir).map_err(cannot_store)?))
}

/// Listens on the address of an option, which the error names.
async fn listen(option: &str, address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| cannot_listen(option, address, &error))
}

fn cannot_listen(option: &str, address: SocketAddr, error: &std::io::Error) -> Report {
    let help = match error.kind() {
        std::io::ErrorKind::AddrInUse => "another program listens there: stop it, or name another port",
        std::io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege: name another port",
        _ => "name an address of this machine",
    };
    eyre!("cannot listen on {address}: {help} with {option}")
}

/// Keeps the local copy of the shared keys up to date.
async fn refresh_keys(keys: SharedKeys, dir: PathBuf) {
    let mut logged = None;
    let mut ticks = tokio::time::interval(KEYS_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // log a changed error once, not every second
        let error = keys.refresh(&dir).await.err().map(|error| error.to_string());
        if let Some(error) = error.as_ref().filter(|error| logged.as_ref() != Some(*error)) {
            tracing::warn!(
                error,
                "the shared keys could not be copied: the copy in the data directory counts until they can"
            );
        }
        logged = error;
    }
}

/// Serves `/metrics` on a port of its own.
async fn serve_metrics(listener: TcpListener, metrics: Arc<Metrics>) {
    if let Err(error) = axum::serve(listener, metrics::router(metrics)).await {
        tracing::error!(%error, "metrics are not served any more");
    }
}

/// Reloads the log filter at each SIGHUP, from the command line, environment and file of the start.
async fn reload_on_hangup(mut hangups: Signal, logging: Arc<Logging>) {
    while hangups.recv().await.is_some() {
        let changed = match crate::try_parsed() {
            Ok(crate::Command::Serve(args)) => logging.change(&args.log),
            Ok(_) => Ok(()),
            Err(why) => Err(eyre!(why)),
        };
        if let Err(error) = changed {
            tracing::warn!(%error, "the configuration could not be reloaded: the log filter stays");
        }
    }
}

/// Logs the follower's phase and error when they change.
async fn log_progress(mut status: tokio::sync::watch::Receiver<braid_ethereum::SyncStatus>) {
    let mut logged = None;
    loop {
        let now = status.borrow_and_update().clone();
        let phase = (now.phase, now.last_error.clone());
        if logged.as_ref() != Some(&phase) {
            let error = now.last_error.as_deref().unwrap_or("");
            tracing::info!(phase = ?now.phase, pools = now.pools, market_block = now.market_block, error, "market");
            logged = Some(phase);
        }
        if status.changed().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_in_use_is_told_with_its_option() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let error = listen("--metrics-listen", taken.local_addr().unwrap()).await.unwrap_err().to_string();
        assert!(error.ends_with("stop it, or name another port with --metrics-listen"), "{error}");
    }
}
