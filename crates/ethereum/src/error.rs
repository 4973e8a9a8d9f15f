//! Errors of nodes and of following them.

use braid_primitives::B256;

/// Why a node did not answer, or answered something that cannot be used.
///
/// No variant ever carries credentials: an endpoint is shown as scheme and host only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// The address of the node cannot be parsed.
    #[error(
        "cannot use {shown} as a node: {why}; expected http://, https://, ws://, wss:// or the path of an ipc socket"
    )]
    BadUrl {
        /// The address, without anything that could be a secret.
        shown: String,
        /// The reason.
        why: String,
    },
    /// No connection to the node, or the connection was lost.
    #[error("cannot reach the node at {endpoint}: {why}; check that it runs and that the URL is right")]
    Unreachable {
        /// Scheme and host.
        endpoint: String,
        /// The operating system's or the protocol's reason.
        why: String,
    },
    /// The node serves another chain.
    #[error("the node at {endpoint} serves chain {got}, but Braid serves chain {expected} only")]
    WrongChain {
        /// Scheme and host.
        endpoint: String,
        /// Chain id that the node reports.
        got: u64,
        /// Chain id that is served.
        expected: u64,
    },
    /// No answer in time.
    #[error("the node at {endpoint} did not answer {method} within {timeout_ms} ms")]
    Timeout {
        /// Scheme and host.
        endpoint: String,
        /// JSON-RPC method.
        method: &'static str,
        /// Timeout, in milliseconds.
        timeout_ms: u64,
    },
    /// The node, or a proxy before it, refused with an HTTP status.
    #[error("the node at {endpoint} refused {method} with HTTP status {status}")]
    Http {
        /// Scheme and host.
        endpoint: String,
        /// JSON-RPC method.
        method: &'static str,
        /// HTTP status code.
        status: u16,
    },
    /// The node answered with a JSON-RPC error.
    #[error("the node answered {method} with error {code}: {message}")]
    Rpc {
        /// JSON-RPC method.
        method: &'static str,
        /// JSON-RPC error code.
        code: i64,
        /// The node's message, shortened.
        message: String,
    },
    /// The answer is not one that the method returns.
    #[error("the node gave an unusable answer to {method}: {why}")]
    Malformed {
        /// JSON-RPC method.
        method: &'static str,
        /// The reason.
        why: String,
    },
    /// The node does not have a block, or no longer has it.
    #[error("the node does not know block {hash}")]
    UnknownBlock {
        /// The block asked for.
        hash: B256,
    },
    /// The node left out logs that the block's receipts contain.
    #[error("the node at {endpoint} left out logs of block {number}")]
    MissingLogs {
        /// Scheme and host.
        endpoint: String,
        /// Height of the block.
        number: u64,
    },
    /// The node no longer has the logs of old blocks.
    #[error("the node at {endpoint} has no logs of blocks before {first_block}")]
    Pruned {
        /// Scheme and host.
        endpoint: String,
        /// The first block whose logs it has.
        first_block: u64,
    },
    /// The node does not support a request.
    #[error("the node does not support {what}")]
    Unsupported {
        /// The missing feature.
        what: &'static str,
    },
}

/// What nodes say of a block that they do not have, or no longer have the state of.
const UNKNOWN_BLOCK: &str = "header not found, header for hash not found, block not found, unknown block, is not executed (last, \
                             not currently canonical, missing trie node, blocknotfound, state not available";

/// What nodes say of calls beyond their rate limit.
const RATE_LIMIT: &str = "rate limit, rate-limit, rate_limit, ratelimit, rate exceeded, rps limit, too many request, request limit, \
                          request count, per second, /second, compute units, throttl, quota, capacity limit";

/// What nodes say of calls that need more gas than they allow. Only letters, as in [`NodeError::spells`].
const OUT_OF_GAS: &str = "outofgas, gasrequired, gaslimit, exceedsallowance";

