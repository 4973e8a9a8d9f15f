//! Batches reads of accounts: few messages to the node are in flight, and questions that come meanwhile share the next.
//!
//! A node accepts a limited number of messages at once. If each quote sent its own, quotes would queue: with eight in
//! flight to a node 100 ms away, a service could answer eighty quotes a second.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use braid_ethereum::{Node, NodeError};
use braid_primitives::{Address, B256, Bytes, U256};
use braid_protocols::Call;
use tokio::sync::oneshot;
use tracing::Instrument as _;

/// Most messages in flight. The node's remaining capacity is for simulations and following.
const MAX_IN_FLIGHT: usize = 4;

/// Most questions that share a message.
pub(crate) const MAX_QUESTIONS_PER_MESSAGE: usize = 64;

/// Reads at a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub block_hash: B256,
    pub calls: Vec<Call>,
    /// Account whose ether balance is read.
    pub ether_of: Option<Address>,
}

/// Answer of the node; `None` for what it did not answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// One for each call; `None` for a call that fails.
    pub calls: Option<Vec<Option<Bytes>>>,
    pub ether: Option<U256>,
}

impl Answer {
    /// Returns whether the node answered every part of a question.
    pub(crate) fn is_complete(&self, question: &Question) -> bool {
        self.calls.is_some() && self.ether.is_some() == question.ether_of.is_some()
    }
}

/// Batches the questions to a node.
#[derive(Debug)]
pub(crate) struct SharedReads<A = Node> {
    node: A,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Questions that wait for a message, oldest first.
    waiting: Vec<Waiting>,
    /// Messages in flight.
    in_flight: usize,
}

type Waiting = (Question, oneshot::Sender<Answer>);

/// The reads that a node answers here.
pub(crate) trait AccountNode: Clone + Send + Sync + 'static {
    fn read(
        &self,
        block_hash: B256,
        calls: Vec<Call>,
    ) -> impl Future<Output = Result<Vec<Option<Bytes>>, NodeError>> + Send;

    fn ether(
        &self,
        block_hash: B256,
        owners: Vec<Address>,
    ) -> impl Future<Output = Result<Vec<Option<U256>>, NodeError>> + Send;
}

impl AccountNode for Node {
    async fn read(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, NodeError> {
        Self::read(self, block_hash, calls).await
    }

    async fn ether(&self, block_hash: B256, owners: Vec<Address>) -> Result<Vec<Option<U256>>, NodeError> {
        self.native_balances(block_hash, &owners).await
    }
}

impl<A: AccountNode> SharedReads<A> {
    pub(crate) fn of(node: A) -> Self {
        Self { node, state: Arc::default() }
    }

