//! Prices a stored route on a newer market: the same steps, over the pools as they are now.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, PoolKey, TokenId, U256};
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
    /// A step would have nothing to spend.
    #[error("nothing arrives at pool {0}")]
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

fn run(market: &Market, machine: &mut Machine<'_>, step: &StoredStep) -> Result<Step, RepriceError> {
    let StoredStep { pool, coin_in, coin_out, share } = *step;
    let id = market.pool_id(pool).ok_or(RepriceError::PoolGone(pool))?;
    machine.run(Instruction { pool: id, coin_in, coin_out, share }).map_err(|error| match error {
        StepError::Unknown => RepriceError::PoolGone(pool),
        StepError::NothingAtHand => RepriceError::NothingAtHand(pool),
        StepError::Refused { error, .. } => RepriceError::Refused { pool, error },
    })
}
