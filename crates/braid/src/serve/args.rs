//! The options of `braid serve`, and the service's settings from them.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use braid_quoting::{Clock as _, SystemClock};
use braid_server::{AuditConfig, Config, ConnectionLimits, LimitsConfig};
use braid_store::KeyStore;
use eyre::Result;
use ipnet::IpNet;

use crate::config_file::ConfigFile;
use crate::data::cannot_store;
use crate::descriptors;
use crate::exit::usage;
use crate::logging::LogArgs;
use crate::market_source::SourceArgs;
use crate::rules::RuleArgs;
use crate::secrets;

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    _config: ConfigFile,
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// Address and port to listen on
    #[arg(long, env = "BRAID_LISTEN", value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    pub(super) listen: SocketAddr,
    /// Address and port of a separate server for `/metrics`; the main port then does not serve it
    #[arg(long, env = "BRAID_METRICS_LISTEN", value_name = "ADDR:PORT")]
    pub(super) metrics_listen: Option<SocketAddr>,
    /// A valid API key in addition to those of `braid keys`; may be given several times
    #[arg(long = "api-key", env = "BRAID_API_KEYS", value_name = "KEY", value_delimiter = ',', hide_env_values = true)]
    api_keys: Vec<String>,
    /// A file with more API keys, one per line
    #[arg(long, env = "BRAID_API_KEY_FILE", value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Let callers without a key quote (never build), under a limit per address
    #[arg(long, env = "BRAID_ANONYMOUS_QUOTES")]
    anonymous_quotes: bool,
    /// Calls per minute with a key, per key
    #[arg(long, env = "BRAID_RATE_LIMIT", value_name = "N", default_value_t = 600)]
    rate_limit: u32,
    /// Calls with a key in each window of one second, per key. By default only the limit per minute applies
    #[arg(long, env = "BRAID_BURST_LIMIT", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    burst_limit: Option<u32>,
    /// Quotes per minute without a key, per address
    #[arg(long, env = "BRAID_ANONYMOUS_RATE_LIMIT", value_name = "N", default_value_t = 10)]
    anonymous_rate_limit: u32,
    /// Market data reads per minute without a key, per address
    #[arg(long, env = "BRAID_READ_RATE_LIMIT", value_name = "N", default_value_t = 120)]
    read_rate_limit: u32,
    /// A reverse proxy whose `X-Forwarded-For` or `Forwarded` header is trusted to name the caller, by address or
    /// network; may be given several times
    #[arg(long = "trusted-proxy", env = "BRAID_TRUSTED_PROXIES", value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    trusted_proxies: Vec<IpNet>,
    /// Maximum number of concurrent connections; lowered if the system allows fewer open files
    #[arg(long, env = "BRAID_MAX_CONNECTIONS", value_name = "N", default_value_t = 4_096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_connections: u32,
    /// Maximum number of concurrent connections from one address, except trusted proxies
    #[arg(long, env = "BRAID_MAX_CONNECTIONS_PER_ADDRESS", value_name = "N", default_value_t = 512,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_connections_per_address: u32,
    /// How long a quote can be built, in seconds
    #[arg(long, env = "BRAID_QUOTE_TTL_S", value_name = "SECONDS", default_value_t = 120,
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    quote_ttl_s: u64,
    /// A web origin that browsers may call from; may be given several times. Without it, or with `*`, any origin may
    #[arg(long = "cors-origin", env = "BRAID_CORS_ORIGINS", value_name = "ORIGIN", value_delimiter = ',', value_parser = origin)]
    cors_origins: Vec<String>,
    /// Number of quotes solved at once. By default one per core
    #[arg(long, env = "BRAID_SOLVE_THREADS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    solve_threads: Option<u16>,
    /// Pause between two checks of the self-audit, in milliseconds: each compares one swap's model with the EVM. 0
    /// turns it off
    #[arg(long, env = "BRAID_AUDIT_EVERY_MS", value_name = "MS", default_value_t = 1_000)]
    audit_every_ms: u64,
    /// Maximum number of checks of the self-audit per block
    #[arg(long, env = "BRAID_AUDIT_PER_BLOCK", value_name = "N", default_value_t = 16)]
    audit_per_block: u32,
    /// Maximum number of node calls of the self-audit per block, on average
    #[arg(long, env = "BRAID_AUDIT_CALLS", value_name = "N", default_value_t = 20)]
    audit_calls: u32,
    /// Time limit of a whole simulation, in milliseconds; beyond it the answer has `"status": "unavailable"`
    #[arg(long, env = "BRAID_SIMULATION_MS", value_name = "MS", default_value_t = 2_000,
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    simulation_ms: u64,
    /// Longest expected wait for a thread, in milliseconds; a quote that would wait longer is refused
    #[arg(long, env = "BRAID_SOLVE_WAIT_MS", value_name = "MS", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(..=10_000))]
    solve_wait_ms: u64,
    /// How long requests are still accepted after SIGTERM, in milliseconds, while `/ready` answers 503, so that a load
    /// balancer notices
    #[arg(long, env = "BRAID_STOP_DELAY_MS", value_name = "MS", default_value_t = 0,
          value_parser = clap::value_parser!(u64).range(..=60_000))]
    stop_delay_ms: u64,
    #[command(flatten)]
    pub(super) log: LogArgs,
    // must be last: its heading applies to all later options
    #[command(flatten)]
    pub(super) rules: RuleArgs,
}

