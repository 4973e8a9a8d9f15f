//! What can go wrong between us and a node.

use braid_primitives::B256;

/// Why a node did not answer, or answered something that cannot be used.
///
/// No variant ever carries credentials: an endpoint is shown as scheme and host only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// The address of the node cannot be understood.
    #[error(
        "cannot use {shown} as a node: {why}; expected http://, https://, ws://, wss:// or the path of an ipc socket"
    )]
    BadUrl {
        /// The address, without anything that could be a secret.
        shown: String,
        /// What is wrong with it.
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
        /// How long we waited.
        timeout_ms: u64,
    },
    /// The node, or what stands before it, refused with an HTTP status.
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
        /// The node's words, shortened.
        message: String,
    },
    /// The answer is not what the method gives.
    #[error("the node gave an unusable answer to {method}: {why}")]
    Malformed {
        /// JSON-RPC method.
        method: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The node does not have, or no longer has, a block.
    #[error("the node does not know block {hash}")]
    UnknownBlock {
        /// The block asked for.
        hash: B256,
    },
    /// The node's list of a block's logs is not whole: the block itself shows more.
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
    /// The node does not do what was asked, and never will.
    #[error("the node does not support {what}")]
    Unsupported {
        /// What it lacks.
        what: &'static str,
    },
}

impl NodeError {
    /// Whether the same request may well succeed when it is simply made again.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Http { status, .. } => matches!(*status, 408 | 429 | 500 | 502 | 503 | 504),
            Self::Malformed { .. } => true,
            Self::Rpc { .. } => self.is_a_rate_limit(),
            Self::BadUrl { .. }
            | Self::Unreachable { .. }
            | Self::WrongChain { .. }
            | Self::Timeout { .. }
            | Self::MissingLogs { .. }
            | Self::Pruned { .. }
            | Self::Unsupported { .. }
            | Self::UnknownBlock { .. } => false,
        }
    }

    /// Whether an error speaks of the block that was asked for rather than of the question.
    pub(crate) fn is_of_the_block(&self) -> bool {
        const WORDS: [&str; 7] = [
            "header not found",
            "block not found",
            "unknown block",
            "not currently canonical",
            "missing trie node",
            "blocknotfound",
            "state not available",
        ];
        self.says(&WORDS)
    }

    /// Whether a node says that it was asked too often, and to come back later.
    pub(crate) fn is_a_rate_limit(&self) -> bool {
        const WORDS: [&str; 8] = [
            "rate limit",
            "rate-limit",
            "ratelimit",
            "too many requests",
            "request limit",
            "per second",
            "compute units",
            "throttl",
        ];
        matches!(self, Self::Rpc { code: 429, .. } | Self::Http { status: 429, .. }) || self.says(&WORDS)
    }

    /// Whether a message was longer than a node takes.
    pub(crate) const fn is_too_large(&self) -> bool {
        matches!(self, Self::Http { status: 413, .. })
    }

    /// Whether a call took more gas than a node allows.
    pub(crate) fn is_of_gas(&self) -> bool {
        self.says(&["out of gas", "gas required", "gas limit", "exceeds allowance"])
    }

    /// Whether a node says that it no longer has what old blocks emitted.
    pub(crate) fn is_of_pruned_history(&self) -> bool {
        const WORDS: [&str; 8] = [
            "pruned",
            "history unavailable",
            "history is not available",
            "history not available",
            "history expired",
            "no longer available",
            "archive",
            "historical",
        ];
        matches!(self, Self::Rpc { code: 4444, .. }) || self.says(&WORDS)
    }

    /// Whether a node says that it gives logs only of contracts that are named.
    pub(crate) fn is_a_call_for_emitters(&self) -> bool {
        self.says(&["address"])
            && self.says(&["specify", "require", "must", "missing", "without", "provide", "need", "filter"])
    }

    /// Whether a node does not have the method that was asked for, or not with these parameters.
    pub(crate) fn is_of_the_method(&self) -> bool {
        const WORDS: [&str; 5] = ["does not exist", "not available", "not found", "not supported", "unsupported"];
        matches!(self, Self::Rpc { code: -32601 | -32602, .. }) || (self.says(&["method"]) && self.says(&WORDS))
    }

    /// The node's own words; empty where it gave none.
    pub(crate) fn message(&self) -> &str {
        if let Self::Rpc { message, .. } = self { message } else { "" }
    }

    fn says(&self, words: &[&str]) -> bool {
        let message = self.message().to_ascii_lowercase();
        words.iter().any(|word| message.contains(word))
    }

    /// Whether a smaller request may succeed where this one failed: limits on results, ranges and sizes, and time-outs.
    ///
    /// Nodes word their limits in many ways, so every JSON-RPC error counts: a range of one block is not split further,
    /// and its error is final.
    pub const fn may_be_a_limit(&self) -> bool {
        match self {
            Self::Rpc { .. } | Self::Timeout { .. } | Self::Malformed { .. } => true,
            Self::Http { status, .. } => !matches!(*status, 401 | 403 | 404 | 429),
            Self::BadUrl { .. }
            | Self::Unreachable { .. }
            | Self::WrongChain { .. }
            | Self::MissingLogs { .. }
            | Self::Pruned { .. }
            | Self::Unsupported { .. }
            | Self::UnknownBlock { .. } => false,
        }
    }
}

/// Why the follower could not bring the market to the node's head. It tries again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// The node failed.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The chain changed while we read it.
    #[error("block {hash} at height {number} was replaced while it was read")]
    Replaced {
        /// Height.
        number: u64,
        /// Hash that was expected there.
        hash: B256,
    },
    /// The new state does not fit the market.
    #[error(transparent)]
    Market(#[from] braid_market::MarketError),
}
