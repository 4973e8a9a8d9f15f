//! A pool, and the methods that routing calls on it.

use alloy_primitives::{Address, U256};
use arrayvec::ArrayVec;
use braid_primitives::{ExecutionBlock, PoolKey, TokenId};
use serde::{Deserialize, Serialize};

use crate::{
    Product, Protocol, RouteState, Sale, SharesPaid, StepCode, SwapError,
    product::own,
    registry::{ChangeOf, with_record},
    vault::{Trades, Vault},
};

pub use crate::registry::{After, PoolState};

/// Maximum number of coins of a pool of any product.
pub const MAX_COINS: usize = 8;

/// Version of the meaning of state fields. Increment it when a field keeps its name and type but changes its meaning:
/// state stored by older versions is then read from the chain again. Added, removed and retyped fields are detected
/// without it.
pub const STATE_MEANING: u32 = 5;

/// One pool of a market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Contract, and id where the contract holds many pools.
    pub key: PoolKey,
    /// Its product.
    pub product: Product,
    /// Coins in the contract's order.
    pub coins: ArrayVec<TokenId, MAX_COINS>,
    /// State that decides the output of swaps.
    pub state: PoolState,
}

/// Result of a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swap {
    /// Amount out in atomic units, with the contract's rounding.
    pub amount_out: U256,
    /// Gas units of the step as part of a route that the proxy runs.
    pub gas_units: u64,
    /// State change of the pool.
    pub after: After,
}

impl Pool {
    /// Computes a swap of `amount_in` of coin `coin_in` for coin `coin_out` in the given block, to the wei.
    ///
    /// Consumes the whole input, or returns an error.
    ///
    /// # Errors
    /// [`SwapError`] exactly where the contract, called as the proxy calls it, would revert or leave input unspent.
    pub fn swap(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<Swap, SwapError> {
        RouteState::default().swap(self, at, coin_in, coin_out, amount_in)
    }

    /// Computes a swap like [`Pool::swap`], after an earlier swap of the same route changed the pool.
    ///
    /// # Errors
    /// As [`Pool::swap`].
    pub fn swap_after(
        &self,
        at: &ExecutionBlock,
        before: &After,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        let mut route = RouteState::default();
        if *before != After::Unchanged {
            route.record(self, before.clone());
        }
        route.swap(self, at, coin_in, coin_out, amount_in)
    }

    /// Computes a swap like [`Pool::swap`], after the earlier steps of a route.
    pub(crate) fn swap_in(&self, at: &ExecutionBlock, route: &RouteState, sale: Sale) -> Result<Swap, SwapError> {
        let Sale { coin_in, coin_out, amount_in } = sale;
        let n = self.coins.len();
        if usize::from(coin_in) >= n || usize::from(coin_out) >= n || coin_in == coin_out {
            return Err(SwapError::UnknownCoin { coin_in, coin_out });
        }
        if amount_in.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        with_record!(self.product, record => match own(record, &self.state) {
            Some(state) => {
                let mut coins = self.coins.iter().enumerate();
                if coins.any(|(coin, token)| route.changed_rate_of(*token, at) && record.asks_rate_of(state, coin)) {
                    return Err(SwapError::Closed);
                }
                record.swap(self.key, state, at, route, sale)
            }
            None => Err(SwapError::Closed),
        })
    }

    /// Computes the input of coin `coin_in` for exactly `amount_out` of coin `coin_out`, to the wei, if the proxy can
    /// buy from the pool.
    ///
    /// # Errors
    /// As [`Protocol::amount_in_for`], and [`SwapError::UnknownCoin`].
    pub fn amount_in_for(&self, coin_in: u8, coin_out: u8, amount_out: U256) -> Result<U256, SwapError> {
        let n = self.coins.len();
        if usize::from(coin_in) >= n || usize::from(coin_out) >= n || coin_in == coin_out {
            return Err(SwapError::UnknownCoin { coin_in, coin_out });
        }
        with_record!(self.product, record => match own(record, &self.state) {
            Some(state) => record.amount_in_for(state, [coin_in, coin_out], amount_out),
            None => Err(SwapError::Closed),
        })
    }

    /// Dispatches to [`Protocol::fee_pips`].
    pub fn fee_pips(&self) -> Option<u32> {
        with_record!(self.product, record => record.fee_pips(own(record, &self.state)?))
    }

    /// Dispatches to [`Protocol::depends_on_time`].
    pub fn depends_on_time(&self) -> bool {
        self.product.depends_on_time(&self.state)
    }

    /// Dispatches to [`Protocol::shares_state_at`].
    pub fn shares_state_at(&self) -> PoolKey {
        with_record!(self.product, record => {
            own(record, &self.state).map_or(self.key, |state| record.shares_state_at(self.key, state))
        })
    }

    /// Dispatches to [`Protocol::refunded_gas_units`].
    pub fn refunded_gas_units(&self, coin_in: u8) -> u64 {
        with_record!(self.product, record => {
            own(record, &self.state).map_or(0, |state| record.refunded_gas_units(state, coin_in))
        })
    }

    /// Encodes the step that sells coin `coin_in` for coin `coin_out` of this pool.
    pub fn step_code(&self, coin_in: u8, coin_out: u8) -> StepCode {
        with_record!(self.product, record => match own(record, &self.state) {
            Some(state) => record.step_code(self.key.contract, state, coin_in, coin_out),
            None => StepCode::bare(0),
        })
    }

    /// Dispatches to [`Protocol::holder`].
    pub fn holder(&self) -> Address {
        with_record!(self.product, record => record.holder(self.key.contract))
    }

    /// Dispatches to [`Protocol::implicit_spender`].
    pub fn implicit_spender(&self) -> Option<Address> {
        with_record!(self.product, record => record.implicit_spender(own(record, &self.state)?))
    }

    /// Dispatches to [`Protocol::vault_trades`].
    pub(crate) fn vault_trades<'a>(&self, after: &'a After) -> Option<(Address, Vault, &'a Trades)> {
        with_record!(self.product, record => {
            record.vault_trades(self.key.contract, own(record, &self.state)?, ChangeOf::of(after)?)
        })
    }

