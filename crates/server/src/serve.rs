//! Listening, and stopping in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt as _;
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

/// How often quotes that nobody can ask for any more are dropped.
const PRUNE_EVERY: Duration = Duration::from_secs(30);

/// Serves until `stop` completes, then lets the requests under way finish within the configured grace.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    app: App,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    // answers are small and wanted at once
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
    });
    let grace = app.config.shutdown_grace;
    let (stopping, mut stopped) = watch::channel(false);
    let stop = async move {
        stop.await;
        stopping.send_replace(true);
    };
    let pruning = tokio::spawn(prune(app.stored.clone()));
    let service = router(&app).into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(listener, service).with_graceful_shutdown(stop);
    let overdue = async move {
        // a sender that is gone without a word means that serving ended by itself
        if stopped.wait_for(|stopped| *stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(grace).await;
    };
    let result = tokio::select! {
        result = serving => result,
        () = overdue => {
            tracing::warn!("some requests did not finish in time and were cut off");
            Ok(())
        }
    };
    pruning.abort();
    // an abort that was asked for is no failure
    drop(pruning.await);
    result
}

/// Drops quotes past their time, now and then.
async fn prune(stored: StoredQuotes) {
    let mut ticks = tokio::time::interval(PRUNE_EVERY);
    loop {
        ticks.tick().await;
        let StoredQuotes { store, clock, .. } = stored.clone();
        let pruned = tokio::task::spawn_blocking(move || store.prune(clock.now_ms())).await;
        match pruned {
            Ok(Ok(0)) => {}
            Ok(Ok(quotes)) => tracing::debug!(quotes, "dropped old quotes"),
            Ok(Err(error)) => tracing::warn!(%error, "old quotes could not be dropped"),
            Err(error) => tracing::warn!(%error, "old quotes could not be dropped"),
        }
    }
}

/// Looks for the proxy at every new block until it is there.
pub async fn watch_proxy(proxy: Arc<ProxyWatch>, node: Node, mut heads: watch::Receiver<Option<Arc<Head>>>) {
    loop {
        let block = heads.borrow_and_update().as_ref().map(|head| head.block().hash);
        if let Some(hash) = block {
            match proxy.look(&node, hash).await {
                Ok(ProxyState::Deployed) => return,
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "the proxy's code could not be read"),
            }
        }
        if heads.changed().await.is_err() {
            return;
        }
    }
}

/// Audits for as long as the service runs; `doubt` takes pools that should be read again.
pub async fn keep_auditing(audit: Arc<Audit>, markets: Markets, doubt: mpsc::Sender<PoolKey>) {
    if !audit.config.is_on() {
        return;
    }
    let mut ticks = tokio::time::interval(audit.config.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Ok(published) = markets.current() {
            audit.round(&published.prepared, &published.guessed, &doubt).await;
        }
    }
}
