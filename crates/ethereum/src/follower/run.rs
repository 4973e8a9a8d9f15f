//! The follower's loop: waits for a signal, brings the market to the head, publishes it, and tries again after
//! failures.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use braid_primitives::{Block, PoolKey};
use braid_store::{MarketStore, market::Saved};
use tokio::sync::{mpsc, watch};

use super::{FollowerConfig, Head, Phase, SyncStatus};
use crate::{
    FollowError, Node, NodeError,
    heads::{HeadSignal, Heads},
    node::in_background,
    sync::{Found, Synchronizer},
};

/// State of the loop.
pub(super) struct Runner {
    node: Node,
    heads: Heads,
    sync: Synchronizer,
    published: watch::Sender<Option<Arc<Head>>>,
    status: watch::Sender<SyncStatus>,
    backoff: Backoff,
    /// Pools whose state is doubted.
    doubted: mpsc::Receiver<PoolKey>,
    /// Value of [`Node::mistrusted`] when every pool was last read.
    mistrusted: u64,
    /// Polls of the node's height since its newest header was read.
    heights_asked: u32,
    /// Signals in a row at which the node was behind the market.
    times_behind: u32,
    /// Signals in a row at which a node did not have the block that it announced.
    times_replaced: u32,
}

/// Polls of an unchanged height after which the newest header is read, in case the block was replaced.
const HEIGHTS_PER_HEADER: u32 = 8;

/// Signals in a row at which the node is behind the market before the log says so: of several nodes at one address, some
/// are always a block behind.
const TIMES_BEHIND: u32 = 4;

/// Signals in a row at which a node does not have the block that it announced, before the log says so.
const TIMES_REPLACED: u32 = 8;

/// Multiple of the time that a read between two blocks is meant to take, after which it is dropped for a new block.
const PATIENCE: u32 = 2;

enum Event {
    Stop,
    HeadSignal(HeadSignal),
    Found(Option<Found>),
    Doubted(PoolKey),
    Idle,
    Comparison,
}

impl Runner {
    pub(super) fn new(
        node: Node,
        config: FollowerConfig,
        published: watch::Sender<Option<Arc<Head>>>,
        status: watch::Sender<SyncStatus>,
        doubted: mpsc::Receiver<PoolKey>,
    ) -> Self {
        Self {
            mistrusted: node.mistrusted(),
            heights_asked: 0,
            times_behind: 0,
            times_replaced: 0,
            doubted,
            heads: Heads::new(node.clone(), &config),
            backoff: Backoff::new(config.backoff),
            sync: Synchronizer::new(node.clone(), config, status.clone()),
            node,
            published,
            status,
        }
    }

    /// Starts from the content of a store, and stores every later market.
    pub(super) fn keep_in(&mut self, store: Arc<MarketStore>, saved: Option<Saved>) {
        self.sync.keep_in(store, saved);
    }

