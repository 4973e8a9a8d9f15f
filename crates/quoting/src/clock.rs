//! The clock, which tests replace.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Tells the time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Returns the time, unix milliseconds.
    fn now_ms(&self) -> u64;

    /// Returns the time, unix seconds.
    fn now_s(&self) -> u64 {
        self.now_ms() / 1_000
    }

    /// Returns milliseconds since the start of the process, by a clock that never goes back.
    fn elapsed_ms(&self) -> u64;
}

/// Zero of [`Clock::elapsed_ms`]: the first use of the clock.
static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(STARTED.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A clock that tests set.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_ms: AtomicU64,
    elapsed_ms: AtomicU64,
}

impl ManualClock {
    /// Returns a clock that is set to a time, unix milliseconds.
    pub fn at(now_ms: u64) -> Self {
        Self { now_ms: AtomicU64::new(now_ms), elapsed_ms: AtomicU64::default() }
    }

    /// Advances both clocks.
    pub fn advance_ms(&self, by_ms: u64) {
        self.now_ms.fetch_add(by_ms, Ordering::SeqCst);
        self.elapsed_ms.fetch_add(by_ms, Ordering::SeqCst);
    }

    /// Sets the time; the elapsed time does not change.
    pub fn set_ms(&self, now_ms: u64) {
        self.now_ms.store(now_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    fn elapsed_ms(&self) -> u64 {
        self.elapsed_ms.load(Ordering::SeqCst)
    }
}

/// Writes a time in RFC 3339 format, in UTC.
pub fn rfc3339(unix_ms: u64) -> String {
    let time = i64::try_from(unix_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    format!("{:.3}", time.unwrap_or(jiff::Timestamp::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_in_utc() {
        assert_eq!(rfc3339(1_700_000_000_250), "2023-11-14T22:13:20.250Z");
        assert_eq!(rfc3339(u64::MAX), "1970-01-01T00:00:00.000Z");
    }
}
