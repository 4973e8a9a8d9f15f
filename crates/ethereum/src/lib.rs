//! Follows an Ethereum node: transports, discovery, synchronisation, reorganisations. No other crate talks to nodes.
//!
//! [`Node`] asks nodes; [`Follower`] keeps an `Arc<Market>` at the node's head and publishes one per block. Decisions
//! that need no node (the logs to follow, their effect on a pool, where two chains diverge, the size of the next range)
//! are pure code with their own tests.
//!
//! No answer of a node, token, factory or pool causes a panic: it is an error that names the reason, and the work is
//! tried again.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod any_answer;
mod apply;
mod catalog;
mod curated;
mod error;
mod fees;
mod follower;
mod heads;
mod history;
mod known;
mod lists;
mod metadata;
mod node;
mod proof;
mod rules;
mod scan;
mod snapshot;
mod spans;
mod state;
mod sync;
#[cfg(test)]
mod testing;
mod unread;

#[doc(hidden)]
pub use any_answer::read_as_any_answer;
pub use apply::{BlockChange, apply_logs};
pub use catalog::Catalog;
pub use error::{FollowError, NodeError};
pub use fees::{CEILING_WEI, FLOORS_WEI, FeeData};
pub use follower::{CatchUp, DiscoveryProgress, Follower, FollowerConfig, FollowerHandle, Head, Phase, SyncStatus};
pub use metadata::{MAX_DECIMALS, MAX_NAME_CHARS, MAX_SYMBOL_CHARS};
pub use node::{
    AccountState, BlockLogs, BlockState, CALL_SECONDS, CallTimes, Endpoint, FeeHistory, HISTORY_BLOCKS, KeptLimits,
    KnownCode, LogFilter, MULTICALL3, Node, NodeConfig, NodeFault, NodeReport, PERCENTILES, PlacedLog, Touched,
    TouchingCall, Traffic, Urgency,
};
pub use rules::PoolRules;
pub use snapshot::{SnapshotMismatch, check_snapshot};
