//! Batched reads, all at one block.

use alloy::primitives::U64;
use braid_primitives::{Address, B256, Bytes, U256};
use braid_protocols::{Call, lens, storage};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::json;

use super::{
    client::Request,
    connect::Node,
    fleet::Member,
    health::Class,
    multicall,
    wire::{at, parse},
};
use crate::NodeError;

const METHOD: &str = "eth_call";

/// How many `eth_call`s share a message where they cannot share an aggregate.
const CALLS_PER_BATCH: usize = 50;

/// An aggregate of at most so many calls that gets no answer is not tried in halves: the node is at fault.
const SMALL_AGGREGATE: usize = 250;

impl Node {
    /// Makes calls at a block, by hash, and gives their answers in order; a call that fails is `None`.
    ///
    /// Calls travel together through Multicall3, cut by number and size, several cuts at once. Where an aggregate fails as
    /// a whole its halves are tried, down to single calls. A call that burns all gas starves the calls after it, so whatever
    /// failed inside an aggregate is asked again on its own before it counts as failed. A call to an address without code
    /// succeeds with an empty answer, as on the chain.
    ///
    /// # Errors
    /// [`NodeError`] when the node does not answer, or does not know the block.
    pub async fn read(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, NodeError> {
        if calls.iter().any(|call| storage::slot_of(call).is_some()) {
            return self.read_with_storage(block_hash, calls).await;
        }
        self.read_calls(block_hash, calls).await
    }

    /// As [`Node::read`], where words of storage are among the questions: those go in batches beside the aggregates.
    async fn read_with_storage(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, NodeError> {
        let is_word = |call: &Call| storage::slot_of(call).is_some();
        let kinds: Vec<bool> = calls.iter().map(is_word).collect();
        let (words, calls): (Vec<Call>, Vec<Call>) = calls.into_iter().partition(is_word);
        let (words, calls) =
            futures::try_join!(self.read_words(block_hash, &words), self.read_calls(block_hash, calls))?;
        let (mut words, mut calls) = (words.into_iter(), calls.into_iter());
        let next = |word: bool| if word { words.next() } else { calls.next() }.flatten();
        Ok(kinds.into_iter().map(next).collect())
    }

    /// Words of storage, several to a message; one that the node refuses is `None`.
    async fn read_words(&self, block_hash: B256, calls: &[Call]) -> Result<Vec<Option<Bytes>>, NodeError> {
        let mut words = Vec::with_capacity(calls.len());
        for chunk in calls.chunks(CALLS_PER_BATCH) {
            let request = |call: &Call| {
                let slot = storage::slot_of(call).unwrap_or_default();
                Request { method: "eth_getStorageAt", params: json!([call.to, slot, at(block_hash)]) }
            };
            let requests: Vec<Request> = chunk.iter().map(request).collect();
            let requests = requests.as_slice();
            let work = |member| calls_of(member, block_hash, requests, false);
            words.extend(self.inner.fleet.ask(Class::Heavy, false, work).await?);
        }
        Ok(words)
    }

    async fn read_calls(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, NodeError> {
        let chunks: Vec<Vec<Call>> = multicall::chunks(&calls).into_iter().map(<[Call]>::to_vec).collect();
        let reads = chunks.into_iter().map(|chunk| self.read_chunk(block_hash, chunk));
        let chunks: Vec<_> = stream::iter(reads).buffered(self.inner.config.concurrency.max(1)).try_collect().await?;
        let answers: Vec<Option<Bytes>> = chunks.into_iter().flatten().collect();
        // Nodes word a missing block in many ways, some of which look like a failed call.
        if answers.iter().any(Option::is_none) && !self.has_block(block_hash).await? {
            return Err(NodeError::UnknownBlock { hash: block_hash });
        }
        Ok(answers)
    }

    /// Whether a node has a block.
    ///
    /// # Errors
    /// [`NodeError`] when none answers.
    pub async fn has_block(&self, block_hash: B256) -> Result<bool, NodeError> {
        let request = &Request { method: "eth_getBlockTransactionCountByHash", params: json!([block_hash]) };
        let asked = self.ask(Class::Quick, |member| async move {
            let count: Option<U64> = member.get(request).await?;
            count.map(|_| true).ok_or(NodeError::UnknownBlock { hash: block_hash })
        });
        match asked.await {
            Err(NodeError::UnknownBlock { .. }) => Ok(false),
            result => result,
        }
    }

    /// The ether balances of several accounts at a block, in wei; a read that failed is `None`.
    ///
    /// # Errors
    /// [`NodeError`] when the node does not answer at all.
    pub async fn native_balances(
        &self,
        block_hash: B256,
        accounts: &[Address],
    ) -> Result<Vec<Option<U256>>, NodeError> {
        const BALANCE: &str = "eth_getBalance";
        let request = |account| Request { method: BALANCE, params: json!([account, at(block_hash)]) };
        let requests: Vec<Request> = accounts.iter().map(request).collect();
        let answers = self.batch(&requests).await?;
        Ok(answers.into_iter().map(|raw| parse(BALANCE, &raw.ok()?).ok()).collect())
    }

    async fn read_chunk(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, NodeError> {
        // Halves that still wait, the earliest last.
        let mut waiting = vec![calls];
        let mut answers = Vec::new();
        while let Some(chunk) = waiting.pop() {
            if let [call] = chunk.as_slice() {
                answers.push(self.read_one(block_hash, call).await?);
                continue;
            }
            match self.aggregate(block_hash, &chunk).await? {
                Aggregate::Answered(together) => answers.extend(self.ask_again(block_hash, &chunk, together).await?),
                Aggregate::NoContract => answers.extend(self.read_singly(block_hash, &chunk).await?),
                Aggregate::Failed => {
                    let (first, second) = chunk.split_at(chunk.len() / 2);
                    waiting.push(second.to_vec());
                    waiting.push(first.to_vec());
                }
            }
        }
        Ok(answers)
    }

    /// Replaces the failures of an aggregate by what the same calls answer on their own.
    async fn ask_again(
        &self,
        block_hash: B256,
        calls: &[Call],
        mut answers: Vec<Option<Bytes>>,
    ) -> Result<Vec<Option<Bytes>>, NodeError> {
        let failed: Vec<usize> =
            answers.iter().enumerate().filter_map(|(index, answer)| answer.is_none().then_some(index)).collect();
        let calls: Vec<Call> = failed.iter().filter_map(|index| calls.get(*index).cloned()).collect();
        let alone = self.read_singly(block_hash, &calls).await?;
        for (index, answer) in failed.into_iter().zip(alone) {
            if let Some(slot) = answers.get_mut(index) {
                *slot = answer;
            }
        }
        Ok(answers)
    }

    async fn aggregate(&self, block_hash: B256, calls: &[Call]) -> Result<Aggregate, NodeError> {
        let aggregate = Call { to: multicall::MULTICALL3, data: multicall::encode(calls) };
        let lend = calls.iter().any(is_lens);
        match self.ask_call(block_hash, &aggregate, lend).await {
            Ok(bytes) if bytes.is_empty() => Ok(Aggregate::NoContract),
            Ok(bytes) => match multicall::decode(&bytes, calls.len()) {
                Some(answers) => Ok(Aggregate::Answered(answers)),
                None => Err(NodeError::Malformed { method: METHOD, why: "not an answer of Multicall3".into() }),
            },
            Err(error) if error.is_a_rate_limit() => Err(error),
            Err(error @ (NodeError::Rpc { .. } | NodeError::Unsupported { .. })) => {
                tracing::debug!(%error, calls = calls.len(), "asking for fewer calls at once");
                Ok(Aggregate::Failed)
            }
            // The answer may have been too long, or too slow in the making; a small one was not.
            Err(error) if error.may_be_a_limit() && calls.len() > SMALL_AGGREGATE => Ok(Aggregate::Failed),
            Err(error) => Err(error),
        }
    }

    /// One `eth_call`, on demand with the lens's code lent.
    async fn ask_call(&self, block_hash: B256, call: &Call, lend: bool) -> Result<Bytes, NodeError> {
        let request = &request(block_hash, call, lend);
        let work = |member| call_of(member, block_hash, request, lend);
        self.inner.fleet.ask(Class::Heavy, lend, work).await
    }

    async fn read_one(&self, block_hash: B256, call: &Call) -> Result<Option<Bytes>, NodeError> {
        match self.call(block_hash, call).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_a_rate_limit() => Err(error),
            Err(NodeError::Rpc { .. } | NodeError::Unsupported { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Calls one by one, several to a message.
    async fn read_singly(&self, block_hash: B256, calls: &[Call]) -> Result<Vec<Option<Bytes>>, NodeError> {
        let mut answers = Vec::with_capacity(calls.len());
        for chunk in calls.chunks(CALLS_PER_BATCH) {
            let lend = chunk.iter().any(is_lens);
            let requests: Vec<Request> = chunk.iter().map(|call| request(block_hash, call, is_lens(call))).collect();
            let requests = requests.as_slice();
            let work = |member| calls_of(member, block_hash, requests, lend);
            match self.inner.fleet.ask(Class::Heavy, lend, work).await {
                Ok(some) => answers.extend(some),
                Err(NodeError::Unsupported { .. }) => answers.extend(chunk.iter().map(|_| None)),
                Err(error) => return Err(error),
            }
        }
        Ok(answers)
    }

    /// One `eth_call` at a block.
    ///
    /// # Errors
    /// [`NodeError::Rpc`] when the call reverts.
    pub async fn call(&self, block_hash: B256, call: &Call) -> Result<Bytes, NodeError> {
        self.ask_call(block_hash, call, is_lens(call)).await
    }

    /// Whether a node lends the lens's code to an address for the length of a call. Each is asked once; one that
    /// refuses, or takes the request and does not do it, is read from with plain calls.
    ///
    /// # Errors
    /// [`NodeError`] when none answers, or none knows the block; the question is then still open.
    pub async fn lends_code(&self, block_hash: B256) -> Result<bool, NodeError> {
        let members = &self.inner.fleet.members;
        let known = |member: &Member| member.lends_code.get().copied();
        for _ in members {
            if members.iter().any(|member| known(member) == Some(true)) {
                return Ok(true);
            }
            if members.iter().all(|member| known(member).is_some()) {
                return Ok(false);
            }
            let lends = self.inner.fleet.ask(Class::Heavy, true, |member| member.lends(block_hash)).await?;
            if lends {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Member {
    async fn lends(&self, block_hash: B256) -> Result<bool, NodeError> {
        if let Some(known) = self.lends_code.get() {
            return Ok(*known);
        }
        let lends = match self.get::<Bytes>(&request(block_hash, &lens::probe(), true)).await {
            Ok(answer) => U256::try_from_be_slice(&answer) == Some(lens::PROBE),
            Err(error) if error.is_of_the_block() => return Err(NodeError::UnknownBlock { hash: block_hash }),
            Err(error) if error.is_a_rate_limit() => return Err(error),
            Err(NodeError::Rpc { code, message, .. }) => {
                let node = self.name.as_str();
                tracing::info!(
                    node,
                    code,
                    message,
                    "a node lends no code: from it ticks are read one by one, which takes longer"
                );
                false
            }
            Err(error) => return Err(error),
        };
        Ok(*self.lends_code.get_or_init(|| lends))
    }
}

/// One call at one node.
async fn call_of(member: &Member, block_hash: B256, request: &Request, lend: bool) -> Result<Bytes, NodeError> {
    if lend && !member.lends(block_hash).await? {
        return Err(NodeError::Unsupported { what: "code lent for a call" });
    }
    match member.get(request).await {
        Err(error) if error.is_of_the_block() => Err(NodeError::UnknownBlock { hash: block_hash }),
        result => result,
    }
}

/// Several calls at one node, in one message; a call that reverts is `None`.
async fn calls_of(
    member: &Member,
    block_hash: B256,
    requests: &[Request],
    lend: bool,
) -> Result<Vec<Option<Bytes>>, NodeError> {
    if lend && !member.lends(block_hash).await? {
        return Err(NodeError::Unsupported { what: "code lent for a call" });
    }
    let mut answers = Vec::with_capacity(requests.len());
    for raw in member.connection.batch(requests).await? {
        match raw {
            Ok(raw) => answers.push(Some(parse(METHOD, &raw)?)),
            Err(error) if error.is_of_the_block() => return Err(NodeError::UnknownBlock { hash: block_hash }),
            Err(error) if error.is_a_rate_limit() => return Err(error),
            Err(NodeError::Rpc { .. }) => answers.push(None),
            Err(error) => return Err(error),
        }
    }
    Ok(answers)
}

enum Aggregate {
    Answered(Vec<Option<Bytes>>),
    NoContract,
    Failed,
}

fn is_lens(call: &Call) -> bool {
    call.to == lens::ADDRESS
}

/// An `eth_call`; on demand with the lens's code lent to its address.
fn request(block_hash: B256, call: &Call, lend: bool) -> Request {
    let transaction = json!({ "to": call.to, "data": call.data });
    let params = if lend {
        json!([transaction, at(block_hash), { lens::ADDRESS.to_string(): { "code": lens::runtime_code() } }])
    } else {
        json!([transaction, at(block_hash)])
    };
    Request { method: METHOD, params }
}
