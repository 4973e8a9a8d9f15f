//! Decides when to ask for the head: when the node pushes one, or at intervals.
//!
//! A push is only a signal: its header is used if it follows our market, and checked with the node otherwise. So a push
//! that is lost, late, repeated or out of order costs one request, and never makes a wrong market.

use std::{collections::VecDeque, time::Duration};

use braid_primitives::Block;
use tokio::{
    sync::broadcast::error::RecvError,
    task::JoinHandle,
    time::{Instant, sleep_until},
};

use crate::{FollowerConfig, Node, NodeError, node::HeadStream};

/// Poll interval until a block time is known.
const FIRST_INTERVAL: Duration = Duration::from_millis(500);

/// Poll interval while the next block is expected.
const NEAR_INTERVAL: Duration = Duration::from_millis(250);

/// Bounds on the poll interval between two blocks.
const INTERVALS: (Duration, Duration) = (NEAR_INTERVAL, Duration::from_secs(3));

/// Polls between two blocks.
const POLLS_PER_BLOCK: u32 = 4;

/// How much earlier than a block time after the last block the next one is expected. Blocks of mainnet are seen one to
/// four seconds into their slot of twelve.
const EARLY: Duration = Duration::from_millis(1_200);

/// How much later it is still polled at the short interval.
const LATE: Duration = Duration::from_millis(2_500);

/// Blocks whose times are kept.
const TIMES: usize = 9;

/// A head signal.
#[derive(Debug)]
pub(crate) enum HeadSignal {
    /// The node pushed its head.
    Pushed(Block),
    /// A poll is due.
    Due,
}

/// The head signals of one node.
pub(crate) struct Heads {
    node: Node,
    fixed_interval: Option<Duration>,
    silence: Duration,
    attempts: Attempts,
    subscription: Option<HeadStream>,
    /// A subscription that was given up. It is ended at its node before the next one starts.
    given_up: Option<HeadStream>,
    /// A subscription that was asked for. Heads are polled meanwhile: a node may not answer for long.
    subscribing: Option<JoinHandle<Result<HeadStream, NodeError>>>,
    subscribe_at: Instant,
    due_at: Instant,
    times: BlockTimes,
    /// The newest block's height, and when it was first seen.
    newest: Option<(u64, Instant)>,
}

impl Heads {
    pub(crate) fn new(node: Node, config: &FollowerConfig) -> Self {
        let now = Instant::now();
        Self {
            node,
            fixed_interval: config.poll_interval,
            silence: config.silence,
            attempts: Attempts { pause: config.resubscribe_every, failed: 0 },
            subscription: None,
            given_up: None,
            subscribing: None,
            subscribe_at: now,
            due_at: now,
            times: BlockTimes::default(),
            newest: None,
        }
    }

    /// Waits for the next signal. No signal is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> HeadSignal {
        loop {
            let Some(subscription) = &mut self.subscription else {
                tokio::select! {
                    biased;
                    subscribed = answer(&mut self.subscribing) => self.subscribed(subscribed),
                    () = sleep_until(self.due_at) => return HeadSignal::Due,
                }
                continue;
            };
            tokio::select! {
                biased;
                pushed = subscription.raw.recv() => match pushed {
                    // Only the newest of several waiting heads counts.
                    Ok(_) if !subscription.raw.is_empty() => {}
                    Ok(notice) => return self.node.head_of(subscription, &notice).map_or(HeadSignal::Due, HeadSignal::Pushed),
                    Err(RecvError::Lagged(_)) => return HeadSignal::Due,
                    Err(RecvError::Closed) => {
                        tracing::warn!(node = %self.node.endpoint(), "the node no longer pushes heads: polling for them");
                        self.subscription = None;
                        self.due_at = Instant::now();
                    }
                },
                () = sleep_until(self.due_at) => return HeadSignal::Due,
            }
        }
    }

    /// Takes the answer to a subscription. A head that came before it is polled for at once.
    fn subscribed(&mut self, subscribed: Result<HeadStream, NodeError>) {
        match subscribed {
            Ok(subscription) if self.node.is_outdone(&subscription) => self.given_up = Some(subscription),
            Ok(subscription) => {
                self.attempts.failed = 0;
                (self.subscription, self.due_at) = (Some(subscription), Instant::now());
            }
            Err(error) if self.attempts.fail() => {
                tracing::warn!(%error, "cannot subscribe to heads: polling for them, and asking again later and later");
            }
            Err(error) => tracing::debug!(%error, "still cannot subscribe to heads"),
        }
    }

    /// Sets the time of the next poll after the node answered, and subscribes to heads if possible.
    pub(crate) fn answered(&mut self) {
        let now = Instant::now();
        if self.subscription.as_ref().is_some_and(|stream| self.node.is_outdone(stream)) {
            tracing::info!("heads are taken from another node");
            self.given_up = self.subscription.take();
            self.subscribe_at = now;
        }
        let is_due = self.subscription.is_none() && self.subscribing.is_none() && now >= self.subscribe_at;
        if is_due && self.node.can_subscribe() {
            self.subscribe_at = now + self.attempts.pause();
            let (node, given_up) = (self.node.clone(), self.given_up.take());
            self.subscribing = Some(tokio::spawn(async move {
                if let Some(stream) = given_up {
                    node.unsubscribe_heads(&stream).await;
                }
                node.subscribe_heads().await
            }));
        }
        let pause = if self.subscription.is_some() { self.silence } else { self.interval() };
        self.due_at = now + pause;
    }

    /// Returns whether heads are pushed.
    pub(crate) const fn are_pushed(&self) -> bool {
        self.subscription.is_some()
    }

    /// Polls at once after the node failed. A subscription stays until its connection ends: a node keeps one that is
    /// merely dropped.
    pub(crate) fn failed(&mut self) {
        let now = Instant::now();
        (self.subscribe_at, self.due_at) = (now, now);
    }

    /// Notes when a block was first seen, to learn the block time.
    pub(crate) fn saw(&mut self, block: &Block, at: Instant) {
        self.times.push(block.number, block.timestamp);
        if self.newest.is_none_or(|(height, _)| height != block.number) {
            self.newest = Some((block.number, at));
        }
    }

    fn interval(&self) -> Duration {
        let learnt = || {
            let (block_time, (_, seen_at)) = (self.times.median()?, self.newest?);
            Some(next_poll(seen_at.elapsed(), block_time))
        };
        self.fixed_interval.or_else(learnt).unwrap_or(FIRST_INTERVAL)
    }
}

