//! The side that follows a node: the service that holds the lease tells what each block changes, the others stand by.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use braid_audit::Audit;
use braid_ethereum::{Head, Phase, SyncStatus};
use braid_market::FileError;
use braid_store::replicas::stream::{
    Appended, ENTRIES_KEPT, Findings, Lease, MarketStream, StreamEntry, StreamError, StreamState,
};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::MissedTickBehavior;

/// Blocks that are told one by one after a pause, or by a service that takes over.
const BLOCKS_WAITING: usize = 64;

/// Age of the newest market from which a service does not hold the lease: another may have a node that does not stand
/// still.
const STANDING_STILL: Duration = Duration::from_secs(60);

/// How long the lease lasts while a whole market goes over.
const LONG_LEASE: Duration = Duration::from_secs(60);

/// Entries between two snapshots. Whoever joins finds what came since in the stream.
const SNAPSHOT_EVERY: usize = ENTRIES_KEPT / 4;

/// How often the server is talked to while nothing happens, and how long a service that fell silent keeps the others
/// waiting.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two renewals of the lease.
    pub every: Duration,
    /// How long the lease lasts without one.
    pub lease: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { every: Duration::from_secs(1), lease: Duration::from_secs(10) }
    }
}

/// Publishes a follower's market whenever this service has the lease, until `stop` completes; then gives the lease
/// back. `publishes` is 1 meanwhile.
pub async fn publish(
    stream: MarketStream,
    heads: watch::Receiver<Option<Arc<Head>>>,
    status: watch::Receiver<SyncStatus>,
    audit: Arc<Audit>,
    pace: Pace,
    publishes: Gauge,
    stop: impl Future<Output = ()>,
) {
    let queue = Queue::default();
    let run = uuid::Uuid::now_v7().simple().to_string();
    let findings = (audit.versions(), Arc::new(audit.findings()));
    let mut publisher = Publisher {
        stream,
        run,
        pace,
        audit,
        findings,
        publishes,
        token: None,
        told: None,
        attempts: 0,
        since_snapshot: 0,
        waits_behind: None,
    };
    tokio::select! {
        () = stop => {}
        () = queue.fill(heads) => {}
        () = publisher.run(&queue, &status) => {}
    }
    publisher.publishes.set(0);
    if let Some(token) = &publisher.token {
        // where the server does not answer the lease ends by itself
        let _ = publisher.stream.release(token).await;
    }
}

/// Markets that are not told yet, each of another block.
#[derive(Default)]
struct Queue {
    heads: Mutex<VecDeque<Arc<Head>>>,
    news: Notify,
}

impl Queue {
    fn heads(&self) -> MutexGuard<'_, VecDeque<Arc<Head>>> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fill(&self, mut heads: watch::Receiver<Option<Arc<Head>>>) {
        loop {
            let head = heads.borrow_and_update().clone();
            if let Some(head) = head {
                self.push(head);
                self.news.notify_one();
            }
            if heads.changed().await.is_err() {
                return;
            }
        }
    }

    fn push(&self, head: Arc<Head>) {
        let mut waiting = self.heads();
        // of one block the fullest market counts
        waiting.pop_back_if(|last| last.block().hash == head.block().hash);
        if waiting.len() == BLOCKS_WAITING {
            waiting.pop_front();
        }
        waiting.push_back(head);
    }

    /// Drops all markets but the newest.
    fn keep_newest(&self) {
        let mut waiting = self.heads();
        let all_but_one = waiting.len().saturating_sub(1);
        waiting.drain(..all_but_one);
    }

    /// Takes a market out that was told or need not be; the newest stays, in case that it must be told anew.
    fn done_with(&self, head: &Arc<Head>) {
        let mut waiting = self.heads();
        if waiting.len() > 1 && waiting.front().is_some_and(|first| Arc::ptr_eq(first, head)) {
            waiting.pop_front();
        }
    }
}

