//! Reads many values of one block: calls in aggregates, storage words and balances in batches.

use alloy::primitives::U64;
use braid_primitives::{Address, B256, Bytes, U256};
use braid_protocols::{Call, lens, storage};
use futures::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, future::try_join_all, stream};
use serde_json::json;

use super::{
    calls::{Aggregate, Answer, class, is_lens, request},
    client::Request,
    connect::Node,
    gate::FAR_TIMES,
    health::Class,
    limits::Limits,
    member::Member,
    multicall::{self, Bounds},
    packed, refusals,
    wire::{at, parse},
};
use crate::NodeError;

/// Calls or words that share a message if they cannot share an aggregate.
const CALLS_PER_BATCH: usize = 50;

/// Parts of a failed aggregate that are tried side by side: one call that burns all gas is found in a few round trips.
const PARTS: usize = 8;

/// Most calls of an aggregate that is not tried in parts if it gets no answer: the node is at fault.
const SMALL_AGGREGATE: usize = 250;

impl Node {
    /// Makes calls at a block, by hash, and returns their answers in order; a call that fails is `None`.
    ///
    /// Calls are aggregated, through the lens if the node supports code overrides, through Multicall3 otherwise, and
    /// cut by number and size; several aggregates are under way at once. If an aggregate fails as a whole its parts are
    /// tried, down to single calls. A call that burns all gas starves the calls after it, so a call that failed in an
    /// aggregate is made again alone before it counts as failed. A call to an address without code succeeds with an
    /// empty answer, as on the chain.
    ///
    /// # Errors
    /// [`NodeError`] when the node does not answer, or does not know the block.
    pub async fn read(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, NodeError> {
        let is_word = |call: &Call| storage::slot_of(call).is_some();
        if !calls.iter().any(is_word) {
            return self.read_calls(block_hash, calls).await;
        }
        let kinds: Vec<bool> = calls.iter().map(is_word).collect();
        let (words, calls): (Vec<Call>, Vec<Call>) = calls.into_iter().partition(is_word);
        let (words, calls) =
            futures::try_join!(self.read_words(block_hash, &words), self.read_calls(block_hash, calls))?;
        let (mut words, mut calls) = (words.into_iter(), calls.into_iter());
        let next = |is_word: bool| if is_word { words.next() } else { calls.next() }.flatten();
        Ok(kinds.into_iter().map(next).collect())
    }

    /// Makes one call at a block.
    ///
    /// # Errors
    /// [`NodeError::Rpc`] when the call reverts.
    pub async fn call(&self, block_hash: B256, call: &Call) -> Result<Bytes, NodeError> {
        let needs_lens = is_lens(call);
        let request = &request(block_hash, call, needs_lens);
        self.ask(class(needs_lens), |member| member.call(block_hash, request, needs_lens)).await
    }

    /// Returns whether a node has a block.
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

    /// Returns whether a node supports code overrides in calls. Each is asked once; a node that refuses an override, or
    /// ignores it, is read from with plain calls.
    ///
    /// # Errors
    /// [`NodeError`] when none answers, or none knows the block; it is then asked again the next time.
    pub async fn supports_overrides(&self, block_hash: B256) -> Result<bool, NodeError> {
        let members = &self.inner.fleet.members;
        let known = |member: &Member| member.overrides_code.get().copied();
        for _ in members {
            if members.iter().any(|member| known(member) == Some(true)) {
                return Ok(true);
            }
            if members.iter().all(|member| known(member).is_some()) {
                return Ok(false);
            }
            if self.ask(Class::Overridden, |member| member.supports_overrides(block_hash)).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the ether balances of several accounts at a block, in wei; a read that failed is `None`.
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
        let requests = requests.as_slice();
        let answers = self.ask(Class::Quick, |member| member.connection.batch(requests)).await?;
        Ok(answers.into_iter().map(|raw| parse(BALANCE, &raw.ok()?).ok()).collect())
    }

    /// Reads storage words, several to a message; one that the node refuses is `None`.
    async fn read_words(&self, block_hash: B256, calls: &[Call]) -> Result<Vec<Answer>, NodeError> {
        let request = |call: &Call| {
            let slot = storage::slot_of(call).unwrap_or_default();
            Request { method: "eth_getStorageAt", params: json!([call.to, slot, at(block_hash)]) }
        };
        let mut words = Vec::with_capacity(calls.len());
        for chunk in calls.chunks(CALLS_PER_BATCH) {
            let requests: Vec<Request> = chunk.iter().map(request).collect();
            let requests = requests.as_slice();
            words.extend(self.ask(Class::Heavy, |member| member.calls(block_hash, requests, false)).await?);
        }
        Ok(words)
    }

    async fn read_calls(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Answer>, NodeError> {
        let bounds = self.bounds();
        let calls: Vec<Call> = calls.into_iter().map(|call| lens::within(call, bounds.lens_gas)).collect();
        let chunks = multicall::chunks(&calls, bounds).into_iter();
        let reads: Vec<_> = chunks.map(|chunk| self.read_chunk(block_hash, chunk)).collect();
        let chunks: Vec<_> =
            stream::iter(reads).buffered(self.inner.config.concurrency.max(1) * FAR_TIMES).try_collect().await?;
        let answers: Vec<Answer> = chunks.into_iter().flat_map(|(answers, _)| answers).collect();
        // Nodes word a missing block in many ways, some of which look like a failed call.
        if answers.iter().any(Option::is_none) && !self.has_block(block_hash).await? {
            return Err(NodeError::UnknownBlock { hash: block_hash });
        }
        Ok(answers)
    }

    /// Reads a chunk of calls as one aggregate; if that fails, its parts side by side. Returns also whether they were
    /// answered as one aggregate.
    fn read_chunk<'a>(
        &'a self,
        block_hash: B256,
        chunk: &'a [Call],
    ) -> BoxFuture<'a, Result<(Vec<Answer>, bool), NodeError>> {
        async move {
            // Limits that were learnt meanwhile apply here too.
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
                    Ok((self.read_failed_alone(block_hash, chunk, together).await?, true))
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

    /// Reads parts side by side. Returns also whether each was answered as one aggregate.
    async fn read_parts(&self, block_hash: B256, parts: Vec<&[Call]>) -> Result<(Vec<Answer>, bool), NodeError> {
        let read = try_join_all(parts.into_iter().map(|part| self.read_chunk(block_hash, part))).await?;
        let all_answered = read.iter().all(|(_, answered)| *answered);
        Ok((read.into_iter().flat_map(|(answers, _)| answers).collect(), all_answered))
    }

    async fn aggregate(&self, block_hash: B256, calls: &[Call]) -> Result<Aggregate, NodeError> {
        let needs_lens = calls.iter().any(is_lens);
        let packed = if needs_lens || calls.len() >= packed::MIN_CALLS { packed::encode(calls) } else { None };
        let packed = packed.as_ref();
        let asked = self.ask(class(needs_lens), |member| member.aggregate(block_hash, calls, packed, needs_lens));
        match asked.await {
            Err(error) if error.is_rate_limit() => Err(error),
            Err(error @ (NodeError::Rpc { .. } | NodeError::Unsupported { .. })) => {
                tracing::debug!(%error, calls = calls.len(), "asking for fewer calls at once");
                Ok(Aggregate::Failed(error))
            }
            Err(error) if error.is_too_large() => Ok(Aggregate::Failed(error)),
            // The answer may have been too long or too slow to compute, unless it is small.
            Err(error) if error.may_be_a_limit() && calls.len() > SMALL_AGGREGATE => Ok(Aggregate::Failed(error)),
            result => result,
        }
    }

    /// Makes the calls that failed in an aggregate again, each alone.
    async fn read_failed_alone(
        &self,
        block_hash: B256,
        calls: &[Call],
        mut answers: Vec<Answer>,
    ) -> Result<Vec<Answer>, NodeError> {
        let failed = calls.iter().zip(&mut answers).filter(|(_, answer)| answer.is_none());
        let (lens, plain): (Vec<_>, Vec<_>) = failed.partition(|(call, _)| is_lens(call));
        let plain_calls: Vec<Call> = plain.iter().map(|(call, _)| (*call).clone()).collect();
        let of_lens = try_join_all(lens.iter().map(|(call, _)| self.read_one(block_hash, call)));
        let (of_plain, of_lens) = futures::try_join!(self.read_singly(block_hash, &plain_calls), of_lens)?;
        for ((_, slot), answer) in plain.into_iter().chain(lens).zip(of_plain.into_iter().chain(of_lens)) {
            *slot = answer;
        }
        Ok(answers)
    }

    /// Makes one call; a call of the lens that needs too much gas over fewer words.
    async fn read_one(&self, block_hash: B256, call: &Call) -> Result<Answer, NodeError> {
        let mut call = call.clone();
        loop {
            match self.call(block_hash, &call).await {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(error) if error.is_rate_limit() => return Err(error),
                Err(error @ NodeError::Rpc { .. }) if is_lens(&call) && error.is_out_of_gas() => {
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

    /// Makes calls without aggregating them, several to a message.
    async fn read_singly(&self, block_hash: B256, calls: &[Call]) -> Result<Vec<Answer>, NodeError> {
        let reads = calls.chunks(CALLS_PER_BATCH).map(|chunk| self.read_batch(block_hash, chunk));
        Ok(try_join_all(reads).await?.concat())
    }

    async fn read_batch(&self, block_hash: B256, calls: &[Call]) -> Result<Vec<Answer>, NodeError> {
        let needs_lens = calls.iter().any(is_lens);
        let requests: Vec<Request> = calls.iter().map(|call| request(block_hash, call, is_lens(call))).collect();
        let requests = requests.as_slice();
        match self.ask(class(needs_lens), |member| member.calls(block_hash, requests, needs_lens)).await {
            Err(NodeError::Unsupported { .. }) => Ok(vec![None; calls.len()]),
            answered => answered,
        }
    }

    /// Uses the limits of the node that is asked first.
    fn with_limits<T>(&self, work: impl FnOnce(&Member, &mut Limits) -> T) -> Option<T> {
        let member = self.inner.fleet.leader()?;
        Some(work(member, &mut member.connection.limits.lock()))
    }

    /// Returns the bounds on one aggregate.
    fn bounds(&self) -> Bounds {
        self.with_limits(|_, limits| Bounds::of(limits)).unwrap_or(Bounds { calls: 1, bytes: 0, lens_gas: 0 })
    }

    fn note_answer(&self, chunk: &[Call]) {
        self.with_limits(|_, limits| match lens_gas(chunk) {
            0 => limits.calls.answered(chunk.len() as u64, true),
            gas => limits.lens_gas.answered(gas, true),
        });
    }

    /// Notes that an aggregate was too large, since its parts were answered.
    fn note_too_large(&self, chunk: &[Call], error: &NodeError) {
        self.with_limits(|member, limits| {
            let (size, asked, stated) = match lens_gas(chunk) {
                0 => (&mut limits.calls, chunk.len() as u64, None),
                gas => (&mut limits.lens_gas, gas, stated_gas(error)),
            };
            if size.refused(asked, stated) {
                let (node, most) = (member.name.as_str(), size.now());
                tracing::info!(node, %error, asked, most, "the node limits calls: aggregates are smaller from now on");
            }
        });
    }

    /// Returns a call of the lens over fewer words, after the node had too little gas for it.
    fn narrowed(&self, call: &Call, error: &NodeError) -> Call {
        let asked = lens::gas_units(call);
        let gas = self.with_limits(|_, limits| {
            limits.lens_gas.refused(asked, stated_gas(error));
            limits.lens_gas.now().min(asked / 2)
        });
        lens::within(call.clone(), gas.unwrap_or(asked))
    }
}

/// Returns the gas that the lens may use if a refusal states the node's limit: the calldata takes gas too.
fn stated_gas(error: &NodeError) -> Option<u64> {
    refusals::gas(error.message()).map(|gas| gas / 5 * 4)
}

/// Returns about how much gas the lens takes in some calls, in gas units.
fn lens_gas(calls: &[Call]) -> u64 {
    calls.iter().map(lens::gas_units).fold(0, u64::saturating_add)
}
