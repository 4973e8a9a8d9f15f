//! Counts calls over all services, in windows of a minute and of a second that start with a caller's first call.

use std::sync::LazyLock;

use redis::Script;

use super::{Connection, Replicas};

/// Limits on a caller's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Calls in a minute.
    pub per_min: u32,
    /// Calls in a second, if that is limited too.
    pub burst: Option<u32>,
}

/// A caller's counts after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallsLeft {
    /// Whether the call was within the limits, and counted.
    pub allowed: bool,
    /// Calls counted in this minute.
    pub used: u32,
    /// Calls counted in this second.
    pub used_burst: u32,
    /// Time until this minute ends, in milliseconds.
    pub reset_ms: u64,
}

/// Counts a call in both windows, or in neither if one of them is full. A script is atomic.
static COUNT: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
        local used = {}
        local allowed = 1
        for i = 1, 2 do
            used[i] = tonumber(redis.call('GET', KEYS[i]) or '0')
            if used[i] >= tonumber(ARGV[i]) then allowed = 0 end
        end
        if allowed == 1 then
            for i = 1, 2 do
                used[i] = redis.call('INCR', KEYS[i])
                if used[i] == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[i + 2]) end
            end
        end
        return { allowed, used[1], used[2], redis.call('PTTL', KEYS[1]) }
        ",
    )
});

/// Length of the windows, in milliseconds.
const WINDOWS_MS: [u64; 2] = [60_000, 1_000];

impl Replicas {
    /// Counts a call of a caller over all services. `None` while the server fails: each service then counts for itself.
    pub async fn count(&self, caller: &str, limits: CallLimits) -> Option<CallsLeft> {
        // The braces keep both names on one server of a cluster.
        let (minute, second) = (format!("braid:minute:{{{caller}}}"), format!("braid:second:{{{caller}}}"));
        let mut call = COUNT.prepare_invoke();
        call.key(minute).key(second);
        call.arg(limits.per_min).arg(limits.burst.unwrap_or(u32::MAX)).arg(&WINDOWS_MS[..]);
        let count = async |mut connection: Connection| call.invoke_async::<(u8, u32, u32, i64)>(&mut connection).await;
        let (allowed, used, used_burst, reset_ms) = self.ask(count).await?;
        Some(CallsLeft { allowed: allowed == 1, used, used_burst, reset_ms: u64::try_from(reset_ms).unwrap_or(0) })
    }
}
