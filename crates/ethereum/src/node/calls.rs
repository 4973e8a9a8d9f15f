//! Makes calls at one node, with the lens's code put at its address (a state override) where they need it.

use braid_primitives::{B256, Bytes, U256};
use braid_protocols::{Call, lens};
use serde_json::json;

use super::{
    client::Request,
    health::Class,
    member::Member,
    multicall, packed,
    wire::{at, parse},
};
use crate::NodeError;

const METHOD: &str = "eth_call";

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

impl Member {
    /// Returns whether the node applies code overrides; it is asked once.
    pub(super) async fn supports_overrides(&self, block_hash: B256) -> Result<bool, NodeError> {
        if let Some(known) = self.overrides_code.get() {
            return Ok(*known);
        }
        // Not in one message: a node without state overrides may refuse all of it, as if it accepted no batches.
        let is_probe = |answer: &Bytes| U256::try_from_be_slice(answer) == Some(lens::PROBE);
        let supported = match self.get::<Bytes>(&request(block_hash, &lens::probe(), true)).await {
            Ok(answer) => is_probe(&answer),
            Err(error) if error.is_unknown_block() => return Err(NodeError::UnknownBlock { hash: block_hash }),
            Err(error) if error.is_rate_limit() => return Err(error),
            Err(error @ NodeError::Rpc { .. }) => {
                let node = self.name.as_str();
                tracing::info!(node, %error, "the node does not support code overrides: reading ticks takes longer");
                false
            }
            Err(error) => return Err(error),
        };
        if supported {
            let many = packed::encode(&[lens::probe()]).unwrap_or_default();
            let answer = self.get::<Bytes>(&request(block_hash, &Call { to: lens::ADDRESS, data: many }, true)).await;
            let answer = answer.ok().and_then(|answer| packed::decode(&answer, 1)?.pop()?);
            self.packs.get_or_init(|| answer.is_some_and(|answer| is_probe(&answer)));
        }
        Ok(*self.overrides_code.get_or_init(|| supported))
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

    /// Makes several requests in one message; one that fails is `None`.
    pub(super) async fn calls(
        &self,
        block_hash: B256,
        requests: &[Request],
        needs_lens: bool,
    ) -> Result<Vec<Answer>, NodeError> {
        self.check_overrides(block_hash, needs_lens).await?;
        let mut answers = Vec::with_capacity(requests.len());
        for raw in self.connection.batch(requests).await? {
            match raw {
                Ok(raw) => answers.push(Some(parse(METHOD, &raw)?)),
                Err(error) if error.is_unknown_block() => return Err(NodeError::UnknownBlock { hash: block_hash }),
                Err(error) if error.is_rate_limit() => return Err(error),
                Err(NodeError::Rpc { .. }) => answers.push(None),
                Err(error) => return Err(error),
            }
        }
        Ok(answers)
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
            && self.packs.get() == Some(&true)
        {
            let call = Call { to: lens::ADDRESS, data: data.clone() };
            let bytes = self.call(block_hash, &request(block_hash, &call, true), true).await?;
            return answered(packed::decode(&bytes, calls.len()), "not an answer of the lens");
        }
        let call = Call { to: multicall::MULTICALL3, data: multicall::encode(calls) };
        let bytes = self.call(block_hash, &request(block_hash, &call, needs_lens), needs_lens).await?;
        if bytes.is_empty() {
            return Ok(Aggregate::NoContract);
        }
        answered(multicall::decode(&bytes, calls.len()), "not an answer of Multicall3")
    }
}

fn answered(answers: Option<Vec<Answer>>, otherwise: &str) -> Result<Aggregate, NodeError> {
    let malformed = || NodeError::Malformed { method: METHOD, why: otherwise.into() };
    answers.map(Aggregate::Answered).ok_or_else(malformed)
}
