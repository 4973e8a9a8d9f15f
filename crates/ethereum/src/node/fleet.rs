//! Several nodes as one: the best is asked, others when it fails or dawdles.
//!
//! State and logs are asked for by block hash, so that it does not matter which node answers. A question is put to the node
//! with the best score; a failure that is the node's own puts it to the next one. Where an answer takes longer than the
//! slowest twentieth of a node's answers, a second node is asked as well and the first good answer counts; such second
//! questions are at most one in [`QUESTIONS_PER_HEDGE`], after a few at once.

use std::{
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use alloy::primitives::U64;
use braid_primitives::CHAIN_ID;
use futures::{StreamExt, stream::FuturesUnordered};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    client::{Connection, Request},
    config::NodeConfig,
    endpoint::Endpoint,
    health::{Class, Health, NodeFault},
    wire::parse,
};
use crate::NodeError;

/// Questions between two that are put to a second node for being slow.
pub(super) const QUESTIONS_PER_HEDGE: usize = 10;

/// Most such second questions at once, saved up in quiet times.
const HEDGES_SAVED: usize = 10;

/// A node below this score is unhealthy.
const SOUND: u8 = 40;

/// By how much another node must score better to be asked first instead.
const CLEARLY_BETTER: u8 = 10;

/// First pause before a question is put again after failures that pass.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest that a question waits for nodes that refuse to be asked so often.
const BUSY_PATIENCE: Duration = Duration::from_secs(5);

/// One node of a fleet.
pub(super) struct Member {
    pub(super) connection: Connection,
    /// Host and port, with a number where several share them; safe to show.
    pub(super) name: String,
    health: Mutex<Health>,
    /// Whether whoever answers at the address said that it serves our chain. A lost connection may lead to someone else.
    proven: AtomicBool,
    /// Whether it lends code to an address for a call; not known until it was asked.
    pub(super) lends_code: OnceLock<bool>,
    /// Whether the lens's code makes many calls there; known once `lends_code` is.
    pub(super) packs: OnceLock<bool>,
    /// Whether words that are read by code lent to contracts are theirs; not known until some were compared.
    pub(super) reads_words: OnceLock<bool>,
    /// Whether it tells what calls touch; not known until it was asked and did not.
    pub(super) tells_touched: OnceLock<bool>,
}

impl Member {
    pub(super) fn health(&self) -> MutexGuard<'_, Health> {
        // A panic elsewhere leaves counters behind that are at worst one off.
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one request and reads its result.
    pub(super) async fn get<T: serde::de::DeserializeOwned>(&self, request: &Request) -> Result<T, NodeError> {
        parse(request.method, &self.connection.request(request).await?)
    }

    /// Makes sure that it serves our chain, once per connection.
    pub(super) async fn prove(&self) -> Result<(), NodeError> {
        if self.proven.load(Ordering::Acquire) {
            return Ok(());
        }
        let got: u64 = self.get::<U64>(&Request { method: "eth_chainId", params: json!([]) }).await?.to();
        if got != CHAIN_ID {
            let endpoint = self.connection.endpoint().to_string();
            return Err(NodeError::WrongChain { endpoint, got, expected: CHAIN_ID });
        }
        self.health().wrong_chain = None;
        self.proven.store(true, Ordering::Release);
        Ok(())
    }

    /// Proves it again.
    pub(super) async fn check_chain(&self) -> Result<(), NodeError> {
        self.doubt();
        // The proof that goes before every answer is all that is wanted.
        self.answer(Class::Quick, std::future::ready(Ok(()))).await
    }

    fn doubt(&self) {
        self.proven.store(false, Ordering::Release);
    }

    /// Works on a question, and notes how it went.
    pub(super) async fn answer<T>(
        &self,
        class: Class,
        work: impl Future<Output = Result<T, NodeError>>,
    ) -> Result<T, NodeError> {
        let asked_at = Instant::now();
        let result = async {
            self.prove().await?;
            work.await
        }
        .await;
        let before = self.fault();
        match &result {
            Err(error) if !is_answer(error) => {
                if matches!(error, NodeError::Unreachable { .. } | NodeError::Timeout { .. }) {
                    self.doubt();
                }
                self.health().failed(error, Instant::now());
            }
            _ => self.health().answered(class, asked_at.elapsed()),
        }
        self.tell(before.as_ref());
        result
    }

