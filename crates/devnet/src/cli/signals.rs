//! Waiting for the end.

use tokio::signal::unix::{SignalKind, signal};

/// The signals that end the program: Ctrl-C, `kill`, a closed terminal. Made before anything is started, so that none is
/// missed.
pub(crate) struct Ending {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Ending {
    pub(crate) fn new() -> eyre::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the first of them.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
