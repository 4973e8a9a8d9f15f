//! The market that quotes are answered on: prepared once per block, swapped without a lock.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use braid_ethereum::{Head, Phase, SyncStatus};
use braid_routing::Prepared;
use tokio::sync::watch;

use crate::config::Config;
use crate::data::directory::Directory;
use crate::problem::{Code, Problem};

/// A block's market with all that its requests share. A request holds one from start to end.
#[derive(Debug)]
pub struct Published {
    /// The market, the fees after it and when it came.
    pub head: Arc<Head>,
    /// What the solver shares between the requests of the block.
    pub prepared: Prepared,
    directory: OnceLock<Directory>,
}

impl Published {
    /// A market that is ready for requests.
    pub fn new(head: Arc<Head>, prepared: Prepared) -> Self {
        Self { head, prepared, directory: OnceLock::new() }
    }

    /// The market's tokens as people look for them; made when first asked for.
    pub fn directory(&self) -> &Directory {
        self.directory.get_or_init(|| Directory::new(self))
    }
}

/// The newest market, and where the follower stands.
#[derive(Debug)]
pub struct MarketFeed {
    current: ArcSwapOption<Published>,
    status: watch::Receiver<SyncStatus>,
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

impl MarketFeed {
    /// A feed without a market, next to a follower's status.
    pub fn new(status: watch::Receiver<SyncStatus>) -> Self {
        Self { current: ArcSwapOption::empty(), status }
    }

    /// Prepares a market and puts it in place of the one before. Takes milliseconds: call it where blocking is fine.
    pub fn publish(&self, head: Arc<Head>) {
        let market = Arc::clone(&head.market);
        let prepared = match self.current.load_full() {
            Some(before) => before.prepared.next(market),
            None => Prepared::new(market),
        };
        self.current.store(Some(Arc::new(Published::new(head, prepared))));
    }

    /// The newest market, whatever its age.
    pub fn latest(&self) -> Option<Arc<Published>> {
        self.current.load_full()
    }

    /// The newest market if it is good to quote on.
    ///
    /// # Errors
    /// `NOT_READY` before the first market, `MARKET_STALE` when it is too old.
    pub fn current(&self, config: &Config) -> Result<Arc<Published>, Problem> {
        let Some(published) = self.latest() else {
            return Err(Problem::new(Code::NotReady, "the market is still being read; see /ready").retry_after(2));
        };
        if self.freshness(config) == Freshness::Stale {
            let age_s = published.head.received_at.elapsed().as_secs();
            let detail = format!("the newest market is {age_s} s old and the node gives no newer one");
            return Err(Problem::new(Code::MarketStale, detail).retry_after(5));
        }
        Ok(published)
    }

    /// How fresh the newest market is.
    pub fn freshness(&self, config: &Config) -> Freshness {
        let Some(published) = self.latest() else { return Freshness::Missing };
        let lost = self.status.borrow().phase == Phase::Disconnected;
        judge(published.head.received_at.elapsed(), lost, config)
    }

    /// Where the follower stands.
    pub fn status(&self) -> SyncStatus {
        self.status.borrow().clone()
    }
}

/// A chain may be quiet while its node answers; a node that does not answer may hide any number of blocks.
fn judge(age: Duration, node_lost: bool, config: &Config) -> Freshness {
    let limit = if node_lost { config.stale_without_node_after } else { config.stale_after };
    match age {
        age if age > limit => Freshness::Stale,
        age if age > config.degraded_after || node_lost => Freshness::Aging,
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
    fn a_quiet_chain_is_not_a_lost_node() {
        let config = Config::default();
        let at = |seconds, lost| judge(Duration::from_secs(seconds), lost, &config);
        assert_eq!(at(10, false), Freshness::Fresh);
        assert_eq!(at(61, false), Freshness::Aging);
        assert_eq!(at(601, false), Freshness::Stale);
        assert_eq!(at(10, true), Freshness::Aging);
        assert_eq!(at(31, true), Freshness::Stale);
    }
}
