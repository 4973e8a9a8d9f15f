//! Follows the stream of markets, in a service without a node: loads a snapshot, and then applies the stream's entries.

use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_audit::Audit;
use braid_ethereum::{CEILING_WEI, FeeData, Head, Phase, SyncStatus};
use braid_market::FileError;
use braid_store::replicas::stream::{Findings, MarketStream, StreamEntry, StreamError, StreamRead, StreamState};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::MissedTickBehavior;

/// Time between two reads of the stream.
const READ_INTERVAL: Duration = Duration::from_millis(100);

/// Pause after a failed load of a snapshot.
const RELOAD_PAUSE: Duration = Duration::from_secs(1);

/// Least time between two requests for a new snapshot.
const SNAPSHOT_REQUEST_INTERVAL: Duration = Duration::from_secs(30);

/// Id before every entry.
const BEFORE_FIRST: &str = "0-0";

/// Follows the stream for as long as it is polled. Adopts the findings of the publisher's audit before each market.
pub async fn follow(
    stream: MarketStream,
    audit: Arc<Audit>,
    heads: watch::Sender<Option<Arc<Head>>>,
    status: watch::Sender<SyncStatus>,
) {
    let mut reader = Reader {
        stream,
        audit,
        heads,
        at: None,
        last_id: BEFORE_FIRST.into(),
        has_just_loaded: false,
        adopted: None,
        requested_at: None,
    };
    let mut ticks = tokio::time::interval(READ_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let step = reader.step().await;
        let head = reader.heads.borrow().clone();
        status.send_modify(|status| {
            if let Some(head) = &head {
                status.market_block = Some(head.block().number);
                (status.pools, status.tokens) = (head.market.pools().len(), head.market.tokens().len());
            }
            match &step {
                Ok(()) => {
                    status.phase = Phase::Following;
                    status.checked_at = Some(Instant::now());
                    status.last_error = None;
                }
                Err(failure) => {
                    status.phase = if head.is_some() { Phase::Disconnected } else { Phase::Connecting };
                    status.last_error = Some(failure.to_string());
                }
            }
        });
        // a missing or unreadable snapshot is not replaced at once
        if reader.at.is_none() && !matches!(step, Ok(()) | Err(Failure::Server(_))) {
            tokio::time::sleep(RELOAD_PAUSE).await;
        }
    }
}

