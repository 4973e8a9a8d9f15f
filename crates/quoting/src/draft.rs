//! A quote in progress, from the resolved request to the answer.

use std::sync::Arc;

use braid_execution::fees::Fees;
use braid_execution::gas::GasEstimate;
use braid_execution::{Order, Permit, Program};
use braid_primitives::{Address, U256};
use braid_routing::{PoolFilter, Request, Solution, Witness};
use braid_simulation::Kept;
use uuid::Uuid;

use crate::accounts::Holdings;
use crate::feed::Published;
use crate::model::Explanation;
use crate::request::QuoteRequest;
use crate::resolve::{Tokens, Unknown};
use crate::simulation::Simulated;

/// A request with its market: the input of a solve.
#[derive(Debug)]
pub(crate) struct SolveInput {
    /// The market.
    pub published: Arc<Published>,
    /// The request.
    pub request: QuoteRequest,
    /// Its tokens in the market.
    pub tokens: Tokens,
    /// The quote's id.
    pub id: Uuid,
    /// Time at which the request was taken, unix milliseconds.
    pub created_at_ms: u64,
}

/// The pools and tokens that the service excludes from a quote, whatever the request says.
#[derive(Clone, Debug)]
pub(crate) struct ServiceExclusions {
    /// The excluded pools.
    pub filter: PoolFilter,
    /// Number of excluded pools.
    pub pool_count: u32,
    /// Unverified tokens, each with the reason.
    pub unverified: Vec<(Address, String)>,
    /// True if the transfers of the route's tokens are verified before the quote is answered.
    pub verifies_transfers: bool,
}

/// Amounts of a purchase, in atomic units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purchased {
    /// The exact output: the least that the recipient gets.
    pub amount: U256,
    /// Input before fees that buys exactly that along the route.
    pub needed_in: U256,
    /// Lower bound of the input before fees along any route, if there is one.
    pub least_in: Option<U256>,
}

/// A route with its order and its program.
#[derive(Debug)]
pub(crate) struct Found {
    /// The route.
    pub solution: Solution,
    /// The request in the router's terms, with the amounts that the route starts from.
    pub trade: Request,
    /// The dual prices of its certificate, for an explanation.
    pub witness: Option<Witness>,
    /// Amount sold of each input, before fees.
    pub sold: Vec<U256>,
    /// Amount that arrives of each output, after fees.
    pub expected: Vec<U256>,
    /// Order that the proxy enforces.
    pub order: Order,
    /// Program that the proxy runs.
    pub program: Program,
    /// Amounts of a purchase; `None` for a sale.
    pub purchase: Option<Purchased>,
}

/// Everything from which the answer of a quote is written.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The request with its market.
    pub input: SolveInput,
    /// Names in the request's filter that match nothing.
    pub unknown: Unknown,
    /// Pools and tokens that the service excludes.
    pub exclusions: ServiceExclusions,
    /// The route, its order and its program.
    pub found: Found,
    /// Time from which the quote cannot be built, unix milliseconds.
    pub expires_at_ms: u64,
    /// The terms of the Permit2 message.
    pub permit: Permit,
    /// Gas, in gas units.
    pub gas: GasEstimate,
    /// Fees, in wei per gas unit.
    pub fees: Fees,
    /// Balances and allowances of the taker, if requested.
    pub holdings: Option<Holdings>,
    /// Result of the simulation, if requested.
    pub simulated: Option<Simulated>,
    /// Explanation of the route, if requested.
    pub explanation: Option<Explanation>,
    /// Slot of the solver's thread, kept for a requested simulation.
    pub kept: Option<Kept>,
}
