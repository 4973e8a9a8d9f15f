//! State and swaps of a lending pool, between the underlying coins.

use alloy_primitives::{Address, U256};
use arrayvec::ArrayVec;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::Growth;
use crate::SwapError;
use crate::curve::arith::{Maths, WAD, div, mul_div};
use crate::curve::stable;
use crate::pool::MAX_COINS;

/// Lender of the coins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lender {
    /// Aave V2: balances of its tokens grow.
    Aave,
    /// Compound V2: the worth of its tokens grows.
    Compound,
}

/// A pool of a lender's tokens, and the lender's state that its trades depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Pool of the lender's tokens. Balances that grow are zero here and follow from [`Market::growth`], so that an
    /// untouched pool has the same state in every block.
    pub pool: stable::State,
    /// The lender.
    pub lender: Lender,
    /// Contract that all markets of the lender share.
    pub lender_address: Address,
    /// Market of each coin.
    pub markets: ArrayVec<Market, MAX_COINS>,
}

/// A coin and its lending market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Market {
    /// Factor that scales an amount of the coin to 18 decimals.
    pub precision: U256,
    /// Values from which the pool's balance follows, if the lender's token grows in number.
    pub growth: Option<Growth>,
    /// Maximum payout, in atomic units of the coin: the lender's cash, or the pool's balance if the coin is not lent.
    pub cash: U256,
    /// Whether the lender accepts deposits.
    pub takes: bool,
    /// Whether the lender pays withdrawals.
    pub pays: bool,
}

impl State {
    /// Returns the pool with its balances at a block time, and the rates then. The inputs of the rates are not copied,
    /// so a quote allocates nothing.
    fn now(&self, at: &ExecutionBlock) -> Maths<(stable::State, stable::Balances)> {
        let mut balances = self.pool.balances.clone();
        for (balance, market) in balances.iter_mut().zip(&self.markets) {
            if let Some(growth) = &market.growth {
                *balance = growth.balance(at.timestamp)?;
            }
        }
        Ok((self.pool.holding(balances), self.pool.rates.at(at)?))
    }

    /// Computes the pool's balance of each coin at a block time, in 18 decimals of the coin.
    pub(crate) fn worth(&self, at: &ExecutionBlock) -> Maths<stable::Balances> {
        let (pool, rates) = self.now(at)?;
        pool.scaled(&rates)
    }

    /// Tells whether the invariant converges within the iterations that sampling affords.
    pub(crate) fn settles_soon(&self, at: &ExecutionBlock) -> Maths<bool> {
        let (pool, rates) = self.now(at)?;
        pool.settles_soon(at, &rates)
    }

    /// Returns the state without derived balances; `None` if the balances that were read differ from the derived ones.
    pub(super) fn without_what_follows(mut self, at: &ExecutionBlock) -> Option<Self> {
        let follows = self.now(at).is_ok_and(|(pool, _)| pool.balances == self.pool.balances);
        for (balance, market) in self.pool.balances.iter_mut().zip(&self.markets) {
            *balance = if market.growth.is_some() { U256::ZERO } else { *balance };
        }
        follows.then_some(self)
    }

    /// Computes what `exchange_underlying` pays: the sold coin becomes shares of the lender at this second's rate, and
    /// the shares that the pool pays become the bought coin, each rounded down.
    ///
    /// # Errors
    /// [`SwapError`] where the pool or the lender reverts: closed if the lender accepts no deposits of the one coin or
    /// pays no withdrawals of the other, and without liquidity if its cash is less than the payout.
    ///
    /// Source: `exchange_underlying` of Curve's Aave, sAave, Compound and USDT pools.
    pub fn swap(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<U256, SwapError> {
        let (i, j) = self.pool.check(coin_in, coin_out, amount_in)?;
        let (Some(sold), Some(bought)) = (self.markets.get(i), self.markets.get(j)) else {
            return Err(SwapError::UnknownCoin { coin_in, coin_out });
        };
        if !sold.takes || !bought.pays {
            return Err(SwapError::Closed);
        }
        let refusal = |fault: crate::curve::arith::Fault| fault.refusal(amount_in);
        let amount_out = self.exchange(at, (i, sold), (j, bought), amount_in).map_err(refusal)?;
        let moves = |market: &Market, amount: U256| {
            market.growth.as_ref().map_or(Ok(true), |growth| growth.moves(at.timestamp, amount)).map_err(refusal)
        };
        if amount_out.is_zero() || !moves(sold, amount_in)? || !moves(bought, amount_out)? {
            return Err(SwapError::ZeroOutput);
        }
        if amount_out > bought.cash {
            return Err(SwapError::InsufficientLiquidity { consumed: U256::ZERO, amount_in });
        }
        Ok(amount_out)
    }

    fn exchange(
        &self,
        at: &ExecutionBlock,
        (i, sold): (usize, &Market),
        (j, bought): (usize, &Market),
        amount_in: U256,
    ) -> Maths<U256> {
        let (pool, rates) = self.now(at)?;
        let shares_in = mul_div(amount_in, WAD, div(rates[i], sold.precision)?)?;
        let shares_out = pool.exchange(at, &rates, i, j, shares_in)?.amount_out;
        mul_div(shares_out, div(rates[j], bought.precision)?, WAD)
    }

    /// Tells whether a coin is lent, instead of held by the pool.
    pub(crate) fn lends(&self, coin: u8) -> bool {
        let place = usize::from(coin);
        let grows = self.markets.get(place).is_some_and(|market| market.growth.is_some());
        grows || matches!(self.pool.rates.0.get(place), Some(stable::Rate::Compound(_)))
    }

    /// Tells whether each coin has a market.
    pub(crate) fn is_whole(&self) -> bool {
        self.pool.is_whole()
            && self.markets.len() == self.pool.balances.len()
            && self.markets.iter().all(|market| !market.precision.is_zero() && market.precision <= WAD)
    }
}
