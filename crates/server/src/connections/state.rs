//! What one connection is doing, and since when.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The client's next request, of which nothing has come.
    Idle,
    /// The rest of a request's line and headers.
    Head,
    /// The rest of a request's body.
    Body,
    /// The service.
    Work,
    /// The client, which reads the answer.
    Answer,
}

/// Marks a request on a connection beyond the limits: only questions after the service's health are answered.
#[derive(Clone, Copy, Debug)]
pub struct HealthOnly;

/// How long a client may take. The body has a limit of its own, where it is read.
#[derive(Clone, Copy, Debug)]
pub struct ClientTimeouts {
    /// From an answer to the first byte of the next request.
    pub idle: Duration,
    /// From the first byte of a request to the end of its headers.
    pub head: Duration,
    /// Between two bytes of an answer that the client takes.
    pub answer: Duration,
}

/// Why a connection was ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client took too long in this phase.
    Overdue(Phase),
    /// Its place was given to another.
    Evicted,
}

/// An answer that was made after this time is not cut off for another connection's sake.
const FRESH_ANSWER: Duration = Duration::from_secs(1);

/// A connection, as seen by those who serve it, watch it and end it.
#[derive(Debug)]
pub struct ConnectionState {
    inner: Mutex<Inner>,
    ended: Notify,
}

#[derive(Clone, Copy, Debug)]
struct Inner {
    phase: Phase,
    since: Instant,
    /// Whether the whole answer was handed to the connection.
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

    /// Notes what the connection waits for from now on.
    pub fn enter(&self, phase: Phase) {
        self.with(|inner| *inner = Inner { phase, since: Instant::now(), answered: false, ..*inner });
    }

    /// Notes that bytes of a request came.
    pub(super) fn read(&self) {
        if self.with(|inner| inner.phase == Phase::Idle) {
            self.enter(Phase::Head);
        }
    }

    /// Notes that the client took bytes of an answer.
    pub(super) fn written(&self) {
        self.with(|inner| inner.since = Instant::now());
    }

    /// Notes that the whole answer was handed to the connection.
    pub(super) fn answered(&self) {
        self.with(|inner| inner.answered = true);
    }

    /// Notes that all that was handed to the connection is out.
    pub(super) fn flushed(&self) {
        if self.with(|inner| inner.phase == Phase::Answer && inner.answered) {
            self.enter(Phase::Idle);
        }
    }

    /// Returns whether no request is being read in whole, worked on or answered.
    pub(super) fn is_waiting(&self) -> bool {
        self.with(|inner| matches!(inner.phase, Phase::Idle | Phase::Head))
    }

    /// Since when the connection could be given up for another one; `None` while there is work for it or it is being
    /// ended.
    pub(super) fn idle_since(&self, now: Instant) -> Option<Instant> {
        self.with(|inner| {
            let busy = inner.phase == Phase::Work
                || inner.phase == Phase::Answer && now.saturating_duration_since(inner.since) < FRESH_ANSWER;
            (!busy && inner.ending.is_none()).then_some(inner.since)
        })
    }

    /// Ends the connection where its client has taken too long.
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

    /// Completes when the connection is ended from outside.
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
