//! ERC-4626 vaults: assets deposited for shares, shares redeemed for assets, each rounded down.
//!
//! The standard fixes the calls and not the arithmetic. The vaults that carry volume share a few forms, which
//! [`Conversion`] and [`Accrual`] name.

mod aave;
mod accrual;
mod cold;
mod continuous;
mod conversion;
mod forms;
pub mod gas;
mod listed;
mod named;
mod reader;
mod swap;

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

pub(crate) use crate::vault::mul_div;
pub use crate::vault::{ASSET_COIN, DEPOSIT_OPCODE, REDEEM_OPCODE};
pub use aave::{AAVE_POOLS, Reserve};
pub use accrual::Accrual;
pub use cold::Erc4626;
pub use conversion::Conversion;
pub use listed::{Form, LISTED, Listed, MAKER_POT};

/// One in ray, the scale of rates with 27 decimals.
pub const RAY: U256 = crate::aave::RAY;

/// One in wad, the scale of fees with 18 decimals.
pub const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// What a vault's conversion depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// How shares follow from assets, as stored.
    pub conversion: Conversion,
    /// What time adds to it.
    pub accrual: Accrual,
    /// Most assets that a deposit may bring, `maxDeposit`.
    pub max_deposit_assets: U256,
    /// Most shares that can be redeemed, `maxRedeem`; zero for a vault that makes holders wait.
    pub max_redeem_shares: U256,
    /// Most assets that the vault can pay out at once.
    pub max_withdraw_assets: U256,
    /// Where the vault lends on, if it is one of Aave's wrapped tokens.
    pub reserve: Option<Reserve>,
    /// What bounds deposits beside `max_deposit_assets`, as interest uses it up.
    pub cap: Option<Cap>,
    /// The rules by which it was read, if it is a vault of the list: what its steps cost.
    pub form: Option<Form>,
}

/// What all assets of a vault may come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// The most assets, what was earned included.
    pub most_assets: U256,
    /// Shares in circulation.
    pub total_shares: U256,
}

/// The vault after a deposit or a redemption: the whole of its state, which is a few words.
pub type After = State;
