//! ERC-4626 vaults: deposits of assets for shares and redemptions of shares for assets, each rounded down.
//!
//! The standard fixes the calls but not the arithmetic. A vault is a [`Conversion`], an [`Accrual`] and [`Limits`],
//! each with its rounding. A listed vault is a row of [`LISTED`].

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

/// State of a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Conversion of assets to shares, as stored.
    pub conversion: Conversion,
    /// Growth of the conversion with time.
    pub accrual: Accrual,
    /// Limits of deposits and redemptions.
    pub limits: Limits,
    /// Form that the vault was read as, if any; it determines the gas of its steps.
    pub form: Option<Form>,
}

/// State after a deposit or a redemption: all of it, because it is small.
pub type After = State;
