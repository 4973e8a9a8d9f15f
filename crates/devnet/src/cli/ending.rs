//! Waiting for the signal to end.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Interval between two checks of the parent process.
const PARENT_INTERVAL: Duration = Duration::from_millis(250);
/// The bits of SIGHUP, SIGINT and SIGTERM in a signal mask.
const ENDING_SIGNALS: u64 = 1 | 1 << 1 | 1 << 14;

/// The events that end the program: Ctrl-C, `kill`, a closed terminal, and, if requested, the end of the parent
/// process. Created before anything is started, so that no signal is missed.
pub(crate) struct Ending {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    parent: Option<Parent>,
}

impl Ending {
    pub(crate) fn new(with_parent: bool) -> eyre::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            parent: with_parent.then(Parent::now),
        })
    }

    /// Waits for the first of the events.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
            () = parent_ends(self.parent.as_ref()) => {}
        }
    }
}

async fn parent_ends(parent: Option<&Parent>) {
    let Some(parent) = parent else { return std::future::pending().await };
    while !parent.is_ending() {
        tokio::time::sleep(PARENT_INTERVAL).await;
    }
}

/// The process that started this one. `make` does not pass on an interrupt that only it receives: it blocks the signal
/// and waits for its children. The signal mask that the kernel publishes shows this.
struct Parent {
    id: u32,
    blocked: u64,
}

impl Parent {
    fn now() -> Self {
        let id = std::os::unix::process::parent_id();
        Self { id, blocked: blocked_signals(id) }
    }

    fn is_ending(&self) -> bool {
        std::os::unix::process::parent_id() != self.id || blocked_signals(self.id) & !self.blocked & ENDING_SIGNALS != 0
    }
}

/// Returns the mask of the signals that a process blocks; 0 if the system does not publish it.
fn blocked_signals(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