/// What nodes say of a call that the EVM ended: a revert or an exceptional halt, in the words of geth, erigon,
/// nethermind, besu, reth and anvil. Only letters, as in [`NodeError::spells`].
const ENDED_BY_EVM: &str = "revert, vmexecutionerror, executionhalted, evmerror, invalidopcode, invalidfeopcode, \
                            opcodenotfound, badinstruction, invalidinstruction, invalidjump, badjump, stackunderflow, \
                            stackoverflow, stacklimitreached, outofstack, writeprotection, staticcallviolation, \
                            illegalstatechange, insidestatic, duringstatic, outofbounds, outofoffset, accessviolation, \
                            calldepth, calltoodeep, gasuintoverflow, insufficientbalancefortransfer, outoffund, \
                            notenoughbalance, codesize, codeistoolarge, invalidcode, codeisinvalid, precompile, \
                            gasexhausted, collision";

/// What nodes say of requests or answers that are larger, or take longer, than they allow.
const SIZE_LIMIT: &str = "too large, too big, too long, too many, too wide, exceed, limit, maximum, more than, larger than, \
                          at most, up to, size, range, batch, payload, timeout, timed out, time out, deadline, aborted";

/// What nodes say of methods that they do not have, or not for this user.
const MISSING_METHOD: &str = "does not exist, not available, not found, not supported, unsupported, not allowed, \
                              not whitelisted, not permitted, not enabled, disabled, forbidden, restricted";

/// What nodes say of logs that they pruned.
const PRUNED: &str = "pruned, history unavailable, history is not available, history not available, history expired, \
                      no longer available, archive, historical";

