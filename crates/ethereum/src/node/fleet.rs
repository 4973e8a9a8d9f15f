//! Asks several nodes as if they were one: the best first, another when it fails or is slow.
//!
//! State and logs are asked for by block hash, so that it does not matter which node answers. A question goes to the
//! node with the best score, and to the next one if that node fails. If an answer takes longer than 95% of the node's
//! answers, a second node is asked too and the first good answer counts. Such hedges are at most one in
//! [`QUESTIONS_PER_HEDGE`] questions, with a few saved up.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    client::Connection,
    config::NodeConfig,
    endpoint::Endpoint,
    health::Class,
    member::{Member, is_answer},
};
use crate::NodeError;

/// Questions for each hedge.
const QUESTIONS_PER_HEDGE: usize = 10;

/// Most hedges that quiet times save up.
const HEDGES_SAVED: usize = 10;

/// Score below which a node is unhealthy.
const HEALTHY: u8 = 40;

/// Difference in score by which another node must be better to be asked first instead.
const CLEARLY_BETTER: u8 = 10;

/// First pause before a question is asked again after transient failures; it triples each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Longest time for which a question is asked again at nodes that limit their rate.
const BUSY_PATIENCE: Duration = Duration::from_secs(5);

/// The nodes, in the order in which they were named.
pub(super) struct Fleet {
    pub(super) members: Vec<Member>,
    /// Index of the node that was best when last asked.
    leader: AtomicUsize,
    /// Questions that count towards further hedges.
    saved: AtomicUsize,
    attempts: u32,
    patience: Duration,
    /// See [`NodeConfig::hedge`].
    hedge: (Duration, Duration),
}

impl Fleet {
    pub(super) fn new(endpoints: Vec<Endpoint>, config: &NodeConfig) -> Self {
        let mut members: Vec<Member> = Vec::with_capacity(endpoints.len());
        for endpoint in endpoints {
            let host = endpoint.host();
            let same = members.iter().filter(|other| other.connection.endpoint().host() == host).count();
            let name = if same == 0 { host } else { format!("{host}#{}", same + 1) };
            members.push(Member::new(Connection::new(endpoint, config.timeout, config.concurrency), name));
        }
        Self {
            members,
            leader: AtomicUsize::new(0),
            saved: AtomicUsize::new(QUESTIONS_PER_HEDGE * HEDGES_SAVED),
            attempts: config.attempts.max(1),
            patience: config.timeout.min(BUSY_PATIENCE),
            hedge: config.hedge,
        }
    }

    /// Returns the node that is asked first now.
    pub(super) fn leader(&self) -> Option<&Member> {
        self.ranked().first().copied()
    }

    /// Returns the nodes, best first. The leader stays first until another node is clearly better; among equals their
    /// order decides.
    pub(super) fn ranked(&self) -> Vec<&Member> {
        if let [only] = self.members.as_slice() {
            return vec![only];
        }
        let (now, led) = (Instant::now(), self.leader.load(Ordering::Relaxed));
        let score = |(index, member): (usize, &Member)| {
            let own = member.health().score(now);
            let kept = if index == led && own >= HEALTHY { CLEARLY_BETTER } else { 0 };
            (own.saturating_add(kept), index)
        };
        let mut scored: Vec<(u8, usize)> = self.members.iter().enumerate().map(score).collect();
        let is_being_checked = |index: usize| self.members.get(index).is_some_and(Member::is_being_checked);
        // Scores that are close count as equal.
        scored.sort_by_key(|(score, index)| {
            (is_being_checked(*index), std::cmp::Reverse(score / CLEARLY_BETTER), *index)
        });
        // A node leads only once those that were named before it have been checked.
        if let Some((_, best)) = scored.first()
            && !self.members.iter().any(Member::is_being_checked)
            && self.leader.swap(*best, Ordering::Relaxed) != *best
        {
            let name = self.members.get(*best).map_or("", |member| member.name.as_str());
            tracing::info!(node = name, "another node is asked first from now on");
        }
        scored.iter().filter_map(|(_, index)| self.members.get(*index)).collect()
    }