const EXAMPLES: &str = "Examples:
  braid serve --rpc-url http://127.0.0.1:8545 --api-key my-key
  BRAID_RPC_URL=/var/run/geth.ipc braid serve --listen 0.0.0.0:8080 --data /var/lib/braid
  braid serve --rpc-url ws://127.0.0.1:8546 --rpc-url https://node.example/KEY    (the second if the first fails)
  braid serve --follow --redis redis://10.0.0.5    (the market comes from a service that has a node and the same --redis)

Then:
  curl -s localhost:8080/ready
  curl -s localhost:8080/v1/quote -H 'content-type: application/json' -H 'x-api-key: my-key' -d '{
    \"inputs\": [{\"chain_id\": 1, \"address\": \"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48\", \"amount\": \"1000000000\"}],
    \"outputs\": [{\"chain_id\": 1, \"address\": \"0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2\", \"ratio_bps\": 10000}],
    \"taker\": \"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\"}'

API keys for others: `braid keys create NAME`, on the same data directory, while the server runs.";

impl Args {
    /// Refuses options that contradict each other.
    pub(crate) fn check(&self) -> Result<()> {
        self.rules.follower()?;
        self.source.check()?;
        if self.rules.guesses_vaults() && !self.audit().is_on() {
            return Err(usage(
                "--vault and --find-vaults need the self-audit, since such a vault is quoted once it was checked: turn it on with \
                --audit-every-ms and --audit-per-block above 0, or leave these options out",
            ));
        }
        if self.metrics_listen == Some(self.listen) {
            return Err(usage("--listen and --metrics-listen are the same address and port: give each its own"));
        }
        Ok(())
    }

    /// Checks what a start opens on this machine, without starting anything: the file of API keys, the data directory, the
    /// snapshot, the addresses of nodes, Redis server and trace collector, and the log filter.
    pub(crate) fn check_files(&self) -> Result<()> {
        self.log.check()?;
        self.keys()?;
        self.source.check_files()
    }

    /// Returns the API keys of options and file.
    fn keys(&self) -> Result<Vec<String>> {
        secrets::with(&self.api_keys, self.api_key_file.as_ref())
    }

    /// Opens the keys of the data directory, and adds those of options and file.
    pub(super) fn key_store(&self) -> Result<KeyStore> {
        let kept = KeyStore::open(&self.source.data.data_dir).map_err(cannot_store)?;
        let given = self.keys()?;
        let given = given.iter().zip(1..);
        Ok(given.fold(kept, |keys, (key, number)| keys.with_fixed(&format!("given at the start, {number}"), key)))
    }

