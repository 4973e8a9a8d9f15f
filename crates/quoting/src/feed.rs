//! The market that quotes are answered on: prepared once per block, swapped without a lock.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use braid_audit::Doubtful;
use braid_ethereum::{Head, Phase, SyncStatus};
use braid_routing::Prepared;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::watch;

use crate::clock::{Clock, SystemClock};
use crate::directory::Directory;
use crate::measures::seconds;
use crate::problem::{Code, Problem};

/// A block's market with all that its requests share. A request holds one from start to end.
#[derive(Debug)]
pub struct Published {
    /// The market, the fees after it and when it came.
    pub head: Arc<Head>,
    /// What the solver shares between the requests of the block.
    pub prepared: Prepared,
    /// Its pools that no quote uses before the EVM agreed.
    pub doubtful: Doubtful,
    directory: OnceLock<Directory>,
}

impl Published {
    /// Returns a market that is ready for requests.
    pub fn new(head: Arc<Head>, prepared: Prepared) -> Self {
        let doubtful = Doubtful::of(&prepared);
        Self { head, prepared, doubtful, directory: OnceLock::new() }
    }

    /// Returns the market's tokens as people look for them; made when first asked for.
    pub fn directory(&self) -> &Directory {
        self.directory.get_or_init(|| Directory::new(&self.prepared))
    }
}

/// The newest market, and where the follower stands.
#[derive(Debug)]
pub struct MarketFeed {
    current: ArcSwapOption<Published>,
    status: watch::Receiver<SyncStatus>,
    /// Time from the signal of a block to its market being ready for quotes.
    pub ready_seconds: Histogram,
}

impl MarketFeed {
    /// Returns a feed without a market, next to a follower's status.
    pub fn new(status: watch::Receiver<SyncStatus>) -> Self {
        Self { current: ArcSwapOption::empty(), status, ready_seconds: seconds() }
    }

    /// Prepares a market and puts it in place of the one before. Takes milliseconds: call it where blocking is fine.
    pub fn publish(&self, head: Arc<Head>) {
        let (market, received_at) = (Arc::clone(&head.market), head.received_at);
        let before = self.current.load_full();
        let is_fuller = before.as_ref().is_some_and(|before| before.head.block().hash == head.block().hash);
        let prepared = match before {
            Some(before) => before.prepared.next(market),
            None => Prepared::new(market),
        };
        self.current.store(Some(Arc::new(Published::new(head, prepared))));
        if !is_fuller {
            self.ready_seconds.observe(received_at.elapsed().as_secs_f64());
        }
    }

    /// Returns the newest market, whatever its age.
    pub fn latest(&self) -> Option<Arc<Published>> {
        self.current.load_full()
    }

    /// Returns how old the market is. While the node answers, the time since its block came: a node that stands still
    /// is no excuse. Once it does not, the time since it last confirmed that there was nothing newer: what came later
    /// is what may be missing.
    pub fn age(&self, head: &Head) -> Duration {
        let status = self.status.borrow();
        let confirmed_at = status.checked_at.filter(|_| status.phase == Phase::Disconnected);
        confirmed_at.map_or(head.received_at, |at| at.max(head.received_at)).elapsed()
    }

    /// Returns how old the market's block is by this machine's clock; `None` where no node of a chain that keeps to the
    /// clock is followed: a local chain, a recorded market.
    pub fn block_age(&self, head: &Head) -> Option<Duration> {
        self.status.borrow().node_timestamp.map(|_| age_at(head.block().timestamp, SystemClock.now_s()))
    }

    /// Returns where the follower stands.
    pub fn status(&self) -> SyncStatus {
        self.status.borrow().clone()
    }
}

/// How fresh the market is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freshness {
    /// There is no market yet.
    Missing,
    /// As it should be.
    Fresh,
    /// Older than it should be, still good to quote on.
    Aging,
    /// Too old to quote on.
    Stale,
}

/// Age of a block, by its timestamp and this machine's clock, from which its market is stale.
const STALE_BY_CLOCK_AFTER: Duration = Duration::from_secs(2 * 3_600);

/// The ages from which a market is no longer what it should be. The first counts from when its block came and from the
/// block's timestamp, the others from when it came; see [`STALE_BY_CLOCK_AFTER`].
#[derive(Clone, Copy, Debug)]
pub struct MarketAges {
    /// Age without a new block from which the service says that it is degraded.
    pub degraded_after: Duration,
    /// Age without a new block from which quotes are refused, although the node answers.
    pub stale_after: Duration,
    /// Age of the market from which quotes are refused when the node does not answer.
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

/// The feed as its readers see it, who take no market that is too old.
#[derive(Clone, Debug)]
pub struct Markets {
    /// Where the markets come from.
    pub feed: Arc<MarketFeed>,
    /// How old they may be.
    pub ages: MarketAges,
}

impl Markets {
    /// Returns the newest market if it is good to quote on.
    ///
    /// # Errors
    /// `NOT_READY` before the first market, `MARKET_STALE` when it is too old.
    pub fn current(&self) -> Result<Arc<Published>, Problem> {
        let Some(published) = self.feed.latest() else {
            return Err(Problem::new(Code::NotReady, "the market is still being read; see /ready").retry_after(2));
        };
        if self.freshness() == Freshness::Stale {
            return Err(Problem::new(Code::MarketStale, self.staleness(&published.head)).retry_after(5));
        }
        Ok(published)
    }

    /// Returns how fresh the newest market is: by the time since its block came, and by the time of its block.
    pub fn freshness(&self) -> Freshness {
        let Some(published) = self.feed.latest() else { return Freshness::Missing };
        let lost = self.feed.status.borrow().phase == Phase::Disconnected;
        let by_arrival = judge(self.feed.age(&published.head), lost, &self.ages);
        let by_clock = self.feed.block_age(&published.head).map(|age| judge(age, false, &self.ages_by_clock()));
        by_clock.map_or(by_arrival, |by_clock| by_clock.max(by_arrival))
    }

    /// Returns the ages that count from a block's timestamp. A clock that is an hour off degrades the service, and does not
    /// end it.
    fn ages_by_clock(&self) -> MarketAges {
        MarketAges { stale_after: self.ages.stale_after.max(STALE_BY_CLOCK_AFTER), ..self.ages }
    }

    /// Says how old the market is, and whether the node's newest block is as old.
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
            _ => format!("the newest market is {} s old and the node gives no newer one", age.as_secs()),
        }
    }
}

/// Returns the age of a timestamp; zero if it is in the future.
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

/// Judges an age. A chain may be quiet while its node answers; a node that does not answer may hide any number of
/// blocks.
fn judge(age: Duration, node_lost: bool, ages: &MarketAges) -> Freshness {
    let limit = if node_lost { ages.stale_without_node_after } else { ages.stale_after };
    match age {
        age if age > limit => Freshness::Stale,
        age if age > ages.degraded_after || node_lost => Freshness::Aging,
        _ => Freshness::Fresh,
    }
}

/// Publishes every head of a follower until the follower or the feed's users are gone.
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
                tracing::error!(%error, "a market could not be prepared; the one before stays");
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
    fn a_lost_node_is_counted_from_its_last_word_and_a_standing_one_from_its_last_block() {
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
        assert!((5..40).contains(&age_s(Phase::Disconnected)), "a quiet minute before the node was lost hid nothing");
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
