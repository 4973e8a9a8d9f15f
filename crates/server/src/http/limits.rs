//! Calls per minute, per key and per address.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use braid_quoting::{Code, Problem};

/// Length of a window.
const WINDOW_MS: u64 = 60_000;

/// Length of the window that bursts are counted in.
const BURST_MS: u64 = 1_000;

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

/// How often a caller may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The policy's name.
    pub policy: &'static str,
    /// Calls in a minute.
    pub per_min: u32,
    /// Calls in a second, where that is bounded too.
    pub burst: Option<u32>,
}

/// Where a caller stands: what the `RateLimit` headers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What the caller may.
    pub quota: Quota,
    /// Calls left in this minute.
    pub remaining: u32,
    /// Seconds until the minute ends, rounded up.
    pub reset_s: u64,
    /// Calls left in this second, where that is bounded.
    pub burst_remaining: Option<u32>,
}

/// Counts calls in windows that start with a caller's first call: of a minute, and of a second where bursts are bounded.
#[derive(Debug)]
pub struct Limits {
    shards: Vec<Mutex<HashMap<Counted, Windows>>>,
    hasher: std::hash::RandomState,
}

#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    minute: Window,
    second: Window,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    ends_ms: u64,
    used: u32,
}

impl Window {
    /// The window at a time: this one, or a new one where it is over.
    fn at(self, now_ms: u64, length_ms: u64) -> Self {
        if now_ms < self.ends_ms { self } else { Self { ends_ms: now_ms.saturating_add(length_ms), used: 0 } }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, hasher: std::hash::RandomState::new() }
    }
}

impl Limits {
    /// Counts a call. The standing holds either way; `false` is a call too many, which is not counted.
    pub fn count(&self, caller: Counted, quota: Quota, now_ms: u64) -> (Standing, bool) {
        let shard = usize::try_from(self.hasher.hash_one(&caller) % SHARDS as u64).unwrap_or(0);
        let mut callers = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut callers, now_ms);
        let windows = callers.entry(caller).or_default();
        windows.minute = windows.minute.at(now_ms, WINDOW_MS);
        windows.second = windows.second.at(now_ms, BURST_MS);
        let left = |limit: u32, window: &Window| limit.saturating_sub(window.used);
        let within_burst = quota.burst.is_none_or(|burst| left(burst, &windows.second) > 0);
        let allowed = left(quota.per_min, &windows.minute) > 0 && within_burst;
        if allowed {
            windows.minute.used += 1;
            windows.second.used += 1;
        }
        let standing = Standing {
            quota,
            remaining: left(quota.per_min, &windows.minute),
            reset_s: (windows.minute.ends_ms - now_ms).div_ceil(1_000),
            burst_remaining: quota.burst.map(|burst| left(burst, &windows.second)),
        };
        (standing, allowed)
    }
}

fn make_room(callers: &mut HashMap<Counted, Windows>, now_ms: u64) {
    if callers.len() < CALLERS_PER_SHARD {
        return;
    }
    callers.retain(|_, windows| windows.minute.ends_ms > now_ms);
    if callers.len() >= CALLERS_PER_SHARD {
        callers.clear();
    }
}

impl Standing {
    /// Writes `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers, structured fields).
    pub fn write(&self, headers: &mut HeaderMap) {
        let Self { quota: Quota { policy, per_min, burst }, remaining, reset_s, burst_remaining } = self;
        let mut policies = format!("\"{policy}\";q={per_min};w={}", WINDOW_MS / 1_000);
        let mut standing = format!("\"{policy}\";r={remaining};t={reset_s}");
        if let (Some(burst), Some(left)) = (burst, burst_remaining) {
            policies += &format!(", \"burst\";q={burst};w=1");
            standing += &format!(", \"burst\";r={left};t=1");
        }
        for (name, value) in [("ratelimit-policy", policies), ("ratelimit", standing)] {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }

    /// The problem of a call too many.
    pub fn exceeded(&self) -> Problem {
        let Quota { per_min, burst, .. } = self.quota;
        match burst.filter(|_| self.remaining > 0) {
            Some(burst) => {
                let detail = format!("{burst} calls a second are allowed here; the next second starts now");
                Problem::new(Code::RateLimited, detail).retry_after(1)
            }
            None => {
                let reset_s = self.reset_s;
                let detail =
                    format!("{per_min} calls a minute are allowed here; the next window starts in {reset_s} s");
                Problem::new(Code::RateLimited, detail).retry_after(reset_s)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(n: u8) -> Counted {
        Counted::AnonymousQuote(IpAddr::from([127, 0, 0, n]))
    }

    fn quota(per_min: u32) -> Quota {
        Quota { policy: "keyed", per_min, burst: None }
    }

    #[test]
    fn the_quota_is_exact_and_comes_back_after_a_minute() {
        let limits = Limits::default();
        let used: Vec<bool> = (0..5).map(|n| limits.count(caller(1), quota(3), n * 1_000).1).collect();
        assert_eq!(used, [true, true, true, false, false]);
        let (standing, _) = limits.count(caller(1), quota(3), 59_001);
        assert_eq!((standing.remaining, standing.reset_s), (0, 1));
        assert!(limits.count(caller(1), quota(3), 60_000).1);
    }

    #[test]
    fn a_burst_is_bounded_within_the_minute() {
        let limits = Limits::default();
        let quota = Quota { burst: Some(2), ..quota(5) };
        let at = |now_ms| limits.count(caller(1), quota, now_ms);
        assert_eq!([at(0).1, at(10).1, at(20).1], [true, true, false]);
        let problem = at(999).0.exceeded();
        assert_eq!((problem.retry_after_s, problem.detail.contains("2 calls a second")), (Some(1), true));
        // a refused call does not eat of the minute
        assert_eq!([at(1_000).1, at(1_001).1, at(2_000).1], [true, true, true]);
        let (standing, allowed) = at(3_000);
        assert!(!allowed && standing.exceeded().detail.contains("5 calls a minute"));
    }

    #[test]
    fn callers_do_not_spend_each_others_calls() {
        let limits = Limits::default();
        assert!(limits.count(caller(1), quota(1), 0).1);
        assert!(limits.count(caller(2), quota(1), 0).1);
        assert!(limits.count(Counted::Keyed("a".into()), quota(1), 0).1);
        assert!(!limits.count(caller(1), quota(1), 0).1);
    }

    #[test]
    fn the_headers_are_those_of_the_draft() {
        let mut headers = HeaderMap::new();
        let standing = Standing { quota: quota(600), remaining: 599, reset_s: 60, burst_remaining: None };
        standing.write(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"keyed\";q=600;w=60");
        assert_eq!(headers["ratelimit"], "\"keyed\";r=599;t=60");
        let quota = Quota { burst: Some(20), ..quota(600) };
        Standing { quota, burst_remaining: Some(7), ..standing }.write(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"keyed\";q=600;w=60, \"burst\";q=20;w=1");
        assert_eq!(headers["ratelimit"], "\"keyed\";r=599;t=60, \"burst\";r=7;t=1");
    }

    #[test]
    fn a_flood_of_addresses_does_not_grow_the_table_without_end() {
        let limits = Limits::default();
        for n in 0..300_000u32 {
            limits.count(Counted::Read(IpAddr::from(n.to_be_bytes())), quota(1), 0);
        }
        let held: usize = limits.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(held <= SHARDS * CALLERS_PER_SHARD);
    }
}