    /// Returns a warning if nobody can quote: no key gives access, and callers without one may not quote.
    pub(super) fn warning(&self, keys: &KeyStore) -> Result<Option<&'static str>> {
        let can_quote = self.anonymous_quotes || keys.has_active(SystemClock.now_s()).map_err(cannot_store)?;
        Ok((!can_quote).then_some(
            "there is no API key, and --anonymous-quotes is off, so every quote is refused: make a key with `braid keys create NAME`",
        ))
    }

    /// Returns the warning of a start, as far as this machine shows it: services that share a Redis server share its keys.
    pub(crate) fn warning_of_start(&self) -> Result<Option<&'static str>> {
        if self.source.redis.is_some() { Ok(None) } else { self.warning(&self.key_store()?) }
    }

    /// Returns how many connections there may be: as asked, and no more than the system has descriptors for.
    pub(super) fn connections(&self) -> Result<ConnectionLimits> {
        let asked = usize::try_from(self.max_connections)?;
        let room = descriptors::room_for_connections();
        let total = asked.min(room);
        if total < asked {
            tracing::warn!(
                asked,
                total,
                "the system allows too few open files for so many connections: raise its limit (systemd: LimitNOFILE) or lower --max-connections"
            );
        }
        let per_address = usize::try_from(self.max_connections_per_address)?;
        Ok(ConnectionLimits { total, per_address, ..Config::default().connections })
    }

    /// Returns the service's settings, with as many connections as there is room for.
    pub(super) fn config(&self, connections: ConnectionLimits) -> Config {
        let config = Config {
            connections,
            trusted_proxies: self.trusted_proxies.clone(),
            anonymous_quotes: self.anonymous_quotes,
            limits: LimitsConfig {
                reads_per_min: self.read_rate_limit,
                anonymous_quotes_per_min: self.anonymous_rate_limit,
                keyed_per_min: self.rate_limit,
                keyed_burst: self.burst_limit,
            },
            quote_ttl_ms: self.quote_ttl_s.saturating_mul(1_000),
            cors_origins: self.cors_origins.clone(),
            audit: self.audit(),
            solve_wait: Duration::from_millis(self.solve_wait_ms),
            simulation_time: Duration::from_millis(self.simulation_ms),
            metrics_apart: self.metrics_listen.is_some(),
            stop_delay: Duration::from_millis(self.stop_delay_ms),
            ..Config::default()
        };
        match self.solve_threads.map(usize::from) {
            Some(threads) => Config { solve_threads: threads, solve_queue: 256 * threads, ..config },
            None => config,
        }
    }

    /// Returns how much the self-audit may do.
    fn audit(&self) -> AuditConfig {
        AuditConfig {
            every: Duration::from_millis(self.audit_every_ms),
            per_block: self.audit_per_block,
            calls_per_block: self.audit_calls,
            ..AuditConfig::default()
        }
    }
}

/// Reads a network, or a single address. Addresses of IPv4 inside IPv6 become plain ones, as those of callers do.
fn network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let network: Option<IpNet> = text.parse().ok().or_else(address);
    let network = network.ok_or("expected an address or a network such as 10.0.0.0/8")?;
    let plain = match network {
        IpNet::V6(mapped) => mapped.addr().to_ipv4_mapped().zip(mapped.prefix_len().checked_sub(96)),
        IpNet::V4(_) => None,
    };
    let plain = plain.and_then(|(address, prefix)| IpNet::new(address.into(), prefix).ok());
    Ok(plain.unwrap_or(network))
}

/// Reads a web origin, and returns it as browsers send it: in lower case, without the scheme's own port; or `*`.
fn origin(text: &str) -> Result<String, String> {
    let text = text.trim().to_ascii_lowercase();
    if text == "*" {
        return Ok(text);
    }
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    match text.split_once("://") {
        Some((scheme, host)) if is_part(scheme) && is_part(host) => {
            let own_port = match scheme {
                "https" => ":443",
                "http" => ":80",
                _ => "",
            };
            Ok(format!("{scheme}://{}", host.strip_suffix(own_port).unwrap_or(host)))
        }
        _ => Err("expected * or a scheme and a host such as https://app.example, without a path".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv4_inside_ipv6_is_the_plain_one() {
        for (given, meant) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:10.1.2.3", "10.1.2.3/32"),
            ("fd00::/8", "fd00::/8"),
            ("::/0", "::/0"),
        ] {
            assert_eq!(network(given).unwrap().to_string(), meant);
        }
        assert!(network("10.0.0.0/33").is_err() && network("example.org").is_err());
    }

    /// An origin with capitals, its scheme's own port or a space after a comma was taken, and no browser sends such a one.
    #[test]
    fn an_origin_is_kept_as_browsers_send_it() {
        for (given, sent) in [
            ("https://app.example", "https://app.example"),
            ("https://App.Example", "https://app.example"),
            (" https://app.example", "https://app.example"),
            ("https://app.example:443", "https://app.example"),
            ("http://localhost:80", "http://localhost"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://app.example:443", "http://app.example:443"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
            ("*", "*"),
        ] {
            assert_eq!(origin(given).as_deref(), Ok(sent), "{given:?}");
        }
        for wrong in
            ["", "app.example", "https://", "https://app.example/", "https://app.example/path", "://app.example"]
        {
            assert!(origin(wrong).is_err(), "{wrong:?}");
        }
    }
}