/// A reason for which the market may be out of date.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the Redis server fails: {0}")]
    Server(#[from] StreamError),
    #[error("no service with a node publishes the market on this Redis server")]
    NobodyPublishes,
    #[error("the Redis server has no snapshot of the market yet: the publishing service is about to write it")]
    NoSnapshot,
    #[error("the snapshot of the market on the Redis server is refused, a new one is requested: {0}")]
    Snapshot(FileError),
    #[error("entry {id} of the stream is refused, the market is loaded from a snapshot again: {error}")]
    Entry { id: String, error: FileError },
    #[error("entries of the stream are missing: the market is loaded from a snapshot again")]
    Gap,
    #[error("a thread failed: {0}")]
    Thread(#[from] tokio::task::JoinError),
}

struct Reader {
    stream: MarketStream,
    audit: Arc<Audit>,
    heads: watch::Sender<Option<Arc<Head>>>,
    /// Place in the stream, and the state there.
    at: Option<(String, StreamState)>,
    /// Id of the last entry that was read.
    last_id: String,
    /// True from the load of a snapshot until the end of the stream is reached.
    has_just_loaded: bool,
    /// Findings that the audit has adopted.
    adopted: Option<Arc<Findings>>,
    /// Time of the last request for a new snapshot.
    requested_at: Option<Instant>,
}

impl Reader {
    async fn step(&mut self) -> Result<(), Failure> {
        loop {
            let StreamRead { is_published, head, head_age, entries } = self.stream.read(&self.last_id).await?;
            if self.at.is_none() {
                // without a publisher the snapshot's age is unknown
                if !is_published {
                    return Err(Failure::NobodyPublishes);
                }
                self.load_snapshot().await?;
                continue;
            }
            let is_end = entries.is_empty();
            for entry in entries {
                self.apply(entry).await?;
            }
            if !is_end {
                continue;
            }
            let Some((place, state)) = &self.at else { return Err(Failure::Gap) };
            if *place != head {
                self.at = None;
                if !std::mem::take(&mut self.has_just_loaded) {
                    // another service publishes now, or the stream dropped entries that this service had not read
                    continue;
                }
                // the snapshot does not connect to the stream's entries
                self.drop_snapshot().await?;
                return Err(Failure::Gap);
            }
            self.has_just_loaded = false;
            if self.adopted.as_ref().is_none_or(|adopted| !Arc::ptr_eq(adopted, &state.findings)) {
                self.audit.adopt(&state.findings);
                self.adopted = Some(Arc::clone(&state.findings));
            }
            publish(state, head_age, &self.heads);
            return if is_published { Ok(()) } else { Err(Failure::NobodyPublishes) };
        }
    }

    /// Loads the market from the snapshot.
    async fn load_snapshot(&mut self) -> Result<(), Failure> {
        let bytes = self.stream.snapshot().await?;
        if bytes.is_empty() {
            return Err(Failure::NoSnapshot);
        }
        let read = spawn_blocking(move || StreamState::from_snapshot(&bytes)).await?;
        let (state, place) = match read {
            Ok(read) => read,
            Err(error) => {
                self.request_snapshot_after(&error).await?;
                return Err(Failure::Snapshot(error));
            }
        };
        tracing::info!(
            block = state.market.block().number,
            pools = state.market.pools().len(),
            "loaded the market from a snapshot"
        );
        (self.at, self.last_id, self.has_just_loaded) = (Some((place, state)), BEFORE_FIRST.into(), true);
        Ok(())
    }

    /// Applies an entry that starts at the current place. Skips others: they are older, or after a gap.
    async fn apply(&mut self, StreamEntry { id, from, to, entry }: StreamEntry) -> Result<(), Failure> {
        self.last_id.clone_from(&id);
        let Some((_, state)) = self.at.clone().filter(|(place, _)| *place == from) else { return Ok(()) };
        match spawn_blocking(move || state.after(&entry)).await? {
            Ok(next) => self.at = Some((to, next)),
            Err(error) => {
                self.at = None;
                self.request_snapshot_after(&error).await?;
                return Err(Failure::Entry { id, error });
            }
        }
        Ok(())
    }

    /// Requests a new snapshot after damaged data. Not after data of another version: the publisher would write it again.
    async fn request_snapshot_after(&mut self, error: &FileError) -> Result<(), Failure> {
        if !matches!(error, FileError::Version { .. }) {
            self.drop_snapshot().await?;
        }
        Ok(())
    }

    /// Removes the snapshot, so that the publisher writes a new one. At most once per interval: other services may be able to
    /// read it, and writing one takes a whole market.
    async fn drop_snapshot(&mut self) -> Result<(), Failure> {
        if self.requested_at.is_none_or(|at| at.elapsed() >= SNAPSHOT_REQUEST_INTERVAL) {
            self.stream.drop_snapshot().await?;
            self.requested_at = Some(Instant::now());
        }
        Ok(())
    }
}

/// Publishes a market, unless it is the newest already.
fn publish(state: &StreamState, head_age: Duration, heads: &watch::Sender<Option<Arc<Head>>>) {
    let before = heads.borrow().clone();
    if before.as_ref().is_some_and(|head| Arc::ptr_eq(&head.market, &state.market)) {
        return;
    }
    let block = state.market.block();
    // a market of the same block keeps the time of arrival
    let same = before.filter(|head| head.block().hash == block.hash).map(|head| head.received_at);
    let now = Instant::now();
    let received_at = same.or_else(|| now.checked_sub(state.age.saturating_add(head_age))).unwrap_or(now);
    let fees = FeeData {
        next_base_fee_per_gas_wei: block.next_base_fee_per_gas_wei(),
        priority_fee_per_gas_wei: state.tips_wei.map(|tip| tip.min(CEILING_WEI)),
    };
    heads.send_replace(Some(Arc::new(Head { market: Arc::clone(&state.market), fees, received_at })));
}
