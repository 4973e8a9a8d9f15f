//! What the handlers share, and the routes.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use braid_ethereum::Node;
use braid_store::{KeyStore, QuoteStore};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::predicate::SizeAbove;
use tower_http::compression::{CompressionLayer, CompressionLevel};
use tower_http::cors::{AllowOrigin, Any, CorsLayer};

use crate::audit::Audit;
use crate::clock::Clock;
use crate::config::Config;
use crate::feed::MarketFeed;
use crate::http::envelope::{REQUEST_ID, envelope, method_not_allowed, not_found, panicked};
use crate::http::limits::Limits;
use crate::metrics::Metrics;
use crate::proxy::ProxyWatch;
use crate::request::Rules;
use crate::work::{Bounds, WorkPool};
use crate::{data, flow, metrics, openapi, routes};

/// Everything a handler needs.
pub struct App {
    /// Settings.
    pub config: Config,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The market.
    pub feed: Arc<MarketFeed>,
    /// The node, for balances and allowances; without one they are not known.
    pub node: Option<Node>,
    /// What was found at the proxy's address.
    pub proxy: Arc<ProxyWatch>,
    /// API keys.
    pub keys: KeyStore,
    /// Quotes.
    pub quotes: QuoteStore,
    /// Calls per minute.
    pub limits: Limits,
    /// Threads that solve.
    pub work: WorkPool,
    /// Threads that simulate: they wait for the node, which must not hold up solving.
    pub simulating: WorkPool,
    /// Requests, counted.
    pub metrics: Metrics,
    /// Permit2 nonces that quotes were given lately.
    pub nonces: flow::nonces::Nonces,
    /// Blocks' states, for simulations.
    pub forks: flow::simulation::Forks,
    /// What the self-audit found.
    pub audit: Audit,
    /// When the service started, unix milliseconds.
    pub started_ms: u64,
}

/// The parts of an [`App`] that its maker chooses.
pub struct Parts {
    /// Settings.
    pub config: Config,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The market.
    pub feed: Arc<MarketFeed>,
    /// The node, if there is one.
    pub node: Option<Node>,
    /// API keys.
    pub keys: KeyStore,
    /// Quotes.
    pub quotes: QuoteStore,
}

impl App {
    /// An application from its parts.
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts { config, clock, feed, node, keys, quotes } = parts;
        let bounds = Bounds { jobs: config.solve_queue, wait: config.solve_wait };
        let work = WorkPool::new(config.solve_threads, bounds);
        let bounds = Bounds { jobs: config.simulation_queue, wait: config.simulation_wait };
        let simulating = WorkPool::new(config.simulation_threads, bounds);
        let started_ms = clock.now_ms();
        Arc::new(Self {
            config,
            clock,
            feed,
            node,
            proxy: Arc::default(),
            metrics: Metrics::default(),
            keys,
            quotes,
            limits: Limits::default(),
            work,
            simulating,
            nonces: flow::nonces::Nonces::default(),
            forks: flow::simulation::Forks::default(),
            audit: Audit::default(),
            started_ms,
        })
    }

    /// Known pools that no quote uses: those that the follower leaves out, and those in quarantine.
    pub fn unused_pools(&self) -> usize {
        let held = self.feed.latest().map_or(0, |published| self.audit.quarantine.count(&published.head.market));
        self.feed.status().left_out + held
    }

    /// What validation must know.
    pub fn rules(&self) -> Rules {
        Rules { proxy: braid_execution::proxy::address() }
    }
}

/// The service as one tower of layers: ids and problems outermost, panics innermost.
pub fn router(app: &Arc<App>) -> Router {
    let routes = Router::new()
        .route("/v1/quote", post(flow::quote::post))
        .route("/v1/quote/{quote_id}", get(flow::stored::get))
        .route("/v1/build", post(flow::build::post))
        .route("/v1/chains", get(data::chains::get))
        .route("/v1/protocols", get(data::protocols::get))
        .route("/v1/tokens", get(data::tokens::get))
        .route("/v1/prices", get(data::prices::get))
        .route("/v1/network", get(data::network::get))
        .route("/v1/balances", post(data::accounts::balances))
        .route("/v1/allowances", post(data::accounts::allowances))
        .route("/metrics", get(metrics::get))
        .route("/openapi.json", get(openapi::get))
        .route("/docs", get(openapi::page))
        .route("/health", get(routes::health))
        .route("/ready", get(routes::ready))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(Arc::clone(app));
    routes
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn({
            let limit = app.config.request_timeout;
            move |request, next| routes::within(limit, request, next)
        }))
        .layer(compression())
        .layer(cors(&app.config.cors_origins))
        .layer(from_fn_with_state(Arc::clone(app), envelope))
}

fn compression() -> CompressionLayer<SizeAbove> {
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(SizeAbove::new(1_024))
}

fn cors(origins: &[String]) -> CorsLayer {
    let listed: Vec<HeaderValue> = origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    let origin = if origins.is_empty() { AllowOrigin::from(Any) } else { AllowOrigin::list(listed) };
    let named = HeaderName::from_static;
    CorsLayer::new()
        .allow_origin(origin)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::CONTENT_TYPE, named("x-api-key"), REQUEST_ID])
        .expose_headers([REQUEST_ID, named("ratelimit"), named("ratelimit-policy"), header::RETRY_AFTER])
        .max_age(std::time::Duration::from_secs(3_600))
}
