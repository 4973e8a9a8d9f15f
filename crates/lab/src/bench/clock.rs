//! Time that this thread really ran: on a machine that does other things too, less is heard of them.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of this thread so far.
pub(crate) fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(now.tv_nsec).unwrap_or(0))
}
