//! Rate limits: counts calls per minute, per key and per address.
//!
//! A count is kept until its minute is over. Keys are as many as the operator created. The number of addresses is
//! unbounded, the table is not: when it is full, new addresses are counted by their network, and then all together.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use braid_quoting::{Code, Problem};
use braid_store::replicas::CallsLeft;

/// Length of a window, in milliseconds.
const WINDOW_MS: u64 = 60_000;

/// Length of the window of bursts, in milliseconds.
const BURST_MS: u64 = 1_000;

/// Number of independently locked parts of the table.
const SHARDS: usize = 16;

/// Entries of a part up to which new addresses are counted one by one; beyond, by their network.
const ADDRESSES_PER_SHARD: usize = 8_192;

/// Entries of a part up to which new addresses are counted by their network; beyond, all together.
const GROUPS_PER_SHARD: usize = 12_288;

/// A caller or group of callers that is counted as one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Reads without a key.
    Read(Origin),
    /// Quotes without a key.
    AnonymousQuote(Origin),
    /// Calls with a key, by the key's id.
    Keyed(String),
}

/// Origin of calls without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// One address; for IPv6 a /64.
    Address(IpAddr),
    /// A network: a /16, for IPv6 a /32.
    Network(IpAddr),
    /// All other addresses.
    Others,
}

impl Origin {
    /// Returns the next larger origin, and the most entries of a part at which it may be added.
    fn larger(self) -> Option<(Self, usize)> {
        match self {
            Self::Address(IpAddr::V4(address)) => {
                let network = Ipv4Addr::from_bits(address.to_bits() >> 16 << 16);
                Some((Self::Network(network.into()), GROUPS_PER_SHARD))
            }
            Self::Address(IpAddr::V6(address)) => {
                let network = Ipv6Addr::from_bits(address.to_bits() >> 96 << 96);
                Some((Self::Network(network.into()), GROUPS_PER_SHARD))
            }
            Self::Network(_) => Some((Self::Others, usize::MAX)),
            Self::Others => None,
        }
    }

    fn shared_name(self) -> String {
        match self {
            Self::Address(address) => address.to_string(),
            Self::Network(network) => format!("{network}*"),
            Self::Others => "*".into(),
        }
    }
}

impl Counted {
    /// Returns the group that a caller is counted with if there is no room for it alone; `None` for a key, which is always
    /// counted alone.
    fn larger(&self) -> Option<(Self, usize)> {
        match self {
            Self::Read(origin) => origin.larger().map(|(origin, room)| (Self::Read(origin), room)),
            Self::AnonymousQuote(origin) => origin.larger().map(|(origin, room)| (Self::AnonymousQuote(origin), room)),
            Self::Keyed(_) => None,
        }
    }

    /// Returns the name by which several services count it together.
    pub fn shared_name(&self) -> String {
        match self {
            Self::Read(origin) => format!("read:{}", origin.shared_name()),
            Self::AnonymousQuote(origin) => format!("quote:{}", origin.shared_name()),
            Self::Keyed(id) => format!("key:{id}"),
        }
    }
}

/// A caller's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The policy's name.
    pub policy: &'static str,
    /// Calls in a minute.
    pub per_min: u32,
    /// Calls in a second, if limited.
    pub burst: Option<u32>,
}

/// A caller's use of its quota, for the `RateLimit` headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The caller's limits.
    pub quota: Quota,
    /// Calls left in this minute.
    pub remaining: u32,
    /// Seconds until the minute ends, rounded up.
    pub reset_s: u64,
    /// Calls left in this second, if limited.
    pub burst_remaining: Option<u32>,
}

/// Counts calls in windows that start with a caller's first call: a minute, and a second for bursts.
#[derive(Debug)]
pub struct Limits {
    shards: Vec<Mutex<Shard>>,
    hasher: std::hash::RandomState,
}