/// Why something could not be told.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Server(#[from] StreamError),
    #[error(transparent)]
    Market(#[from] FileError),
    #[error("its thread ended")]
    Thread(#[from] tokio::task::JoinError),
}

struct Publisher {
    stream: MarketStream,
    /// What names this service from its start to its end.
    run: String,
    pace: Pace,
    audit: Arc<Audit>,
    /// What the audit found, and the versions of it.
    findings: ([u64; 3], Arc<Findings>),
    /// Whether this service publishes, as a metric.
    publishes: Gauge,
    /// The lease, while it is ours.
    token: Option<String>,
    /// The place of the newest entry, and what everybody has there.
    told: Option<(String, StreamState)>,
    attempts: u64,
    since_snapshot: usize,
    /// The block up to which another service told everything, once that was said in the log.
    waits_behind: Option<u64>,
}

impl Publisher {
    async fn run(&mut self, queue: &Queue, status: &watch::Receiver<SyncStatus>) {
        let mut ticks = tokio::time::interval(self.pace.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut trouble = None;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = queue.news.notified() => {}
            }
            // a service whose node fails lets the lease end: another may have one that answers
            let age = queue.heads().back().map(|head| head.received_at.elapsed());
            if status.borrow().phase != Phase::Following || age.is_none_or(|age| age >= STANDING_STILL) {
                self.publishes.set(0);
                continue;
            }
            let failed = self.step(queue).await.err().map(|failure| failure.to_string());
            if let Some(error) = failed.as_ref().filter(|error| trouble.as_ref() != Some(*error)) {
                tracing::warn!(
                    error,
                    "the market cannot be published: services that follow no node keep the one that they have"
                );
            }
            // whoever reads must not take an older market for the newest
            if let Some(token) = self.token.take_if(|_| failed.is_some()) {
                let _ = self.stream.release(&token).await;
            }
            self.publishes.set(self.token.is_some().into());
            if failed.is_none() && trouble.is_some() {
                tracing::info!("the market is published again");
            }
            trouble = failed;
        }
    }

    /// Holds the lease, and tells all that waits.
    async fn step(&mut self, queue: &Queue) -> Result<(), Failure> {
        let (token, head, has_snapshot) = match self.stream.hold(&self.run, self.pace.lease).await? {
            Lease::Ours { token, head, has_snapshot } => (token, head, has_snapshot),
            held => {
                queue.keep_newest();
                match (self.token.take(), held) {
                    (Some(_), Lease::Unwanted) => {
                        tracing::info!("no service without a node reads the market: it is published no more")
                    }
                    (Some(_), _) => tracing::warn!("another service publishes the market now"),
                    (None, _) => {}
                }
                return Ok(());
            }
        };
        let is_new = self.token.as_ref() != Some(&token);
        if is_new {
            tracing::info!(lease = token, "this service publishes the market");
            self.token = Some(token.clone());
        }
        // somebody else told something, or the server lost its memory
        if self.told.as_ref().map(|(place, _)| place) != head.as_ref().map(|head| &head.place) {
            self.told = None;
        }
        if self.told.is_none() {
            // a market told whole is the newest: what was missed until then is told by nobody
            queue.keep_newest();
        }
        let others = head.filter(|head| !head.place.starts_with(&self.run));
        if is_new && others.is_some() && self.audit.is_on() {
            self.inherit().await?;
        }
        let versions = self.audit.versions();
        if versions != self.findings.0 {
            self.findings = (versions, Arc::new(self.audit.findings()));
        }
        let needs_snapshot = self.told.is_some() && !has_snapshot;
        if self.tell_all(queue, &token, others.map(|others| others.number)).await?
            && (needs_snapshot || self.since_snapshot >= SNAPSHOT_EVERY)
        {
            self.write_snapshot(&token).await?;
        }
        Ok(())
    }

    /// Tells what waits, oldest first; `false` where something must wait for the next step. Up to the block `others`,
    /// another service told everything.
    async fn tell_all(&mut self, queue: &Queue, token: &str, others: Option<u64>) -> Result<bool, Failure> {
        loop {
            let Some(head) = queue.heads().front().cloned() else { return Ok(true) };
            let ours = head.block().number;
            if let Some(theirs) = others.filter(|others| self.told.is_none() && ours <= *others) {
                if self.waits_behind.replace(theirs) != Some(theirs) {
                    tracing::info!(
                        theirs,
                        ours,
                        "another service published this block or a later one: waiting for the next"
                    );
                }
            } else {
                match self.tell(token, &head).await? {
                    Appended::Done => {}
                    Appended::Parted if self.told.take().is_some() => {
                        queue.keep_newest();
                        continue;
                    }
                    Appended::Parted | Appended::Behind => return Ok(false),
                    Appended::Lost => {
                        tracing::warn!("the lease ended before the market was told: it is tried again");
                        return Ok(false);
                    }
                }
            }
            if queue.heads().len() <= 1 {
                return Ok(true);
            }
            queue.done_with(&head);
        }
    }

    /// Writes the market whole, for services that join.
    async fn write_snapshot(&mut self, token: &str) -> Result<(), Failure> {
        let Some((place, told)) = self.told.clone() else { return Ok(()) };
        self.stream.hold(&self.run, LONG_LEASE.max(self.pace.lease)).await?;
        let snapshot = spawn_blocking(move || told.to_snapshot(place)).await??;
        if self.stream.save_snapshot(token, &snapshot).await? {
            self.since_snapshot = 0;
        }
        Ok(())
    }

    /// Takes over what the service before found: pools that it kept out stay out until they were checked again, and
    /// tokens that it checked need not be checked anew before anybody quotes.
    async fn inherit(&mut self) -> Result<(), Failure> {
        self.stream.hold(&self.run, LONG_LEASE.max(self.pace.lease)).await?;
        let bytes = self.stream.snapshot().await?;
        let (mut told, mut place) = match spawn_blocking(move || StreamState::from_snapshot(&bytes)).await? {
            Ok(whole) => whole,
            Err(error) => {
                tracing::warn!(%error, "what the service before found cannot be read: pools and tokens are checked anew");
                return Ok(());
            }
        };
        let mut last_id = "0-0".to_owned();
        loop {
            let entries = self.stream.read(&last_id).await?.entries;
            let Some(last) = entries.last() else { break };
            last_id.clone_from(&last.id);
            for StreamEntry { from, to, entry, .. } in entries {
                if from != place {
                    continue;
                }
                let before = told.clone();
                match spawn_blocking(move || before.after(&entry)).await? {
                    Ok(next) => (told, place) = (next, to),
                    Err(_) => break,
                }
            }
        }
        self.audit.inherit(&told.findings);
        Ok(())
    }

    /// Appends what leads to a market, unless everybody has it.
    async fn tell(&mut self, token: &str, head: &Arc<Head>) -> Result<Appended, Failure> {
        let (market, tips) = (Arc::clone(&head.market), head.fees.priority_fee_per_gas_wei);
        let age = head.received_at.elapsed();
        let findings = Arc::clone(&self.findings.1);
        self.attempts += 1;
        let place = format!("{}:{}", self.run, self.attempts);
        let number = market.block().number;
        if let Some((from, told)) = self.told.clone() {
            if Arc::ptr_eq(&told.market, &market) && Arc::ptr_eq(&told.findings, &findings) {
                return Ok(Appended::Done);
            }
            let (next, entry) = match spawn_blocking(move || told.next(market, tips, findings, age)).await? {
                // too much for an entry, not for a market
                Err(FileError::TooLarge { .. }) => return Ok(Appended::Parted),
                made => made?,
            };
            let appended = self.stream.append(token, &from, (&place, number), &entry, &[]).await?;
            if appended == Appended::Done {
                self.told = Some((place, next));
                self.since_snapshot += 1;
            }
            return Ok(appended);
        }
        self.stream.hold(&self.run, LONG_LEASE.max(self.pace.lease)).await?;
        let at = place.clone();
        let whole = move || {
            let told = StreamState::new(market, tips, findings, age)?;
            let snapshot = told.to_snapshot(at)?;
            Ok::<_, FileError>((told, snapshot))
        };
        let (told, snapshot) = spawn_blocking(whole).await??;
        let appended = self.stream.append(token, "", (&place, number), &[], &snapshot).await?;
        if appended == Appended::Done {
            self.told = Some((place, told));
            self.since_snapshot = 0;
        }
        Ok(appended)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use braid_ethereum::FeeData;
    use braid_market::Market;
    use braid_primitives::{B256, Block};

    use super::*;

    fn head(number: u64) -> Arc<Head> {
        let block = Block {
            number,
            hash: B256::left_padding_from(&number.to_be_bytes()),
            parent_hash: B256::ZERO,
            timestamp: 0,
            base_fee_per_gas_wei: 1,
            gas_used: 0,
            gas_limit: 1,
        };
        let market = Arc::new(Market::empty(block, Arc::default()));
        Arc::new(Head { market, fees: FeeData::new(&block, None), received_at: Instant::now() })
    }

    #[test]
    fn blocks_wait_in_order_the_newest_stays_and_the_oldest_go_first() {
        let queue = Queue::default();
        let numbers = || queue.heads().iter().map(|head| head.block().number).collect::<Vec<_>>();
        let fuller = head(2);
        [head(1), head(2), Arc::clone(&fuller), head(3)].into_iter().for_each(|head| queue.push(head));
        assert_eq!(numbers(), [1, 2, 3]);
        let first = queue.heads().front().cloned().unwrap();
        queue.done_with(&first);
        queue.done_with(&first);
        assert!(Arc::ptr_eq(queue.heads().front().unwrap(), &fuller) && numbers() == [2, 3]);
        queue.done_with(&fuller);
        let last = queue.heads().front().cloned().unwrap();
        queue.done_with(&last);
        assert_eq!(numbers(), [3], "the newest may have to be told anew");
        (4..100).for_each(|number| queue.push(head(number)));
        assert_eq!((numbers().len(), numbers()[0]), (BLOCKS_WAITING, 36));
    }
}
