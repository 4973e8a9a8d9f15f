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
const UNKNOWN_BLOCK: &str = "header not found, block not found, unknown block, not currently canonical, missing trie node, \
                             blocknotfound, state not available";

/// What nodes say of calls beyond their rate limit.
const RATE_LIMIT: &str = "rate limit, rate-limit, ratelimit, too many requests, request limit, per second, compute units, \
                          throttl";

/// What nodes say of calls that need more gas than they allow.
const OUT_OF_GAS: &str = "out of gas, gas required, gas limit, exceeds allowance";

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
        self.says(UNKNOWN_BLOCK)
    }

    /// Returns whether the node limits the rate of calls.
    pub(crate) fn is_rate_limit(&self) -> bool {
        matches!(self, Self::Rpc { code: 429, .. } | Self::Http { status: 429, .. }) || self.says(RATE_LIMIT)
    }

    /// Returns whether a message was longer than the node accepts.
    pub(crate) const fn is_too_large(&self) -> bool {
        matches!(self, Self::Http { status: 413, .. })
    }

    /// Returns whether a call needs more gas than the node allows.
    pub(crate) fn is_out_of_gas(&self) -> bool {
        self.says(OUT_OF_GAS)
    }

    /// Returns whether the node says that it no longer has the logs of old blocks.
    pub(crate) fn is_pruned_history(&self) -> bool {
        matches!(self, Self::Rpc { code: 4444, .. }) || self.says(PRUNED)
    }

    /// Returns whether the node says that it gives logs only of named contracts.
    pub(crate) fn needs_emitters(&self) -> bool {
        self.says("address") && self.says("specify, require, must, missing, without, provide, need, filter")
    }

    /// Returns whether the node does not have the method, or not with these parameters.
    pub(crate) fn is_missing_method(&self) -> bool {
        let is_missing = "does not exist, not available, not found, not supported, unsupported";
        matches!(self, Self::Rpc { code: -32601 | -32602, .. }) || (self.says("method") && self.says(is_missing))
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
    /// The new state contradicts the market.
    #[error(transparent)]
    Market(#[from] braid_market::MarketError),
}