#[derive(Debug, Default)]
struct Shard {
    callers: HashMap<Counted, Windows>,
    /// Time of the next removal of entries whose minute is over.
    next_cleanup_ms: u64,
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
    /// Returns the window at a time: this one, or a new one if it is over.
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
    /// Counts a call, by a clock that never goes back. Returns `false` for a call above the quota, which is not counted.
    pub fn count(&self, caller: Counted, quota: Quota, now_ms: u64) -> (Standing, bool) {
        let mut shard = self.shard(&caller);
        let windows = shard.windows(caller, now_ms);
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

    /// Takes back a counted call that another check refused.
    pub fn take_back(&self, caller: Counted) {
        let mut shard = self.shard(&caller);
        let group = shard.group(caller);
        if let Some(windows) = shard.callers.get_mut(&group) {
            windows.minute.used = windows.minute.used.saturating_sub(1);
            windows.second.used = windows.second.used.saturating_sub(1);
        }
    }

    /// Returns the entry by which a caller was counted last: itself or its group.
    pub fn counted_as(&self, caller: Counted) -> Counted {
        self.shard(&caller).group(caller)
    }

    fn shard(&self, caller: &Counted) -> MutexGuard<'_, Shard> {
        let shard = usize::try_from(self.hasher.hash_one(caller) % SHARDS as u64).unwrap_or(0);
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    /// Returns the entry by which a caller is counted at present.
    fn group(&self, caller: Counted) -> Counted {
        let all = std::iter::successors(Some(caller.clone()), |caller| caller.larger().map(|(larger, _)| larger));
        all.into_iter().find(|caller| self.callers.contains_key(caller)).unwrap_or(caller)
    }

    /// Returns the windows of a caller or its group. Adds an entry if there is none.
    fn windows(&mut self, mut caller: Counted, now_ms: u64) -> &mut Windows {
        if self.callers.len() >= ADDRESSES_PER_SHARD && now_ms >= self.next_cleanup_ms {
            self.callers.retain(|_, windows| windows.minute.ends_ms > now_ms);
            self.next_cleanup_ms = now_ms.saturating_add(BURST_MS);
        }
        let mut room = ADDRESSES_PER_SHARD;
        while self.callers.len() >= room && !self.callers.contains_key(&caller) {
            let Some((larger, more)) = caller.larger() else { break };
            (caller, room) = (larger, more);
        }
        self.callers.entry(caller).or_default()
    }
}

impl Standing {
    /// Returns the standing over all services.
    pub fn shared(self, left: CallsLeft) -> Self {
        let per_min = self.quota.per_min;
        Self {
            remaining: per_min.saturating_sub(left.used),
            reset_s: left.reset_ms.div_ceil(1_000),
            burst_remaining: self.quota.burst.map(|burst| burst.saturating_sub(left.used_burst)),
            ..self
        }
    }

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

