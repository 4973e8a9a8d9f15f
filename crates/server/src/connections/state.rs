//! The phase of a connection, and its start.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Phase of a connection, by what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The first byte of the client's next request.
    Idle,
    /// The rest of a request's line and headers.
    Head,
    /// The rest of a request's body.
    Body,
    /// The service's answer.
    Work,
    /// The client's reading of the answer.
    Answer,
}

/// Marks a request on a connection beyond the limits, which may only ask for health and metrics.
#[derive(Clone, Copy, Debug)]
pub struct HealthOnly;

/// Timeouts of a client. `BodyLimit` has that of the body.
#[derive(Clone, Copy, Debug)]
pub struct ClientTimeouts {
    /// From an answer to the first byte of the next request.
    pub idle: Duration,
    /// From the first byte of a request to the end of its headers.
    pub head: Duration,
    /// Between two reads of an answer by the client.
    pub answer: Duration,
}

/// A reason for which the service ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client took too long in this phase.
    Overdue(Phase),
    /// Another connection got its slot.
    Evicted,
}

/// Time after a client's last read of an answer during which its connection is not evicted.
const ANSWER_PROTECTION: Duration = Duration::from_secs(1);

/// Shared state of a connection, for its serving, timeouts and eviction.
#[derive(Debug)]
pub struct ConnectionState {
    inner: Mutex<Inner>,
    ended: Notify,
}

#[derive(Clone, Copy, Debug)]
struct Inner {
    phase: Phase,
    since: Instant,
    /// True when the whole answer was written to the connection's buffer.
    answered: bool,
    ending: Option<Ending>,
}

impl Default for ConnectionState {
    fn default() -> Self {
        let inner = Inner { phase: Phase::Idle, since: Instant::now(), answered: false, ending: None };
        Self { inner: Mutex::new(inner), ended: Notify::new() }
    }
}

impl ConnectionState {
    fn with<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        change(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Enters a phase.
    pub fn enter(&self, phase: Phase) {
        self.with(|inner| *inner = Inner { phase, since: Instant::now(), answered: false, ..*inner });
    }

    /// Records that bytes of a request arrived.
    pub(super) fn read(&self) {
        if self.with(|inner| inner.phase == Phase::Idle) {
            self.enter(Phase::Head);
        }
    }

    /// Records that the client read bytes of an answer.
    pub(super) fn written(&self) {
        self.with(|inner| inner.since = Instant::now());
    }

    /// Records that the whole answer was written to the connection's buffer.
    pub(super) fn answered(&self) {
        self.with(|inner| inner.answered = true);
    }

    /// Records that the connection's buffer is empty: a complete answer is sent.
    pub(super) fn flushed(&self) {
        if self.with(|inner| inner.phase == Phase::Answer && inner.answered) {
            self.enter(Phase::Idle);
        }
    }

    /// Returns whether the connection waits for a request or its headers.
    pub(super) fn is_waiting(&self) -> bool {
        self.with(|inner| matches!(inner.phase, Phase::Idle | Phase::Head))
    }

    /// Returns the time since which the connection can be evicted; `None` if it is at work or ending.
    pub(super) fn idle_since(&self, now: Instant) -> Option<Instant> {
        self.with(|inner| {
            let busy = inner.phase == Phase::Work
                || inner.phase == Phase::Answer && now.saturating_duration_since(inner.since) < ANSWER_PROTECTION;
            (!busy && inner.ending.is_none()).then_some(inner.since)
        })
    }

    /// Ends the connection if its client is too slow.
    pub(super) fn end_if_overdue(&self, now: Instant, timeouts: &ClientTimeouts) {
        let overdue = self.with(|inner| {
            let most = match inner.phase {
                Phase::Idle => timeouts.idle,
                Phase::Head => timeouts.head,
                Phase::Answer => timeouts.answer,
                Phase::Body | Phase::Work => return None,
            };
            (now.saturating_duration_since(inner.since) > most).then_some(Ending::Overdue(inner.phase))
        });
        if let Some(ending) = overdue {
            self.end(ending);
        }
    }

    /// Ends the connection.
    pub(super) fn end(&self, ending: Ending) {
        self.with(|inner| inner.ending = inner.ending.or(Some(ending)));
        self.ended.notify_one();
    }

    /// Completes when the service ends the connection.
    pub(super) async fn ended(&self) -> Ending {
        loop {
            let notified = self.ended.notified();
            if let Some(ending) = self.with(|inner| inner.ending) {
                return ending;
            }
            notified.await;
        }
    }
}
