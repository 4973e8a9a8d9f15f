//! The steps of a route with what the market knows of them, and how each is written.

use braid_market::Market;
use braid_primitives::{Address, TokenId};
use braid_protocols::step::Receivers;
use braid_protocols::{Pool, StepCode};
use braid_routing::{Route, Step};

use super::error::EncodeError;
use super::steps::Destination;

/// A step of the route with what the market knows of it.
pub(crate) struct Leg {
    pub(crate) step: Step,
    pub(crate) code: StepCode,
    pub(crate) token_in: Address,
    pub(crate) token_out: Address,
    /// The factory and the fee by which the proxy finds the pool, if it stands where its factory puts it.
    pub(crate) found_by: Option<(u8, Option<u32>)>,
}

impl Leg {
    /// Returns the legs of a whole route, in its order.
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
        let code = Pool::step_code(pool, step.coin_in, step.coin_out);
        let (token_in, token_out) = (address(step.token_in)?, address(step.token_out)?);
        let known = code.origin.filter(|origin| origin.is_known_pool(token_in, token_out));
        let found_by = known.map(|origin| (origin.factory.number, origin.fee_pips));
        Ok(Self { code, token_in, token_out, found_by, step: step.clone() })
    }

    /// Returns whether the step's contract may pay the order's recipient. A pair refuses to pay the contract of one of its
    /// own tokens.
    pub(crate) fn may_pay(&self, recipient: Address) -> bool {
        let is_pair = self.code.prepayable;
        let refuses = is_pair && [self.token_in, self.token_out].contains(&recipient);
        (self.code.receivers == Receivers::Anyone || self.found_by.is_some()) && !refuses
    }

    /// Writes the step, which takes its input as `spends` does.
    pub(super) fn write(
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
