//! Caches reads of accounts by block: the answer at a block never changes.
//!
//! The reads of one block are repeated at the next as soon as the node announces it. So a caller that polls at every
//! block does not wait for the node, and the quotes on a new market do not all send reads at once.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use braid_ethereum::Node;
use braid_primitives::B256;
use moka::sync::Cache;
use tokio::sync::OnceCell;
use tracing::Instrument as _;

use crate::shared_reads::{AccountNode, Answer, MAX_QUESTIONS_PER_MESSAGE, Question, SharedReads};

/// Most cached answers, about 1 kB each.
const MAX_ANSWERS: u64 = 4_096;

/// Lifetime of a cached answer: longer than a block, whose quotes come until the next one.
const ANSWER_TTL: Duration = Duration::from_secs(60);

/// Cached answers at recent blocks.
#[derive(Debug)]
pub(crate) struct BlockReads<A = Node> {
    reads: SharedReads<A>,
    answers: Cache<Question, Arc<OnceCell<Answer>>>,
    newest: Mutex<Newest>,
}

/// The newest block, and the first questions at it: those that are repeated at the next.
#[derive(Debug, Default)]
struct Newest {
    block_hash: Option<B256>,
    asked: HashSet<Question>,
}

impl<A: AccountNode> BlockReads<A> {
    pub(crate) fn of(node: A) -> Self {
        let answers = Cache::builder().max_capacity(MAX_ANSWERS).time_to_live(ANSWER_TTL).build();
        Self { reads: SharedReads::of(node), answers, newest: Mutex::default() }
    }

    /// Returns the cached answer to a question, or asks the node. Asks once more if the answer is incomplete and another
    /// caller asked: the node may not have known the block yet.
    pub(crate) async fn ask(&self, question: Question) -> Answer {
        self.lock().note(&question);
        match self.answer(&question).await {
            (answer, is_own) if is_own || answer.is_complete(&question) => answer,
            _ => self.answer(&question).await.0,
        }
    }

    /// Repeats at a new block the questions of the one before, at most [`MAX_QUESTIONS_PER_MESSAGE`].
    pub(crate) fn read_ahead(self: &Arc<Self>, block_hash: B256) {
        for question in self.lock().advance(block_hash) {
            let reads = Arc::clone(self);
            tokio::spawn(async move { reads.answer(&question).await }.in_current_span());
        }
    }

    /// Returns the answer, and whether this call asked the node. Calls with the same question wait for one answer. An
    /// incomplete answer is returned to them and not cached.
    async fn answer(&self, question: &Question) -> (Answer, bool) {
        let cell = self.answers.get_with_by_ref(question, Arc::default);
        let mut is_own = false;
        let ask = async || {
            is_own = true;
            let answer = self.reads.ask(question.clone()).await;
            if !answer.is_complete(question) {
                self.answers.invalidate(question);
            }
            answer
        };
        let answer = cell.get_or_init(ask).await.clone();
        (answer, is_own)
    }

