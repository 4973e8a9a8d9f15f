//! Balancer: exact arithmetic of weighted and stable pools; pools of the V2 vault are in [`v2`], of the V3 vault in
//! [`v3`].
//!
//! Balances are those that the vault holds for a pool. The pool scales them to 18 decimals, and by rates if it has
//! them. The fee is deducted from the amount in before scaling. Like the contracts, amounts out are rounded down and
//! amounts in up.

mod fixed_point;
mod joins;
mod log_exp;
mod power;
mod revert;
mod stable;
pub mod v2;
pub mod v3;
mod weighted;

pub use stable::{Invariant, StablePool};
pub use weighted::{Power, WeightedPool};

use alloy_primitives::U256;

use fixed_point::{ONE, div_down, div_up, mul_down, mul_up, sub};
use revert::Revert;

/// Computes an amount in less the fee, in its own decimals.
fn less_fee(amount: U256, fee_wad: U256) -> Result<U256, Revert> {
    sub(amount, mul_up(amount, fee_wad)?)
}

/// Computes the amount in that leaves `amount` after the fee.
fn plus_fee(amount: U256, fee_wad: U256) -> Result<U256, Revert> {
    div_up(amount, sub(ONE, fee_wad)?)
}

/// Coins in the pool's own scale.
#[derive(Clone, Copy, Debug)]
struct Scale<'a> {
    balances: &'a [U256],
    factors: &'a [U256],
}

impl Scale<'_> {
    fn factor(&self, coin: usize) -> Result<U256, Revert> {
        self.factors.get(coin).copied().ok_or(Revert::Arithmetic)
    }

    fn up(&self, amount: U256, coin: usize) -> Result<U256, Revert> {
        mul_down(amount, self.factor(coin)?)
    }

    fn balance(&self, coin: usize) -> Result<U256, Revert> {
        self.up(self.balances.get(coin).copied().ok_or(Revert::Arithmetic)?, coin)
    }

    fn down(&self, amount: U256, coin: usize) -> Result<U256, Revert> {
        div_down(amount, self.factor(coin)?)
    }

    fn down_rounded_up(&self, amount: U256, coin: usize) -> Result<U256, Revert> {
        div_up(amount, self.factor(coin)?)
    }
}

/// Converts a fee of 18 decimals to hundredths of a basis point, rounded down.
fn fee_pips(fee_wad: U256) -> Option<u32> {
    u32::try_from(fee_wad / U256::from(1_000_000_000_000_u64)).ok()
}
