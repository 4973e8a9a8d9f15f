//! Publishes the market for quotes: prepared once per block, replaced without a lock.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use braid_audit::Doubtful;
use braid_ethereum::{Head, Phase, SyncStatus};
use braid_routing::Prepared;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::watch;

use crate::clock::{Clock, SystemClock};
use crate::directory::Directory;
use crate::measures::seconds;
use crate::problem::{Code, Problem};
use crate::solutions::Solutions;

/// A block's market with everything that its requests share. A request uses one from start to end.
#[derive(Debug)]
pub struct Published {
    /// The market, the fees of the next block, and the time of arrival.
    pub head: Arc<Head>,
    /// Prices, curves and adjacency that the solves of the block share.
    pub prepared: Prepared,
    /// Its pools that no quote uses until the EVM confirms them.
    pub doubtful: Doubtful,
    /// Solutions of the requests that were solved on it.
    pub(crate) solutions: Solutions,
    directory: OnceLock<Directory>,
}

impl Published {
    /// Returns a prepared market. `reused` counts requests whose solution was known.
    pub(crate) fn new(head: Arc<Head>, prepared: Prepared, reused: Counter) -> Self {
        let doubtful = Doubtful::of(&prepared);
        Self { head, prepared, doubtful, solutions: Solutions::counted(reused), directory: OnceLock::new() }
    }

    /// Returns the directory of the market's tokens, built at the first call.
    pub fn directory(&self) -> &Directory {
        self.directory.get_or_init(|| Directory::new(&self.prepared))
    }
}

/// The newest market, and the follower's status.
#[derive(Debug)]
pub struct MarketFeed {
    current: ArcSwapOption<Published>,
    status: watch::Receiver<SyncStatus>,
    /// Time from the signal of a block to its market being ready for quotes.
    pub ready_seconds: Histogram,
    /// Requests whose solution was known, since another one had asked for it on the same market.
    pub reused_solutions: Counter,
}

impl MarketFeed {
    /// Returns a feed without a market, with a follower's status.
    pub fn new(status: watch::Receiver<SyncStatus>) -> Self {
        Self { current: ArcSwapOption::empty(), status, ready_seconds: seconds(), reused_solutions: Counter::default() }
    }

    /// Prepares a market and replaces the one before. Takes milliseconds: call it on a thread for blocking work.
    pub fn publish(&self, head: Arc<Head>) {
        let (market, received_at) = (Arc::clone(&head.market), head.received_at);
        let before = self.current.load_full();
        let is_same_block = before.as_ref().is_some_and(|before| before.head.block().hash == head.block().hash);
        let prepared = match before {
            Some(before) => before.prepared.next(market),
            None => Prepared::new(market),
        };
        let published = Published::new(head, prepared, self.reused_solutions.clone());
        self.current.store(Some(Arc::new(published)));
        if !is_same_block {
            self.ready_seconds.observe(received_at.elapsed().as_secs_f64());
        }
    }

    /// Returns the newest market, whatever its age.
    pub fn latest(&self) -> Option<Arc<Published>> {
        self.current.load_full()
    }

    /// Returns the market's age. While the node answers, that is the time since its block arrived, also if the node
    /// announces no newer one. Once the node fails, it is the time since the node last confirmed the block as newest.
    pub fn age(&self, head: &Head) -> Duration {
        let status = self.status.borrow();
        let confirmed_at = status.checked_at.filter(|_| status.phase == Phase::Disconnected);
        confirmed_at.map_or(head.received_at, |at| at.max(head.received_at)).elapsed()
    }

    /// Returns the age of the market's block by its timestamp and this machine's clock; `None` for a local chain or a
    /// recorded market, whose timestamps do not follow the clock.
    pub fn block_age(&self, head: &Head) -> Option<Duration> {
        self.status.borrow().node_timestamp.map(|_| age_at(head.block().timestamp, SystemClock.now_s()))
    }

    /// Returns the follower's status.
    pub fn status(&self) -> SyncStatus {
        self.status.borrow().clone()
    }
}

/// Freshness of the market.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freshness {
    /// There is no market yet.
    Missing,
    /// Recent.
    Fresh,
    /// Old, still used for quotes.
    Aging,
    /// Too old for quotes.
    Stale,
}

/// Age of a block, by its timestamp and this machine's clock, from which its market is stale.
const STALE_BY_CLOCK_AFTER: Duration = Duration::from_secs(2 * 3_600);