    fn lock(&self) -> MutexGuard<'_, Newest> {
        // no holder of the lock panics halfway through a change
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Newest {
    fn note(&mut self, question: &Question) {
        if self.block_hash == Some(question.block_hash) && self.asked.len() < MAX_QUESTIONS_PER_MESSAGE {
            self.asked.insert(question.clone());
        }
    }

    /// Moves to a block, and returns the questions of the block before with the new block's hash.
    fn advance(&mut self, block_hash: B256) -> Vec<Question> {
        self.block_hash = Some(block_hash);
        self.asked.drain().map(|question| Question { block_hash, ..question }).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use braid_ethereum::NodeError;
    use braid_primitives::{Address, Bytes, U256};
    use braid_protocols::Call;
    use tokio::sync::Notify;

    use super::*;

    /// A node that answers a call with its target, fails at block 9, and counts calls.
    #[derive(Clone, Default)]
    struct Counting(Arc<AtomicUsize>);

    impl AccountNode for Counting {
        async fn read(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, NodeError> {
            self.0.fetch_add(calls.len(), Ordering::Relaxed);
            if block_hash == B256::repeat_byte(9) {
                return Err(NodeError::UnknownBlock { hash: block_hash });
            }
            Ok(calls.into_iter().map(|call| Some(call.to.to_vec().into())).collect())
        }

        async fn ether(&self, _: B256, owners: Vec<Address>) -> Result<Vec<Option<U256>>, NodeError> {
            Ok(vec![Some(U256::ONE); owners.len()])
        }
    }

    fn question(block: u8, account: u8) -> Question {
        let calls = vec![Call { to: Address::repeat_byte(account), data: Bytes::new() }];
        Question { block_hash: B256::repeat_byte(block), calls, ether_of: None }
    }

    async fn ask(reads: &BlockReads<Counting>, block: u8, account: u8) {
        let answer = reads.ask(question(block, account)).await;
        let own = Some(Bytes::from(Address::repeat_byte(account).to_vec()));
        assert_eq!(answer.calls, (block != 9).then(|| vec![own]));
    }

    /// With one thread, after these yields every task that can continue has done so.
    async fn settle() {
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_question_is_asked_once_at_each_block() {
        let node = Counting::default();
        let reads = BlockReads::of(node.clone());
        let mut calls = Vec::new();
        for (block, account) in [(1, 1), (1, 1), (1, 2), (2, 1), (1, 2)] {
            ask(&reads, block, account).await;
            calls.push(node.0.load(Ordering::Relaxed));
        }
        assert_eq!(calls, [1, 1, 2, 3, 3]);
        tokio::join!(ask(&reads, 3, 1), ask(&reads, 3, 1));
        assert_eq!(node.0.load(Ordering::Relaxed), 4, "who asks meanwhile waits for the same answer");
    }

    #[tokio::test]
    async fn a_question_that_was_not_answered_is_asked_again() {
        let node = Counting::default();
        let reads = BlockReads::of(node.clone());
        ask(&reads, 9, 1).await;
        ask(&reads, 9, 1).await;
        assert_eq!(node.0.load(Ordering::Relaxed), 2);
    }

    /// A node that does not know a block at the first call, and holds that call until the test releases it.
    #[derive(Clone, Default)]
    struct Late(Arc<AtomicUsize>, Arc<Notify>);

    impl AccountNode for Late {
        async fn read(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, NodeError> {
            if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
                self.1.notified().await;
                return Err(NodeError::UnknownBlock { hash: block_hash });
            }
            Ok(vec![Some(Bytes::new()); calls.len()])
        }

        async fn ether(&self, _: B256, _: Vec<Address>) -> Result<Vec<Option<U256>>, NodeError> {
            Ok(Vec::new())
        }
    }

    #[tokio::test]
    async fn who_waited_for_a_question_that_came_too_early_asks_again() {
        let node = Late::default();
        let reads = Arc::new(BlockReads::of(node.clone()));
        let ahead = tokio::spawn({
            let reads = Arc::clone(&reads);
            async move { reads.answer(&question(1, 1)).await }
        });
        settle().await;
        let quote = tokio::spawn({
            let reads = Arc::clone(&reads);
            async move { reads.ask(question(1, 1)).await }
        });
        settle().await;
        node.1.notify_one();
        assert!(!ahead.await.unwrap().0.is_complete(&question(1, 1)));
        assert!(quote.await.unwrap().is_complete(&question(1, 1)));
        assert_eq!(node.0.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn what_was_asked_at_a_block_is_known_at_the_next_and_not_for_ever() {
        let node = Counting::default();
        let reads = Arc::new(BlockReads::of(node.clone()));
        reads.read_ahead(B256::repeat_byte(1));
        ask(&reads, 1, 1).await;
        ask(&reads, 1, 2).await;
        reads.read_ahead(B256::repeat_byte(2));
        settle().await;
        assert_eq!(node.0.load(Ordering::Relaxed), 4);
        ask(&reads, 2, 1).await;
        assert_eq!(node.0.load(Ordering::Relaxed), 4, "it was asked ahead");
        reads.read_ahead(B256::repeat_byte(3));
        settle().await;
        assert_eq!(node.0.load(Ordering::Relaxed), 5, "only what was asked for at the last block");
    }

    #[tokio::test]
    async fn so_much_is_asked_ahead_and_no_more() {
        let node = Counting::default();
        let reads = Arc::new(BlockReads::of(node.clone()));
        reads.read_ahead(B256::repeat_byte(1));
        for account in 0..100 {
            ask(&reads, 1, account).await;
        }
        reads.read_ahead(B256::repeat_byte(2));
        settle().await;
        assert_eq!(node.0.load(Ordering::Relaxed), 100 + MAX_QUESTIONS_PER_MESSAGE);
    }
}
