//! The methods that routing calls on a pool.

use alloy_primitives::{Address, U256};
use braid_primitives::{ExecutionBlock, PoolKey, TokenId};

use crate::{
    After, Pool, Protocol, RouteState, Sale, SharedWords, SharesPaid, Step, StepCode, Swap, SwapError,
    continuous::PairCurve,
    error::positions,
    registry::{ChangeOf, own, with_record},
    vault::{Trades, Vault},
};

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
        positions(self.coins.len(), sale.coin_in, sale.coin_out, sale.amount_in)?;
        with_record!(self.product, record => match own(record, &self.state) {
            Some(state) => {
                let mut coins = self.coins.iter().enumerate();
                if coins.any(|(coin, token)| route.changed_rate_of(*token, at) && record.asks_rate_of(state, coin)) {
                    return Err(SwapError::Closed);
                }
                record.swap(state, Step { pool: self.key, at, route, sale })
            }
            None => Err(SwapError::Closed),
        })
    }

    /// Computes the input of coin `coin_in` for exactly `amount_out` of coin `coin_out`, to the wei, if the proxy can
    /// buy from the pool.
    ///
    /// # Errors
    /// As [`Protocol::amount_in_for`], [`SwapError::UnknownCoin`] and [`SwapError::ZeroAmount`].
    pub fn amount_in_for(&self, coin_in: u8, coin_out: u8, amount_out: U256) -> Result<U256, SwapError> {
        positions(self.coins.len(), coin_in, coin_out, amount_out)?;
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

    /// Returns the vault that a step traded with, which may be the pool itself, and the route's trades with it so far.
    pub(crate) fn vault_trades<'a>(&self, after: &'a After) -> Option<(Address, Vault, &'a Trades)> {
        if let After::Vault(trades) = after {
            return Some((self.key.contract, Vault { product: self.product, state: self.state.clone() }, trades));
        }
        with_record!(self.product, record => record.vault_trades(own(record, &self.state)?, ChangeOf::of(after)?))
    }

    /// Dispatches to [`Protocol::shared_words`].
    pub(crate) fn shared_words(&self, after: &After) -> Option<[(Address, SharedWords); 2]> {
        with_record!(self.product, record => record.shared_words(own(record, &self.state)?, ChangeOf::of(after)?))
    }

    /// Returns the shares that a transfer of an amount moves; `None` for a token that does not count in shares.
    pub fn shares_of(&self, before: &After, token: TokenId, amount: U256) -> Option<U256> {
        let coin = self.coin_index(token)?;
        with_record!(self.product, record => {
            record.shares_of(own(record, &self.state)?, ChangeOf::of(before), coin, amount)
        })
    }

    /// Tells whether a token counts balances in shares whose worth this pool's state keeps.
    pub fn keeps_shares_of(&self, token: TokenId) -> bool {
        self.shares_of(&After::Unchanged, token, U256::ONE).is_some()
    }

    /// Tells whether the output of this pool's swaps in a token that counts in shares may be a unit or two more than the
    /// worth of the shares that arrive at an account with others.
    pub fn pays_rounded_shares(&self) -> bool {
        with_record!(self.product, record => record.shares_paid()) != SharesPaid::OfAmountIn
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
}

impl PairCurve {
    /// Returns the curve of two coins of a pool, given by their positions, lower first, in the given block. `None` for
    /// coins that do not trade, and for the conversion of ether and WETH.
    pub fn of(pool: &Pool, coins: [u8; 2], at: &ExecutionBlock) -> Option<Self> {
        let [low, high] = coins;
        if low >= high || usize::from(high) >= pool.coins.len() {
            return None;
        }
        pool.product.curve(&pool.state, coins, at)
    }
}