    /// Runs until told to stop.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            let event = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => Event::Stop,
                signal = self.heads.next() => Event::HeadSignal(signal),
                found = self.sync.found() => Event::Found(found),
                Some(pool) = self.doubted.recv() => Event::Doubted(pool),
                () = std::future::ready(()), if self.sync.has_pending() => Event::Idle,
                () = std::future::ready(()), if self.sync.is_comparison_due() => Event::Comparison,
            };
            let work = async {
                match event {
                    Event::Stop => return false,
                    Event::HeadSignal(signal) => self.on_signal(signal).await,
                    Event::Found(found) => {
                        self.sync.on_found(found);
                        self.sync.record();
                    }
                    Event::Doubted(pool) => self.sync.read_again([pool]),
                    Event::Idle => self.read_waiting().await,
                    Event::Comparison => self.compare().await,
                }
                true
            };
            // Stops even while a request is under way.
            let goes_on = tokio::select! {
                biased;
                goes_on = work => goes_on,
                _ = stop.wait_for(|stop| *stop) => false,
            };
            if !goes_on {
                break;
            }
        }
        self.status.send_modify(|status| status.phase = Phase::Stopped);
    }

    async fn on_signal(&mut self, signal: HeadSignal) {
        let received_at = Instant::now();
        match self.follow(signal).await {
            Ok(changed) => {
                if changed {
                    self.publish(received_at);
                }
                self.on_success(received_at);
                self.heads.answered();
                self.report_whether_heads_are_pushed();
            }
            Err(error @ FollowError::Behind { .. }) => self.on_behind(&error),
            Err(error) => self.on_failure(&error).await,
        }
    }

    fn report_whether_heads_are_pushed(&self) {
        let pushed = self.heads.are_pushed();
        self.status.send_if_modified(|status| std::mem::replace(&mut status.heads_pushed, pushed) != pushed);
    }

    async fn follow(&mut self, signal: HeadSignal) -> Result<bool, FollowError> {
        if self.backoff.is_lost() {
            // Another node may answer at the same address now.
            self.node.check_chain().await?;
        }
        let head: Block = match signal {
            HeadSignal::Pushed(head) => head,
            HeadSignal::Due if self.is_at_our_height().await? => return Ok(false),
            HeadSignal::Due => self.node.latest_block().await?,
        };
        self.heights_asked = 0;
        let timestamp = (!self.sync.is_local(head.number)).then_some(head.timestamp);
        self.status.send_modify(|status| {
            (status.node_block, status.node_hash) = (Some(head.number), Some(head.hash));
            status.node_timestamp = timestamp;
        });
        let mistrusted = self.node.mistrusted();
        if std::mem::replace(&mut self.mistrusted, mistrusted) != mistrusted {
            tracing::warn!("a node left out logs: all pools are read again");
            self.sync.read_everything_again();
        }
        self.sync.follow(head).await
    }

    /// Returns whether the node's newest block is at the height of our market. This saves its header, 20 kB on mainnet,
    /// which is read only every [`HEIGHTS_PER_HEADER`] polls.
    async fn is_at_our_height(&mut self) -> Result<bool, FollowError> {
        let published = self.published.borrow().as_ref().map(|head| *head.block());
        let is_tip = |block: &Block| self.sync.tip().is_some_and(|tip| tip.block().hash == block.hash);
        let settled = self.node.mistrusted() == self.mistrusted && !self.backoff.is_lost();
        let settled = settled && self.heights_asked < HEIGHTS_PER_HEADER;
        let Some(ours) = published.filter(is_tip).filter(|_| settled) else { return Ok(false) };
        let height = self.node.height().await?;
        self.heights_asked += 1;
        self.status.send_modify(|status| status.node_block = Some(height));
        Ok(height == ours.number)
    }

    /// Reads waiting pools into the market.
    async fn read_waiting(&mut self) {
        // More pools do not make the block newer.
        let received_at = self.published.borrow().as_ref().map_or_else(Instant::now, |head| head.received_at);
        if let Err(error) = in_background(self.sync.read_due_list()).await {
            return self.on_failure(&error).await;
        }
        let started = Instant::now();
        let patience = self.sync.longest_between_blocks() * PATIENCE;
        let tip = self.sync.tip().map(|tip| *tip.block());
        let (heads, node) = (&mut self.heads, &self.node);
        let in_the_way = async {
            tokio::time::sleep(patience).await;
            new_block(heads, node, tip).await
        };
        let read = tokio::select! {
            biased;
            read = in_background(self.sync.read_waiting()) => Ok(read),
            signal = in_the_way => Err(signal),
        };
        match read {
            Ok(Ok(())) => self.publish(received_at),
            Ok(Err(error)) => self.on_failure(&error).await,
            Err(signal) => {
                tracing::debug!(
                    seconds = started.elapsed().as_secs_f64(),
                    "a read between two blocks is dropped for a new block"
                );
                self.sync.read_fewer_between_blocks(started.elapsed());
                self.on_signal(signal).await;
            }
        }
    }

    /// Compares some pools with the chain, unless that takes so long that a block might wait for it.
    async fn compare(&mut self) {
        let patience = self.sync.longest_between_blocks();
        match tokio::time::timeout(patience, in_background(self.sync.compare())).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "pools cannot be compared with the chain"),
            Err(_) => tracing::debug!("comparing pools with the chain took too long"),
        }
    }

    fn publish(&mut self, received_at: Instant) {
        let (Some(market), Some(fees)) = (self.sync.tip().cloned(), self.sync.fees()) else { return };
        self.heads.saw(market.block(), received_at.into());
        self.status.send_modify(|status| {
            status.market_block = Some(market.block().number);
            status.pools = market.pools().len();
            status.tokens = market.tokens().len();
            status.excluded = self.sync.excluded();
            status.waiting = self.sync.waiting();
        });
        self.published.send_replace(Some(Arc::new(Head { market, fees, received_at })));
        self.sync.record();
    }

    /// Waits for a node that has not reached the market's block: it answers, and its heads are followed as ever.
    fn on_behind(&mut self, error: &FollowError) {
        self.times_behind = self.times_behind.saturating_add(1);
        if self.times_behind == TIMES_BEHIND {
            tracing::warn!(%error, "waiting for the node");
        }
        self.status.send_modify(|status| status.last_error = Some(error.to_string()));
        self.heads.answered();
        self.report_whether_heads_are_pushed();
    }

    fn on_success(&mut self, at: Instant) {
        if self.backoff.is_lost() {
            tracing::info!(node = %self.node.endpoint(), "the node answers again");
        }
        if self.times_behind >= TIMES_BEHIND {
            tracing::info!(node = %self.node.endpoint(), "the node has the market's block again");
        }
        (self.times_behind, self.times_replaced) = (0, 0);
        self.backoff.reset();
        self.status.send_modify(|status| {
            status.phase = Phase::Following;
            status.checked_at = Some(at);
            status.last_error = None;
            status.catching_up = None;
        });
    }

    /// Logs the failure, keeps the last market, and waits before the next try.
    async fn on_failure(&mut self, error: &FollowError) {
        let lost = !matches!(error, FollowError::Replaced { .. } | FollowError::Node(NodeError::UnknownBlock { .. }));
        self.times_replaced = if lost { 0 } else { self.times_replaced.saturating_add(1) };
        if lost && !self.backoff.is_lost() {
            tracing::warn!(%error, "the market is not updated until the node answers");
        } else if self.times_replaced == TIMES_REPLACED {
            tracing::warn!(%error, "the node keeps announcing blocks that it does not have: the market is not updated");
        } else {
            tracing::debug!(%error, "trying again");
        }
        self.status.send_modify(|status| {
            status.last_error = Some(error.to_string());
            if lost {
                status.phase = Phase::Disconnected;
            }
        });
        // What a node that limits the rate is asked next waits for its pace already.
        let is_paced = matches!(error, FollowError::Node(error) if error.is_rate_limit());
        let pause = if is_paced { self.backoff.paced() } else { self.backoff.next(lost) };
        self.heads.failed();
        self.report_whether_heads_are_pushed();
        tokio::time::sleep(pause).await;
    }
}

