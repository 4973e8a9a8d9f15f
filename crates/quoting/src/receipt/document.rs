//! The receipt's document, and writing one.

use braid_market::Market;
use braid_primitives::{Address, B256, Block, Bytes, PoolId, PoolKey, TokenId, U256};
use braid_protocols::{After, Pool};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::compare;
use super::evidence::{Evidence, MeasuredGas};
use crate::problem::Problem;
use crate::stored::{Plan, StoredQuote};

/// Format of receipts: the only one that is written and read.
pub const FORMAT: &str = "braid-receipt/1";

/// A receipt of best execution.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// `braid-receipt/1`.
    pub format: String,
    /// SHA-256 of the receipt without this field, as JSON without spaces and with the keys of every object sorted.
    pub digest: B256,
    /// The version of Braid that made it.
    pub braid: Version,
    /// The request, as the client sent it.
    pub request: Value,
    /// The block whose market was quoted on.
    pub block: Block,
    /// Settings of the service.
    pub settings: Settings,
    /// The market that was quoted on.
    pub market: MarketPart,
    /// The order, program, steps and terms of the Permit2 message.
    pub plan: Plan,
    /// Gas that a simulation measured, if there was one.
    pub measured_gas: Option<MeasuredGas>,
    /// The answer, unchanged.
    pub quote: Value,
}

/// A version of Braid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Number of the release.
    pub version: String,
    /// Commit that it was built from, if known.
    pub commit: Option<String>,
}

impl Version {
    /// Returns the version of this build.
    pub fn current() -> Self {
        Self { version: env!("CARGO_PKG_VERSION").into(), commit: option_env!("BRAID_COMMIT").map(Into::into) }
    }
}

/// Settings of the service that an answer depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Lifetime of a quote whose request sets no `ttl_s`, in milliseconds.
    pub ttl_ms: u64,
    /// Most steps in a route.
    pub max_steps: u16,
    /// True if the transfers of a route's tokens are verified before the answer.
    pub verifies_transfers: bool,
    /// Base fee of the next block, in wei per gas unit.
    pub next_base_fee_per_gas_wei: u64,
    /// Priority fee of each tier in wei per gas unit, cheapest first.
    pub priority_fee_per_gas_wei: [u64; 4],
}

/// The market that was quoted on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarketPart {
    /// `Market::digest`: identifies the market's content.
    pub digest: B256,
    /// `Market::order_digest`: identifies the order of its pools.
    pub order: B256,
    /// Number of its pools.
    pub pools: usize,
    /// Number of known pools that the follower excludes from it.
    #[serde(rename = "left_out")]
    pub excluded_by_follower: usize,
    /// Pools of it that the service excludes: in quarantine, or unverified.
    pub excluded_pools: Vec<PoolKey>,
    /// Number of pools that the answer counts as excluded by the service.
    pub excluded_count: u32,
    /// Unverified tokens, each with the reason.
    pub unchecked_tokens: Vec<(Address, String)>,
    /// Market file of the route's pools, and of the pools on which its tokens' amounts depend.
    pub route_pools: Bytes,
}

impl Receipt {
    /// Writes the receipt of a quote as canonical JSON. `digest` and `order` are those of the evidence's market.
    ///
    /// # Errors
    /// `INTERNAL` if a part cannot be written.
    pub(super) fn write(
        evidence: &Evidence,
        quote: &StoredQuote,
        digest: B256,
        order: B256,
    ) -> Result<String, Problem> {
        let (market, exclusions) = (&evidence.head.market, &evidence.exclusions);
        let pools = (0..).map(PoolId).zip(market.pools());
        let receipt = Self {
            format: FORMAT.into(),
            digest: B256::ZERO,
            braid: Version::current(),
            request: serde_json::from_slice(&evidence.request).map_err(Problem::internal)?,
            block: *market.block(),
            settings: Settings {
                ttl_ms: evidence.limits.ttl_ms,
                max_steps: evidence.limits.max_steps,
                verifies_transfers: exclusions.verifies_transfers,
                next_base_fee_per_gas_wei: evidence.head.fees.next_base_fee_per_gas_wei,
                priority_fee_per_gas_wei: evidence.head.fees.priority_fee_per_gas_wei,
            },
            market: MarketPart {
                digest,
                order,
                pools: market.pools().len(),
                excluded_by_follower: evidence.excluded_by_follower,
                excluded_pools: pools
                    .filter(|(id, pool)| !exclusions.filter.allows(*id, pool.product))
                    .map(|(_, pool)| pool.key)
                    .collect(),
                excluded_count: exclusions.pool_count,
                unchecked_tokens: exclusions.unverified.clone(),
                route_pools: route_pools(market, &quote.plan).to_bytes().map_err(Problem::internal)?.into(),
            },
            plan: quote.plan.clone(),
            measured_gas: evidence.measured_gas,
            quote: serde_json::from_str(quote.answer.get()).map_err(Problem::internal)?,
        };
        let mut document = serde_json::to_value(&receipt).map_err(Problem::internal)?;
        let digest = compare::digest(&document);
        document["digest"] = serde_json::to_value(digest).map_err(Problem::internal)?;
        Ok(compare::canonical(&document))
    }
}

/// Returns the pools on which a plan's amounts and gas depend: those of its steps, those whose contract is one of its
/// tokens, and those that convert shares of its tokens.
fn route_pools(market: &Market, plan: &Plan) -> Market {
    let steps: Vec<PoolId> = plan.steps.iter().filter_map(|step| market.pool_id(step.pool)).collect();
    let mut pools = steps.clone();
    for token in steps.iter().filter_map(|id| market.pool(*id)).flat_map(|pool| pool.coins.iter().copied()) {
        pools.extend(market.tokens().get(token).and_then(|token| market.pool_id(token.address)));
        let converts_shares = |id: &&PoolId| market.pool(**id).is_some_and(|pool| converts_shares(pool, token));
        pools.extend(market.pools_of(token).iter().filter(converts_shares));
    }
    market.only(pools)
}

/// Returns whether a pool converts shares of a token to an amount.
fn converts_shares(pool: &Pool, token: TokenId) -> bool {
    pool.shares_of(&After::Unchanged, token, U256::ONE).is_some()
}
