//! Prices a stored route on a newer market: the same steps, over the pools as they are now.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, PoolKey, TokenId, U256};
use braid_routing::purchase::buy_along;
use braid_routing::{Instruction, Machine, Route, Step, StepError};
use serde::{Deserialize, Serialize};

/// A step as it is stored: by the pool's key, which outlives the process, not by its id, which does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredStep {
    /// The pool.
    pub pool: PoolKey,
    /// Position of the token in.
    pub coin_in: u8,
    /// Position of the token out.
    pub coin_out: u8,
    /// Share of the balance at hand in units of 2^-32; 0 is all that is left.
    pub share: u32,
}

/// Why a route cannot run on a market.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepriceError {
    /// A pool is gone from the market.
    #[error("pool {0} is no longer in the market")]
    PoolGone(PoolKey),
    /// A pool would revert.
    #[error("pool {pool} refuses its step: {error}")]
    Refused {
        /// The pool.
        pool: PoolKey,
        /// Its reason.
        error: braid_protocols::SwapError,
    },
    /// A pool of a purchase does not have what is to be bought of it.
    #[error("the pools no longer have the amount")]
    NotForSale,
    /// A step would have nothing to spend.
    #[error("pool {0} would get nothing to swap")]
    NothingAtHand(PoolKey),
}

/// Returns the route of stored steps with the amounts that it has on this market.
///
/// # Errors
/// [`RepriceError`] when a step would revert.
pub fn reprice(
    market: &Market,
    at: &ExecutionBlock,
    steps: &[StoredStep],
    inputs: &[(TokenId, U256)],
    outputs: &[TokenId],
) -> Result<Route, RepriceError> {
    let mut machine = Machine::new(market, *at, inputs);
    let steps = steps.iter().map(|step| run(market, &mut machine, step)).collect::<Result<Vec<_>, _>>()?;
    Ok(Route { steps, amounts_out: outputs.iter().map(|token| machine.ledger().at_hand(*token)).collect() })
}

/// Returns what a purchase of exactly so much sells on this market, and its route: the same chain of pools.
///
/// # Errors
/// [`RepriceError`] when a pool would revert, or asks for more than the inputs have.
pub fn purchase(
    market: &Market,
    at: &ExecutionBlock,
    steps: &[StoredStep],
    inputs: &[(TokenId, U256)],
    wanted: U256,
) -> Result<(U256, Route), RepriceError> {
    // a sale of the most that may be sold tells the tokens of the steps
    let sale = reprice(market, at, steps, inputs, &[])?;
    buy_along(market, at, &sale, wanted).ok_or(RepriceError::NotForSale)
}

fn run(market: &Market, machine: &mut Machine<'_>, step: &StoredStep) -> Result<Step, RepriceError> {
    let StoredStep { pool, coin_in, coin_out, share } = *step;
    let id = market.pool_id(pool).ok_or(RepriceError::PoolGone(pool))?;
    machine.run(Instruction { pool: id, coin_in, coin_out, share }).map_err(|error| match error {
        StepError::Unknown => RepriceError::PoolGone(pool),
        StepError::NothingAtHand => RepriceError::NothingAtHand(pool),
        StepError::Refused { error, .. } => RepriceError::Refused { pool, error },
    })
}