    pub(super) fn fault(&self) -> Option<NodeFault> {
        self.health().fault()
    }

    /// Notes something of its health, and says so in the log.
    pub(super) fn update(&self, note: impl FnOnce(&mut Health)) {
        let before = self.fault();
        note(&mut self.health());
        self.tell(before.as_ref());
    }

    /// Says in the log what became of a fault.
    fn tell(&self, before: Option<&NodeFault>) {
        let now = self.fault();
        match (before, &now) {
            (Some(_), None) => tracing::info!(node = self.name, "the node is well again"),
            (before, Some(fault)) if before.map(NodeFault::name) != Some(fault.name()) => {
                tracing::warn!(node = self.name, fault = fault.name(), why = %fault, "node unhealthy");
            }
            _ => {}
        }
    }
}

/// Whether an error is the chain's answer to a call rather than a failure of the node.
fn is_answer(error: &NodeError) -> bool {
    matches!(error, NodeError::Rpc { method: "eth_call", .. }) && !error.is_of_the_block() && !error.is_a_rate_limit()
}

/// The nodes, in the order in which they were named.
pub(super) struct Fleet {
    pub(super) members: Vec<Member>,
    /// Who was best when last asked.
    leader: AtomicUsize,
    /// Questions since the last ones that were put twice, up to what may be saved.
    saved: AtomicUsize,
    attempts: u32,
    /// For how long a question is put again to nodes that refuse to be asked so often.
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
            members.push(Member {
                connection: Connection::new(endpoint, config.timeout, config.concurrency),
                name,
                health: Mutex::default(),
                proven: AtomicBool::new(false),
                lends_code: OnceLock::new(),
                packs: OnceLock::new(),
                reads_words: OnceLock::new(),
                tells_touched: OnceLock::new(),
            });
        }
        let saved = AtomicUsize::new(QUESTIONS_PER_HEDGE * HEDGES_SAVED);
        let (leader, attempts) = (AtomicUsize::new(0), config.attempts.max(1));
        Self { members, leader, saved, attempts, patience: config.timeout.min(BUSY_PATIENCE), hedge: config.hedge }
    }

    /// The node that is asked first now.
    pub(super) fn leader(&self) -> Option<&Member> {
        self.ranked().first().copied()
    }

    /// The nodes, best first. Who leads goes on leading until another is clearly better; among equals the order of their
    /// names counts.
    pub(super) fn ranked(&self) -> Vec<&Member> {
        if let [only] = self.members.as_slice() {
            return vec![only];
        }
        let (now, led) = (Instant::now(), self.leader.load(Ordering::Relaxed));
        let score = |(index, member): (usize, _)| {
            let member: &Member = member;
            let own = member.health().score(now);
            let kept = if index == led && own >= SOUND { CLEARLY_BETTER } else { 0 };
            (own.saturating_add(kept), index)
        };
        let mut scored: Vec<(u8, usize)> = self.members.iter().enumerate().map(score).collect();
        // Scores of sound nodes that are close count as equal.
        scored.sort_by_key(|(score, index)| (std::cmp::Reverse(score / CLEARLY_BETTER), *index));
        if let Some((_, best)) = scored.first()
            && self.leader.swap(*best, Ordering::Relaxed) != *best
        {
            let name = self.members.get(*best).map_or("", |member| member.name.as_str());
            tracing::info!(node = name, "another node is asked first from now on");
        }
        scored.iter().filter_map(|(_, index)| self.members.get(*index)).collect()
    }

    /// Puts a question to the nodes until one answers; again after a short pause while the failures are of the passing kind.
    pub(super) async fn ask<'a, T, F>(
        &'a self,
        class: Class,
        lens: bool,
        work: impl Fn(&'a Member) -> F,
    ) -> Result<T, NodeError>
    where
        F: Future<Output = Result<T, NodeError>>,
    {
        let (mut pause, mut attempt, since) = (FIRST_PAUSE, 1, Instant::now());
        loop {
            match self.round(class, lens, &work).await {
                // The next message waits until the node is ready for it.
                Err(error) if error.is_a_rate_limit() && since.elapsed() < self.patience => {
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
    async fn round<'a, T, F>(
        &'a self,
        class: Class,
        lens: bool,
        work: &impl Fn(&'a Member) -> F,
    ) -> Result<T, NodeError>
    where
        F: Future<Output = Result<T, NodeError>>,
    {
        let mut ranked = self.ranked();
        if lens {
            ranked.sort_by_key(|member| member.lends_code.get() == Some(&false));
        }
        self.note_question();
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
                running.push(attempt(member, class, work));
            }
            let second = waiting.peek().copied().filter(|next| next.health().score(Instant::now()) >= SOUND);
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
                            running.push(attempt(second, class, work));
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

    fn note_question(&self) {
        let most = QUESTIONS_PER_HEDGE * HEDGES_SAVED;
        let more = |saved: usize| (saved < most).then_some(saved + 1);
        // An update that is refused finds the savings full.
        let _ = self.saved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    fn may_hedge(&self) -> bool {
        let pay = |saved: usize| saved.checked_sub(QUESTIONS_PER_HEDGE);
        self.saved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay).is_ok()
    }
}

async fn attempt<'a, T, F>(
    member: &'a Member,
    class: Class,
    work: &impl Fn(&'a Member) -> F,
) -> (&'a Member, Result<T, NodeError>)
where
    F: Future<Output = Result<T, NodeError>>,
{
    (member, member.answer(class, work(member)).await)
}

/// Of the failures of several nodes, the one to tell: one that does not have the block says less than one that broke.
fn more_telling(before: Option<NodeError>, error: NodeError) -> NodeError {
    match before {
        Some(NodeError::Pruned { endpoint, first_block }) => match error {
            NodeError::Pruned { first_block: other, .. } if other < first_block => error,
            NodeError::Pruned { .. } => NodeError::Pruned { endpoint, first_block },
            _ => error,
        },
        Some(before) if matches!(error, NodeError::UnknownBlock { .. } | NodeError::Unsupported { .. }) => before,
        _ => error,
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
        fleet.members.iter().for_each(|member| member.proven.store(true, Ordering::Release));
        fleet
    }

    fn failure() -> NodeError {
        NodeError::Unreachable { endpoint: "http://node0.example".into(), why: "refused".into() }
    }

    #[tokio::test]
    async fn a_failure_puts_the_question_to_the_next_node_and_the_first_is_asked_last_from_then_on() {
        let fleet = fleet(3);
        let ask = || {
            fleet.ask(Class::Quick, false, |member| async move {
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
        let answer = fleet.ask(Class::Heavy, false, |member| async move {
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
            fleet.note_question();
            hedged += u32::from(fleet.may_hedge());
        }
        assert_eq!(hedged, 29, "ten that were saved, and a tenth of the 199 after the first");
        (0..10_000).for_each(|_| fleet.note_question());
        assert_eq!((0..100).filter(|_| fleet.may_hedge()).count(), HEDGES_SAVED, "quiet times save no more");
    }

    #[tokio::test]
    async fn a_call_that_reverts_is_an_answer_and_asked_of_nobody_else() {
        let fleet = fleet(2);
        let revert = || NodeError::Rpc { method: "eth_call", code: 3, message: "execution reverted".into() };
        let answer = fleet.ask(Class::Heavy, false, |_| async { Err::<(), _>(revert()) });
        assert_eq!(answer.await.unwrap_err(), revert());
        assert_eq!((fleet.members[0].health().failed, fleet.members[1].health().asked), (0, 0));
    }

    #[tokio::test]
    async fn a_node_without_the_block_leads_to_one_that_has_it() {
        let fleet = fleet(2);
        let hash = Default::default();
        let answer = fleet.ask(Class::Heavy, false, |member| async move {
            if member.name.starts_with("node0") { Err(NodeError::UnknownBlock { hash }) } else { Ok(7) }
        });
        assert_eq!(answer.await.unwrap(), 7);
        assert_eq!(fleet.leader().unwrap().name, "node0.example", "that is no failure of its own");
        let nobody = fleet.ask(Class::Heavy, false, |_| async { Err::<(), _>(NodeError::UnknownBlock { hash }) });
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
