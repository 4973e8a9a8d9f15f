//! ERC-4626 vaults: assets deposited for shares, shares redeemed for assets, each rounded down.
//!
//! The standard fixes the calls and not the arithmetic. The vaults that carry volume share a few forms, which
//! [`Conversion`] and [`Accrual`] name.

mod aave;
mod accrual;
mod cold;
mod continuous;
pub mod gas;
mod listed;
mod reader;
mod step;
mod swap;

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

pub use aave::{AAVE_POOLS, Reserve};
pub use accrual::Accrual;
pub use cold::Erc4626;
pub(crate) use continuous::{fixed_rate, likely_room, pair_curve};
pub use listed::{Form, LISTED, Listed, MAKER_POT};
pub(crate) use reader::{MULTICALL3, VaultReader};
pub(crate) use step::step_code;
pub use step::{DEPOSIT_OPCODE, REDEEM_OPCODE};
pub(crate) use swap::mul_div;

/// Position of the asset among a vault's coins; the share is the other.
pub const ASSET_COIN: u8 = 0;

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
}

/// How shares follow from assets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conversion {
    /// In proportion to what the vault holds: `shares = assets · (supply + virtual) / (holdings + virtual)`.
    ///
    /// With virtual amounts of zero, an empty vault converts one to one (solmate's `ERC4626`); OpenZeppelin's adds one
    /// asset and `10^offset` shares.
    Ratio {
        /// Assets held, `totalAssets` before what [`Accrual`] adds.
        total_assets: U256,
        /// Shares in circulation, `totalSupply`.
        total_shares: U256,
        /// Assets added to the first.
        virtual_assets: U256,
        /// Shares added to the second.
        virtual_shares: U256,
    },
    /// At a rate that deposits do not move: `assets = shares · rate / one`.
    Rate {
        /// Assets for `one` shares.
        rate: U256,
        /// The rate's scale, [`RAY`] for Aave's wrapped tokens and Sky's savings.
        one: U256,
    },
}

/// The vault after a deposit or a redemption: the whole of its state, which is a few words.
pub type After = State;
