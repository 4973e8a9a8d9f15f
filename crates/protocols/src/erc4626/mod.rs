//! ERC-4626 vaults: assets deposited for shares, shares redeemed for assets, each rounded down.
//!
//! The standard fixes the calls and not the arithmetic. A vault is a [`Conversion`], an [`Accrual`] and [`Limits`], which round as they say; a
//! listed one is a row of [`LISTED`].

mod aave;
mod accrual;
mod cold;
mod continuous;
mod conversion;
pub mod gas;
mod limits;
mod listed;
mod parts;
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
pub use limits::{Cap, Limits};
pub use listed::{Form, LISTED, Listed};
pub use parts::MAKER_POT;

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
    /// What bounds deposits and redemptions.
    pub limits: Limits,
    /// The form by which it was read, if by one: what its steps cost.
    pub form: Option<Form>,
}

/// The vault after a deposit or a redemption: the whole of its state, which is a few words.
pub type After = State;
