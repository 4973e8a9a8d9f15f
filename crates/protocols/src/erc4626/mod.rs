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
mod previews;
mod reader;
mod swap;

use serde::{Deserialize, Serialize};

pub use crate::{
    aave::RAY,
    maths::WAD,
    vault::{ASSET_COIN, DEPOSIT_OPCODE, REDEEM_OPCODE},
};
pub use aave::{AAVE_POOLS, Reserve};
pub use accrual::Accrual;
pub use cold::Erc4626;
pub use conversion::Conversion;
pub use limits::{Cap, Limits};
pub use listed::{Form, LISTED, Listed};
pub use parts::MAKER_POT;

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

impl State {
    /// Returns the saving of a trade after a preview in the same transaction. For vaults other than Aave's wrapped
    /// tokens, the preview's cost already accounts for it.
    pub const fn previewed_gas_units(&self) -> u64 {
        if self.limits.reserve.is_some() { gas::LENT_PREVIEWED_GAS_UNITS } else { 0 }
    }

    /// Returns the cost of a preview.
    pub const fn preview_gas_units(&self) -> u64 {
        self.costs().preview
    }

    /// Returns the cost of a deposit or a redemption.
    pub const fn gas_units(&self, deposits: bool) -> u64 {
        let [deposit, redemption] = self.costs().steps;
        if deposits { deposit } else { redemption }
    }

    /// Returns the gas refunded at the end of the transaction for such a step.
    pub const fn refunded_gas_units(&self, deposits: bool) -> u64 {
        let [deposit, redemption] = self.costs().refunded;
        if deposits { deposit } else { redemption }
    }

    const fn costs(&self) -> gas::Costs {
        match (self.form, &self.conversion, &self.accrual) {
            (Some(form), ..) => form.parts().costs,
            _ if self.limits.reserve.is_some() => gas::LENT,
            (None, Conversion::Rate { .. }, _) => gas::RATE,
            (None, _, Accrual::Vesting { .. } | Accrual::Streaming { .. }) => gas::REWARDED,
            (None, ..) => gas::RATIO,
        }
    }
}
