//! Makes calls at one node, with the lens's code put at its address (a state override) where they need it.

use std::time::Duration;

use braid_primitives::{B256, Bytes, U256};
use braid_protocols::{Call, lens};
use serde_json::json;
use tokio::time::Instant;

use super::{
    client::Request,
    health::Class,
    member::{Member, Overrides},
    multicall, packed,
    wire::{at, parse},
};
use crate::NodeError;

const METHOD: &str = "eth_call";

/// Time after which a node that failed at code overrides is asked for them again.
const OVERRIDES_AGAIN: Duration = Duration::from_secs(60);

/// The answer to a call; `None` if it failed.
pub(super) type Answer = Option<Bytes>;

/// Result of an aggregate of calls.
pub(super) enum Aggregate {
    Answered(Vec<Answer>),
    /// The chain has no Multicall3.
    NoContract,
    /// The node did not answer it; its parts may be answered.
    Failed(NodeError),
}

/// Returns whether a call is to the lens, and needs its code.
pub(super) fn is_lens(call: &Call) -> bool {
    call.to == lens::ADDRESS
}

/// Returns the class of calls, which need the lens or not.
pub(super) const fn class(needs_lens: bool) -> Class {
    if needs_lens { Class::Overridden } else { Class::Heavy }
}

/// Returns the request for a call at a block; with the lens's code at its address if the call needs it.
pub(super) fn request(block_hash: B256, call: &Call, needs_lens: bool) -> Request {
    let transaction = json!({ "to": call.to, "data": call.data });
    let params = if needs_lens {
        json!([transaction, at(block_hash), { lens::ADDRESS.to_string(): { "code": lens::runtime_code() } }])
    } else {
        json!([transaction, at(block_hash)])
    };
    Request { method: METHOD, params }
}

/// Returns a call that every node answers, by which a node's failure is told from a call's.
pub(super) fn easy() -> Call {
    Call { to: multicall::MULTICALL3, data: multicall::encode(&[]) }
}

impl Member {
    /// Returns whether the node applies code overrides; it is asked once. An error that does not say so is the node's
    /// failure, unless the node fails at overrides only: then it is asked again after [`OVERRIDES_AGAIN`].
    pub(super) async fn supports_overrides(&self, block_hash: B256) -> Result<bool, NodeError> {
        if let Some(known) = self.overrides() {
            return Ok(known);
        }
        let supported = match self.probe(block_hash).await {
            Ok(supported) => supported,
            Err(error @ NodeError::Rpc { .. }) if !error.is_rate_limit() => {
                self.get::<Bytes>(&request(block_hash, &easy(), false)).await.map_err(|_| error)?;
                match self.probe(block_hash).await {
                    Ok(supported) => supported,
                    Err(error @ NodeError::Rpc { .. }) if !error.is_rate_limit() => {
                        let node = self.name.as_str();
                        tracing::info!(node, %error, "the node fails at code overrides: reading ticks takes longer");
                        self.set_overrides(Overrides::NotUntil(Instant::now() + OVERRIDES_AGAIN));
                        return Ok(false);
                    }
                    Err(error) => return Err(error),
                }
            }
            Err(error) => return Err(error),
        };
        self.set_overrides(Overrides::Known(supported));
        if supported {
            self.packs(block_hash).await;
        }
        Ok(supported)
    }