impl NodeError {
    /// Returns whether the same request may succeed when it is made again.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Http { status, .. } => matches!(*status, 408 | 429 | 500 | 502 | 503 | 504),
            Self::Malformed { .. } => true,
            _ => self.is_rate_limit(),
        }
    }

    /// Returns whether a smaller request may succeed: the error may be a limit on results, ranges or sizes, or a
    /// timeout.
    ///
    /// Nodes word their limits in many ways, so every JSON-RPC error counts. A range of one block is not split further,
    /// and its error is final.
    pub const fn may_be_a_limit(&self) -> bool {
        match self {
            Self::Http { status, .. } => !matches!(*status, 401 | 403 | 404 | 429),
            _ => matches!(self, Self::Rpc { .. } | Self::Timeout { .. } | Self::Malformed { .. }),
        }
    }

    /// Returns whether the node does not know the block that was asked for.
    pub(crate) fn is_unknown_block(&self) -> bool {
        self.says(UNKNOWN_BLOCK) || misses_named_block(self.message())
    }

    /// Returns the error to a question about a block: [`NodeError::UnknownBlock`] if the node does not know the block.
    pub(crate) fn about(self, block_hash: B256) -> Self {
        if self.is_unknown_block() { Self::UnknownBlock { hash: block_hash } } else { self }
    }

    /// Returns whether the node limits the rate of calls.
    pub(crate) fn is_rate_limit(&self) -> bool {
        matches!(self, Self::Rpc { code: 429 | -32_029, .. } | Self::Http { status: 429, .. }) || self.says(RATE_LIMIT)
    }

    /// Returns whether a message was longer than the node accepts.
    pub(crate) const fn is_too_large(&self) -> bool {
        matches!(self, Self::Http { status: 413, .. })
    }

    /// Returns whether a call needs more gas than the node allows.
    pub(crate) fn is_out_of_gas(&self) -> bool {
        self.spells(OUT_OF_GAS)
    }

    /// Returns whether the error is the chain's answer to a call: the EVM ended it. Any other error may be the node's
    /// own, and says nothing about the contract.
    ///
    /// Besu answers an exceptional halt with its word for any internal error; only asking again tells them apart.
    pub(crate) fn is_ended_by_evm(&self) -> bool {
        let is_call = matches!(self, Self::Rpc { method: "eth_call", .. });
        // 3 is geth's code for a revert, -32015 Nethermind's for a call that failed.
        let says_so = matches!(self, Self::Rpc { code: 3 | -32015, .. }) || self.spells(ENDED_BY_EVM);
        is_call && (says_so || self.is_out_of_gas()) && !self.is_unknown_block() && !self.is_rate_limit()
    }

    /// Returns whether a node that was reached failed at a request, with an error of its own.
    pub(crate) fn is_failed_call(&self) -> bool {
        let is_server = match self {
            Self::Http { status, .. } => *status >= 500,
            _ => matches!(self, Self::Rpc { .. } | Self::Malformed { .. }),
        };
        let is_other = self.is_ended_by_evm() || self.speaks_of_size() || self.is_missing_method();
        is_server && !is_other && !self.is_unknown_block() && !self.is_rate_limit()
    }

    /// Returns whether the error speaks of the size of a request or of its answer, or of the time that it takes.
    pub(crate) fn speaks_of_size(&self) -> bool {
        let says_so = self.says(SIZE_LIMIT) || self.is_out_of_gas();
        let is_size = says_so || self.is_too_large() || matches!(self, Self::Timeout { .. });
        is_size && !self.is_unknown_block() && !self.is_rate_limit()
    }

    /// Returns whether the node says that it no longer has the logs of old blocks.
    pub(crate) fn is_pruned_history(&self) -> bool {
        matches!(self, Self::Rpc { code: 4444, .. }) || self.says(PRUNED)
    }

    /// Returns whether the node says that it gives logs only of named contracts.
    pub(crate) fn needs_emitters(&self) -> bool {
        self.says("address") && self.says("specify, require, must, missing, without, provide, need, filter")
    }

    /// Returns whether the node does not have the method, not with these parameters, or not for this user.
    pub(crate) fn is_missing_method(&self) -> bool {
        matches!(self, Self::Rpc { code: -32601 | -32602, .. }) || (self.says("method") && self.says(MISSING_METHOD))
    }

    /// Returns whether the node refuses the parameters of a method that it may have: Besu and Reth do so for a block above
    /// their newest.
    pub(crate) fn is_refusal_of_parameters(&self) -> bool {
        matches!(self, Self::Rpc { code: -32602, .. }) && !(self.says("method") && self.says(MISSING_METHOD))
    }

    /// Returns whether a node, or a proxy before it, refuses one method while others may be answered.
    pub(crate) fn is_refusal_of(&self, refused: &str) -> bool {
        let is_of = match self {
            Self::Http { method, status, .. } => *method == refused && matches!(*status, 403 | 404 | 405 | 501),
            Self::Rpc { method, .. } => *method == refused,
            _ => false,
        };
        is_of && !self.is_rate_limit() && !self.is_unknown_block()
    }

    /// Returns the node's message; empty if there is none.
    pub(crate) fn message(&self) -> &str {
        if let Self::Rpc { message, .. } = self { message } else { "" }
    }

    /// Returns whether the node's message contains one of some phrases, which commas separate.
    fn says(&self, phrases: &str) -> bool {
        let message = self.message().to_ascii_lowercase();
        phrases.split(", ").any(|phrase| message.contains(phrase))
    }

    /// Does the same with the letters of the message only: `OutOfGas`, `OUT_OF_GAS` and `out of gas` are one.
    fn spells(&self, phrases: &str) -> bool {
        let mut letters: String = self.message().chars().filter(char::is_ascii_alphabetic).collect();
        letters.make_ascii_lowercase();
        phrases.split(", ").any(|phrase| letters.contains(phrase))
    }
}

/// Returns whether a message says that a block is not found, with its hash or height between the words: `block 0x12 not
/// found`.
fn misses_named_block(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let mut after_block = message.split("block ").skip(1);
    after_block.any(|rest| rest.split_once(' ').is_some_and(|(_, after)| after.starts_with("not found")))
}

