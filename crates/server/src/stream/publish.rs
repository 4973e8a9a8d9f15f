//! Publishes the market, in services with a node: the one that holds the lease appends each block's changes to the stream,
//! the others stand by.

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

/// Most unpublished blocks in memory.
const MAX_WAITING_BLOCKS: usize = 64;

/// Age of the newest market from which a service gives up the lease: another may have a node with newer blocks.
const STALLED_AFTER: Duration = Duration::from_secs(60);

/// Duration of the lease while a whole market is transferred.
const TRANSFER_LEASE: Duration = Duration::from_secs(60);

/// Entries between two snapshots. The stream keeps the entries since the last one.
const SNAPSHOT_INTERVAL: usize = ENTRIES_KEPT / 4;

/// Times of the lease.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time between two renewals.
    pub every: Duration,
    /// Duration without a renewal: the others wait as long for a service that fails.
    pub lease: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { every: Duration::from_secs(1), lease: Duration::from_secs(10) }
    }
}

/// Publishes a follower's market while this service holds the lease, until `stop` completes, and then releases the lease.
/// `publishes` is 1 while it holds the lease.
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
        published: None,
        attempts: 0,
        since_snapshot: 0,
        behind_block: None,
    };
    tokio::select! {
        () = stop => {}
        () = queue.fill(heads) => {}
        () = publisher.run(&queue, &status) => {}
    }
    publisher.publishes.set(0);
    if let Some(token) = &publisher.token {
        // without an answer of the server the lease expires
        let _ = publisher.stream.release(token).await;
    }
}

/// Unpublished markets, each of another block, oldest first.
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
        // a newer market of the same block replaces the older
        waiting.pop_back_if(|last| last.block().hash == head.block().hash);
        if waiting.len() == MAX_WAITING_BLOCKS {
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

    /// Removes a published market. Keeps the newest, which may have to be published again.
    fn remove(&self, head: &Arc<Head>) {
        let mut waiting = self.heads();
        if waiting.len() > 1 && waiting.front().is_some_and(|first| Arc::ptr_eq(first, head)) {
            waiting.pop_front();
        }
    }
}

