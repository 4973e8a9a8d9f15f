//! Runs the service, and stops it in order.

use std::sync::Arc;
use std::time::Duration;

use braid_audit::Audit;
use braid_ethereum::{Head, Node};
use braid_primitives::PoolKey;
use braid_quoting::StoredQuotes;
use braid_quoting::feed::Markets;
use braid_quoting::proxy::{ProxyState, ProxyWatch};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use crate::app::{App, router};
use crate::connections::accept;

/// Time between two removals of quotes whose memory time is over.
const PRUNE_INTERVAL: Duration = Duration::from_secs(30);

/// Serves until `stop` completes and the configured delay is over, then gives running requests the configured grace to
/// finish.
pub async fn serve(app: App, listener: TcpListener, stop: impl Future<Output = ()>) {
    let config = Arc::clone(&app.config);
    let pruning = tokio::spawn(prune(app.stored.clone()));
    let router = router(&app);
    let (stopping, delay) = (app.stopping.clone(), config.stop_delay);
    let stop = async move {
        stop.await;
        stopping.begin();
        tokio::time::sleep(delay).await;
    };
    drop(app);
    accept::serve(listener, router, config.connections, &config.trusted_proxies, config.shutdown_grace, stop).await;
    pruning.abort();
    // the task was aborted on purpose
    drop(pruning.await);
}

/// Removes quotes past their memory time, at intervals.
async fn prune(stored: StoredQuotes) {
    let mut ticks = tokio::time::interval(PRUNE_INTERVAL);
    loop {
        ticks.tick().await;
        let StoredQuotes { store, clock, .. } = stored.clone();
        let pruned = tokio::task::spawn_blocking(move || store.prune(clock.now_ms())).await;
        match pruned {
            Ok(Ok(0)) => {}
            Ok(Ok(quotes)) => tracing::debug!(quotes, "removed old quotes"),
            Ok(Err(error)) => tracing::warn!(%error, "old quotes could not be removed"),
            Err(error) => tracing::warn!(%error, "old quotes could not be removed"),
        }
    }
}

/// Checks at every new block whether the proxy is deployed, until it is.
pub async fn watch_proxy(proxy: Arc<ProxyWatch>, node: Node, mut heads: watch::Receiver<Option<Arc<Head>>>) {
    loop {
        let block = heads.borrow_and_update().as_ref().map(|head| head.block().hash);
        if let Some(hash) = block {
            match proxy.look(&node, hash).await {
                Ok(ProxyState::Deployed) => return,
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "the read of the proxy's code failed"),
            }
        }
        if heads.changed().await.is_err() {
            return;
        }
    }
}

/// Runs the audit for as long as the service runs; sends pools that must be read again to `doubt`.
pub async fn keep_auditing(audit: Arc<Audit>, markets: Markets, doubt: mpsc::Sender<PoolKey>) {
    if !audit.config.is_on() {
        return;
    }
    let mut ticks = tokio::time::interval(audit.config.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Ok(published) = markets.current() {
            audit.round(&published.prepared, &published.doubtful, &doubt).await;
        }
    }
}
