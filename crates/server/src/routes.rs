//! Health, readiness, and the deadline of every answer.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use braid_ethereum::{Node, NodeFault, NodeReport};
use braid_primitives::CHAIN_ID;
use braid_store::quarantine::Quarantined;

use crate::app::App;
use crate::feed::Freshness;
use crate::model::{Checks, Eip55, Health, Ready, ReadyBlock, ReadyNode, ReadyQuarantined, ReadyStatus};
use crate::problem::{Code, Problem};

/// Most pools in quarantine that readiness lists one by one.
const MOST_LISTED: usize = 100;

/// `GET /health`.
#[utoipa::path(get, path = "/health", tag = "service", summary = "Health",
    responses((status = 200, description = "The process lives.", body = Health)))]
pub async fn health(State(app): State<Arc<App>>) -> Json<Health> {
    let uptime_ms = app.clock.now_ms().saturating_sub(app.started_ms);
    Json(Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("BRAID_COMMIT"),
        uptime_s: uptime_ms / 1_000,
    })
}

/// `GET /ready`.
#[utoipa::path(get, path = "/ready", tag = "service", summary = "Readiness",
    responses((status = 200, description = "Quotes are answered.", body = Ready),
        (status = 503, description = "Quotes are not answered.", body = Ready)))]
pub async fn ready(State(app): State<Arc<App>>) -> Response {
    let ready = readiness(&app);
    let status = match ready.status {
        ReadyStatus::Ready | ReadyStatus::Degraded => StatusCode::OK,
        ReadyStatus::Syncing | ReadyStatus::Stale => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = (status, Json(ready)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(axum::http::header::RETRY_AFTER, 2.into());
    }
    response
}

fn readiness(app: &App) -> Ready {
    let published = app.feed.latest();
    let (status, market) = match app.feed.freshness(&app.config) {
        Freshness::Missing => (ReadyStatus::Syncing, "syncing"),
        Freshness::Fresh => (ReadyStatus::Ready, "ok"),
        Freshness::Aging => (ReadyStatus::Degraded, "aging"),
        Freshness::Stale => (ReadyStatus::Stale, "stale"),
    };
    let stored = app.quotes.is_healthy() && !app.feed.status().store_failing;
    let status = if status == ReadyStatus::Ready && !stored { ReadyStatus::Degraded } else { status };
    let block = published.as_ref().map(|published| ReadyBlock {
        number: published.head.block().number,
        age_ms: u64::try_from(published.head.received_at.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    Ready {
        status,
        chain_id: CHAIN_ID,
        block,
        pools: published.as_ref().map_or(0, |published| published.head.market.pools().len()),
        quarantined: app.unused_pools(),
        quarantine: app.audit.quarantine.records().into_iter().take(MOST_LISTED).map(held).collect(),
        checks: Checks {
            market,
            gas: if published.is_some() { "ok" } else { "syncing" },
            simulator: if app.node.is_some() { "ok" } else { "unavailable" },
            store: if stored { "ok" } else { "failing" },
        },
        nodes: app.node.iter().flat_map(Node::report).map(shown).collect(),
    }
}

fn held(record: Quarantined) -> ReadyQuarantined {
    ReadyQuarantined {
        pool: Eip55(record.pool),
        since_block: record.since_block,
        why: record.why,
        token: record.token.as_ref().map(|fault| Eip55(fault.token)),
        token_does: record.token.map(|fault| fault.does),
    }
}

fn shown(node: NodeReport) -> ReadyNode {
    let status = node.fault.as_ref().map_or("ok", NodeFault::name);
    ReadyNode { name: node.name, status, score: node.score, leads: node.leads, block: node.head }
}

/// Ends a request that takes too long.
pub async fn within(limit: Duration, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = format!("no answer within {} s", limit.as_secs());
            Problem::new(Code::DeadlineExceeded, detail).into_response()
        }
    }
}
