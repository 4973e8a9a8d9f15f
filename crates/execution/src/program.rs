//! The program: the packed bytes that tell the proxy which steps to run (`docs/program.md`, section 2).
//!
//! Encoding decides two things that never change an amount: where each step pays its output, and the place of a
//! step that can be paid in advance, which is moved to directly after the step that pays it. A wrapping of ether that feeds one pool
//! alone becomes a part of that pool's step. Everything else is the route's.

mod check;
mod order_of_steps;
pub(crate) mod run;

use braid_market::Market;
use braid_primitives::{Address, Bytes, TokenId, U256};
use braid_protocols::{Pool, StepCode};
use braid_routing::{Route, Step};
use serde::{Deserialize, Serialize};

use crate::order::MAX_TOKENS;
use crate::{Order, OrderError};

/// Where a step pays its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Destination {
    /// To the proxy.
    Proxy = 0,
    /// Straight to the order's recipient.
    Recipient = 1,
    /// Straight to the pool of the next step.
    NextPool = 2,
}

/// A step's place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramStep {
    /// Position of the step in the route.
    pub route_step: usize,
    /// Where it pays its output.
    pub destination: Destination,
    /// Whether the step before paid its input into the pool.
    pub prepaid: bool,
    /// Position in the route of the wrapping of ether that this step does by itself: it spends that step's input.
    pub wraps: Option<usize>,
}

/// A program, and what was decided in making it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// What the proxy reads.
    pub bytes: Bytes,
    /// The steps in the order in which the proxy runs them: position `i` is step `i` of the proxy's errors.
    pub steps: Vec<ProgramStep>,
}

impl Program {
    /// The route's step behind a step of the program, as the proxy's errors count it.
    pub fn route_step(&self, program_step: usize) -> Option<usize> {
        self.steps.get(program_step).map(|place| place.route_step)
    }
}

/// Why a route cannot be made into a program for an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The proxy would refuse the order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The route has no steps.
    #[error("the route is empty")]
    EmptyRoute,
    /// A step names a pool that the market does not have, or coins that the pool does not have.
    #[error("step {step} does not fit the market's pools")]
    UnknownPool {
        /// Position in the route.
        step: usize,
    },
    /// A token that the market does not have.
    #[error("token {0:?} is not in the market")]
    UnknownToken(TokenId),
    /// More tokens than an index of one byte can name.
    #[error("{got} tokens in one program, at most {MAX_TOKENS}")]
    TooManyTokens {
        /// How many.
        got: usize,
    },
    /// What the proxy would spend on a step is not what the route says.
    #[error("step {step} would spend {got}, the route says {expected}")]
    AmountInDiffers {
        /// Position in the route.
        step: usize,
        /// By the proxy's ledger.
        got: U256,
        /// By the route.
        expected: U256,
    },
    /// What the proxy would have of an output is not what the route says.
    #[error("output {index} would be {got}, the route says {expected}")]
    AmountOutDiffers {
        /// Position among the outputs.
        index: usize,
        /// By the proxy's ledger.
        got: U256,
        /// By the route.
        expected: U256,
    },
    /// Something of a token that is neither input nor output would be left over.
    #[error("{amount} of token {token} would be left over")]
    LeftOver {
        /// The token.
        token: Address,
        /// How much.
        amount: U256,
    },
    /// A step spends a token before it was made.
    #[error("step {step} spends a token that a later step makes")]
    NotTopological {
        /// Position in the route.
        step: usize,
    },
    /// An amount that the ledger cannot carry.
    #[error("step {step} has an amount of 2^128 or more")]
    AmountTooLarge {
        /// Position in the route.
        step: usize,
    },
}

