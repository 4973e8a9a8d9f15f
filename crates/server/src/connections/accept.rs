//! Accepting connections, and stopping in order.

use std::io;
use std::time::{Duration, Instant};

use axum::Router;
use ipnet::IpNet;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::address::{caller, is_trusted};
use super::serving;
use super::slots::{ConnectionLimits, HEALTH_SLOTS, Slots};

/// How long to wait where the system has no connection to give.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Least time between two words in the log on connections that the system does not give.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// Answers connections with a router until `stop` completes, then gives the requests under way `grace` to finish.
/// Connections from trusted addresses are bounded in all only.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    trusted: &[IpNet],
    grace: Duration,
    stop: impl Future<Output = ()>,
) {
    let slots = Slots::new(limits);
    let (stopping, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    let timeouts = limits.timeouts;
    let shortest = timeouts.idle.min(timeouts.head).min(timeouts.answer);
    let mut sweep = tokio::time::interval((shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(1)));
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told: Option<Instant> = None;
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept(), if connections.len() < limits.total + HEALTH_SLOTS => match accepted {
                Ok((stream, peer)) => {
                    let slot = slots.take(caller(peer.ip()), !is_trusted(peer.ip(), trusted));
                    prepare(&stream);
                    connections.spawn(serving::run(stream, peer, slot, router.clone(), stopped.clone()));
                }
                Err(error) if is_the_clients(&error) => {}
                Err(error) => {
                    if told.is_none_or(|told| told.elapsed() > WARN_EVERY) {
                        told = Some(Instant::now());
                        tracing::warn!(%error, open = connections.len(), "a connection cannot be accepted: the one that waits longest is closed");
                    }
                    slots.make_room();
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            },
            Some(_) = connections.join_next() => {}
            _ = sweep.tick() => slots.sweep(),
        }
    }
    drop(listener);
    stopping.send_replace(true);
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, finished).await.is_err() {
        tracing::warn!(requests = connections.len(), "some requests did not finish in time and were cut off");
    }
    connections.shutdown().await;
}

/// Answers are small and wanted at once.
fn prepare(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
}

/// Returns whether a connection was lost before it was accepted, which says nothing of the next.
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
