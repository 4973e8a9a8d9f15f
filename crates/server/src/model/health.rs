//! Health and readiness.

use serde::Serialize;
use utoipa::ToSchema;

use super::Eip55;

/// `GET /health`: the process lives.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    pub status: &'static str,
    /// Version of the service.
    pub version: &'static str,
    /// Commit it was built from, where known.
    pub commit: Option<&'static str>,
    /// Seconds since the start.
    pub uptime_s: u64,
}

/// `GET /ready`: whether quotes are answered.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Ready {
    /// The verdict.
    pub status: ReadyStatus,
    /// The chain that is served.
    pub chain_id: u64,
    /// The newest market; `null` until there is one.
    pub block: Option<ReadyBlock>,
    /// Pools that quotes may use.
    pub pools: usize,
    /// Known pools that no quote uses: their state or a token of theirs cannot be read, or the self-audit set them aside.
    pub quarantined: usize,
    /// What the self-audit set aside, at most 100 pools.
    pub quarantine: Vec<ReadyQuarantined>,
    /// Each part of the service.
    pub checks: Checks,
    /// The nodes that are asked, in the order in which they were named.
    pub nodes: Vec<ReadyNode>,
}

/// A pool that does not do what its model says.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReadyQuarantined {
    /// The pool.
    pub pool: Eip55,
    /// Height of the block at which it was found.
    pub since_block: u64,
    /// What was different.
    pub why: String,
    /// The token that is at fault, whose other pools are set aside too; `null` where it is the pool itself.
    pub token: Option<Eip55>,
    /// What that token does.
    pub token_does: Option<String>,
}

/// One of the nodes that the service asks.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReadyNode {
    /// Its host and port; never a path, a query or a user name.
    pub name: String,
    /// `ok`, or what is the matter: `wrong_chain`, `disagrees`, `missing_logs`, `failing` or `behind`.
    pub status: &'static str,
    /// How good it is, 0 to 100.
    pub score: u8,
    /// Whether it is asked first.
    pub leads: bool,
    /// Height of the newest block that it reported; `null` where it is not known.
    pub block: Option<u64>,
}

/// The verdict of readiness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadyStatus {
    /// Quotes are answered on a fresh market.
    Ready,
    /// The first market is being read.
    Syncing,
    /// The market is too old to quote on.
    Stale,
    /// Quotes are answered, on a market that is older than it should be.
    Degraded,
}

/// A market's block and its age.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct ReadyBlock {
    /// Height.
    pub number: u64,
    /// Milliseconds since the block reached us.
    pub age_ms: u64,
}

/// The parts of the service, each `ok` or what is the matter.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Checks {
    /// The market.
    pub market: &'static str,
    /// Gas prices.
    pub gas: &'static str,
    /// The simulator.
    pub simulator: &'static str,
    /// Quotes and keys.
    pub store: &'static str,
}
