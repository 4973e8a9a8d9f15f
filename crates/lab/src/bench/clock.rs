//! Processor time of a thread. Other work on the machine disturbs it less than elapsed time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the processor time that this thread has used so far.
pub(crate) fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(now.tv_nsec).unwrap_or(0))
}
