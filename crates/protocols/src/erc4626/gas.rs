//! What deposits and redemptions cost, in gas units, as part of a route that the proxy runs: the vault's own work and the
//! transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's vaults (OpenZeppelin's code for a ratio, Aave's own for its wrapped tokens, stand-ins for savings, which do
//! less than the deployed contracts); `crates/execution/tests/it/vaults.rs` holds whole routes to their receipts.

use super::{Accrual, Conversion, State};

/// A deposit into a vault that keeps a ratio.
pub const RATIO_DEPOSIT_GAS_UNITS: u64 = 39_300;
/// A redemption from it.
pub const RATIO_REDEEM_GAS_UNITS: u64 = 39_100;
/// On top, for a reward that vests or streams.
pub const REWARD_GAS_UNITS: u64 = 2_000;
/// A deposit at a rate that compounds: the rate is written anew.
pub const RATE_DEPOSIT_GAS_UNITS: u64 = 60_300;
/// A redemption at it.
pub const RATE_REDEEM_GAS_UNITS: u64 = 53_600;
/// A deposit into one of Aave's wrapped tokens: the reserve is brought up to date and its rates are worked out.
pub const LENT_DEPOSIT_GAS_UNITS: u64 = 192_400;
/// A redemption from it.
pub const LENT_REDEEM_GAS_UNITS: u64 = 178_300;

/// What a preview costs whoever asks: of a ratio, three cold words of two contracts.
pub const RATIO_PREVIEW_GAS_UNITS: u64 = 10_000;
/// Of a rate that compounds.
pub const RATE_PREVIEW_GAS_UNITS: u64 = 23_200;
/// Of one of Aave's wrapped tokens: two proxies, and the reserve's rate and index.
pub const LENT_PREVIEW_GAS_UNITS: u64 = 28_500;
/// What a trade with it costs less after a preview in the same transaction.
pub const LENT_PREVIEWED_GAS_UNITS: u64 = 14_000;

impl State {
    /// What a trade costs less after a preview in the same transaction; of ratios and savings, whoever asks first counts that.
    pub const fn previewed_gas_units(&self) -> u64 {
        match self.accrual {
            Accrual::Linear { .. } => LENT_PREVIEWED_GAS_UNITS,
            _ => 0,
        }
    }

    /// What a preview costs whoever asks.
    pub const fn preview_gas_units(&self) -> u64 {
        let base = match &self.conversion {
            Conversion::Ratio { .. } | Conversion::Price { .. } | Conversion::Wrapped { .. } => RATIO_PREVIEW_GAS_UNITS,
            Conversion::Rate { .. } => RATE_PREVIEW_GAS_UNITS,
        };
        match self.accrual {
            Accrual::Vesting { .. } | Accrual::Streaming { .. } => base + REWARD_GAS_UNITS,
            Accrual::Linear { .. } => LENT_PREVIEW_GAS_UNITS,
            _ => base,
        }
    }

    /// What a deposit or a redemption costs.
    pub const fn gas_units(&self, deposits: bool) -> u64 {
        let base = match (&self.conversion, deposits) {
            (Conversion::Ratio { .. } | Conversion::Price { .. } | Conversion::Wrapped { .. }, true) => {
                RATIO_DEPOSIT_GAS_UNITS
            }
            (Conversion::Ratio { .. } | Conversion::Price { .. } | Conversion::Wrapped { .. }, false) => {
                RATIO_REDEEM_GAS_UNITS
            }
            (Conversion::Rate { .. }, true) => RATE_DEPOSIT_GAS_UNITS,
            (Conversion::Rate { .. }, false) => RATE_REDEEM_GAS_UNITS,
        };
        match self.accrual {
            Accrual::Vesting { .. } | Accrual::Streaming { .. } => base + REWARD_GAS_UNITS,
            Accrual::Linear { .. } if deposits => LENT_DEPOSIT_GAS_UNITS,
            Accrual::Linear { .. } => LENT_REDEEM_GAS_UNITS,
            _ => base,
        }
    }
}
