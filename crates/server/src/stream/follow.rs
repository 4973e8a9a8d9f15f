//! The side without a node: the market is taken from a snapshot and then from the stream, entry by entry.

use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_audit::Audit;
use braid_ethereum::{CEILING_WEI, FeeData, Head, Phase, SyncStatus};
use braid_market::FileError;
use braid_store::replicas::stream::{Findings, MarketStream, StreamEntry, StreamError, StreamRead, StreamState};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::MissedTickBehavior;

/// How often the stream is looked at.
const EVERY: Duration = Duration::from_millis(100);

/// Pause before the market is taken whole once more.
const JOIN_PAUSE: Duration = Duration::from_secs(1);

/// Pause before another market is asked for again.
const ASKING_PAUSE: Duration = Duration::from_secs(30);

/// Before every entry.
const FIRST: &str = "0-0";

/// Follows the stream for as long as it is polled. What the publisher's audit found is taken over before each market.
pub async fn follow(
    stream: MarketStream,
    audit: Arc<Audit>,
    heads: watch::Sender<Option<Arc<Head>>>,
    status: watch::Sender<SyncStatus>,
) {
    let mut reader =
        Reader { stream, audit, heads, at: None, last_id: FIRST.into(), joined: false, adopted: None, asked_at: None };
    let mut ticks = tokio::time::interval(EVERY);
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
                Err(trouble) => {
                    status.phase = if head.is_some() { Phase::Disconnected } else { Phase::Connecting };
                    status.last_error = Some(trouble.to_string());
                }
            }
        });
        // what is not there, or is no market, is not there a moment later either
        if reader.at.is_none() && !matches!(step, Ok(()) | Err(Trouble::Server(_))) {
            tokio::time::sleep(JOIN_PAUSE).await;
        }
    }
}

/// Why the market may be out of date.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("the Redis server fails: {0}")]
    Server(#[from] StreamError),
    #[error("no service with a node publishes the market on this Redis server")]
    NobodyPublishes,
    #[error("the market is not there yet: the service that publishes it is about to write it")]
    NoSnapshot,
    #[error("the market on the Redis server is refused, another one is asked for: {0}")]
    Snapshot(FileError),
    #[error("entry {id} of the stream is refused, and the market taken whole once more: {error}")]
    Entry { id: String, error: FileError },
    #[error("entries of the stream are missing: the market is taken whole once more")]
    Gap,
    #[error("a thread ended: {0}")]
    Thread(#[from] tokio::task::JoinError),
}

struct Reader {
    stream: MarketStream,
    audit: Arc<Audit>,
    heads: watch::Sender<Option<Arc<Head>>>,
    /// Where we stand, and what we have there.
    at: Option<(String, StreamState)>,
    /// The id of the last entry that was looked at.
    last_id: String,
    /// Whether the market was taken whole a moment ago, and the stream's end was not reached since.
    joined: bool,
    /// What the audit has of it, and when another market was asked for.
    adopted: Option<Arc<Findings>>,
    asked_at: Option<Instant>,
}

impl Reader {
    async fn step(&mut self) -> Result<(), Trouble> {
        loop {
            let StreamRead { is_published, head, head_age, entries } = self.stream.read(&self.last_id).await?;
            if self.at.is_none() {
                // nobody knows how old it is, where nobody publishes
                if !is_published {
                    return Err(Trouble::NobodyPublishes);
                }
                self.join().await?;
                continue;
            }
            let is_end = entries.is_empty();
            for entry in entries {
                self.apply(entry).await?;
            }
            if !is_end {
                continue;
            }
            let Some((place, told)) = &self.at else { return Err(Trouble::Gap) };
            if *place != head {
                self.at = None;
                if !std::mem::take(&mut self.joined) {
                    // another service took over, or we were away for too long
                    continue;
                }
                // the snapshot leads nowhere, or entries went missing behind it
                self.drop_snapshot().await?;
                return Err(Trouble::Gap);
            }
            self.joined = false;
            if self.adopted.as_ref().is_none_or(|adopted| !Arc::ptr_eq(adopted, &told.findings)) {
                self.audit.adopt(&told.findings);
                self.adopted = Some(Arc::clone(&told.findings));
            }
            publish(told, head_age, &self.heads);
            return if is_published { Ok(()) } else { Err(Trouble::NobodyPublishes) };
        }
    }

    /// Takes the market whole.
    async fn join(&mut self) -> Result<(), Trouble> {
        let bytes = self.stream.snapshot().await?;
        if bytes.is_empty() {
            return Err(Trouble::NoSnapshot);
        }
        let read = spawn_blocking(move || StreamState::from_snapshot(&bytes)).await?;
        let (told, place) = match read {
            Ok(read) => read,
            Err(error) => {
                self.ask_for_another(&error).await?;
                return Err(Trouble::Snapshot(error));
            }
        };
        tracing::info!(
            block = told.market.block().number,
            pools = told.market.pools().len(),
            "the market was taken whole"
        );
        (self.at, self.last_id, self.joined) = (Some((place, told)), FIRST.into(), true);
        Ok(())
    }

    /// Applies an entry that leads on from where we stand; another one is older than that, or behind a gap.
    async fn apply(&mut self, StreamEntry { id, from, to, entry }: StreamEntry) -> Result<(), Trouble> {
        self.last_id.clone_from(&id);
        let Some((_, told)) = self.at.clone().filter(|(place, _)| *place == from) else { return Ok(()) };
        match spawn_blocking(move || told.after(&entry)).await? {
            Ok(next) => self.at = Some((to, next)),
            Err(error) => {
                self.at = None;
                self.ask_for_another(&error).await?;
                return Err(Trouble::Entry { id, error });
            }
        }
        Ok(())
    }

    /// Has the market written anew, behind what is damaged. What another version wrote would come again.
    async fn ask_for_another(&mut self, error: &FileError) -> Result<(), Trouble> {
        if !matches!(error, FileError::Version { .. }) {
            self.drop_snapshot().await?;
        }
        Ok(())
    }

    /// Has another snapshot written, and not again for a while: what we cannot read others may, and it costs them a
    /// whole market.
    async fn drop_snapshot(&mut self) -> Result<(), Trouble> {
        if self.asked_at.is_none_or(|at| at.elapsed() >= ASKING_PAUSE) {
            self.stream.drop_snapshot().await?;
            self.asked_at = Some(Instant::now());
        }
        Ok(())
    }
}

/// Makes a market the newest, unless it is.
fn publish(told: &StreamState, head_age: Duration, heads: &watch::Sender<Option<Arc<Head>>>) {
    let before = heads.borrow().clone();
    if before.as_ref().is_some_and(|head| Arc::ptr_eq(&head.market, &told.market)) {
        return;
    }
    let block = told.market.block();
    // a fuller market of the same block is no younger
    let same = before.filter(|head| head.block().hash == block.hash).map(|head| head.received_at);
    let now = Instant::now();
    let received_at = same.or_else(|| now.checked_sub(told.age.saturating_add(head_age))).unwrap_or(now);
    let fees = FeeData {
        next_base_fee_per_gas_wei: block.next_base_fee_per_gas_wei(),
        priority_fee_per_gas_wei: told.tips_wei.map(|tip| tip.min(CEILING_WEI)),
    };
    heads.send_replace(Some(Arc::new(Head { market: Arc::clone(&told.market), fees, received_at })));
}
