//! The parts of the service, and the routes.

use std::hash::RandomState;
use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use braid_audit::Audit;
use braid_ethereum::Node;
use braid_quoting::accounts::Accounts;
use braid_quoting::feed::Markets;
use braid_quoting::proxy::ProxyWatch;
use braid_quoting::quote::{SolveLimits, Solver};
use braid_quoting::{Builder, Clock, Context, MarketFeed, Measures, Quoter, Receipts, Simulations, StoredQuotes};
use braid_simulation::{Bounds, Simulator, WorkPool};
use braid_store::{KeyStore, QuoteStore, Replicas};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::predicate::SizeAbove;
use tower_http::compression::{CompressionLayer, CompressionLevel};
use tower_http::cors::{AllowOrigin, Any, CorsLayer};

use crate::config::Config;
use crate::health::{Stopping, Uptime};
use crate::http::auth::Access;
use crate::http::body::{BodyLimit, receive};
use crate::http::coding::negotiate;
use crate::http::envelope::{REQUEST_ID, envelope, health_only, panicked};
use crate::http::fallback::{method_not_allowed, not_found};
use crate::http::limits::Limits;
use crate::http::timeout::within;
use crate::metrics::{Metrics, StateCollector, get_metrics};
use crate::{data, explorer, health, openapi, receipt, swap};

/// The parts of the service. Each handler takes those that it needs.
#[derive(Clone, FromRef)]
pub struct App {
    /// Settings.
    #[from_ref(skip)]
    pub config: Arc<Config>,
    /// Makes quotes.
    pub quoter: Arc<Quoter>,
    /// Builds transactions from quotes.
    pub builder: Arc<Builder>,
    /// Stored quotes.
    pub stored: StoredQuotes,
    /// Inputs of the quotes, for receipts.
    pub receipts: Arc<Receipts>,
    /// The market.
    pub markets: Markets,
    /// Balances and allowances from the node; unknown without a node.
    pub accounts: Accounts,
    /// State of the proxy's address.
    pub proxy: Arc<ProxyWatch>,
    /// The audit.
    pub audit: Arc<Audit>,
    /// Threads that solve.
    pub work: Arc<WorkPool>,
    /// Simulations, on threads of their own.
    pub simulator: Arc<Simulator>,
    /// API keys and rate limits.
    pub access: Arc<Access>,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// Time since the start of the service.
    pub uptime: Uptime,
    /// Set when the service is told to stop.
    pub stopping: Stopping,
}

/// The parts of an [`App`] that its caller provides.
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
    /// Redis server through which several services share quotes, limits and nonces.
    pub replicas: Option<Replicas>,
}

impl App {
    /// Returns the service with these parts.
    pub fn new(parts: Parts) -> Self {
        let Parts { config, clock, feed, node, keys, quotes, replicas } = parts;
        let bounds = Bounds { jobs: config.solve_queue, wait: config.solve_wait };
        let work = Arc::new(WorkPool::new(config.solve_threads, bounds));
        let source = node.clone().map(|node| Arc::new(node) as _);
        let simulator = Arc::new(Simulator::new(source, Arc::clone(&work)));
        let audit = Arc::new(Audit::new(Arc::clone(&simulator), config.audit));
        let proxy = Arc::<ProxyWatch>::default();
        let measures = Measures::default();
        let simulations = Simulations {
            simulator: Arc::clone(&simulator),
            proxy: Arc::clone(&proxy),
            timeout: config.simulation_time,
            measures: measures.clone(),
        };
        let markets = Markets { feed, ages: config.ages };
        let accounts = Accounts::new(node, config.account_timeout);
        let stored = StoredQuotes {
            store: Arc::new(quotes),
            replicas: replicas.clone(),
            clock: Arc::clone(&clock),
            memory_ms: config.quote_memory_ms,
        };
        let receipts = Arc::<Receipts>::default();
        let limits = SolveLimits { ttl_ms: config.quote_ttl_ms, max_steps: config.max_steps };
        let solver = Solver { threads: Arc::clone(&work), limits, measures: measures.clone() };
        let context = Context {
            markets: markets.clone(),
            audit: Arc::clone(&audit),
            accounts: accounts.clone(),
            simulations,
            stored: stored.clone(),
        };
        let quoter = Quoter::new(context.clone(), solver, Arc::clone(&receipts));
        let builder = Builder::new(context);
        let access = Access {
            keys,
            anonymous_quotes: config.anonymous_quotes,
            allowed: config.limits,
            trusted_proxies: config.trusted_proxies.clone(),
            counted: Limits::default(),
            replicas,
            clock: Arc::clone(&clock),
            caller_hasher: RandomState::new(),
        };
        let state = StateCollector {
            markets: markets.clone(),
            audit: Arc::clone(&audit),
            solves: Arc::clone(&work),
            simulator: Arc::clone(&simulator),
            stored: stored.clone(),
        };
        let metrics = Metrics::new(&measures, state, &accounts);
        Self {
            quoter: Arc::new(quoter),
            builder: Arc::new(builder),
            stored,
            receipts,
            markets,
            accounts,
            proxy,
            audit,
            work,
            simulator,
            access: Arc::new(access),
            metrics: Arc::new(metrics),
            stopping: Stopping::default(),
            uptime: Uptime { started_ms: clock.elapsed_ms(), clock },
            config: Arc::new(config),
        }
    }
}

