//! Health and readiness.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use braid_audit::Audit;
use braid_ethereum::{CatchUp, Node, NodeFault, NodeReport};
use braid_primitives::CHAIN_ID;
use braid_quoting::accounts::Accounts;
use braid_quoting::feed::{Freshness, Markets};
use braid_quoting::model::{Eip55, PoolName};
use braid_quoting::{Clock, StoredQuotes};
use braid_store::DiskState;
use braid_store::quarantine::Quarantined;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::auth::Access;
use crate::problems::PlainProblems;

/// Since when the service runs.
#[derive(Clone, Debug)]
pub struct Uptime {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// When the service started, by the clock that never goes back.
    pub started_ms: u64,
}

/// Whether the service was told to stop.
#[derive(Clone, Debug, Default)]
pub struct Stopping(Arc<AtomicBool>);

impl Stopping {
    /// From now on readiness says that the service stops.
    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// `GET /health`: the process lives.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    pub status: &'static str,
    /// Version of the service.
    pub version: &'static str,
    /// Commit it was built from, where known.
    pub commit: Option<&'static str>,
    /// Seconds since the start.
    pub uptime_s: u64,
}

/// `GET /ready`: whether quotes are answered.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Ready {
    /// The verdict.
    pub status: ReadyStatus,
    /// The chain that is served.
    pub chain_id: u64,
    /// The newest market; `null` until there is one.
    pub block: Option<ReadyBlock>,
    /// Pools that quotes may use.
    pub pools: usize,
    /// Known pools that no quote uses: their state or a token of theirs cannot be read, or the self-audit put them in quarantine.
    pub quarantined: usize,
    /// What the self-audit put in quarantine, at most 100 pools.
    pub quarantine: Vec<ReadyQuarantined>,
    /// How far the search for pools is; `null` while none is under way.
    pub discovery: Option<ReadyDiscovery>,
    /// The first block whose logs the nodes have, where older ones are missing: pools announced before are not in the market,
    /// but for the largest. `null` where nothing is missing.
    pub history_from_block: Option<u64>,
    /// The missed blocks that are caught up with; `null` while blocks are followed one by one.
    pub catching_up: Option<ReadyCatchUp>,
    /// Each part of the service.
    pub checks: Checks,
    /// The nodes that are asked, in the order in which they were named.
    pub nodes: Vec<ReadyNode>,
}

/// A search for pools that is under way.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct ReadyDiscovery {
    /// First block that is not searched yet.
    pub next_block: u64,
    /// Last block of the search.
    pub to_block: u64,
    /// About how many seconds the rest takes; `null` in the first moments.
    pub seconds_left: Option<u64>,
}

/// A pool that does not do what its model says.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReadyQuarantined {
    /// The pool.
    pub pool: PoolName,
    /// Height of the block at which it was found.
    pub since_block: u64,
    /// What was different.
    pub why: String,
    /// The token that is at fault, whose other pools are in quarantine too; `null` where it is the pool itself.
    pub token: Option<Eip55>,
    /// What that token does.
    pub token_does: Option<String>,
}

/// One of the nodes that the service asks.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReadyNode {
    /// Its host and port; never a path, a query or a user name.
    pub name: String,
    /// `ok`, or what is the matter: `wrong_chain`, `disagrees`, `missing_logs`, `calls_fail`, `failing` or `behind`.
    pub status: &'static str,
    /// How good it is, 0 to 100.
    pub score: u8,
    /// Whether it is asked first.
    pub leads: bool,
    /// Height of the newest block that it reported; `null` where it is not known.
    pub block: Option<u64>,
    /// What is the matter in words, with the text of the newest error; `null` where nothing is. At most 500 characters; of a
    /// node's address it shows at most scheme and host.
    pub why: Option<String>,
}

/// The verdict of readiness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadyStatus {
    /// Quotes are answered on a fresh market.
    Ready,
    /// The first market is being read.
    Syncing,
    /// The market is too old to quote on.
    Stale,
    /// Something that `checks` names is wrong. With status 200 quotes are answered, with 503 they are refused.
    Degraded,
    /// The service was told to stop: what comes now is still answered, send no more.
    Stopping,
}

/// Missed blocks that are caught up with at once: until that is done, quotes are of the first of them.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct ReadyCatchUp {
    /// Height that the market was of.
    pub from_block: u64,
    /// Height of the node's newest block when this began.
    pub to_block: u64,
}

/// A market's block and its age.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct ReadyBlock {
    /// Height.
    pub number: u64,
    /// Milliseconds since the block reached us.
    pub age_ms: u64,
}

/// The parts of the service, each `ok` or what is the matter.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Checks {
    /// The market.
    pub market: &'static str,
    /// Gas prices.
    pub gas: &'static str,
    /// The simulator.
    pub simulator: &'static str,
    /// Quotes, the market and keys on disk. `slow` or `failing`: quotes are answered and kept in memory, and are lost if the service
    /// stops; `full`: too many wait in memory, and quotes are refused; `keys`: the key file is damaged, and its keys open nothing.
    pub store: &'static str,
    /// The Redis server that services share quotes and limits through: `ok`, `failing`, or `none` where there is one service alone.
    pub replicas: &'static str,
}

/// Most pools in quarantine that readiness lists one by one.
const MOST_LISTED: usize = 100;

/// Most characters of a node's fault.
const MOST_WHY_CHARS: usize = 500;

/// `GET /health`.
#[utoipa::path(get, path = "/health", tag = "service", summary = "Health", security(()),
    responses((status = 200, description = "The process lives.", body = Health), PlainProblems))]