/// A reason for which a market could not be published.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Server(#[from] StreamError),
    #[error(transparent)]
    Market(#[from] FileError),
    #[error("a thread failed")]
    Thread(#[from] tokio::task::JoinError),
}

struct Publisher {
    stream: MarketStream,
    /// Id of this run of the service.
    run: String,
    pace: Pace,
    audit: Arc<Audit>,
    /// Findings of the audit, with their versions.
    findings: ([u64; 3], Arc<Findings>),
    /// Metric: 1 while this service publishes.
    publishes: Gauge,
    /// Token of the lease, while this service holds it.
    token: Option<String>,
    /// Place of the newest entry, and the readers' state there.
    published: Option<(String, StreamState)>,
    attempts: u64,
    since_snapshot: usize,
    /// Block up to which another service published, once logged.
    behind_block: Option<u64>,
}

impl Publisher {
    async fn run(&mut self, queue: &Queue, status: &watch::Receiver<SyncStatus>) {
        let mut ticks = tokio::time::interval(self.pace.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last_error = None;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = queue.news.notified() => {}
            }
            // a service whose node fails lets the lease expire: another may have a working node
            let age = queue.heads().back().map(|head| head.received_at.elapsed());
            if status.borrow().phase != Phase::Following || age.is_none_or(|age| age >= STALLED_AFTER) {
                self.publishes.set(0);
                continue;
            }
            let failed = self.step(queue).await.err().map(|failure| failure.to_string());
            if let Some(error) = failed.as_ref().filter(|error| last_error.as_ref() != Some(*error)) {
                tracing::warn!(
                    error,
                    "the market cannot be published: services without a node keep the one that they have"
                );
            }
            // release the lease, so that readers know that their market may not be the newest
            if let Some(token) = self.token.take_if(|_| failed.is_some()) {
                let _ = self.stream.release(&token).await;
            }
            self.publishes.set(self.token.is_some().into());
            if failed.is_none() && last_error.is_some() {
                tracing::info!("the market is published again");
            }
            last_error = failed;
        }
    }

    /// Renews the lease, and publishes all waiting markets.
    async fn step(&mut self, queue: &Queue) -> Result<(), Failure> {
        let (token, head, has_snapshot) = match self.stream.hold(&self.run, self.pace.lease).await? {
            Lease::Ours { token, head, has_snapshot } => (token, head, has_snapshot),
            held => {
                queue.keep_newest();
                match (self.token.take(), held) {
                    (Some(_), Lease::Unwanted) => {
                        tracing::info!("no service without a node reads the market: publishing stopped")
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
        // another service published, or the server lost its data
        if self.published.as_ref().map(|(place, _)| place) != head.as_ref().map(|head| &head.place) {
            self.published = None;
        }
        if self.published.is_none() {
            // publish the newest market whole: earlier ones are skipped
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
        let needs_snapshot = self.published.is_some() && !has_snapshot;
        if self.publish_all(queue, &token, others.map(|others| others.number)).await?
            && (needs_snapshot || self.since_snapshot >= SNAPSHOT_INTERVAL)
        {
            self.write_snapshot(&token).await?;
        }
        Ok(())
    }

    /// Publishes waiting markets, oldest first. Returns `false` if one must wait for the next step. Another service published
    /// up to the block `others`.
    async fn publish_all(&mut self, queue: &Queue, token: &str, others: Option<u64>) -> Result<bool, Failure> {
        loop {
            let Some(head) = queue.heads().front().cloned() else { return Ok(true) };
            let ours = head.block().number;
            if let Some(theirs) = others.filter(|others| self.published.is_none() && ours <= *others) {
                if self.behind_block.replace(theirs) != Some(theirs) {
                    tracing::info!(
                        theirs,
                        ours,
                        "another service published this block or a later one: waiting for the next"
                    );
                }
            } else {
                match self.publish_one(token, &head).await? {
                    Appended::Done => {}
                    Appended::Parted if self.published.take().is_some() => {
                        queue.keep_newest();
                        continue;
                    }
                    Appended::Parted | Appended::Behind => return Ok(false),
                    Appended::Lost => {
                        tracing::warn!("the lease expired before the market was published: retrying");
                        return Ok(false);
                    }
                }
            }
            if queue.heads().len() <= 1 {
                return Ok(true);
            }
            queue.remove(&head);
        }
    }

    /// Writes a snapshot of the market, for services that start to follow.
    async fn write_snapshot(&mut self, token: &str) -> Result<(), Failure> {
        let Some((place, state)) = self.published.clone() else { return Ok(()) };
        self.stream.hold(&self.run, TRANSFER_LEASE.max(self.pace.lease)).await?;
        let snapshot = spawn_blocking(move || state.to_snapshot(place)).await??;
        if self.stream.save_snapshot(token, &snapshot).await? {
            self.since_snapshot = 0;
        }
        Ok(())
    }

    /// Takes over the findings of the previous publisher: its excluded pools stay excluded until they are checked again, and
    /// its verified tokens need no new check.
    async fn inherit(&mut self) -> Result<(), Failure> {
        self.stream.hold(&self.run, TRANSFER_LEASE.max(self.pace.lease)).await?;
        let bytes = self.stream.snapshot().await?;
        let (mut state, mut place) = match spawn_blocking(move || StreamState::from_snapshot(&bytes)).await? {
            Ok(whole) => whole,
            Err(error) => {
                tracing::warn!(%error, "the findings of the previous publisher cannot be read: pools and tokens are checked again");
                return Ok(());
            }
        };
        let mut last_id = "0-0".to_owned();
        'stream: loop {
            let entries = self.stream.read(&last_id).await?.entries;
            let Some(last) = entries.last() else { break };
            last_id.clone_from(&last.id);
            for StreamEntry { from, to, entry, .. } in entries {
                if from != place {
                    continue;
                }
                let before = state.clone();
                match spawn_blocking(move || before.after(&entry)).await? {
                    Ok(next) => (state, place) = (next, to),
                    // Keeps what came before: no later entry follows from it.
                    Err(_) => break 'stream,
                }
            }
        }
        self.audit.inherit(&state.findings);
        Ok(())
    }

    /// Appends the changes that lead to a market, unless it is published already.
    async fn publish_one(&mut self, token: &str, head: &Arc<Head>) -> Result<Appended, Failure> {
        let (market, tips) = (Arc::clone(&head.market), head.fees.priority_fee_per_gas_wei);
        let age = head.received_at.elapsed();
        let findings = Arc::clone(&self.findings.1);
        self.attempts += 1;
        let place = format!("{}:{}", self.run, self.attempts);
        let number = market.block().number;
        if let Some((from, state)) = self.published.clone() {
            if Arc::ptr_eq(&state.market, &market) && Arc::ptr_eq(&state.findings, &findings) {
                return Ok(Appended::Done);
            }
            let (next, entry) = match spawn_blocking(move || state.next(market, tips, findings, age)).await? {
                // too large for an entry: publish the market whole
                Err(FileError::TooLarge { .. }) => return Ok(Appended::Parted),
                made => made?,
            };
            let appended = self.stream.append(token, &from, (&place, number), &entry, &[]).await?;
            if appended == Appended::Done {
                self.published = Some((place, next));
                self.since_snapshot += 1;
            }
            return Ok(appended);
        }
        self.stream.hold(&self.run, TRANSFER_LEASE.max(self.pace.lease)).await?;
        let at = place.clone();
        let whole = move || {
            let state = StreamState::new(market, tips, findings, age)?;
            let snapshot = state.to_snapshot(at)?;
            Ok::<_, FileError>((state, snapshot))
        };
        let (state, snapshot) = spawn_blocking(whole).await??;
        let appended = self.stream.append(token, "", (&place, number), &[], &snapshot).await?;
        if appended == Appended::Done {
            self.published = Some((place, state));
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
        queue.remove(&first);
        queue.remove(&first);
        assert!(Arc::ptr_eq(queue.heads().front().unwrap(), &fuller) && numbers() == [2, 3]);
        queue.remove(&fuller);
        let last = queue.heads().front().cloned().unwrap();
        queue.remove(&last);
        assert_eq!(numbers(), [3], "the newest may have to be published again");
        (4..100).for_each(|number| queue.push(head(number)));
        assert_eq!((numbers().len(), numbers()[0]), (MAX_WAITING_BLOCKS, 36));
    }
}