/// Returns the router with its layers: ids and problems outermost, panics innermost.
pub fn router(app: &App) -> Router {
    let body_limit = BodyLimit { bytes: app.config.body_limit_bytes, timeout: app.config.body_timeout };
    let metrics =
        if app.config.metrics_apart { Router::new() } else { Router::new().route("/metrics", get(get_metrics)) };
    let routes = Router::new()
        .route("/v1/quote", post(swap::quote))
        .route("/v1/quote/{quote_id}", get(swap::stored_quote))
        .route("/v1/quote/{quote_id}/route.svg", get(swap::route_picture))
        .route("/v1/quote/{quote_id}/receipt", get(receipt::receipt))
        .route("/v1/quote/{quote_id}/market", get(receipt::market))
        .route("/v1/build", post(swap::build))
        .route("/v1/chains", get(data::chains::get))
        .route("/v1/protocols", get(data::protocols::get))
        .route("/v1/tokens", get(data::tokens::get))
        .route("/v1/prices", get(data::prices::get))
        .route("/v1/network", get(data::network::get))
        .route("/v1/balances", post(data::accounts::balances))
        .route("/v1/allowances", post(data::accounts::allowances))
        .route("/openapi.json", get(openapi::get))
        .route("/docs", get(openapi::page))
        .route("/health", get(health::health))
        .route("/ready", get(health::ready))
        .merge(explorer::routes())
        .merge(metrics)
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app.clone());
    routes
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn({
            let limit = app.config.request_timeout;
            move |request, next| within(limit, request, next)
        }))
        .layer(compression())
        .layer(from_fn(negotiate))
        .layer(from_fn(health_only))
        .layer(from_fn_with_state(body_limit, receive))
        // around all that refuses: a browser hides an answer without these headers from its page
        .layer(cors(&app.config.cors_origins))
        .layer(from_fn_with_state(Arc::clone(&app.metrics), envelope))
}

fn compression() -> CompressionLayer<SizeAbove> {
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(SizeAbove::new(1_024))
}

fn cors(origins: &[String]) -> CorsLayer {
    let is_any = origins.is_empty() || origins.iter().any(|origin| origin == "*");
    let listed = origins.iter().filter_map(|origin| origin.parse::<HeaderValue>().ok());
    let origin = if is_any { AllowOrigin::from(Any) } else { AllowOrigin::list(listed) };
    let named = HeaderName::from_static;
    CorsLayer::new()
        .allow_origin(origin)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::CONTENT_TYPE, header::AUTHORIZATION, named("x-api-key"), REQUEST_ID])
        .expose_headers([REQUEST_ID, named("ratelimit"), named("ratelimit-policy"), header::RETRY_AFTER])
        .max_age(std::time::Duration::from_secs(3_600))
}