    /// Returns the shares that a transfer of an amount moves; `None` for a token that does not count in shares.
    pub fn shares_of(&self, before: &After, token: TokenId, amount: U256) -> Option<U256> {
        let coin = self.coin_index(token)?;
        with_record!(self.product, record => {
            record.shares_of(own(record, &self.state)?, ChangeOf::of(before), coin, amount)
        })
    }

    /// Returns the amount that shares of such a token are worth, rounded down.
    pub fn worth_of_shares(&self, before: &After, token: TokenId, shares: U256) -> Option<U256> {
        let coin = self.coin_index(token)?;
        with_record!(self.product, record => {
            record.worth_of_shares(own(record, &self.state)?, ChangeOf::of(before), coin, shares)
        })
    }

    /// Returns the shares that a swap of this pool pays out in such a token. `keeper` is the pool that knows the
    /// token's rate; the amounts are those of the swap.
    pub fn shares_paid(
        &self,
        keeper: &Self,
        before: &After,
        token: TokenId,
        (amount_in, amount_out): (U256, U256),
    ) -> Option<U256> {
        match with_record!(self.product, record => record.shares_paid()) {
            SharesPaid::OfAmountIn => keeper.shares_of(before, token, amount_in),
            SharesPaid::OfAmountOut => keeper.shares_of(before, token, amount_out),
            SharesPaid::BehindAmountOut => {
                let coin = keeper.coin_index(token)?;
                with_record!(keeper.product, record => {
                    record.shares_behind(own(record, &keeper.state)?, ChangeOf::of(before), coin, amount_out)
                })
            }
        }
    }

    /// Returns the position of a token among the pool's coins.
    pub fn coin_index(&self, token: TokenId) -> Option<u8> {
        let index = self.coins.iter().position(|coin| *coin == token)?;
        u8::try_from(index).ok()
    }
}
