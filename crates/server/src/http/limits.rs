//! Calls per minute, per key and per address.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::config::LimitsConfig;
use crate::problem::{Code, Problem};

/// Length of a window.
const WINDOW_MS: u64 = 60_000;

/// Independent parts of the table, so that callers seldom wait for each other.
const SHARDS: usize = 16;

/// Callers remembered per part; beyond, those whose window is over are forgotten, and if there are none, all are.
const CALLERS_PER_SHARD: usize = 8_192;

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Reads without a key.
    Read(IpAddr),
    /// Quotes without a key.
    AnonymousQuote(IpAddr),
    /// Calls with a key, by the key's id.
    Keyed(String),
}

/// Where a caller stands: what the `RateLimit` headers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The policy's name.
    pub policy: &'static str,
    /// Calls per window.
    pub quota: u32,
    /// Calls left in this window.
    pub remaining: u32,
    /// Seconds until the window ends, rounded up.
    pub reset_s: u64,
}

/// Counts calls in windows of a minute that start with a caller's first call.
#[derive(Debug)]
pub struct Limits {
    config: LimitsConfig,
    shards: Vec<Mutex<HashMap<Counted, Window>>>,
    hasher: std::hash::RandomState,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    ends_ms: u64,
    used: u32,
}

impl Limits {
    /// Limits with nobody counted yet.
    pub fn new(config: LimitsConfig) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { config, shards, hasher: std::hash::RandomState::new() }
    }

    /// Counts a call. The standing holds either way; `false` is a call too many.
    pub fn count(&self, caller: Counted, now_ms: u64) -> (Standing, bool) {
        let (policy, quota) = match caller {
            Counted::Read(_) => ("reads", self.config.reads_per_min),
            Counted::AnonymousQuote(_) => ("anonymous-quotes", self.config.anonymous_quotes_per_min),
            Counted::Keyed(_) => ("keyed", self.config.keyed_per_min),
        };
        let shard = usize::try_from(self.hasher.hash_one(&caller) % SHARDS as u64).unwrap_or(0);
        let mut callers = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut callers, now_ms);
        let window = callers.entry(caller).or_insert(Window { ends_ms: 0, used: 0 });
        if now_ms >= window.ends_ms {
            *window = Window { ends_ms: now_ms.saturating_add(WINDOW_MS), used: 0 };
        }
        let allowed = window.used < quota;
        if allowed {
            window.used += 1;
        }
        let reset_s = (window.ends_ms - now_ms).div_ceil(1_000);
        (Standing { policy, quota, remaining: quota.saturating_sub(window.used), reset_s }, allowed)
    }
}

fn make_room(callers: &mut HashMap<Counted, Window>, now_ms: u64) {
    if callers.len() < CALLERS_PER_SHARD {
        return;
    }
    callers.retain(|_, window| window.ends_ms > now_ms);
    if callers.len() >= CALLERS_PER_SHARD {
        callers.clear();
    }
}

impl Standing {
    /// Writes `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers, structured fields).
    pub fn write(&self, headers: &mut HeaderMap) {
        let Self { policy, quota, remaining, reset_s } = self;
        let window_s = WINDOW_MS / 1_000;
        let mut put = |name: &'static str, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        put("ratelimit-policy", format!("\"{policy}\";q={quota};w={window_s}"));
        put("ratelimit", format!("\"{policy}\";r={remaining};t={reset_s}"));
    }

    /// The problem of a call too many.
    pub fn exceeded(&self) -> Problem {
        let detail =
            format!("{} calls a minute are allowed here; the next window starts in {} s", self.quota, self.reset_s);
        Problem::new(Code::RateLimited, detail).retry_after(self.reset_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(n: u8) -> Counted {
        Counted::AnonymousQuote(IpAddr::from([127, 0, 0, n]))
    }

    #[test]
    fn the_quota_is_exact_and_comes_back_after_a_minute() {
        let limits = Limits::new(LimitsConfig { anonymous_quotes_per_min: 3, ..LimitsConfig::default() });
        let used: Vec<bool> = (0..5).map(|n| limits.count(caller(1), n * 1_000).1).collect();
        assert_eq!(used, [true, true, true, false, false]);
        let (standing, _) = limits.count(caller(1), 59_001);
        assert_eq!((standing.remaining, standing.reset_s), (0, 1));
        assert!(limits.count(caller(1), 60_000).1);
    }

    #[test]
    fn callers_do_not_spend_each_others_calls() {
        let limits = Limits::new(LimitsConfig { anonymous_quotes_per_min: 1, ..LimitsConfig::default() });
        assert!(limits.count(caller(1), 0).1);
        assert!(limits.count(caller(2), 0).1);
        assert!(limits.count(Counted::Keyed("a".into()), 0).1);
        assert!(!limits.count(caller(1), 0).1);
    }

    #[test]
    fn the_headers_are_those_of_the_draft() {
        let mut headers = HeaderMap::new();
        Standing { policy: "keyed", quota: 600, remaining: 599, reset_s: 60 }.write(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"keyed\";q=600;w=60");
        assert_eq!(headers["ratelimit"], "\"keyed\";r=599;t=60");
    }

    #[test]
    fn a_flood_of_addresses_does_not_grow_the_table_without_end() {
        let limits = Limits::new(LimitsConfig::default());
        for n in 0..300_000u32 {
            limits.count(Counted::Read(IpAddr::from(n.to_be_bytes())), 0);
        }
        let held: usize = limits.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(held <= SHARDS * CALLERS_PER_SHARD);
    }
}