    /// Sends a question with the next message, and returns its answer.
    pub(crate) async fn ask(&self, question: Question) -> Answer {
        let (asker, answer) = oneshot::channel();
        if lock(&self.state).join(question, asker) {
            // in a task of its own: a caller that is cancelled does not cancel the answers of others
            let (node, state) = (self.node.clone(), Arc::clone(&self.state));
            let sending = async move {
                loop {
                    let together = lock(&state).next();
                    if together.is_empty() {
                        break;
                    }
                    send(&node, together).await;
                }
            };
            tokio::spawn(sending.in_current_span());
        }
        answer.await.unwrap_or_default()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // no holder of the lock panics halfway through a change
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Queues a question. Returns whether the caller must send messages: fewer than the most are in flight.
    fn join(&mut self, question: Question, asker: oneshot::Sender<Answer>) -> bool {
        self.waiting.push((question, asker));
        let is_room = self.in_flight < MAX_IN_FLIGHT;
        self.in_flight += usize::from(is_room);
        is_room
    }

    /// Takes the questions of the next message: the oldest, and others at its block. Returns none if no question waits,
    /// and counts one message less in flight.
    fn next(&mut self) -> Vec<Waiting> {
        self.waiting.retain(|(_, asker)| !asker.is_closed());
        let Some(block_hash) = self.waiting.first().map(|(first, _)| first.block_hash) else {
            self.in_flight -= 1;
            return Vec::new();
        };
        let mut room = MAX_QUESTIONS_PER_MESSAGE;
        let fits = |(question, _): &mut Waiting| {
            let fits = room > 0 && question.block_hash == block_hash;
            room -= usize::from(fits);
            fits
        };
        self.waiting.extract_if(.., fits).collect()
    }
}

/// Sends questions at one block in one message, and passes each its answer.
async fn send<A: AccountNode>(node: &A, together: Vec<Waiting>) {
    let Some(block_hash) = together.first().map(|(first, _)| first.block_hash) else { return };
    let calls: Vec<Call> = together.iter().flat_map(|(question, _)| question.calls.iter().cloned()).collect();
    let owners: Vec<Address> = together.iter().filter_map(|(question, _)| question.ether_of).collect();
    let (calls, ether) = tokio::join!(
        async { if calls.is_empty() { Ok(Vec::new()) } else { node.read(block_hash, calls).await } },
        async { if owners.is_empty() { Ok(Vec::new()) } else { node.ether(block_hash, owners).await } },
    );
    for error in [calls.as_ref().err(), ether.as_ref().err()].into_iter().flatten() {
        tracing::warn!(%error, "the read of balances and allowances failed");
    }
    let (mut calls, mut ether) = (calls.ok().map(Vec::into_iter), ether.unwrap_or_default().into_iter());
    for (question, asker) in together {
        let own = calls.as_mut().map(|calls| calls.take(question.calls.len()).collect());
        let ether = question.ether_of.and_then(|_| ether.next().flatten());
        // the receiver of a cancelled question is gone
        let _ = asker.send(Answer { calls: own, ether });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    /// A node that answers a call with its target and an account's balance with 1. It holds each message until the test
    /// releases it, and counts messages.
    #[derive(Clone)]
    struct Held {
        messages: Arc<AtomicUsize>,
        let_go: Arc<Semaphore>,
        fails: bool,
    }

    impl Held {
        fn new(fails: bool) -> Self {
            Self { messages: Arc::default(), let_go: Arc::new(Semaphore::new(0)), fails }
        }
    }

    impl AccountNode for Held {
        async fn read(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, NodeError> {
            self.messages.fetch_add(1, Ordering::Relaxed);
            self.let_go.acquire().await.unwrap().forget();
            if self.fails {
                return Err(NodeError::UnknownBlock { hash: block_hash });
            }
            Ok(calls.into_iter().map(|call| Some(call.to.to_vec().into())).collect())
        }

        async fn ether(&self, _: B256, owners: Vec<Address>) -> Result<Vec<Option<U256>>, NodeError> {
            Ok(vec![Some(U256::ONE); owners.len()])
        }
    }

    fn question(block: u8, number: u8) -> Question {
        let call = |byte| Call { to: Address::repeat_byte(byte), data: Bytes::new() };
        // Some questions have two calls, and some also ask for an ether balance.
        let calls = vec![call(number); 1 + usize::from(number % 2)];
        Question {
            block_hash: B256::repeat_byte(block),
            calls,
            ether_of: number.is_multiple_of(3).then_some(Address::ZERO),
        }
    }

    /// Sends these questions, checks that each gets its own answer, and returns the number of messages. The first
    /// `gives_up` questions are cancelled.
    async fn messages(askers: &[(u8, u8)], gives_up: usize) -> usize {
        let node = Held::new(false);
        let reads = Arc::new(SharedReads::of(node.clone()));
        let mut asking = Vec::new();
        for (block, number) in askers {
            let (reads, question) = (Arc::clone(&reads), question(*block, *number));
            asking.push(tokio::spawn(async move { reads.ask(question).await }));
            // With one thread, after these yields every task that can continue has done so.
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
        }
        asking.iter().take(gives_up).for_each(|asker| asker.abort());
        node.let_go.add_permits(askers.len());
        for (asker, (block, number)) in asking.into_iter().zip(askers).skip(gives_up) {
            let (answer, asked) = (asker.await.unwrap(), question(*block, *number));
            let own: Vec<_> = asked.calls.iter().map(|call| Some(Bytes::from(call.to.to_vec()))).collect();
            assert_eq!((answer.calls, answer.ether), (Some(own), asked.ether_of.map(|_| U256::ONE)));
        }
        node.messages.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn whoever_asks_while_as_many_messages_as_may_are_under_way_shares_the_next_one() {
        let askers = |count: u8, blocks: u8| (0..count).map(|number| (number % blocks, number)).collect::<Vec<_>>();
        assert_eq!(messages(&askers(4, 1), 0).await, 4, "nobody waits for others");
        assert_eq!(messages(&askers(5, 1), 0).await, 5);
        assert_eq!(messages(&askers(68, 1), 0).await, 5);
        assert_eq!(messages(&askers(69, 1), 0).await, 6, "a message has its bound");
        assert_eq!(messages(&askers(40, 2), 0).await, 6, "one message has one block");
        assert_eq!(messages(&askers(40, 1), 3).await, 5, "who gives up takes nobody's answer away");
    }

    #[tokio::test]
    async fn a_message_that_fails_is_no_answer_and_the_next_one_is_sent() {
        let node = Held::new(true);
        node.let_go.add_permits(9);
        let reads = SharedReads::of(node);
        for _ in 0..9 {
            let answer = reads.ask(question(1, 3)).await;
            assert_eq!((answer.calls, answer.ether), (None, Some(U256::ONE)));
        }
    }
}
