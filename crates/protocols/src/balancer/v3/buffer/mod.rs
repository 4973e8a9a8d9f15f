//! Buffers of the V3 vault. A buffer holds shares and assets of an ERC-4626 vault, and exchanges them at the share's
//! own previews, less one or two units.
//!
//! The output does not depend on the buffer's balances. If they are too small, the buffer deposits into the vault
//! behind it or redeems from it: the trade's amount, adjusted so that both sides of the buffer are worth the same.
//! Source: `Vault.erc4626BufferWrapOrUnwrap`, `BufferHelpers`.

mod cold;
mod continuous;
mod reader;

use alloy_primitives::{Address, U256};
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::gas;
use crate::{
    RouteState, Swap, SwapError,
    vault::{ASSET_COIN, Trade, Trades, Vault},
};

pub use cold::{BalancerV3Buffer, key_of};

/// Minimum amount of the mainnet vault for either coin, in atomic units: `_MINIMUM_WRAP_AMOUNT`.
pub const MINIMUM_WRAP: u64 = 10_000;

/// State that a trade with a buffer depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The share token. The vault and its events identify the buffer by it.
    pub wrapped: Address,
    /// Balances of the asset and of the share, in atomic units.
    pub held: [U256; 2],
    /// Whether all buffers are paused.
    pub paused: bool,
    /// The vault behind the buffer.
    pub vault: Vault,
}

/// State after a trade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// Balances of the asset and of the share, in atomic units.
    pub held: [U256; 2],
    /// The route's trades with the vault behind the buffer, including this one.
    trades: Trades,
}

/// Surplus or deficit of the coin in, relative to equal worth of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Imbalance {
    Over(U256),
    Under(U256),
}

impl Imbalance {
    fn of(held: U256, other: U256) -> Self {
        let half = held.abs_diff(other) >> 1_usize;
        if held >= other { Self::Over(half) } else { Self::Under(half) }
    }

    /// Computes the amount that moves between the buffer and its vault for a trade of an amount.
    fn added_to(self, amount: U256) -> Option<U256> {
        match self {
            Self::Over(more) => amount.checked_add(more),
            Self::Under(less) => amount.checked_sub(less),
        }
    }

    /// Computes the trade for which this amount moves.
    const fn taken_from(self, moved: U256) -> U256 {
        match self {
            Self::Over(more) => moved.saturating_sub(more),
            Self::Under(less) => moved.saturating_add(less),
        }
    }
}

impl State {
    /// Computes wrapping (the asset in) or unwrapping.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] while buffers are paused.
    /// - [`SwapError::ZeroOutput`] below the vault's minimum, in or out.
    /// - [`SwapError::LimitExceeded`], [`SwapError::InsufficientLiquidity`] above the buffer's balances, if the vault
    ///   behind it does not take or give the rest.
    /// - [`SwapError::Overflow`] where the contracts' arithmetic reverts.
    pub fn swap(
        &self,
        at: &ExecutionBlock,
        route: &RouteState,
        held: [U256; 2],
        coin_in: u8,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        if self.paused {
            return Err(SwapError::Closed);
        }
        let before = route.before(self.wrapped);
        let wraps = coin_in == ASSET_COIN;
        let [asset, share] = held;
        let (of_in, of_out) = if wraps { (asset, share) } else { (share, asset) };
        let overflow = || SwapError::Overflow { amount_in };

        let rate = self.vault.rate(at, before)?;
        let least = U256::from(MINIMUM_WRAP);
        if amount_in < least {
            return Err(SwapError::ZeroOutput);
        }
        let preview = rate.down(wraps, amount_in - U256::ONE).ok_or_else(overflow)?;
        let amount_out = preview.saturating_sub(U256::ONE);
        if amount_out < least {
            return Err(SwapError::ZeroOutput);
        }
        let (of_in, of_out, trades, gas_units) = if of_out >= amount_out {
            let of_in = of_in.checked_add(amount_in).ok_or_else(overflow)?;
            (of_in, of_out - amount_out, before.trades(), self.gas_units())
        } else {
            let worth = rate.up(!wraps, of_out).ok_or_else(overflow)?;
            let imbalance = Imbalance::of(of_in, worth);
            let moved = imbalance.added_to(amount_in).ok_or_else(overflow)?;
            let trade = Trade { deposits: wraps, amount_in: moved };
            let traded = self.vault.trade(at, before, trade);
            let traded = traded.map_err(|error| seen_by(error, imbalance, amount_in))?;
            let of_in = of_in.checked_add(amount_in).and_then(|sum| sum.checked_sub(moved)).ok_or_else(overflow)?;
            let of_out = of_out.checked_add(traded.amount_out).and_then(|sum| sum.checked_sub(amount_out));
            let traded_gas_units = traded.gas_units.saturating_sub(self.vault.previewed_gas_units());
            let gas_units = self.gas_units() + gas::beyond(wraps, traded_gas_units);
            (of_in, of_out.ok_or_else(overflow)?, before.and(trade), gas_units)
        };
        if of_in.bit_len() > 128 || of_out.bit_len() > 128 {
            return Err(overflow());
        }
        let held = if wraps { [of_in, of_out] } else { [of_out, of_in] };
        Ok(Swap { amount_out, gas_units, after: crate::After::BalancerV3Buffer(After { held, trades: trades? }) })
    }

    /// Returns the gas units of a trade from the buffer's own balances.
    fn gas_units(&self) -> u64 {
        gas::BUFFER_GAS_UNITS.saturating_add(self.vault.preview_gas_units())
    }

    /// Returns the gas units of the trade with the vault behind as a step of its own, from those of the trade with the
    /// buffer; `None` if the buffer serves the trade itself.
    pub(crate) fn traded_gas_units(&self, wraps: bool, gas_units: u64) -> Option<u64> {
        let beyond = gas_units.checked_sub(self.gas_units()).filter(|beyond| *beyond > 0)?;
        Some(gas::traded(wraps, beyond).saturating_add(self.vault.previewed_gas_units()))
    }

    /// Checks that the state is possible.
    ///
    /// # Errors
    /// Describes the first violation.
    pub fn validate(&self) -> Result<(), &'static str> {
        self.vault.validate()?;
        if self.held.iter().all(|held| held.bit_len() <= 128) { Ok(()) } else { Err("more than 128 bits in a buffer") }
    }
}

/// Converts an error of the vault behind to amounts of the trade.
fn seen_by(error: SwapError, imbalance: Imbalance, amount_in: U256) -> SwapError {
    match error {
        SwapError::LimitExceeded { limit, .. } => {
            SwapError::LimitExceeded { limit: imbalance.taken_from(limit), amount: amount_in }
        }
        SwapError::InsufficientLiquidity { consumed, .. } => {
            let consumed = imbalance.taken_from(consumed).min(amount_in);
            SwapError::InsufficientLiquidity { consumed, amount_in }
        }
        SwapError::ZeroAmount | SwapError::ZeroOutput | SwapError::Overflow { .. } => SwapError::Overflow { amount_in },
        other => other,
    }
}