impl Drop for Heads {
    fn drop(&mut self) {
        if let Some(task) = self.subscribing.take() {
            task.abort();
        }
    }
}

/// Most times that the pause between two attempts to subscribe doubles: from 5 to 80 s.
const DOUBLINGS: u32 = 4;

/// The attempts to subscribe. Some nodes have WebSockets, and refuse subscriptions for good.
struct Attempts {
    /// First pause between two of them.
    pause: Duration,
    /// Number of failed ones in a row.
    failed: u32,
}

impl Attempts {
    /// Counts a failed attempt; returns whether it is the first in a row.
    const fn fail(&mut self) -> bool {
        self.failed = self.failed.saturating_add(1);
        self.failed == 1
    }

    /// Returns the pause before the next attempt.
    fn pause(&self) -> Duration {
        self.pause * (1 << self.failed.min(DOUBLINGS))
    }
}

/// Waits for the answer to a subscription; for ever if none was asked for.
async fn answer(asked: &mut Option<JoinHandle<Result<HeadStream, NodeError>>>) -> Result<HeadStream, NodeError> {
    let Some(task) = asked else { return std::future::pending().await };
    let answer = task.await;
    *asked = None;
    answer.unwrap_or(Err(NodeError::Unsupported { what: "a subscription whose task has ended" }))
}

/// Returns the poll interval from the time since the newest block was first seen: long between two blocks, short when
/// the next one is expected, also after empty slots.
fn next_poll(since_seen: Duration, block_time: Duration) -> Duration {
    let between = (block_time / POLLS_PER_BLOCK).clamp(INTERVALS.0, INTERVALS.1);
    if block_time <= EARLY + LATE {
        return between;
    }
    let (since, time) = (since_seen.as_millis(), block_time.as_millis());
    let after_slot = Duration::from_millis(u64::try_from(since % time).unwrap_or_default());
    let until_window = (block_time - EARLY).saturating_sub(after_slot);
    let is_late = since >= time && after_slot < LATE;
    if is_late || until_window.is_zero() { NEAR_INTERVAL } else { between.min(until_window) }
}

/// Heights and times of the newest blocks.
#[derive(Debug, Default)]
struct BlockTimes(VecDeque<(u64, u64)>);

impl BlockTimes {
    fn push(&mut self, number: u64, timestamp: u64) {
        self.0.push_back((number, timestamp));
        if self.0.len() > TIMES {
            self.0.pop_front();
        }
    }