    /// Asks a question until a node answers; again after a pause while the failures are transient.
    pub(super) async fn ask<'a, T, F>(&'a self, class: Class, work: impl Fn(&'a Member) -> F) -> Result<T, NodeError>
    where
        F: Future<Output = Result<T, NodeError>>,
    {
        let (mut pause, mut attempt, since) = (FIRST_PAUSE, 1, Instant::now());
        loop {
            match self.round(class, &work).await {
                // The next message waits until the node's pace allows it.
                Err(error) if error.is_rate_limit() && since.elapsed() < self.patience => {
                    tracing::debug!(%error, "asking more slowly");
                    sleep(FIRST_PAUSE).await;
                }
                Err(error) if error.is_transient() && attempt < self.attempts => {
                    tracing::debug!(%error, "asking again");
                    sleep(pause).await;
                    (pause, attempt) = (pause.saturating_mul(3), attempt + 1);
                }
                result => return result,
            }
        }
    }

    /// Asks each node at most once.
    async fn round<'a, T, F>(&'a self, class: Class, work: &impl Fn(&'a Member) -> F) -> Result<T, NodeError>
    where
        F: Future<Output = Result<T, NodeError>>,
    {
        let mut ranked = self.ranked();
        if class == Class::Overridden {
            ranked.sort_by_key(|member| member.overrides() == Some(false));
        }
        self.save_question();
        let attempt = |member: &'a Member| async move { (member, member.answer(class, work(member)).await) };
        let mut waiting = ranked.into_iter().peekable();
        let mut running = FuturesUnordered::new();
        let mut asked: Vec<(&Member, Instant)> = Vec::new();
        let mut failure: Option<NodeError> = None;
        let mut hedge_at: Option<Instant> = None;
        loop {
            if running.is_empty() {
                let Some(member) = waiting.next() else {
                    let nobody = || NodeError::Unreachable { endpoint: "none".into(), why: "there is no node".into() };
                    return Err(failure.unwrap_or_else(nobody));
                };
                let tail = member.health().tail(class).unwrap_or(self.hedge.1).max(self.hedge.0);
                hedge_at = Some(Instant::now() + tail);
                asked.push((member, Instant::now()));
                running.push(attempt(member));
            }
            let is_ready = |next: &&Member| !next.is_being_checked() && next.health().score(Instant::now()) >= HEALTHY;
            let second = waiting.peek().copied().filter(is_ready);
            let done = match (hedge_at, second) {
                (Some(at), Some(second)) => tokio::select! {
                    biased;
                    done = running.next() => done,
                    () = sleep_until(at) => {
                        hedge_at = None;
                        if self.may_hedge() {
                            waiting.next();
                            second.health().hedged += 1;
                            tracing::debug!(node = second.name, "asking a second node: the first is slow");
                            asked.push((second, Instant::now()));
                            running.push(attempt(second));
                        }
                        continue;
                    }
                },
                _ => running.next().await,
            };
            let Some((answered, result)) = done else { continue };
            asked.retain(|(member, _)| !std::ptr::eq(*member, answered));
            match result {
                Err(error) if !is_answer(&error) => failure = Some(more_telling(failure, error)),
                result => {
                    for (slow, since) in asked {
                        slow.health().overtaken(class, since.elapsed());
                    }
                    return result;
                }
            }
        }
    }

    /// Counts a question towards further hedges.
    fn save_question(&self) {
        let most = QUESTIONS_PER_HEDGE * HEDGES_SAVED;
        let more = |saved: usize| (saved < most).then_some(saved + 1);
        // Refused when the most is saved.
        let _ = self.saved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Returns whether a hedge is allowed, and pays for it.
    fn may_hedge(&self) -> bool {
        let pay = |saved: usize| saved.checked_sub(QUESTIONS_PER_HEDGE);
        self.saved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay).is_ok()
    }
}

/// Returns the more informative of two nodes' failures: a missing block says less than a broken node.
fn more_telling(before: Option<NodeError>, error: NodeError) -> NodeError {
    match (before, error) {
        (Some(NodeError::Pruned { endpoint, first_block }), NodeError::Pruned { first_block: other, .. })
            if other >= first_block =>
        {
            NodeError::Pruned { endpoint, first_block }
        }
        (Some(NodeError::Pruned { .. }) | None, error) => error,
        (Some(before), NodeError::UnknownBlock { .. } | NodeError::Unsupported { .. }) => before,
        (_, error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(count: usize) -> Fleet {
        let endpoint = |index| Endpoint::parse(&format!("http://node{index}.example/key")).unwrap();
        let soon = Duration::from_millis(1);
        let config = NodeConfig { hedge: (soon, soon), ..NodeConfig::default() };
        let fleet = Fleet::new((0..count).map(endpoint).collect(), &config);
        fleet.members.iter().for_each(|member| member.set_proven(true));
        fleet
    }

    fn failure() -> NodeError {
        NodeError::Unreachable { endpoint: "http://node0.example".into(), why: "refused".into() }
    }

    #[tokio::test]
    async fn a_failure_puts_the_question_to_the_next_node_and_the_first_is_asked_last_from_then_on() {
        let fleet = fleet(3);
        let ask = || {
            fleet.ask(Class::Quick, |member| async move {
                if member.name.starts_with("node0") { Err(failure()) } else { Ok(member.name.clone()) }
            })
        };
        assert_eq!(ask().await.unwrap(), "node1.example");
        assert_eq!(fleet.ranked().iter().map(|m| m.name.as_str()).collect::<Vec<_>>().last(), Some(&"node0.example"));
        assert_eq!(fleet.members[0].health().asked, 1);
        assert_eq!(ask().await.unwrap(), "node1.example");
        assert_eq!(fleet.members[0].health().asked, 1, "it rests");
        assert_eq!(fleet.members[0].fault().unwrap().name(), "failing");
    }

    #[tokio::test]
    async fn when_the_first_dawdles_a_second_is_asked_and_the_first_good_answer_counts() {
        let fleet = fleet(2);
        let answer = fleet.ask(Class::Heavy, |member| async move {
            if member.name.starts_with("node0") {
                std::future::pending::<()>().await;
            }
            Ok(member.name.clone())
        });
        assert_eq!(answer.await.unwrap(), "node1.example");
        assert_eq!((fleet.members[0].health().asked, fleet.members[1].health().hedged), (1, 1));
    }

    #[test]
    fn second_questions_are_few() {
        let fleet = fleet(2);
        let mut hedged = 0;
        for _ in 0..200 {
            fleet.save_question();
            hedged += u32::from(fleet.may_hedge());
        }
        assert_eq!(hedged, 29, "ten that were saved, and a tenth of the 199 after the first");
        (0..10_000).for_each(|_| fleet.save_question());
        assert_eq!((0..100).filter(|_| fleet.may_hedge()).count(), HEDGES_SAVED, "quiet times save no more");
    }

    #[tokio::test]
    async fn a_call_that_reverts_is_an_answer_and_asked_of_nobody_else() {
        let fleet = fleet(2);
        let revert = || NodeError::Rpc { method: "eth_call", code: 3, message: "execution reverted".into() };
        let answer = fleet.ask(Class::Heavy, |_| async { Err::<(), _>(revert()) });
        assert_eq!(answer.await.unwrap_err(), revert());
        assert_eq!((fleet.members[0].health().failed, fleet.members[1].health().asked), (0, 0));
    }

    #[tokio::test]
    async fn a_node_without_the_block_leads_to_one_that_has_it() {
        let fleet = fleet(2);
        let hash = Default::default();
        let answer = fleet.ask(Class::Heavy, |member| async move {
            if member.name.starts_with("node0") { Err(NodeError::UnknownBlock { hash }) } else { Ok(7) }
        });
        assert_eq!(answer.await.unwrap(), 7);
        assert_eq!(fleet.leader().unwrap().name, "node0.example", "that is no failure of its own");
        let nobody = fleet.ask(Class::Heavy, |_| async { Err::<(), _>(NodeError::UnknownBlock { hash }) });
        assert_eq!(nobody.await.unwrap_err(), NodeError::UnknownBlock { hash });
    }

    #[test]
    fn nodes_of_one_host_have_names_of_their_own() {
        let endpoints = ["http://a.example/one", "http://a.example/two"].map(|url| Endpoint::parse(url).unwrap());
        let fleet = Fleet::new(endpoints.to_vec(), &NodeConfig::default());
        let names: Vec<&str> = fleet.members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["a.example", "a.example#2"]);
    }
}
