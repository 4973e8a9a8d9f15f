//! Batched reads, all at one block.

use alloy::primitives::U64;
use braid_primitives::{Address, B256, Bytes, U256};
use braid_protocols::{Call, lens, storage};
use futures::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, future::try_join_all, stream};
use serde_json::json;

use super::{
    client::Request,
    connect::Node,
    fleet::Member,
    gate::FAR_TIMES,
    health::Class,
    multicall::{self, Bounds},
    packed, told,
    wire::{at, parse},
};
use crate::NodeError;

const METHOD: &str = "eth_call";

/// What a call answered; nothing where it failed.
type Answer = Option<Bytes>;

/// How many `eth_call`s share a message where they cannot share an aggregate.
const CALLS_PER_BATCH: usize = 50;

/// How many parts are tried of an aggregate that failed, side by side: one call that burns all gas is found in a few round trips.
const PARTS: usize = 8;

/// An aggregate of at most so many calls that gets no answer is not tried in parts: the node is at fault.
const SMALL_AGGREGATE: usize = 250;

impl Node {
    /// Makes calls at a block, by hash, and gives their answers in order; a call that fails is `None`.
    ///
    /// Calls travel together through the lens where the node lends code, through Multicall3 otherwise, cut by number and size, several cuts
    /// at once. Where an aggregate fails as a whole its parts are tried, down to single calls. A call that burns all gas starves the calls after it, so whatever
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
            words.extend(self.ask_lender(Class::Heavy, false, work).await?);
        }
        Ok(words)
    }

    async fn read_calls(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, NodeError> {
        let bounds = self.bounds();
        let calls: Vec<Call> = calls.into_iter().map(|call| lens::within(call, bounds.lens_gas)).collect();
        let reads: Vec<_> =
            multicall::chunks(&calls, bounds).into_iter().map(|chunk| self.read_chunk(block_hash, chunk)).collect();
        let chunks: Vec<_> =
            stream::iter(reads).buffered(self.inner.config.concurrency.max(1) * FAR_TIMES).try_collect().await?;
        let answers: Vec<Answer> = chunks.into_iter().flat_map(|(answers, _)| answers).collect();
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

    /// What the node that is asked first accepts in one aggregate.
    fn bounds(&self) -> Bounds {
        let known = |member: &Member| Bounds::of(&member.connection.limits.learnt());
        self.inner.fleet.leader().map_or(Bounds { calls: 1, bytes: 0, lens_gas: 0 }, known)
    }

    /// Reads some calls; where an aggregate of them fails, its parts side by side. Gives whether they were answered as one aggregate too.
    fn read_chunk<'a>(
        &'a self,
        block_hash: B256,
        chunk: &'a [Call],
    ) -> BoxFuture<'a, Result<(Vec<Answer>, bool), NodeError>> {
        async move {
            // What was learnt meanwhile of others counts here too.
            let parts = multicall::chunks(chunk, self.bounds());
            if parts.len() > 1 {
                return Ok((self.read_parts(block_hash, parts).await?.0, false));
            }
            if let [call] = chunk {
                let answer = self.read_one(block_hash, call).await?;
                let answered = answer.is_some();
                return Ok((vec![answer], answered));
            }
            match self.aggregate(block_hash, chunk).await? {
                Aggregate::Answered(together) => {
                    self.note_answer(chunk);
                    Ok((self.ask_again(block_hash, chunk, together).await?, true))
                }
                Aggregate::NoContract => Ok((self.read_singly(block_hash, chunk).await?, false)),
                Aggregate::Failed(error) => {
                    let parts = chunk.chunks(chunk.len().div_ceil(PARTS)).collect();
                    let (answers, all_answered) = self.read_parts(block_hash, parts).await?;
                    if all_answered {
                        self.note_too_large(chunk, &error);
                    }
                    Ok((answers, false))
                }
            }
        }
        .boxed()
    }

    /// Reads parts side by side. Gives whether each of them was answered as one aggregate.
    async fn read_parts(&self, block_hash: B256, parts: Vec<&[Call]>) -> Result<(Vec<Answer>, bool), NodeError> {
        let read = try_join_all(parts.into_iter().map(|part| self.read_chunk(block_hash, part))).await?;
        let all_answered = read.iter().all(|(_, answered)| *answered);
        Ok((read.into_iter().flat_map(|(answers, _)| answers).collect(), all_answered))
    }

    fn note_answer(&self, chunk: &[Call]) {
        let Some(member) = self.inner.fleet.leader() else { return };
        let mut learnt = member.connection.limits.learnt();
        match lens_gas(chunk) {
            0 => learnt.calls.answered(chunk.len() as u64, true),
            gas => learnt.lens_gas.answered(gas, true),
        }
    }

    /// An aggregate whose parts were all answered was too large; where one was not, it may be that part's fault.
    fn note_too_large(&self, chunk: &[Call], error: &NodeError) {
        let Some(member) = self.inner.fleet.leader() else { return };
        let mut learnt = member.connection.limits.learnt();
        let told = told::gas(error.message());
        let (size, asked, told) = match lens_gas(chunk) {
            0 => (&mut learnt.calls, chunk.len() as u64, None),
            // The calldata takes gas too.
            gas => (&mut learnt.lens_gas, gas, told.map(|told| told / 5 * 4)),
        };
        if size.refused(asked, told) {
            let (node, most) = (member.name.as_str(), size.now());
            tracing::info!(node, %error, asked, most, "the node limits calls: less is asked for at once from now on");
        }
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
        let (lens, plain): (Vec<usize>, Vec<usize>) =
            failed.into_iter().partition(|index| calls.get(*index).is_some_and(is_lens));
        let calls_at = |at: &[usize]| at.iter().filter_map(|index| calls.get(*index).cloned()).collect::<Vec<Call>>();
        let (plain_calls, lens_calls) = (calls_at(&plain), calls_at(&lens));
        let of_lens = try_join_all(lens_calls.iter().map(|call| self.read_one(block_hash, call)));
        let (mut alone, of_lens) = futures::try_join!(self.read_singly(block_hash, &plain_calls), of_lens)?;
        alone.extend(of_lens);
        for (index, answer) in plain.into_iter().chain(lens).zip(alone) {
            if let Some(slot) = answers.get_mut(index) {
                *slot = answer;
            }
        }
        Ok(answers)
    }

    async fn aggregate(&self, block_hash: B256, calls: &[Call]) -> Result<Aggregate, NodeError> {
        let lend = calls.iter().any(is_lens);
        let packed = if lend || calls.len() >= packed::MIN_CALLS { packed::encode(calls) } else { None };
        let packed = packed.as_ref();
        let work = |member| aggregate_at(member, block_hash, calls, packed, lend);
        match self.ask_lender(Class::Heavy, lend, work).await {
            Ok(aggregate) => Ok(aggregate),
            Err(error) if error.is_a_rate_limit() => Err(error),
            Err(error @ (NodeError::Rpc { .. } | NodeError::Unsupported { .. })) => {
                tracing::debug!(%error, calls = calls.len(), "asking for fewer calls at once");
                Ok(Aggregate::Failed(error))
            }
            Err(error) if error.is_too_large() => Ok(Aggregate::Failed(error)),
            // The answer may have been too long, or too slow in the making; a small one was not.
            Err(error) if error.may_be_a_limit() && calls.len() > SMALL_AGGREGATE => Ok(Aggregate::Failed(error)),
            Err(error) => Err(error),
        }
    }

    /// One `eth_call`, on demand with the lens's code lent.
    async fn ask_call(&self, block_hash: B256, call: &Call, lend: bool) -> Result<Bytes, NodeError> {
        let request = &request(block_hash, call, lend);
        let work = |member| call_of(member, block_hash, request, lend);
        self.ask_lender(Class::Heavy, lend, work).await
    }

    async fn read_one(&self, block_hash: B256, call: &Call) -> Result<Option<Bytes>, NodeError> {
        let mut call = call.clone();
        loop {
            match self.call(block_hash, &call).await {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(error) if error.is_a_rate_limit() => return Err(error),
                Err(error @ NodeError::Rpc { .. }) if is_lens(&call) && error.is_of_gas() => {
                    let narrow = self.narrowed(&call, &error);
                    if narrow == call {
                        return Ok(None);
                    }
                    call = narrow;
                }
                Err(NodeError::Rpc { .. } | NodeError::Unsupported { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// A call of the lens for which the node has not enough gas, over fewer words.
    fn narrowed(&self, call: &Call, error: &NodeError) -> Call {
        let Some(member) = self.inner.fleet.leader() else { return call.clone() };
        let asked = lens::gas_units(call);
        let told = told::gas(error.message()).map(|told| told / 5 * 4);
        let mut learnt = member.connection.limits.learnt();
        learnt.lens_gas.refused(asked, told);
        lens::within(call.clone(), learnt.lens_gas.now().min(asked / 2))
    }

    /// Calls one by one, several to a message.
    async fn read_singly(&self, block_hash: B256, calls: &[Call]) -> Result<Vec<Option<Bytes>>, NodeError> {
        let reads = calls.chunks(CALLS_PER_BATCH).map(|chunk| self.read_batch(block_hash, chunk));
        Ok(try_join_all(reads).await?.concat())
    }

    async fn read_batch(&self, block_hash: B256, calls: &[Call]) -> Result<Vec<Answer>, NodeError> {
        let lend = calls.iter().any(is_lens);
        let requests: Vec<Request> = calls.iter().map(|call| request(block_hash, call, is_lens(call))).collect();
        let requests = requests.as_slice();
        let work = |member| calls_of(member, block_hash, requests, lend);
        match self.ask_lender(Class::Heavy, lend, work).await {
            Err(NodeError::Unsupported { .. }) => Ok(vec![None; calls.len()]),
            answered => answered,
        }
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
            let lends = self.ask_lender(Class::Heavy, true, |member| member.lends(block_hash)).await?;
            if lends {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Member {
    /// Whether it lends code for a call; it is asked once.
    pub(super) async fn lends(&self, block_hash: B256) -> Result<bool, NodeError> {
        if let Some(known) = self.lends_code.get() {
            return Ok(*known);
        }
        // Not in one message: a node that knows no state override may refuse all of it, as if it took no batches.
        let is_probe = |answer: &Bytes| U256::try_from_be_slice(answer) == Some(lens::PROBE);
        let lends = match self.get::<Bytes>(&request(block_hash, &lens::probe(), true)).await {
            Ok(answer) => is_probe(&answer),
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
        if lends {
            let many = packed::encode(&[lens::probe()]).unwrap_or_default();
            let answer = self.get::<Bytes>(&request(block_hash, &Call { to: lens::ADDRESS, data: many }, true)).await;
            let told = answer.ok().and_then(|answer| packed::decode(&answer, 1)?.pop()?);
            self.packs.get_or_init(|| told.is_some_and(|answer| is_probe(&answer)));
        }
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

/// Many calls at one node, in the shortest form that it understands.
async fn aggregate_at(
    member: &Member,
    block_hash: B256,
    calls: &[Call],
    packed: Option<&Bytes>,
    lend: bool,
) -> Result<Aggregate, NodeError> {
    if let Some(data) = packed
        && member.lends(block_hash).await?
        && member.packs.get() == Some(&true)
    {
        let call = Call { to: lens::ADDRESS, data: data.clone() };
        let bytes = call_of(member, block_hash, &request(block_hash, &call, true), true).await?;
        let answers = packed::decode(&bytes, calls.len());
        return answers
            .map(Aggregate::Answered)
            .ok_or_else(|| NodeError::Malformed { method: METHOD, why: "not an answer of the lens".into() });
    }
    let call = Call { to: multicall::MULTICALL3, data: multicall::encode(calls) };
    let bytes = call_of(member, block_hash, &request(block_hash, &call, lend), lend).await?;
    if bytes.is_empty() {
        return Ok(Aggregate::NoContract);
    }
    let answers = multicall::decode(&bytes, calls.len());
    answers
        .map(Aggregate::Answered)
        .ok_or_else(|| NodeError::Malformed { method: METHOD, why: "not an answer of Multicall3".into() })
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
    Failed(NodeError),
}

/// About how much gas the lens takes in some calls.
fn lens_gas(calls: &[Call]) -> u64 {
    calls.iter().map(lens::gas_units).fold(0, u64::saturating_add)
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