/// The program of a route for an order.
///
/// `route` is what was solved on `market` for the order's inputs after a partner fee on inputs; its `amounts_out` are before a
/// partner fee on outputs. The proxy's ledger is replayed with the route's amounts: a program is only returned if it spends and
/// leaves exactly what the route says.
///
/// # Errors
/// [`EncodeError`] when the order would be refused or the route is not one that the proxy runs as stated.
pub fn encode_program(market: &Market, route: &Route, order: &Order) -> Result<Program, EncodeError> {
    order.validate()?;
    if route.steps.is_empty() {
        return Err(EncodeError::EmptyRoute);
    }
    let legs = Leg::of_route(market, route)?;
    check::require_topological(&legs)?;
    let steps = order_of_steps::arrange(order, &legs);
    check::check(order, route, &legs, &steps)?;
    let tokens = token_list(order, &legs, &steps)?;
    let mut bytes = Vec::with_capacity(1 + 20 * tokens.len() + legs.len() * 40);
    let listed = tokens.get(order.inputs.len() + order.outputs.len()..).unwrap_or(&[]);
    bytes.push(u8::try_from(listed.len()).map_err(|_| EncodeError::TooManyTokens { got: tokens.len() })?);
    listed.iter().for_each(|token| bytes.extend_from_slice(token.as_slice()));
    for step in &steps {
        if let Some(leg) = legs.get(step.route_step) {
            let spends = step.wraps.and_then(|wrap| legs.get(wrap)).unwrap_or(leg);
            leg.write(step.destination, spends, &tokens, &mut bytes)?;
        }
    }
    Ok(Program { bytes: bytes.into(), steps })
}

/// A step of the route with what the market knows of it.
pub(crate) struct Leg {
    pub(crate) step: Step,
    pub(crate) code: StepCode,
    pub(crate) token_in: Address,
    pub(crate) token_out: Address,
}

impl Leg {
    /// The legs of a whole route, in its order.
    ///
    /// # Errors
    /// [`EncodeError`] with the first step that does not fit the market.
    pub(crate) fn of_route(market: &Market, route: &Route) -> Result<Vec<Self>, EncodeError> {
        route.steps.iter().enumerate().map(|(at, step)| Self::new(market, at, step)).collect()
    }

    fn new(market: &Market, at: usize, step: &Step) -> Result<Self, EncodeError> {
        let pool = market.pool(step.pool).ok_or(EncodeError::UnknownPool { step: at })?;
        let coin = |index: u8| pool.coins.get(usize::from(index)).copied();
        if coin(step.coin_in) != Some(step.token_in)
            || coin(step.coin_out) != Some(step.token_out)
            || step.coin_in == step.coin_out
        {
            return Err(EncodeError::UnknownPool { step: at });
        }
        let address =
            |id: TokenId| market.tokens().get(id).map(|token| token.address).ok_or(EncodeError::UnknownToken(id));
        Ok(Self {
            code: Pool::step_code(pool, step.coin_in, step.coin_out),
            token_in: address(step.token_in)?,
            token_out: address(step.token_out)?,
            step: step.clone(),
        })
    }

    /// Writes the step, which takes its input as `spends` does.
    fn write(
        &self,
        destination: Destination,
        spends: &Self,
        tokens: &[Address],
        bytes: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let index = |token: Address| {
            let at = tokens.iter().position(|listed| *listed == token);
            at.and_then(|at| u8::try_from(at).ok()).ok_or(EncodeError::TooManyTokens { got: tokens.len() })
        };
        bytes.extend_from_slice(&[
            self.code.opcode,
            destination as u8,
            index(spends.token_in)?,
            index(self.token_out)?,
        ]);
        bytes.extend_from_slice(&spends.step.share.to_be_bytes());
        bytes.extend_from_slice(&self.code.operands);
        Ok(())
    }
}

/// Inputs, outputs, then the other tokens in the order in which the route meets them.
fn token_list(order: &Order, legs: &[Leg], steps: &[ProgramStep]) -> Result<Vec<Address>, EncodeError> {
    let mut tokens: Vec<Address> = order.tokens().collect();
    // what a step wraps by itself is met by no other
    let unmet = |at: usize| steps.iter().any(|step| step.wraps == Some(at));
    let wrapped: Vec<Address> =
        legs.iter().enumerate().filter(|(at, _)| unmet(*at)).map(|(_, leg)| leg.token_out).collect();
    for token in legs.iter().flat_map(|leg| [leg.token_in, leg.token_out]) {
        if !tokens.contains(&token) && !wrapped.contains(&token) {
            tokens.push(token);
        }
    }
    if tokens.len() > MAX_TOKENS { Err(EncodeError::TooManyTokens { got: tokens.len() }) } else { Ok(tokens) }
}

#[cfg(test)]
mod tests;