pub async fn health(State(uptime): State<Uptime>) -> Json<Health> {
    let uptime_ms = uptime.clock.elapsed_ms().saturating_sub(uptime.started_ms);
    Json(Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("BRAID_COMMIT"),
        uptime_s: uptime_ms / 1_000,
    })
}

/// `GET /ready`.
#[utoipa::path(get, path = "/ready", tag = "service", summary = "Readiness", security(()),
    responses((status = 200, description = "Quotes are answered.", body = Ready),
        (status = 503, description = "Quotes are not answered.", body = Ready), PlainProblems))]
pub async fn ready(
    State(markets): State<Markets>,
    State(audit): State<Arc<Audit>>,
    State(stored): State<StoredQuotes>,
    State(accounts): State<Accounts>,
    State(access): State<Arc<Access>>,
    State(stopping): State<Stopping>,
) -> Response {
    let disk = stored.store.state();
    let store = match disk {
        DiskState::Full => "full",
        DiskState::Failing => "failing",
        _ if markets.feed.status().store_failing => "failing",
        DiskState::Slow => "slow",
        DiskState::Ok if !access.keys.is_healthy() => "keys",
        DiskState::Ok => "ok",
    };
    let mut ready = readiness(&markets, &audit, store, accounts.node.as_ref());
    if let Some(replicas) = &stored.replicas {
        ready.checks.replicas = if replicas.is_healthy() { "ok" } else { "failing" };
        if ready.status == ReadyStatus::Ready && !replicas.is_healthy() {
            ready.status = ReadyStatus::Degraded;
        }
    }
    if stopping.is_so() {
        ready.status = ReadyStatus::Stopping;
    }
    let status = match ready.status {
        ReadyStatus::Ready | ReadyStatus::Degraded if disk != DiskState::Full => StatusCode::OK,
        ReadyStatus::Ready | ReadyStatus::Degraded => StatusCode::SERVICE_UNAVAILABLE,
        ReadyStatus::Syncing | ReadyStatus::Stale | ReadyStatus::Stopping => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = (status, Json(ready)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(axum::http::header::RETRY_AFTER, 2.into());
    }
    response
}

fn readiness(markets: &Markets, audit: &Audit, store: &'static str, node: Option<&Node>) -> Ready {
    let published = markets.feed.latest();
    let follower = markets.feed.status();
    let (status, market) = match markets.freshness() {
        Freshness::Missing => (ReadyStatus::Syncing, "syncing"),
        Freshness::Fresh => (ReadyStatus::Ready, "ok"),
        Freshness::Aging => (ReadyStatus::Degraded, "aging"),
        Freshness::Stale => (ReadyStatus::Stale, "stale"),
    };
    let (status, market) = match (status, follower.catching_up) {
        (ReadyStatus::Ready | ReadyStatus::Degraded, Some(_)) => (ReadyStatus::Degraded, "catching_up"),
        (ReadyStatus::Ready, None) if store != "ok" => (ReadyStatus::Degraded, market),
        _ => (status, market),
    };
    let held_back = published.as_ref().map_or(0, |published| audit.quarantine.count(&published.head.market));
    let block = published.as_ref().map(|published| ReadyBlock {
        number: published.head.block().number,
        age_ms: u64::try_from(published.head.received_at.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    Ready {
        status,
        chain_id: CHAIN_ID,
        block,
        pools: published.as_ref().map_or(0, |published| published.head.market.pools().len()),
        quarantined: follower.excluded + held_back,
        quarantine: audit.quarantine.records().into_iter().take(MOST_LISTED).map(held).collect(),
        discovery: follower.discovery.map(|progress| ReadyDiscovery {
            next_block: progress.next_block,
            to_block: progress.to_block,
            seconds_left: progress.seconds_left,
        }),
        history_from_block: follower.history_from,
        catching_up: follower.catching_up.map(|CatchUp { from_block, to_block }| ReadyCatchUp { from_block, to_block }),
        checks: Checks {
            market,
            gas: if published.is_some() { "ok" } else { "syncing" },
            simulator: if node.is_some() { "ok" } else { "unavailable" },
            store,
            replicas: "none",
        },
        nodes: node.into_iter().flat_map(Node::report).map(shown).collect(),
    }
}

fn held(record: Quarantined) -> ReadyQuarantined {
    ReadyQuarantined {
        pool: PoolName(record.pool),
        since_block: record.since_block,
        why: record.why,
        token: record.token.as_ref().map(|fault| Eip55(fault.token)),
        token_does: record.token.map(|fault| fault.does),
    }
}

fn shown(node: NodeReport) -> ReadyNode {
    let status = node.fault.as_ref().map_or("ok", NodeFault::name);
    let why = node.fault.map(|fault| fault.to_string().chars().take(MOST_WHY_CHARS).collect());
    ReadyNode { name: node.name, status, score: node.score, leads: node.leads, block: node.head, why }
}

#[cfg(test)]
mod tests {
    use braid_ethereum::CallTimes;

    use super::*;

    #[test]
    fn a_nodes_fault_is_shown_in_words_and_cut() {
        let report = |fault| NodeReport {
            name: "node.example".into(),
            leads: true,
            score: 15,
            fault,
            head: None,
            asked: 1,
            failed: 1,
            hedged: 0,
            calls: CallTimes::default(),
        };
        let why = "the node answered eth_call with error -32603: Internal error".to_owned();
        let node = shown(report(Some(NodeFault::Failing { why: why.clone() })));
        assert_eq!((node.status, node.why), ("failing", Some(why)));
        let node = shown(report(Some(NodeFault::CallsFail { why: "é".repeat(10_000) })));
        assert_eq!(node.why.unwrap_or_default().chars().count(), MOST_WHY_CHARS);
        assert_eq!(shown(report(None)).why, None);
    }
}
