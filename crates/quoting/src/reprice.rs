//! A stored route on a newer market: the proxy's own arithmetic (`docs/program.md`, section 3) over the pools as they are now.

use braid_market::Market;
use braid_primitives::{Address, ExecutionBlock, TokenId, U256};
use braid_protocols::RouteState;
use braid_routing::{Route, Step};
use serde::{Deserialize, Serialize};

/// A step as it is stored: by the pool's address, which outlives the process, not by its id, which does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredStep {
    /// The pool.
    pub pool: Address,
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
    PoolGone(Address),
    /// A pool would revert.
    #[error("pool {pool} refuses its step: {error}")]
    Refused {
        /// The pool.
        pool: Address,
        /// Its reason.
        error: braid_protocols::SwapError,
    },
    /// A step would have nothing to spend.
    #[error("nothing arrives at pool {0}")]
    NothingAtHand(Address),
}

/// The route of stored steps with the amounts that it has on this market.
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
    let mut ledger = Ledger { held: inputs.to_vec(), state: RouteState::default() };
    let steps = steps.iter().map(|step| run(market, at, step, &mut ledger)).collect::<Result<Vec<_>, _>>()?;
    Ok(Route { steps, amounts_out: outputs.iter().map(|token| ledger.held(*token)).collect() })
}

fn run(market: &Market, at: &ExecutionBlock, step: &StoredStep, ledger: &mut Ledger) -> Result<Step, RepriceError> {
    let gone = RepriceError::PoolGone(step.pool);
    let id = market.pool_id(step.pool).ok_or_else(|| gone.clone())?;
    let pool = market.pool(id).ok_or_else(|| gone.clone())?;
    let coin = |index: u8| pool.coins.get(usize::from(index)).copied().ok_or_else(|| gone.clone());
    let (token_in, token_out) = (coin(step.coin_in)?, coin(step.coin_out)?);
    let amount_in = taken(ledger.held(token_in), step.share);
    if amount_in.is_zero() {
        return Err(RepriceError::NothingAtHand(step.pool));
    }
    let refused = |error| RepriceError::Refused { pool: step.pool, error };
    let swap = ledger.state.swap(pool, at, step.coin_in, step.coin_out, amount_in).map_err(refused)?;
    ledger.state.record(pool, swap.after);
    ledger.take(token_in, amount_in);
    ledger.give(token_out, swap.amount_out);
    let StoredStep { coin_in, coin_out, share, .. } = *step;
    Ok(Step {
        pool: id,
        coin_in,
        coin_out,
        token_in,
        token_out,
        share,
        amount_in,
        amount_out: swap.amount_out,
        gas_units: swap.gas_units,
    })
}

/// `floor(balance * share / 2^32)`; share 0 is all of it.
fn taken(balance: U256, share: u32) -> U256 {
    if share == 0 {
        return balance;
    }
    // amounts stay below 2^128, so that the product fits
    balance.saturating_mul(U256::from(share)) >> 32
}

/// Holds what is at hand of each token, and what the steps so far changed.
struct Ledger {
    held: Vec<(TokenId, U256)>,
    state: RouteState,
}

impl Ledger {
    fn held(&self, token: TokenId) -> U256 {
        self.held.iter().find(|(id, _)| *id == token).map_or(U256::ZERO, |(_, amount)| *amount)
    }

    fn take(&mut self, token: TokenId, amount: U256) {
        if let Some((_, held)) = self.held.iter_mut().find(|(id, _)| *id == token) {
            *held = held.saturating_sub(amount);
        }
    }

    fn give(&mut self, token: TokenId, amount: U256) {
        match self.held.iter_mut().find(|(id, _)| *id == token) {
            Some((_, held)) => *held = held.saturating_add(amount),
            None => self.held.push((token, amount)),
        }
    }
}