    /// Returns the problem of a call above the quota.
    pub fn exceeded(&self) -> Problem {
        let Quota { per_min, burst, .. } = self.quota;
        match burst.filter(|_| self.remaining > 0) {
            Some(burst) => {
                let detail = format!("{burst} calls per second are allowed here; retry in 1 s");
                Problem::new(Code::RateLimited, detail).retry_after(1)
            }
            None => {
                let reset_s = self.reset_s;
                let detail =
                    format!("{per_min} calls per minute are allowed here; the next window starts in {reset_s} s");
                Problem::new(Code::RateLimited, detail).retry_after(reset_s)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(n: u8) -> Counted {
        Counted::AnonymousQuote(Origin::Address(IpAddr::from([127, 0, 0, n])))
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
        assert_eq!(problem.retry_after_s, Some(1));
        assert_eq!(problem.detail, "2 calls per second are allowed here; retry in 1 s");
        // A call that the burst limit refuses does not count towards the minute.
        assert_eq!([at(1_000).1, at(1_001).1, at(2_000).1], [true, true, true]);
        let (standing, allowed) = at(3_000);
        assert!(!allowed && standing.exceeded().detail.starts_with("5 calls per minute are allowed here; "));
    }

    #[test]
    fn callers_do_not_spend_each_others_calls() {
        let limits = Limits::default();
        assert!(limits.count(caller(1), quota(1), 0).1);
        assert!(limits.count(caller(2), quota(1), 0).1);
        assert!(limits.count(Counted::Keyed("a".into()), quota(1), 0).1);
        assert!(!limits.count(caller(1), quota(1), 0).1);
        // The same holds for callers in the same shard of the table.
        assert!((3..=u8::MAX).all(|n| limits.count(caller(n), quota(1), 0).1));
    }

    #[test]
    fn a_call_that_is_taken_back_is_left_again() {
        let limits = Limits::default();
        let quota = Quota { burst: Some(2), ..quota(5) };
        let left = |now_ms| {
            let (standing, _) = limits.count(caller(1), quota, now_ms);
            (standing.remaining, standing.burst_remaining)
        };
        assert_eq!([left(0), left(1), left(1_000)], [(4, Some(1)), (3, Some(0)), (2, Some(1))]);
        limits.take_back(caller(1));
        assert_eq!(left(1_001), (2, Some(1)));
    }

    #[test]
    fn services_together_leave_what_is_left_of_the_quota() {
        let quota = Quota { burst: Some(4), ..quota(5) };
        let alone = Standing { quota, remaining: 5, reset_s: 60, burst_remaining: Some(4) };
        let standing = alone.shared(CallsLeft { allowed: true, used: 3, used_burst: 1, reset_ms: 1_001 });
        assert_eq!((standing.remaining, standing.reset_s, standing.burst_remaining), (2, 2, Some(3)));
        let names = [Counted::Read, Counted::AnonymousQuote].map(|kind| {
            let mut counted = vec![kind(Origin::Address([1, 2, 3, 4].into()))];
            counted.extend(std::iter::successors(counted[0].larger(), |(last, _)| last.larger()).map(|(next, _)| next));
            counted.iter().map(Counted::shared_name).collect::<Vec<_>>()
        });
        assert_eq!(names[0], ["read:1.2.3.4", "read:1.2.0.0*", "read:*"]);
        assert_eq!(names[1], ["quote:1.2.3.4", "quote:1.2.0.0*", "quote:*"]);
    }

    #[test]
    fn an_origin_is_within_a_larger_one_that_has_more_room() {
        let address = Origin::Address("2001:db8:1:2::".parse().unwrap());
        let network = Origin::Network("2001:db8::".parse().unwrap());
        assert_eq!(address.larger(), Some((network, GROUPS_PER_SHARD)));
        let (network, room) = Origin::Address([1, 2, 3, 4].into()).larger().unwrap();
        assert_eq!((network, room), (Origin::Network([1, 2, 0, 0].into()), GROUPS_PER_SHARD));
        assert_eq!(network.larger(), Some((Origin::Others, usize::MAX)), "all the others have room together");
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

    /// Returns the number of entries in the table, for single callers and for groups.
    fn held(limits: &Limits) -> usize {
        limits.shards.iter().map(|shard| shard.lock().unwrap().callers.len()).sum()
    }

    #[test]
    fn a_flood_of_addresses_washes_out_nobodys_count() {
        let limits = Limits::default();
        let key = Counted::Keyed("a".into());
        assert!(limits.count(key.clone(), quota(1), 0).1);
        assert!(limits.count(caller(1), quota(1), 0).1);
        let mut allowed = 0u32;
        for n in 0..400_000u32 {
            let flood = Counted::AnonymousQuote(Origin::Address(IpAddr::from((n * 9_973).to_be_bytes())));
            allowed += u32::from(limits.count(flood, quota(1), 1).1);
        }
        assert!(!limits.count(key.clone(), quota(1), 2).1);
        assert!(!limits.count(caller(1), quota(1), 2).1);
        // The table is bounded. Callers without an entry of their own are counted, and refused, as groups.
        let most = SHARDS * (GROUPS_PER_SHARD + 2);
        assert!(held(&limits) <= most, "{}", held(&limits));
        assert!(usize::try_from(allowed).unwrap() <= most, "{allowed}");
        // A key is counted even if there is no room for addresses.
        let other = Counted::Keyed("b".into());
        assert_eq!([limits.count(other.clone(), quota(1), 3).1, limits.count(other, quota(1), 3).1], [true, false]);
        // A minute later there is room again for everyone.
        assert!(limits.count(key, quota(1), 60_002).1);
        assert!(limits.count(caller(1), quota(1), 60_002).1);
        for n in 0..100_000u32 {
            limits.count(Counted::Read(Origin::Address(IpAddr::from(n.to_be_bytes()))), quota(1), 60_002);
        }
        assert!(held(&limits) < 100_010);
    }
}