    /// Asks whether the node applies code overrides.
    async fn probe(&self, block_hash: B256) -> Result<bool, NodeError> {
        // Not in one message: a node without state overrides may refuse all of it, as if it accepted no batches.
        match self.get::<Bytes>(&request(block_hash, &lens::probe(), true)).await {
            Ok(answer) => Ok(is_probe(&answer)),
            Err(error) if error.is_unknown_block() => Err(NodeError::UnknownBlock { hash: block_hash }),
            Err(error) if error.is_missing_method() || error.is_ended_by_evm() => {
                let node = self.name.as_str();
                tracing::info!(node, %error, "the node does not support code overrides: reading ticks takes longer");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether the lens makes many calls at the node, which applies code overrides. False, but not for ever, if
    /// the node fails.
    async fn packs(&self, block_hash: B256) -> bool {
        if let Some(known) = self.packs.get() {
            return *known;
        }
        let many = packed::encode(&[lens::probe()]).unwrap_or_default();
        let packs = match self.get::<Bytes>(&request(block_hash, &Call { to: lens::ADDRESS, data: many }, true)).await {
            Ok(answer) => packed::decode(&answer, 1).and_then(|mut all| all.pop()?).is_some_and(|one| is_probe(&one)),
            Err(error) if error.is_ended_by_evm() => false,
            Err(_) => return false,
        };
        *self.packs.get_or_init(|| packs)
    }

    /// Fails if calls need the lens and the node does not support code overrides.
    async fn check_overrides(&self, block_hash: B256, needs_lens: bool) -> Result<(), NodeError> {
        if needs_lens && !self.supports_overrides(block_hash).await? {
            return Err(NodeError::Unsupported { what: "code overrides in calls" });
        }
        Ok(())
    }

    /// Makes one call.
    pub(super) async fn call(&self, block_hash: B256, request: &Request, needs_lens: bool) -> Result<Bytes, NodeError> {
        self.check_overrides(block_hash, needs_lens).await?;
        match self.get(request).await {
            Err(error) if error.is_unknown_block() => Err(NodeError::UnknownBlock { hash: block_hash }),
            result => result,
        }
    }

    /// Makes several requests in one message, each with its own result.
    pub(super) async fn calls(
        &self,
        block_hash: B256,
        requests: &[Request],
        needs_lens: bool,
    ) -> Result<Vec<Result<Bytes, NodeError>>, NodeError> {
        self.check_overrides(block_hash, needs_lens).await?;
        let mut answers = Vec::with_capacity(requests.len());
        for raw in self.connection.batch(requests).await? {
            match raw {
                Ok(raw) => answers.push(Ok(parse(METHOD, &raw)?)),
                Err(error) if error.is_unknown_block() => return Err(NodeError::UnknownBlock { hash: block_hash }),
                Err(error @ NodeError::Rpc { .. }) if !error.is_rate_limit() => answers.push(Err(error)),
                Err(error) => return Err(error),
            }
        }
        Ok(answers)
    }

    /// Checks a node that answers calls with no bytes: a node without the state of a block does so for every contract.
    pub(super) async fn check_silence(&self, block_hash: B256) -> Result<(), NodeError> {
        if !self.get::<Bytes>(&request(block_hash, &easy(), false)).await?.is_empty() {
            return Ok(());
        }
        let code = Request { method: "eth_getCode", params: json!([multicall::MULTICALL3, at(block_hash)]) };
        if self.get::<Bytes>(&code).await?.is_empty() {
            return Ok(());
        }
        Err(NodeError::Malformed { method: METHOD, why: "no bytes of a contract that has code".into() })
    }

    /// Makes many calls as one, in the shortest form that the node understands.
    pub(super) async fn aggregate(
        &self,
        block_hash: B256,
        calls: &[Call],
        packed: Option<&Bytes>,
        needs_lens: bool,
    ) -> Result<Aggregate, NodeError> {
        if let Some(data) = packed
            && self.supports_overrides(block_hash).await?
            && self.packs(block_hash).await
        {
            let call = Call { to: lens::ADDRESS, data: data.clone() };
            let bytes = self.call(block_hash, &request(block_hash, &call, true), true).await?;
            return answered(packed::decode(&bytes, calls.len()), "not an answer of the lens");
        }
        let call = Call { to: multicall::MULTICALL3, data: multicall::encode(calls) };
        let bytes = self.call(block_hash, &request(block_hash, &call, needs_lens), needs_lens).await?;
        if bytes.is_empty() {
            self.check_silence(block_hash).await?;
            return Ok(Aggregate::NoContract);
        }
        answered(multicall::decode(&bytes, calls.len()), "not an answer of Multicall3")
    }
}

/// Returns whether an answer is the lens's to [`lens::probe`].
fn is_probe(answer: &Bytes) -> bool {
    U256::try_from_be_slice(answer) == Some(lens::PROBE)
}

fn answered(answers: Option<Vec<Answer>>, otherwise: &str) -> Result<Aggregate, NodeError> {
    let malformed = || NodeError::Malformed { method: METHOD, why: otherwise.into() };
    answers.map(Aggregate::Answered).ok_or_else(malformed)
}
