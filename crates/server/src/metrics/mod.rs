//! `GET /metrics`, for a Prometheus server.
//!
//! Requests, solves and simulations are counted as they happen. The collectors in the other files read the state of the
//! service's parts at each scrape.

mod nodes;
mod samples;
mod state;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use braid_quoting::Measures;
use braid_quoting::accounts::Accounts;
use braid_quoting::measures::seconds;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::problems::PlainProblems;

pub(crate) use state::StateCollector;

/// Media type of the answer.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Labels of answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    route: String,
    status: u16,
}

/// Labels of refusals.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    route: String,
    code: &'static str,
}

/// The service's metrics.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Histogram, fn() -> Histogram>,
    problems: Family<Refused, Counter>,
    /// 1 while this service publishes the market for services without a node.
    pub publishes: Gauge,
}

impl Metrics {
    /// Returns the metrics of requests and of the work behind quotes, with collectors of the service's parts.
    pub(crate) fn new(measures: &Measures, state: StateCollector, accounts: &Accounts) -> Self {
        let mut registry = Registry::with_prefix("braid");
        let requests = Family::new_with_constructor(seconds as fn() -> Histogram);
        let problems = Family::default();
        registry.register("http_request_seconds", "Time to answer, in seconds", requests.clone());
        let refusals = "Answers that were a problem, by its code";
        registry.register("http_problems", refusals, problems.clone());
        let commit = option_env!("BRAID_COMMIT").unwrap_or("unknown");
        let build = Info::new([("version", env!("CARGO_PKG_VERSION")), ("commit", commit)]);
        registry.register("build", "Version and commit", build);
        measures.register(&mut registry);
        let ready = "Time from the signal of a block to its market being ready for quotes, in seconds";
        registry.register("market_ready_seconds", ready, state.markets.feed.ready_seconds.clone());
        let reused = "Solutions that were known, since another request had asked for them on the same market";
        registry.register("reused_solutions", reused, state.markets.feed.reused_solutions.clone());
        registry.register_collector(Box::new(state));
        if let Some(node) = &accounts.node {
            registry.register_collector(Box::new(nodes::NodeCollector(node.clone())));
        }
        let publishes = Gauge::default();
        let help = "1 while this service publishes the market for services without a node";
        registry.register("publishing", help, publishes.clone());
        Self { registry, requests, problems, publishes }
    }

    /// Counts an answer. `route` is the route's template, not the client's path, so that the number of series is bounded.
    pub fn count(&self, route: &str, status: u16, code: Option<&'static str>, took: Duration) {
        let answered = Answered { route: route.to_owned(), status };
        self.requests.get_or_create(&answered).observe(took.as_secs_f64());
        if let Some(code) = code {
            self.problems.get_or_create(&Refused { route: answered.route, code }).inc();
        }
    }

    /// Writes the metrics as text.
    fn text(&self) -> String {
        let mut text = String::new();
        // writing to a string does not fail
        let _ = text::encode(&mut text, &self.registry);
        text
    }
}

/// Answers with the metrics.
#[utoipa::path(get, operation_id = "metrics", path = "/metrics", tag = "service", summary = "Metrics", security(()),
    responses((status = 200, description = "Metrics for a Prometheus server. Absent if the service serves them on a port of their own.", body = String, content_type = "application/openmetrics-text"), PlainProblems))]
pub async fn get_metrics(State(metrics): State<Arc<Metrics>>) -> Response {
    let mut response = metrics.text().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    response
}

/// Returns a router for metrics alone, for a port that clients cannot reach.
pub fn router(metrics: Arc<Metrics>) -> Router {
    Router::new().route("/metrics", get(get_metrics)).with_state(metrics)
}
