//! Shares quotes, call counts, API keys and the [`stream`] of markets among services, through a Redis-compatible
//! server.
//!
//! No service depends on the server: each has its own disk, limits and copy of the keys, and goes on with them while
//! the server fails. A server that does not answer within [`PATIENCE`] is not asked again for [`PAUSE`], so that
//! requests are not slowed down. It counts as failing until an answer comes within [`PATIENCE`], whoever waits longer.

mod calls;
mod keys;
mod quotes;
pub mod stream;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionManager as Connection, ConnectionManagerConfig};
use redis::{Client, ErrorKind, RedisError, RedisResult};

pub use calls::{CallLimits, CallsLeft};
pub use keys::SharedKeys;

/// Longest wait for an answer while a request waits.
const PATIENCE: Duration = Duration::from_millis(100);

/// Time for which a server that failed is not asked.
const PAUSE: Duration = Duration::from_secs(1);

/// Longest wait for the first connection.
const CONNECT: Duration = Duration::from_secs(2);

/// Reason of a failure without an answer.
const NO_ANSWER: &str = "it does not answer in time";

/// A connection to the server, which clones share.
#[derive(Clone)]
pub struct Replicas {
    connection: Connection,
    /// Longest wait for an answer while a request waits.
    patience: Duration,
    started: Instant,
    /// When the server is asked again, in milliseconds since the start; 0 while it answers.
    paused_until_ms: Arc<AtomicU64>,
}

impl fmt::Debug for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Replicas")
    }
}

/// Why the server cannot be used. Shows nothing of the URL, which may hold a password.
#[derive(Debug, thiserror::Error)]
#[error("the Redis server cannot be used ({0}): start it, name another one with --redis, or leave the option out")]
pub struct NoRedis(String);

/// The server does not answer, or failed a moment ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Redis server does not answer")]
pub struct NoAnswer;

impl From<RedisError> for NoRedis {
    fn from(error: RedisError) -> Self {
        // what the system or TLS says, such as a certificate that nobody vouches for; it knows no URL
        let cause = std::error::Error::source(&error).filter(|_| error.is_io_error());
        let code = error.code().map(|code| format!(" ({code})"));
        let detail = cause.map(|cause| format!(": {cause}")).or(code).unwrap_or_default();
        Self(error.category().to_owned() + &detail)
    }
}

impl Replicas {
    /// Connects to a server: `redis://[:password@]host[:port][/db]`, `rediss://` for TLS, `redis+unix://path`. One that does
    /// not answer is logged, counts as failing, and is asked again later.
    ///
    /// # Errors
    /// [`NoRedis`] when the URL is invalid, or the server refuses, for instance the password.
    pub async fn open(url: &str) -> Result<Self, NoRedis> {
        let replicas = Self::lazy(url, PATIENCE)?;
        match tokio::time::timeout(CONNECT, replicas.ping()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if is_refusal(&error) => return Err(error.into()),
            Ok(Err(error)) => replicas.note_failure(&NoRedis::from(error).0),
            Err(_) => replicas.note_failure(NO_ANSWER),
        }
        Ok(replicas)
    }

    /// Connects to a server that must answer.
    ///
    /// # Errors
    /// [`NoRedis`] when the URL is invalid, or the server does not answer.
    pub async fn connect(url: &str) -> Result<Self, NoRedis> {
        Self::connect_with(url, PATIENCE).await
    }

    /// As [`Self::connect`], with another wait for answers than a tenth of a second.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_with(url: &str, patience: Duration) -> Result<Self, NoRedis> {
        let replicas = Self::lazy(url, patience)?;
        let answered = tokio::time::timeout(CONNECT.max(patience), replicas.ping()).await;
        answered.map_err(|_| NoRedis(NO_ANSWER.into()))??;
        Ok(replicas)
    }

    /// Names a server; the connection is made on first use.
    fn lazy(url: &str, patience: Duration) -> Result<Self, NoRedis> {
        let client = Client::open(url)?;
        let config = ConnectionManagerConfig::new()
            // Each request has its own timeout.
            .set_response_timeout(None)
            .set_connection_timeout(Some(patience))
            .set_number_of_retries(1);
        let connection = Connection::new_lazy_with_config(client, config)?;
        Ok(Self { connection, patience, started: Instant::now(), paused_until_ms: Default::default() })
    }

    async fn ping(&self) -> RedisResult<()> {
        redis::cmd("PING").query_async(&mut self.connection.clone()).await
    }

    /// Returns whether the server answered when it was last asked, in time for a request.
    pub fn is_healthy(&self) -> bool {
        self.paused_until_ms.load(Ordering::Relaxed) == 0
    }

    /// Asks the server while a request waits, unless it failed a moment ago. `None` when it does not answer.
    async fn ask<T>(&self, question: impl AsyncFnOnce(Connection) -> RedisResult<T>) -> Option<T> {
        if self.now_ms() < self.paused_until_ms.load(Ordering::Relaxed) {
            return None;
        }
        self.ask_within(self.patience, question).await
    }

    /// Asks the server, even if it failed a moment ago. `None` when it does not answer within that time.
    async fn ask_within<T>(
        &self,
        patience: Duration,
        question: impl AsyncFnOnce(Connection) -> RedisResult<T>,
    ) -> Option<T> {
        // Bounded here too, since a connection that is being made again waits longer.
        let asked = Instant::now();
        let error = match tokio::time::timeout(patience, question(self.connection.clone())).await {
            Ok(Ok(answer)) if asked.elapsed() > self.patience => {
                self.note_failure(NO_ANSWER);
                return Some(answer);
            }
            Ok(Ok(answer)) => {
                if self.paused_until_ms.swap(0, Ordering::Relaxed) > 0 {
                    tracing::info!("the Redis server answers again");
                }
                return Some(answer);
            }
            Ok(Err(error)) => NoRedis::from(error).0,
            Err(_) => NO_ANSWER.into(),
        };
        self.note_failure(&error);
        None
    }

    /// Pauses requests, and logs the first failure.
    fn note_failure(&self, error: &str) {
        let until_ms = self.now_ms().saturating_add(u64::try_from(PAUSE.as_millis()).unwrap_or(0));
        if self.paused_until_ms.swap(until_ms, Ordering::Relaxed) == 0 {
            tracing::warn!(
                error,
                "the Redis server does not answer: quotes, limits and keys are not shared until it does"
            );
        }
    }

    /// Returns the milliseconds since the start, at least 1.
    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }
}

/// Returns whether a server refuses for good, unlike one that is not there or still loads its data.
fn is_refusal(error: &RedisError) -> bool {
    !matches!(error.kind(), ErrorKind::Io | ErrorKind::Server(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_refused_connection_says_why_and_shows_no_password() {
        let error = Replicas::connect("redis://:secret@127.0.0.1:1/").await.unwrap_err().to_string();
        assert!(error.contains("Connection refused") && !error.contains("secret"), "{error}");
    }
}
