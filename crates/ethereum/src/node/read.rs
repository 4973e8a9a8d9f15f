//! Reads many values of one block: calls in aggregates, storage words and balances in batches.

use braid_primitives::{Address, B256, Bytes, U256};
use braid_protocols::{Call, lens, storage};
use futures::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, future::try_join_all, stream};
use serde_json::json;

use super::{
    calls::{Aggregate, Answer, class, easy, is_lens, request},
    client::Request,
    connect::Node,
    gate::FAR_TIMES,
    health::Class,
    limits::{Limits, warn_if_few},
    member::{Member, is_answer},
    multicall::{self, Bounds},
    packed,
    presence::Presence,
    refusals,
    wire::{at, parse},
};
use crate::NodeError;

/// Calls or words that share a message if they cannot share an aggregate.
const CALLS_PER_BATCH: usize = 50;

/// Parts of a failed aggregate that are tried side by side: one call that burns all gas is found in a few round trips.
const PARTS: usize = 8;

/// Most calls of an aggregate that is not tried in parts if it gets no answer: the node is at fault.
const SMALL_AGGREGATE: usize = 250;

/// How often a call whose error is not the EVM's is made again before it counts as failed.
const ROUNDS: usize = 2;

impl Node {
    /// Makes calls at a block, by hash, and returns their answers in order; a call that the EVM ended, or that fails
    /// again and again while others are answered, is `None`.
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
        let asked = self.ask(Class::Quick, |member| {
            member.with_presence(async |presence: Presence| {
                let answer = member.connection.request(&presence.request(block_hash)).await;
                presence.check(block_hash, answer)
            })
        });
        match asked.await {
            Err(NodeError::UnknownBlock { .. }) => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Returns whether a node supports code overrides in calls. Each is asked once; a node that refuses an override, or
    /// ignores it, is read from with plain calls.
    ///
    /// # Errors
    /// [`NodeError`] when none answers, or none knows the block; it is then asked again the next time.
    pub async fn supports_overrides(&self, block_hash: B256) -> Result<bool, NodeError> {
        let members = &self.inner.fleet.members;
        for _ in members {
            if members.iter().any(|member| member.overrides() == Some(true)) {
                return Ok(true);
            }
            if members.iter().all(|member| member.overrides().is_some()) {
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

    /// Reads storage words, several to a message; `None` if the node does not give them.
    async fn read_words(&self, block_hash: B256, calls: &[Call]) -> Result<Vec<Answer>, NodeError> {
        let request = |call: &Call| {
            let slot = storage::slot_of(call).unwrap_or_default();
            Request { method: "eth_getStorageAt", params: json!([call.to, slot, at(block_hash)]) }
        };
        let mut words = Vec::with_capacity(calls.len());
        for chunk in calls.chunks(CALLS_PER_BATCH) {
            let requests: Vec<Request> = chunk.iter().map(request).collect();
            let requests = requests.as_slice();
            for word in self.ask(Class::Heavy, |member| member.calls(block_hash, requests, false)).await? {
                match word {
                    Ok(word) => words.push(Some(word)),
                    Err(error) if error.is_missing_method() => words.push(None),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(words)
    }

    async fn read_calls(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Answer>, NodeError> {
        let bounds = self.bounds();
        let calls: Vec<Call> = calls.into_iter().map(|call| lens::within(call, bounds.lens_gas)).collect();
        let chunks = multicall::chunks(&calls, bounds).into_iter();
        let reads: Vec<_> = chunks.map(|chunk| self.read_chunk(block_hash, chunk)).collect();
        let chunks: Result<Vec<_>, NodeError> =
            stream::iter(reads).buffered(self.inner.config.concurrency.max(1) * FAR_TIMES).try_collect().await;
        let answers = chunks.map(|all| all.into_iter().flat_map(|(answers, _)| answers).collect::<Vec<Answer>>());
        // Nodes word a missing block in many ways, some of which look like a failed call.
        let is_doubtful = match &answers {
            Ok(answers) => answers.iter().any(Option::is_none),
            Err(error) => {
                matches!(error, NodeError::Rpc { .. } | NodeError::Malformed { .. }) && !error.is_rate_limit()
            }
        };
        if is_doubtful && !self.has_block(block_hash).await? {
            return Err(NodeError::UnknownBlock { hash: block_hash });
        }
        let is_silent = |answer: &Answer| answer.as_ref().is_some_and(|bytes| bytes.is_empty());
        if answers.as_ref().is_ok_and(|all| !all.is_empty() && all.iter().all(is_silent)) {
            self.ask(Class::Heavy, |member| member.check_silence(block_hash)).await?;
        }
        answers
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
                    let is_told = error.speaks_of_size();
                    if !is_told && !matches!(error, NodeError::Unsupported { .. }) {
                        // A node that fails at everything fails at the parts too.
                        self.call(block_hash, &easy()).await?;
                    }
                    let parts = chunk.chunks(chunk.len().div_ceil(PARTS)).collect();
                    let (answers, all_answered) = self.read_parts(block_hash, parts).await?;
                    if all_answered {
                        // A node may have failed for a moment: then it answers the same aggregate now.
                        let error = if is_told { Some(error) } else { self.failure_of(block_hash, chunk).await? };
                        if let Some(error) = error {
                            self.note_too_large(chunk, &error);
                        }
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

    /// Makes an aggregate again that failed; returns the error if it fails again.
    async fn failure_of(&self, block_hash: B256, chunk: &[Call]) -> Result<Option<NodeError>, NodeError> {
        match self.aggregate(block_hash, chunk).await? {
            Aggregate::Failed(error) => Ok(Some(error)),
            Aggregate::Answered(_) => {
                self.note_answer(chunk);
                Ok(None)
            }
            Aggregate::NoContract => Ok(None),
        }
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
        let (mut call, mut is_narrowed) = (call.clone(), false);
        loop {
            match self.call(block_hash, &call).await {
                Ok(bytes) => {
                    if !is_narrowed {
                        // A limit of one call, or of its gas, grows by this.
                        self.note_answer(std::slice::from_ref(&call));
                    }
                    return Ok(Some(bytes));
                }
                Err(error) if error.is_rate_limit() => return Err(error),
                Err(error @ NodeError::Rpc { .. }) if is_lens(&call) && error.is_out_of_gas() => {
                    let narrow = self.narrowed(&call, &error);
                    if narrow == call {
                        return Ok(None);
                    }
                    (call, is_narrowed) = (narrow, true);
                }
                Err(NodeError::Unsupported { .. }) => return Ok(None),
                Err(error) if error.is_ended_by_evm() => return Ok(None),
                Err(NodeError::Rpc { .. }) => return Ok(self.settle(block_hash, vec![call]).await?.pop().flatten()),
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
        let results = match self.make(block_hash, calls).await {
            Err(NodeError::Unsupported { .. }) => return Ok(vec![None; calls.len()]),
            results => results?,
        };
        let is_doubtful = |result: &Result<Bytes, NodeError>| result.as_ref().is_err_and(|e| !e.is_ended_by_evm());
        let doubtful: Vec<Call> = calls
            .iter()
            .zip(&results)
            .filter(|(_, result)| is_doubtful(result))
            .map(|(call, _)| call.clone())
            .collect();
        if doubtful.is_empty() {
            return Ok(results.into_iter().map(Result::ok).collect());
        }
        let mut settled = self.settle(block_hash, doubtful).await?.into_iter();
        let answer = |result| if is_doubtful(&result) { settled.next().flatten() } else { result.ok() };
        Ok(results.into_iter().map(answer).collect())
    }

    /// Makes calls in one message, each with its own result.
    async fn make(&self, block_hash: B256, calls: &[Call]) -> Result<Vec<Result<Bytes, NodeError>>, NodeError> {
        let needs_lens = calls.iter().any(is_lens);
        let requests: Vec<Request> = calls.iter().map(|call| request(block_hash, call, is_lens(call))).collect();
        let requests = requests.as_slice();
        self.ask(class(needs_lens), |member| member.calls(block_hash, requests, needs_lens)).await
    }

    /// Makes calls in one message as [`Self::make`] does; a node that fails at the first or the last is at fault.
    async fn make_between(&self, block_hash: B256, calls: &[Call]) -> Result<Vec<Result<Bytes, NodeError>>, NodeError> {
        let needs_lens = calls.iter().any(is_lens);
        let requests: Vec<Request> = calls.iter().map(|call| request(block_hash, call, is_lens(call))).collect();
        let requests = requests.as_slice();
        let asked = self.ask(class(needs_lens), |member| async move {
            let results = member.calls(block_hash, requests, needs_lens).await?;
            let error = |result: Option<&Result<Bytes, NodeError>>| result?.as_ref().err().cloned();
            let failed = error(results.first()).or_else(|| error(results.last()));
            match failed {
                Some(error) if is_answer(&error) => {
                    Err(NodeError::Malformed { method: "eth_call", why: format!("an easy call failed: {error}") })
                }
                Some(error) => Err(error),
                None => Ok(results),
            }
        });
        asked.await
    }

    /// Makes calls again whose errors are not the EVM's, between two calls that every node answers. If these fail the
    /// node is at fault, and so is the read. A call that fails in each of [`ROUNDS`] counts as failed: besu answers an
    /// exceptional halt with its word for any internal error, and others a call that takes too long.
    async fn settle(&self, block_hash: B256, calls: Vec<Call>) -> Result<Vec<Answer>, NodeError> {
        let mut answers: Vec<Answer> = vec![None; calls.len()];
        let mut open: Vec<(usize, Call)> = calls.into_iter().enumerate().collect();
        for _ in 0..ROUNDS {
            let again = open.iter().map(|(_, call)| call.clone());
            let asked: Vec<Call> = std::iter::once(easy()).chain(again).chain([easy()]).collect();
            let results = self.make_between(block_hash, &asked).await?;
            let mut still = Vec::new();
            for ((place, call), result) in open.into_iter().zip(results.into_iter().skip(1)) {
                match result {
                    Ok(answer) => answers[place] = Some(answer),
                    Err(error) if error.is_ended_by_evm() => {}
                    Err(error) => still.push((place, call, error)),
                }
            }
            if let Some((_, call, error)) = still.first() {
                tracing::debug!(to = %call.to, %error, calls = still.len(), "calls fail while others are answered");
            }
            open = still.into_iter().map(|(place, call, _)| (place, call)).collect();
            if open.is_empty() {
                break;
            }
        }
        Ok(answers)
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
            let (node, were_few) = (member.name.as_str(), size.is_few());
            if size.refused(asked, stated, error.speaks_of_size()) {
                let most = size.now();
                tracing::info!(node, %error, asked, most, "the node limits calls: aggregates are smaller from now on");
                warn_if_few(node, size, were_few, "calls in an aggregate", error);
            }
        });
    }

    /// Returns a call of the lens over fewer words, after the node had too little gas for it.
    fn narrowed(&self, call: &Call, error: &NodeError) -> Call {
        let asked = lens::gas_units(call);
        let gas = self.with_limits(|_, limits| {
            limits.lens_gas.refused(asked, stated_gas(error), true);
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
