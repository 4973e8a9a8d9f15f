//! fTokens: shares of what one token earns in the liquidity layer, by the calls of ERC-4626.

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

/// One, in the decimals of exchange prices.
const PRICE_ONE: U256 = U256::from_limbs([1_000_000_000_000, 0, 0, 0]);
/// The whole, in the decimals of a return.
const RETURN_ONE: U256 = U256::from_limbs([100_000_000_000_000, 0, 0, 0]);

/// What a deposit or a redemption depends on. The share has the decimals of its asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// What lies in the layer: the asset, or ether (`0xEeee…`) for wrapped ether.
    pub stored: Address,
    /// That token in the layer, and what the share has of it there.
    pub layer: Token,
    /// Whether the layer is paused.
    pub layer_paused: bool,
    /// Assets for a share when prices were last stored, twelve decimals.
    pub token_price: u64,
    /// The layer's exchange price of supply at that time, twelve decimals.
    pub layer_price: u64,
    /// Shares of everybody.
    pub total_shares: U256,
}

/// What a trade changed. Without rewards the prices stay as they were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    layer: Token,
    total_shares: U256,
}

/// What a trade pays and costs, and what it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid {
    /// What comes out, in atomic units.
    pub amount_out: U256,
    /// What it costs, in gas units.
    pub gas_units: u64,
    /// What it changed.
    pub after: After,
}

impl State {
    /// The state as an earlier trade left it.
    #[must_use]
    pub fn with(&self, after: &After) -> Self {
        Self { layer: after.layer, total_shares: after.total_shares, ..self.clone() }
    }

    /// Assets for a share at a time, twelve decimals. Source: `_calculateNewTokenExchangePrice`.
    ///
    /// # Errors
    /// [`SwapError::Closed`] where the asset is not listed, or its exchange price fell, at which the contract reverts.
    pub fn price(&self, now: u64) -> Result<U256, SwapError> {
        let (stored, fresh) = (U256::from(self.layer_price), self.layer.prices(now)?.supply);
        let grown = fresh.checked_sub(stored).ok_or(SwapError::Closed)?;
        let earned = (grown * RETURN_ONE).checked_div(stored).ok_or(SwapError::Closed)?;
        let token = U256::from(self.token_price);
        Ok(token + token * earned / RETURN_ONE)
    }

    /// What it converts at, whatever the limits say.
    ///
    /// # Errors
    /// As [`State::price`].
    pub(crate) fn rate(&self, at: &ExecutionBlock) -> Result<Rate, SwapError> {
        Rate::new(Some(self.price(at.timestamp)?), Some(PRICE_ONE))
    }

    /// The most assets that can be taken out at a time, by limit and by what the layer holds.
    pub(super) fn withdrawable(&self, now: u64) -> U256 {
        let Ok(prices) = self.layer.prices(now) else { return U256::ZERO };
        withdrawable(self.layer.supply, prices.supply, now).min(self.layer.held)
    }

    /// What a deposit (asset in) or a redemption pays. Source: `_executeDeposit`, `redeem`.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] while the layer, or the share in it, is paused.
    /// - [`SwapError::ZeroOutput`] for nothing out, or too little to be stored in the layer.
    /// - [`SwapError::LimitExceeded`] beyond what can be withdrawn.
    /// - [`SwapError::InsufficientLiquidity`] for more shares than there are.
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
