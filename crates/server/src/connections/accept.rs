//! Accepts connections, and stops in order.

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

/// Pause after the system failed to accept a connection.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Least time between two warnings about connections that cannot be accepted.
const WARN_INTERVAL: Duration = Duration::from_secs(60);

/// Serves connections with a router until `stop` completes, then gives running requests `grace` to finish. The limit per
/// address does not apply to trusted addresses.
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
    let mut warned_at: Option<Instant> = None;
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
                    if warned_at.is_none_or(|at| at.elapsed() > WARN_INTERVAL) {
                        warned_at = Some(Instant::now());
                        tracing::warn!(%error, open = connections.len(), "a connection cannot be accepted: the longest idle one is closed");
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

/// Sends small answers at once (`TCP_NODELAY`).
fn prepare(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
}

/// Returns whether the client closed the connection before it was accepted: the next one can be accepted.
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