/// Limits of a market's age. `degraded_after` counts from the block's arrival and from its timestamp, the others from the
/// arrival; see [`STALE_BY_CLOCK_AFTER`].
#[derive(Clone, Copy, Debug)]
pub struct MarketAges {
    /// Age from which the service is degraded.
    pub degraded_after: Duration,
    /// Age from which quotes are refused, although the node answers.
    pub stale_after: Duration,
    /// Age from which quotes are refused while the node does not answer.
    pub stale_without_node_after: Duration,
}

impl Default for MarketAges {
    fn default() -> Self {
        Self {
            degraded_after: Duration::from_secs(60),
            stale_after: Duration::from_secs(600),
            stale_without_node_after: Duration::from_secs(30),
        }
    }
}

/// The feed with age limits: readers get no stale market.
#[derive(Clone, Debug)]
pub struct Markets {
    /// Source of the markets.
    pub feed: Arc<MarketFeed>,
    /// Limits of their age.
    pub ages: MarketAges,
}

impl Markets {
    /// Returns the newest market, unless it is stale.
    ///
    /// # Errors
    /// `NOT_READY` before the first market, `MARKET_STALE` if it is too old.
    pub fn current(&self) -> Result<Arc<Published>, Problem> {
        let Some(published) = self.feed.latest() else {
            return Err(
                Problem::new(Code::NotReady, "the market is still being read: retry, or poll /ready").retry_after(2)
            );
        };
        if self.freshness() == Freshness::Stale {
            return Err(Problem::new(Code::MarketStale, self.staleness(&published.head)).retry_after(5));
        }
        Ok(published)
    }

    /// Returns the freshness of the newest market: the worse of that by arrival and that by the block's timestamp.
    pub fn freshness(&self) -> Freshness {
        let Some(published) = self.feed.latest() else { return Freshness::Missing };
        let lost = self.feed.status.borrow().phase == Phase::Disconnected;
        let by_arrival = judge(self.feed.age(&published.head), lost, &self.ages);
        let by_clock = self.feed.block_age(&published.head).map(|age| judge(age, false, &self.ages_by_clock()));
        by_clock.map_or(by_arrival, |by_clock| by_clock.max(by_arrival))
    }

    /// Returns the limits of the age by timestamp. A clock that is an hour off only degrades the service.
    fn ages_by_clock(&self) -> MarketAges {
        MarketAges { stale_after: self.ages.stale_after.max(STALE_BY_CLOCK_AFTER), ..self.ages }
    }

    /// Describes a stale market: its age, and whether the node's newest block is as old.
    fn staleness(&self, head: &Head) -> String {
        let (age, now_s) = (self.feed.age(head), SystemClock.now_s());
        let node_age = self.feed.status.borrow().node_timestamp.map(|timestamp| age_at(timestamp, now_s));
        let stale_after = self.ages_by_clock().stale_after;
        match (self.feed.block_age(head), node_age) {
            (Some(_), Some(node_age)) if node_age > stale_after => {
                format!(
                    "the node's newest block is {} old: the node is behind the chain, or a clock is wrong",
                    text(node_age)
                )
            }
            (Some(block_age), _) if block_age > stale_after => {
                format!("the market's block is {} old and the market is catching up", text(block_age))
            }
            _ => format!("the newest market is {} s old and the node announces no newer one: retry", age.as_secs()),
        }
    }
}

/// Returns the age of a timestamp; zero for one in the future.
const fn age_at(timestamp_s: u64, now_s: u64) -> Duration {
    Duration::from_secs(now_s.saturating_sub(timestamp_s))
}