/// Why the follower could not bring the market to the node's head. It tries again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// The node failed.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The chain changed while it was read.
    #[error("block {hash} at height {number} was replaced while it was read")]
    Replaced {
        /// Height.
        number: u64,
        /// Hash that was expected there.
        hash: B256,
    },
    /// The node has not reached the block of the market.
    #[error("the node is {blocks} blocks behind the stored market: its newest block is {head}")]
    Behind {
        /// Blocks from the node's newest to the market's.
        blocks: u64,
        /// Height of the node's newest block.
        head: u64,
    },
    /// The new state contradicts the market.
    #[error(transparent)]
    Market(#[from] braid_market::MarketError),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_call(code: i64, message: &str) -> NodeError {
        NodeError::Rpc { method: "eth_call", code, message: message.into() }
    }

    /// The wordings are those of the clients' sources and of providers in public threads.
    #[test]
    fn what_the_evm_answered_is_told_from_what_the_node_failed_at() {
        for (code, message) in [
            (3, "execution reverted: UniswapV2: K"),
            (-32_000, "execution reverted"),
            (-32_000, "invalid opcode: INVALID"),
            (-32_000, "invalid jump destination"),
            (-32_000, "stack underflow (0 <=> 2)"),
            (-32_000, "stack limit reached 1024 (1023)"),
            (-32_000, "out of gas"),
            (-32_000, "write protection"),
            (-32_000, "return data out of bounds"),
            (-32_000, "gas uint64 overflow"),
            (-32_015, "VM execution error."),
            (-32_000, "StaticCallViolation"),
            (-32_000, "Bad instruction"),
            (-32_000, "Execution reverted"),
            (-32_003, "out of gas: gas required exceeds: 10000000"),
            (-32_603, "EVM error: InvalidFEOpcode"),
            (-32_603, "EVM error OutOfGas"),
            (-32_000, "VM Exception while processing transaction: revert"),
        ] {
            assert!(of_call(code, message).is_ended_by_evm(), "{message}");
        }
        for (code, message) in [
            (-32_603, "Internal error"),
            (-32_000, "internal server error"),
            (-32_603, "upstream connect error or disconnect/reset before headers"),
            (-32_000, "execution aborted (timeout = 5s)"),
            (-32_000, "no backend is currently healthy to serve traffic"),
            (-32_000, "header not found"),
            (-32_005, "daily request count exceeded, request rate limited"),
            (-32_005, "limit exceeded"),
            (-32_601, "the method eth_call does not exist/is not available"),
        ] {
            assert!(!of_call(code, message).is_ended_by_evm(), "{message}");
        }
        let of_logs = NodeError::Rpc { method: "eth_getLogs", code: 3, message: "execution reverted".into() };
        assert!(!of_logs.is_ended_by_evm());
    }

    /// Some of them made a node that was only behind count as failing. The wordings are those of the clients' sources.
    #[test]
    fn a_block_that_a_node_does_not_have_is_told_from_other_failures() {
        let hash = B256::repeat_byte(0xab);
        for message in [
            "header not found",
            "header for hash not found",
            "unknown block",
            "hash abababab is not currently canonical",
            "block 4f3aabababababababababababababababababababababababababababababab not found",
            "Block 0x186a0 not found",
            "block not found: 0x186a0",
            "block 100000 is not executed (last executed: 99000)",
        ] {
            let error = of_call(-32_000, message);
            assert!(error.is_unknown_block() && !error.is_failed_call(), "{message}");
            assert_eq!(error.about(hash), NodeError::UnknownBlock { hash }, "{message}");
        }
        for message in ["Internal error", "method not found", "block range is too wide", "invalid block", "block "] {
            let error = of_call(-32_000, message);
            assert!(!error.is_unknown_block(), "{message}");
            assert_eq!(error.clone().about(hash), error, "{message}");
        }
    }

    #[test]
    fn a_limit_of_size_or_time_is_told_from_an_error_and_from_a_limit_of_the_rate() {
        for message in
            ["response size exceeded", "EVM error OutOfGas", "execution aborted (timeout = 5s)", "batch too large"]
        {
            assert!(of_call(-32_000, message).speaks_of_size(), "{message}");
        }
        for message in ["Internal error", "daily request count exceeded, request rate limited", "header not found"] {
            assert!(!of_call(-32_000, message).speaks_of_size(), "{message}");
        }
        // Words of Infura, Chainstack and QuickNode. Some of them were learnt as limits of size.
        for message in [
            "project ID request rate exceeded",
            "You've exceeded the RPS limit available on the current plan.",
            "50/second request limit reached - reduce calls per second",
            "Too many request, try again later",
            "RATE_LIMIT_EXCEEDED: slow down",
        ] {
            let error = of_call(-32_005, message);
            assert!(error.is_rate_limit() && !error.speaks_of_size(), "{message}");
        }
    }
}
