//! The document: what is in a receipt, and writing one.

use braid_market::Market;
use braid_primitives::{Address, B256, Block, Bytes, PoolId, PoolKey, TokenId, U256};
use braid_protocols::{After, Pool};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::compare;
use super::evidence::{Evidence, MeasuredGas};
use crate::problem::Problem;
use crate::stored::{Plan, StoredQuote};

/// The form of receipts that is written, and the only one that is read.
pub const FORMAT: &str = "braid-receipt/1";

/// A receipt of best execution.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// `braid-receipt/1`.
    pub format: String,
    /// SHA-256 of the receipt without this field, as JSON without spaces and with the keys of every object sorted.
    pub digest: B256,
    /// Who made it.
    pub braid: Made,
    /// The request, as the client sent it.
    pub request: Value,
    /// The block whose market was quoted on.
    pub block: Block,
    /// What the service decided besides the request.
    pub settings: Settings,
    /// What was quoted on.
    pub market: MarketPart,
    /// What the transaction is made of: order, program, steps, terms of the Permit2 message.
    pub plan: Plan,
    /// Gas, where a simulation measured it.
    pub measured_gas: Option<MeasuredGas>,
    /// The answer, word for word.
    pub quote: Value,
}

/// A version of Braid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Its number.
    pub version: String,
    /// The commit that it was built from, where that is known.
    pub commit: Option<String>,
}

impl Made {
    /// This version.
    pub fn here() -> Self {
        Self { version: env!("CARGO_PKG_VERSION").into(), commit: option_env!("BRAID_COMMIT").map(Into::into) }
    }
}

/// What the service decided besides the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// How long quotes live that ask for no time of their own, in milliseconds.
    pub ttl_ms: u64,
    /// Most steps in a route.
    pub max_steps: u16,
    /// Whether the transfers of a route's tokens are verified first.
    pub verifies_transfers: bool,
    /// Base fee of the next block.
    pub next_base_fee_per_gas_wei: u64,
    /// Tip of each tier, cheapest first.
    pub priority_fee_per_gas_wei: [u64; 4],
}

/// What was quoted on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarketPart {
    /// Names what the market held: `Market::digest`.
    pub digest: B256,
    /// Names the order in which it held it: `Market::order_digest`.
    pub order: B256,
    /// How many pools it held.
    pub pools: usize,
    /// How many known pools the follower left out of it.
    pub left_out: usize,
    /// Pools of it that no quote was made of: in quarantine, or not verified.
    pub excluded_pools: Vec<PoolKey>,
    /// How many pools the answer counts as excluded by the service.
    pub excluded_count: u32,
    /// Tokens that could not be verified for this quote, and why.
    pub unchecked_tokens: Vec<(Address, String)>,
    /// A market file of the pools that the route passes, and of those that its tokens depend on.
    pub route_pools: Bytes,
}

impl Receipt {
    /// Writes the receipt of a quote, as canonical JSON. `digest` and `order` name the evidence's market.
    ///
    /// # Errors
    /// A fault of the service.
    pub fn write(evidence: &Evidence, quote: &StoredQuote, digest: B256, order: B256) -> Result<String, Problem> {
        let (market, aside) = (&evidence.head.market, &evidence.aside);
        let pools = (0..).map(PoolId).zip(market.pools());
        let receipt = Self {
            format: FORMAT.into(),
            digest: B256::ZERO,
            braid: Made::here(),
            request: serde_json::from_slice(&evidence.request).map_err(Problem::internal)?,
            block: *market.block(),
            settings: Settings {
                ttl_ms: evidence.limits.ttl_ms,
                max_steps: evidence.limits.max_steps,
                verifies_transfers: aside.verifies_transfers,
                next_base_fee_per_gas_wei: evidence.head.fees.next_base_fee_per_gas_wei,
                priority_fee_per_gas_wei: evidence.head.fees.priority_fee_per_gas_wei,
            },
            market: MarketPart {
                digest,
                order,
                pools: market.pools().len(),
                left_out: evidence.left_out,
                excluded_pools: pools
                    .filter(|(id, pool)| !aside.filter.allows(*id, pool.product))
                    .map(|(_, pool)| pool.key)
                    .collect(),
                excluded_count: aside.pools,
                unchecked_tokens: aside.unchecked.clone(),
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

/// Returns the pools that a plan's steps pass, those that are its tokens themselves, and those that say what its tokens' shares are worth: all that its
/// amounts and its gas depend on.
fn route_pools(market: &Market, plan: &Plan) -> Market {
    let steps: Vec<PoolId> = plan.steps.iter().filter_map(|step| market.pool_id(step.pool)).collect();
    let mut pools = steps.clone();
    for token in steps.iter().filter_map(|id| market.pool(*id)).flat_map(|pool| pool.coins.iter().copied()) {
        pools.extend(market.tokens().get(token).and_then(|token| market.pool_id(token.address)));
        let keeps_shares = |id: &&PoolId| market.pool(**id).is_some_and(|pool| keeps_shares(pool, token));
        pools.extend(market.pools_of(token).iter().filter(keeps_shares));
    }
    market.only(pools)
}

/// Returns whether a pool says what shares of a token are worth.
fn keeps_shares(pool: &Pool, token: TokenId) -> bool {
    pool.shares_of(&After::Unchanged, token, U256::ONE).is_some()
}