/// Waits for a signal of a block other than the tip. A poll that is due asks for the node's height.
async fn new_block(heads: &mut Heads, node: &Node, tip: Option<Block>) -> HeadSignal {
    loop {
        let signal = heads.next().await;
        let is_new = match &signal {
            HeadSignal::Pushed(head) => tip.is_none_or(|tip| tip.hash != head.hash),
            // A node that fails has no block to wait for either.
            HeadSignal::Due => node.height().await.is_ok_and(|height| tip.is_none_or(|tip| tip.number != height)),
        };
        if is_new {
            return signal;
        }
        heads.answered();
    }
}

/// Pauses that double with each failure.
#[derive(Debug)]
struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
    lost: bool,
}

impl Backoff {
    fn new((first, longest): (Duration, Duration)) -> Self {
        Self { first, longest: longest.max(first), next: first, lost: false }
    }

    fn next(&mut self, lost: bool) -> Duration {
        self.lost |= lost;
        let pause = self.next;
        self.next = self.next.saturating_mul(2).min(self.longest);
        pause
    }

    /// Returns the pause after a failure that others pace.
    const fn paced(&mut self) -> Duration {
        self.lost = true;
        self.first
    }

    fn reset(&mut self) {
        self.next = self.first;
        self.lost = false;
    }

    /// Returns whether the node failed and has not answered since.
    const fn is_lost(&self) -> bool {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_start_over_after_success() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new((ms(100), ms(350)));
        let pauses: Vec<_> = (0..4).map(|_| backoff.next(true)).collect();
        assert_eq!(pauses, [ms(100), ms(200), ms(350), ms(350)]);
        assert!(backoff.is_lost());
        backoff.reset();
        assert_eq!(backoff.next(false), ms(100));
        assert!(!backoff.is_lost(), "a block that was replaced is no lost node");
    }

    /// The pauses of the follower added up to those of the pace: after a rate limit the market came back 16 s late.
    #[test]
    fn a_rate_limit_makes_no_pause_longer() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new((ms(250), ms(10_000)));
        assert_eq!([(); 9].map(|()| backoff.paced()), [ms(250); 9]);
        assert!(backoff.is_lost());
        assert_eq!(backoff.next(true), ms(250));
    }
}
