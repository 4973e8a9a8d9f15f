//! Prices a stored route on a newer market: the same steps, with the pools' newest states.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, PoolKey, TokenId, U256};
use braid_routing::purchase::buy_along;
use braid_routing::{Instruction, Machine, Route, Step, StepError};
use serde::{Deserialize, Serialize};

/// A stored step. It names the pool by key: a pool's id is valid in one process only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredStep {
    /// The pool.
    pub pool: PoolKey,
    /// Position of the token in.
    pub coin_in: u8,
    /// Position of the token out.
    pub coin_out: u8,
    /// Share of the balance held, in units of 2^-32; 0 takes all that remains.
    pub share: u32,
}

/// A reason for which a route cannot run on a market.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RepriceError {
    /// A pool is no longer in the market.
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
    /// A pool of a purchase cannot pay the amount that is bought from it.
    #[error("the pools can no longer pay the amount")]
    NotForSale,
    /// A step would have nothing to spend.
    #[error("pool {0} would receive no input")]
    NothingAtHand(PoolKey),
}

/// Returns the route of stored steps with its amounts on this market.
///
/// # Errors
/// [`RepriceError`] if a step would revert.
pub(crate) fn reprice(
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

/// Returns the input that an exact purchase along stored steps sells on this market, and its route.
///
/// # Errors
/// [`RepriceError`] if a pool is no longer in the market, or cannot pay the amount.
pub(crate) fn purchase(
    market: &Market,
    at: &ExecutionBlock,
    steps: &[StoredStep],
    wanted: U256,
) -> Result<(U256, Route), RepriceError> {
    buy_along(market, at, &path(market, steps)?, wanted).ok_or(RepriceError::NotForSale)
}

/// Returns the route of stored steps without amounts. A purchase computes amounts from the last pool backwards. It never
/// prices the maximum input, which can be more than a pool takes although the pool can pay the amount.
pub(crate) fn path(market: &Market, steps: &[StoredStep]) -> Result<Route, RepriceError> {
    let step = |stored: &StoredStep| {
        let gone = RepriceError::PoolGone(stored.pool);
        let id = market.pool_id(stored.pool).ok_or(gone.clone())?;
        let pool = market.pool(id).ok_or(gone.clone())?;
        let coin = |index: u8| pool.coins.get(usize::from(index)).copied().ok_or(gone.clone());
        let (token_in, token_out) = (coin(stored.coin_in)?, coin(stored.coin_out)?);
        let StoredStep { coin_in, coin_out, share, .. } = *stored;
        let (amount_in, amount_out, gas_units) = (U256::ZERO, U256::ZERO, 0);
        Ok(Step { pool: id, coin_in, coin_out, token_in, token_out, share, amount_in, amount_out, gas_units })
    };
    Ok(Route { steps: steps.iter().map(step).collect::<Result<_, _>>()?, amounts_out: Vec::new() })
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use braid_market::Tokens;
    use braid_primitives::{Address, Token};
    use braid_protocols::{Pool, PoolState, Product, SwapError, uniswap_v3};

    use super::*;
    use crate::testing;

    /// Returns a market whose only pool is one position of Uniswap V3, within 0.6% of the price, and a step that sells its
    /// first token.
    fn one_position() -> (Market, StoredStep) {
        let block = testing::block(1_700_000_000);
        let mut tokens = Tokens::new();
        let address = Address::with_last_byte(9);
        tokens.insert(Token { address, symbol: "T".into(), name: String::new(), decimals: 18 });
        let (token, tokens) = (tokens.id(address).unwrap(), Arc::new(tokens));
        let liquidity = 10_u128.pow(21);
        let net = liquidity.cast_signed();
        let ticks = [(-60, net), (60, -net)].map(|(at, net)| uniswap_v3::Tick::new(at, net, liquidity).unwrap());
        let state = uniswap_v3::State {
            sqrt_price_x96: U256::ONE << 96,
            tick: 0,
            liquidity,
            fee_pips: 3_000,
            fee_protocol: 0,
            tick_spacing: 60,
            ticks: Arc::from(ticks),
        };
        let key = PoolKey::from(Address::with_last_byte(7));
        let coins = [token, Tokens::WETH].into_iter().collect();
        let pool = Pool { key, product: Product::UniswapV3, coins, state: PoolState::UniswapV3(state) };
        let market = Market::empty(block, Arc::clone(&tokens)).next(block, tokens, [pool]).unwrap();
        (market, StoredStep { pool: key, coin_in: 0, coin_out: 1, share: 0 })
    }

    #[test]
    fn a_pool_that_is_too_shallow_for_the_maximum_still_sells_the_amount() {
        let (market, step) = one_position();
        let (at, wanted) = (market.block().next(), U256::from(29 * 10_u128.pow(17)));
        let (sold, route) = purchase(&market, &at, &[step], wanted).unwrap();
        assert_eq!(route.amounts_out, [wanted]);
        let token = route.steps[0].token_in;
        let maximum = sold * U256::from(105) / U256::from(100);
        let sale = reprice(&market, &at, &[step], &[(token, maximum)], &[Tokens::WETH]);
        assert!(
            matches!(sale, Err(RepriceError::Refused { error: SwapError::InsufficientLiquidity { .. }, .. })),
            "{sale:?}"
        );
        let sale = reprice(&market, &at, &[step], &[(token, sold)], &[Tokens::WETH]).unwrap();
        assert!(sale.amounts_out[0] >= wanted, "{sale:?}");
    }
}
