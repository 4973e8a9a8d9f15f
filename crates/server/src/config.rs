//! The service's settings.

use std::time::Duration;

use braid_audit::AuditConfig;
use braid_quoting::feed::MarketAges;
use ipnet::IpNet;

use crate::connections::slots::ConnectionLimits;
use crate::connections::state::ClientTimeouts;

/// Settings; the defaults are those of the contract.
#[derive(Clone, Debug)]
pub struct Config {
    /// How long a quote can be built, in milliseconds.
    pub quote_ttl_ms: u64,
    /// How long an expired quote is still known as expired, in milliseconds.
    pub quote_memory_ms: u64,
    /// Whether callers without a key may quote.
    pub anonymous_quotes: bool,
    /// Calls per minute.
    pub limits: LimitsConfig,
    /// Largest body that is read, in bytes.
    pub body_limit_bytes: usize,
    /// Longest time for a request's body to come.
    pub body_timeout: Duration,
    /// How many connections there may be, and how long their clients may take.
    pub connections: ConnectionLimits,
    /// Proxies whose word on who calls is taken.
    pub trusted_proxies: Vec<IpNet>,
    /// Longest time for a whole answer, from when the request is there.
    pub request_timeout: Duration,
    /// Longest time for reading balances and allowances from the node.
    pub account_timeout: Duration,
    /// Solves and simulations that may run at once, those that wait for the node not counted.
    pub solve_threads: usize,
    /// Solves that may wait for a thread; what comes beyond is turned away.
    pub solve_queue: usize,
    /// Longest expected wait for a thread; a solve that would wait longer is turned away, however short the queue.
    pub solve_wait: Duration,
    /// Longest time for a simulation in all; past it the answer comes without one.
    pub simulation_time: Duration,
    /// Most steps in a route.
    pub max_steps: u16,
    /// Origins that browsers may call from; none, or `*` among them, means any.
    pub cors_origins: Vec<String>,
    /// Ages from which a market is no longer what it should be.
    pub ages: MarketAges,
    /// How much the self-audit may do.
    pub audit: AuditConfig,
    /// Whether metrics have a port of their own, and are not on this one.
    pub metrics_apart: bool,
    /// How long requests are still taken once the service is told to stop, while readiness says so: time for a load
    /// balancer to see it.
    pub stop_delay: Duration,
    /// How long the last requests may take after that.
    pub shutdown_grace: Duration,
}

/// Calls per minute.
#[derive(Clone, Copy, Debug)]
pub struct LimitsConfig {
    /// Reads without a key, per address.
    pub reads_per_min: u32,
    /// Quotes without a key, per address.
    pub anonymous_quotes_per_min: u32,
    /// Calls with a key, per key, where the key has no rate of its own.
    pub keyed_per_min: u32,
    /// Calls with a key in any one second, where the key has no burst of its own; without one the minute alone counts.
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
