//! A quote on its way from the question to the answer.

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
use crate::resolve::Tokens;
use crate::simulation::Simulated;

/// What a solve is of.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The market.
    pub published: Arc<Published>,
    /// The request.
    pub request: QuoteRequest,
    /// Its tokens in the market.
    pub tokens: Tokens,
    /// Names the quote.
    pub id: Uuid,
    /// Unix milliseconds.
    pub created_at_ms: u64,
}

/// What is left out of a quote whatever it asks for.
#[derive(Clone, Debug)]
pub struct Aside {
    /// The pools.
    pub filter: PoolFilter,
    /// How many they are.
    pub pools: u32,
    /// Tokens that could not be verified, and why.
    pub unchecked: Vec<(Address, String)>,
    /// Whether the transfers of a route's tokens are verified before it is answered.
    pub verifies_transfers: bool,
}

/// What is known of a purchase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purchased {
    /// What the recipient gets at least.
    pub amount: U256,
    /// What the route would sell for exactly that, before fees.
    pub needed_in: U256,
    /// The least that any route could sell, before fees, where that is known.
    pub least_in: Option<U256>,
}

/// A route with its order and its program.
#[derive(Debug)]
pub(crate) struct Found {
    /// The route.
    pub solution: Solution,
    /// What was asked of the router, with the amounts that the route starts from.
    pub question: Request,
    /// The dual prices of its certificate, where asked for.
    pub witness: Option<Witness>,
    /// What of each input is sold, before fees.
    pub sold: Vec<U256>,
    /// What each output pays after fees.
    pub expected: Vec<U256>,
    /// What the proxy enforces.
    pub order: Order,
    /// What the proxy runs.
    pub program: Program,
    /// What is known of a purchase besides.
    pub purchase: Option<Purchased>,
}

/// Everything that is known of a quote when its answer is written.
#[derive(Debug)]
pub(crate) struct Draft {
    /// What was asked, and on which market.
    pub asked: Asked,
    /// Names in the request that no protocol has.
    pub unknown_protocols: Vec<String>,
    /// What is left out.
    pub aside: Aside,
    /// The route, its order and its program.
    pub found: Found,
    /// Unix milliseconds.
    pub expires_at_ms: u64,
    /// The terms of the Permit2 message.
    pub permit: Permit,
    /// Units of gas.
    pub gas: GasEstimate,
    /// Wei per unit.
    pub fees: Fees,
    /// What the taker holds, where asked for.
    pub holdings: Option<Holdings>,
    /// What a simulation saw, where asked for.
    pub simulated: Option<Simulated>,
    /// Why this route, where asked for.
    pub explanation: Option<Explanation>,
    /// The solver's place, kept for the simulation where one is asked for.
    pub kept: Option<Kept>,
}