/// Writes an age for people.
fn text(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..=119 => format!("{seconds} seconds"),
        seconds @ 120..=7_199 => format!("{} minutes", seconds / 60),
        seconds @ 7_200..=172_799 => format!("{} hours", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// Rates an age. The limit is tighter for a node that does not answer: it may hide any number of blocks.
fn judge(age: Duration, node_lost: bool, ages: &MarketAges) -> Freshness {
    let limit = if node_lost { ages.stale_without_node_after } else { ages.stale_after };
    match age {
        age if age > limit => Freshness::Stale,
        age if age > ages.degraded_after || node_lost => Freshness::Aging,
        _ => Freshness::Fresh,
    }
}

/// Publishes every head of a follower until the follower ends.
pub async fn follow(feed: Arc<MarketFeed>, mut heads: watch::Receiver<Option<Arc<Head>>>) {
    let mut was_old = false;
    loop {
        let head = heads.borrow_and_update().clone();
        if let Some(head) = head {
            let age = feed.block_age(&head).filter(|age| *age > MarketAges::default().degraded_after);
            if let Some(age) = age.filter(|_| !was_old) {
                let age = text(age);
                tracing::warn!(%age, "the newest block is old: the node is behind the chain, or this machine's clock is ahead");
            }
            was_old = age.is_some();
            let feed = Arc::clone(&feed);
            let work = tokio::task::spawn_blocking(move || feed.publish(head));
            if let Err(error) = work.await {
                tracing::error!(%error, "a market could not be prepared; quotes use the one before");
            }
        }
        if heads.changed().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_market_ages_from_the_last_answer_of_a_lost_node_and_from_the_last_block_of_a_stalled_one() {
        let now = std::time::Instant::now();
        let ago = |seconds| now.checked_sub(Duration::from_secs(seconds)).unwrap();
        let block = braid_primitives::Block {
            number: 1,
            hash: Default::default(),
            parent_hash: Default::default(),
            timestamp: 0,
            base_fee_per_gas_wei: 1,
            gas_used: 0,
            gas_limit: 1,
        };
        let market = Arc::new(braid_market::Market::empty(block, Arc::default()));
        let head = Head { market, fees: braid_ethereum::FeeData::new(&block, None), received_at: ago(40) };
        let age_s = |phase| {
            let status = SyncStatus { phase, checked_at: Some(ago(5)), ..SyncStatus::default() };
            MarketFeed::new(watch::channel(status).1).age(&head).as_secs()
        };
        assert!((5..40).contains(&age_s(Phase::Disconnected)), "time before the node was lost does not count");
        assert!(age_s(Phase::Following) >= 40);
    }

    /// Returns a feed whose market came just now, of a block of this age, and what the node says of its newest block.
    fn feed_of_a_block(age_s: u64, node_age_s: Option<u64>) -> Markets {
        let timestamp = |age_s: u64| SystemClock.now_s() - age_s;
        let block = crate::testing::block(timestamp(age_s));
        let status =
            SyncStatus { phase: Phase::Following, node_timestamp: node_age_s.map(timestamp), ..SyncStatus::default() };
        let feed = Arc::new(MarketFeed::new(watch::channel(status).1));
        let market = Arc::new(braid_market::Market::empty(block, Arc::default()));
        let fees = braid_ethereum::FeeData::new(&block, None);
        feed.publish(Arc::new(Head { market, fees, received_at: std::time::Instant::now() }));
        Markets { feed, ages: MarketAges::default() }
    }

    /// A node that is behind the chain gave blocks that were hours old, and quotes on them were answered as ready.
    #[test]
    fn a_block_that_came_just_now_and_is_old_by_the_clock_is_not_fresh() {
        let fresh = |age_s, node_age_s| feed_of_a_block(age_s, node_age_s).freshness();
        assert_eq!(fresh(15, Some(15)), Freshness::Fresh);
        assert_eq!(fresh(90, Some(90)), Freshness::Aging);
        assert_eq!(fresh(3_700, Some(3_700)), Freshness::Aging, "the clock may be wrong");
        assert_eq!(fresh(8_000, Some(8_000)), Freshness::Stale);
        let detail = |age_s, node_age_s| feed_of_a_block(age_s, node_age_s).current().unwrap_err().detail;
        assert!(detail(8_000, Some(8_000)).starts_with("the node's newest block is 2 hours old"));
        assert!(detail(9_000, Some(5)).starts_with("the market's block is 2 hours old"));
    }

    #[test]
    fn a_chain_whose_clock_may_be_anywhere_is_judged_by_the_arrival_of_its_blocks() {
        assert_eq!(feed_of_a_block(2_130, None).freshness(), Freshness::Fresh, "a local chain, or a recorded market");
        assert_eq!(age_at(u64::MAX, 1), Duration::ZERO, "a block of the future");
    }

    #[test]
    fn a_quiet_chain_is_not_a_lost_node() {
        let ages = MarketAges::default();
        let at = |seconds, lost| judge(Duration::from_secs(seconds), lost, &ages);
        assert_eq!(at(10, false), Freshness::Fresh);
        assert_eq!(at(61, false), Freshness::Aging);
        assert_eq!(at(601, false), Freshness::Stale);
        assert_eq!(at(10, true), Freshness::Aging);
        assert_eq!(at(31, true), Freshness::Stale);
    }
}