    /// Returns the median time per block; blocks whose height did not rise are skipped.
    fn median(&self) -> Option<Duration> {
        let pairs = self.0.iter().zip(self.0.iter().skip(1));
        let mut times: Vec<u64> = pairs
            .filter(|((before, _), (after, _))| after > before)
            .map(|((before, start), (after, end))| end.saturating_sub(*start).saturating_mul(1_000) / (after - before))
            .collect();
        times.sort_unstable();
        times.get(times.len() / 2).map(|millis| Duration::from_millis(*millis))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::{NodeConfig, testing::StandIn};

    /// Waits until heads are pushed.
    async fn subscribe(heads: &mut Heads) {
        let pushed = async {
            while !heads.are_pushed() {
                heads.answered();
                heads.next().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(600), pushed).await.unwrap();
    }

    /// Each failure left one more subscription at the node, which went on to push heads over the same connection.
    #[tokio::test]
    async fn a_failure_over_a_connection_that_lives_leaves_its_one_subscription() {
        let standin = StandIn::at(20);
        let node = Node::connect(&standin.path).await.unwrap();
        let mut heads = Heads::new(node, &FollowerConfig::default());
        subscribe(&mut heads).await;
        for _ in 0..3 {
            heads.failed();
            assert!(matches!(heads.next().await, HeadSignal::Due), "it is polled at once");
            subscribe(&mut heads).await;
        }
        assert_eq!(*standin.asked.borrow(), ["eth_subscribe"]);
    }

    #[tokio::test]
    async fn a_subscription_that_is_given_up_is_ended_at_its_node() {
        let mut standins = [StandIn::at(20), StandIn::at(20)];
        let urls = standins.each_ref().map(|standin| standin.path.clone());
        let config = NodeConfig { check_every: Duration::from_secs(3_600), ..NodeConfig::default() };
        let node = Node::connect_all(&urls, config).await.unwrap();
        let mut heads = Heads::new(node.clone(), &FollowerConfig::default());
        subscribe(&mut heads).await;
        standins[1].head.store(30, Ordering::Release);
        node.compare_nodes().await;
        heads.answered();
        assert!(!heads.are_pushed(), "the node is behind the other one");
        subscribe(&mut heads).await;
        let ended = standins[0].asked.wait_for(|asked| *asked == ["eth_subscribe", "eth_unsubscribe"]);
        tokio::time::timeout(Duration::from_secs(600), ended).await.unwrap().unwrap();
        assert_eq!(*standins[1].asked.borrow(), ["eth_subscribe"]);
    }

    #[test]
    fn a_block_is_looked_for_seldom_until_it_is_about_to_come_and_often_then() {
        let [slot, millis] = [Duration::from_secs(12), Duration::from_millis(1)];
        let polls = |from: u64, to: u64| {
            let (mut at, mut polls, mut longest) = (Duration::from_millis(from), 0, Duration::ZERO);
            while at < Duration::from_millis(to) {
                let pause = next_poll(at, slot);
                (at, polls, longest) = (at + pause, polls + 1, longest.max(pause));
            }
            (polls, longest)
        };
        assert_eq!(polls(0, 10_800), (4, 3_000 * millis));
        assert_eq!(polls(10_800, 14_500), (15, NEAR_INTERVAL), "it may come sooner or later");
        assert_eq!(polls(14_500, 22_800).1, 3_000 * millis, "an empty slot");
        assert_eq!(polls(22_800, 26_000).1, NEAR_INTERVAL);
        assert_eq!(next_poll(Duration::ZERO, Duration::from_secs(2)), 500 * millis, "blocks too frequent to wait for");
        assert_eq!(next_poll(Duration::MAX, Duration::ZERO), NEAR_INTERVAL);
    }

    /// A node that refuses subscriptions once filled the log with a warning every five seconds.
    #[test]
    fn a_node_that_refuses_subscriptions_is_asked_later_and_later_and_warned_of_once() {
        let mut attempts = Attempts { pause: Duration::from_secs(5), failed: 0 };
        assert_eq!(attempts.pause(), Duration::from_secs(5));
        let warned: Vec<bool> = (0..9).map(|_| attempts.fail()).collect();
        assert_eq!(warned.iter().filter(|warned| **warned).count(), 1);
        assert_eq!(attempts.pause(), Duration::from_secs(80));
    }

    #[test]
    fn one_jump_of_the_clock_does_not_change_the_pace() {
        let mut times = BlockTimes::default();
        assert_eq!(times.median(), None);
        for number in 1..=6 {
            times.push(number, number * 2 + if number > 4 { 86_400 } else { 0 });
        }
        assert_eq!(times.median(), Some(Duration::from_secs(2)));
    }

    #[test]
    fn missed_blocks_are_counted() {
        let mut times = BlockTimes::default();
        times.push(10, 100);
        times.push(20, 220);
        assert_eq!(times.median(), Some(Duration::from_secs(12)));
    }

    #[test]
    fn replaced_blocks_and_clocks_that_run_backwards_are_survived() {
        let mut times = BlockTimes::default();
        for (number, time) in [(5, u64::MAX), (4, 0), (4, 3), (5, 1), (u64::MAX, u64::MAX / 2_000)] {
            times.push(number, time);
        }
        assert!(times.median().is_some());
    }
}
