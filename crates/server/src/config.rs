//! The service's settings.

use std::time::Duration;

use braid_audit::AuditConfig;
use braid_quoting::feed::MarketAges;
use ipnet::IpNet;

use crate::connections::slots::ConnectionLimits;
use crate::connections::state::ClientTimeouts;

/// Settings; the defaults are those of the API's documentation.
#[derive(Clone, Debug)]
pub struct Config {
    /// Default lifetime of a quote, in milliseconds.
    pub quote_ttl_ms: u64,
    /// Time for which an expired quote is answered with `QUOTE_EXPIRED`, in milliseconds.
    pub quote_memory_ms: u64,
    /// True if callers without a key may quote.
    pub anonymous_quotes: bool,
    /// Calls per minute.
    pub limits: LimitsConfig,
    /// Largest body that is read, in bytes.
    pub body_limit_bytes: usize,
    /// Longest time for the arrival of a request's body.
    pub body_timeout: Duration,
    /// Limits of connections, and timeouts of their clients.
    pub connections: ConnectionLimits,
    /// Proxies whose headers `X-Forwarded-For` and `Forwarded` are trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Longest time from the arrival of a request to its answer.
    pub request_timeout: Duration,
    /// Longest time for reading balances and allowances from the node.
    pub account_timeout: Duration,
    /// Most solves and simulations that run at once, without those that wait for the node.
    pub solve_threads: usize,
    /// Most solves that wait for a thread; further ones are refused.
    pub solve_queue: usize,
    /// Longest expected wait for a thread; a solve that would wait longer is refused.
    pub solve_wait: Duration,
    /// Longest time for a simulation; a longer one is reported as unavailable.
    pub simulation_time: Duration,
    /// Most steps in a route.
    pub max_steps: u16,
    /// Origins from which browsers may call; an empty list, or one with `*`, allows any.
    pub cors_origins: Vec<String>,
    /// Limits of the market's age.
    pub ages: MarketAges,
    /// Limits of the audit.
    pub audit: AuditConfig,
    /// True if metrics have a port of their own and are not served on this one.
    pub metrics_apart: bool,
    /// Time for which requests are accepted after the service is told to stop, while `/ready` answers 503, so that a load
    /// balancer notices.
    pub stop_delay: Duration,
    /// Longest time for the last requests after that.
    pub shutdown_grace: Duration,
}

/// Calls per minute.
#[derive(Clone, Copy, Debug)]
pub struct LimitsConfig {
    /// Reads without a key, per address.
    pub reads_per_min: u32,
    /// Quotes without a key, per address.
    pub anonymous_quotes_per_min: u32,
    /// Calls with a key, per key without a rate of its own.
    pub keyed_per_min: u32,
    /// Calls with a key per second, per key without a burst of its own; `None` for no limit per second.
    pub keyed_burst: Option<u32>,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self { reads_per_min: 120, anonymous_quotes_per_min: 10, keyed_per_min: 600, keyed_burst: None }
    }
}

impl Default for Config {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            quote_ttl_ms: 120_000,
            quote_memory_ms: 15 * 60_000,
            anonymous_quotes: false,
            limits: LimitsConfig::default(),
            body_limit_bytes: 128 << 10,
            body_timeout: Duration::from_secs(10),
            connections: ConnectionLimits {
                total: 4_096,
                per_address: 512,
                timeouts: ClientTimeouts {
                    idle: Duration::from_secs(75),
                    head: Duration::from_secs(10),
                    answer: Duration::from_secs(20),
                },
            },
            trusted_proxies: Vec::new(),
            request_timeout: Duration::from_secs(15),
            account_timeout: Duration::from_millis(1_500),
            solve_threads: threads,
            solve_queue: 256 * threads,
            solve_wait: Duration::from_millis(100),
            simulation_time: Duration::from_secs(2),
            max_steps: 40,
            cors_origins: Vec::new(),
            ages: MarketAges::default(),
            audit: AuditConfig::default(),
            metrics_apart: false,
            stop_delay: Duration::ZERO,
            shutdown_grace: Duration::from_secs(5),
        }
    }
}
