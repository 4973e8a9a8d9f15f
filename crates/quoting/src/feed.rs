//! The market that quotes are answered on: prepared once per block, swapped without a lock.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use braid_audit::Doubtful;
use braid_ethereum::{Head, Phase, SyncStatus};
use braid_routing::Prepared;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::watch;

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

    /// Returns where the follower stands.
    pub fn status(&self) -> SyncStatus {
        self.status.borrow().clone()
    }
}

/// How fresh the market is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The ages from which a market is no longer what it should be.
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
            let age_s = self.feed.age(&published.head).as_secs();
            let detail = format!("the newest market is {age_s} s old and the node gives no newer one");
            return Err(Problem::new(Code::MarketStale, detail).retry_after(5));
        }
        Ok(published)
    }

    /// Returns how fresh the newest market is.
    pub fn freshness(&self) -> Freshness {
        let Some(published) = self.feed.latest() else { return Freshness::Missing };
        let lost = self.feed.status.borrow().phase == Phase::Disconnected;
        judge(self.feed.age(&published.head), lost, &self.ages)
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
    loop {
        let head = heads.borrow_and_update().clone();
        if let Some(head) = head {
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
