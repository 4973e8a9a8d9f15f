//! fTokens: shares of a supply to the liquidity layer, with the ERC-4626 interface.

mod cold;
mod continuous;
pub mod gas;
mod reader;

use alloy_primitives::{Address, U256};
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::layer::{Token, withdrawable};
use crate::{SwapError, vault::Rate};

pub use cold::FToken;

/// One, in the decimals of exchange prices (12).
const PRICE_ONE: U256 = U256::from_limbs([1_000_000_000_000, 0, 0, 0]);
/// One hundred percent, in the decimals of a return.
const RETURN_ONE: U256 = U256::from_limbs([100_000_000_000_000, 0, 0, 0]);

/// State that a deposit or a redemption depends on. The share has the decimals of its asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Token in the layer: the asset, or ether (`0xEeee…`) for WETH.
    pub stored: Address,
    /// That token in the layer, with the fToken's supply.
    pub layer: Token,
    /// Whether the layer is paused.
    pub layer_paused: bool,
    /// Assets per share when prices were last stored, 12 decimals.
    pub token_price: u64,
    /// The layer's exchange price of supply at that time, 12 decimals.
    pub layer_price: u64,
    /// `totalSupply` of shares.
    pub total_shares: U256,
}

/// State change of a trade. Without rewards the stored prices stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    layer: Token,
    total_shares: U256,
}

/// Result of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid {
    /// Amount out in atomic units.
    pub amount_out: U256,
    /// Gas units.
    pub gas_units: u64,
    /// State change.
    pub after: After,
}

impl State {
    /// Returns the state after an earlier trade.
    #[must_use]
    pub fn with(&self, after: &After) -> Self {
        Self { layer: after.layer, total_shares: after.total_shares, ..self.clone() }
    }

    /// Computes the assets per share at a time, 12 decimals. Source: `_calculateNewTokenExchangePrice`.
    ///
    /// # Errors
    /// [`SwapError::Closed`] if the asset is not listed, or its exchange price fell, where the contract reverts.
    pub fn price(&self, now: u64) -> Result<U256, SwapError> {
        let (stored, fresh) = (U256::from(self.layer_price), self.layer.prices(now)?.supply);
        let grown = fresh.checked_sub(stored).ok_or(SwapError::Closed)?;
        let earned = (grown * RETURN_ONE).checked_div(stored).ok_or(SwapError::Closed)?;
        let token = U256::from(self.token_price);
        Ok(token + token * earned / RETURN_ONE)
    }

    /// Computes the conversion rate, ignoring limits.
    ///
    /// # Errors
    /// As [`State::price`].
    pub(crate) fn rate(&self, at: &ExecutionBlock) -> Result<Rate, SwapError> {
        Rate::new(Some(self.price(at.timestamp)?), Some(PRICE_ONE))
    }

    /// Computes the maximum withdrawal in assets at a time, by the limit and by the layer's balance.
    pub(super) fn withdrawable(&self, now: u64) -> U256 {
        let Ok(prices) = self.layer.prices(now) else { return U256::ZERO };
        withdrawable(self.layer.supply, prices.supply, now).min(self.layer.held)
    }

    /// Computes a deposit (asset in) or a redemption. Source: `_executeDeposit`, `redeem`.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] while the layer, or the fToken in it, is paused.
    /// - [`SwapError::ZeroOutput`] if the output rounds to zero, or the amount is too small to be stored in the layer.
    /// - [`SwapError::LimitExceeded`] above the withdrawal limit.
    /// - [`SwapError::InsufficientLiquidity`] for more shares than the supply.
    /// - [`SwapError::Overflow`] beyond 127 bits.
    pub fn swap(&self, at: &ExecutionBlock, deposits: bool, amount_in: U256) -> Result<Paid, SwapError> {
        if amount_in.bit_len() > 127 {
            return Err(SwapError::Overflow { amount_in });
        }
        if self.layer_paused {
            return Err(SwapError::Closed);
        }
        let now = at.timestamp;
        let price = self.price(now)?;
        let mut layer = self.layer;
        let (amount_out, total_shares) = if deposits {
            layer.pay_in(now, amount_in, U256::ZERO)?;
            layer.held = layer.held.saturating_add(amount_in);
            let shares = (amount_in * PRICE_ONE).checked_div(price).ok_or(SwapError::Closed)?;
            (shares, self.total_shares.saturating_add(shares))
        } else {
            let short = SwapError::InsufficientLiquidity { consumed: self.total_shares, amount_in };
            let left = self.total_shares.checked_sub(amount_in).ok_or(short)?;
            let assets = amount_in.checked_mul(price).ok_or(SwapError::Overflow { amount_in })? / PRICE_ONE;
            if assets.is_zero() {
                return Err(SwapError::ZeroOutput);
            }
            layer.pay_out(now, assets, U256::ZERO)?;
            (assets, left)
        };
        if amount_out.is_zero() {
            return Err(SwapError::ZeroOutput);
        }
        let after = After { layer, total_shares };
        Ok(Paid { amount_out, gas_units: gas::gas_units(self, deposits), after })
    }
}
