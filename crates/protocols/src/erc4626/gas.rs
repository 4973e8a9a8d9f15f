//! What deposits and redemptions cost, in gas units, as part of a route that the proxy runs: the vault's own work and the
//! transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's vaults (OpenZeppelin's code for a ratio, Aave's own for its wrapped tokens, stand-ins for the rest of the list,
//! which say at their heads what they leave out); `crates/execution/tests/it/vaults.rs` holds whole routes to their receipts.

use super::{Accrual, Conversion, Form, State};

/// What a vault's calls cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A deposit and a redemption.
    pub steps: [u64; 2],
    /// A preview, whoever asks.
    pub preview: u64,
}

const fn costs(steps: [u64; 2], preview: u64) -> Costs {
    Costs { steps, preview }
}

/// Of a vault that keeps a ratio. A preview reads three cold words of two contracts.
pub const RATIO: Costs = costs([39_300, 39_100], 10_000);
/// Of a ratio with a reward that vests or streams.
pub const REWARDED: Costs = costs([41_300, 41_100], 12_000);
/// At a rate that compounds: the rate is written anew.
pub const RATE: Costs = costs([60_300, 53_600], 23_200);
/// Of one of Aave's wrapped tokens: the reserve is brought up to date and its rates are worked out; a preview goes by two proxies.
pub const LENT: Costs = costs([192_400, 178_300], 28_500);
/// What a trade with one of Aave's wrapped tokens costs less after a preview in the same transaction.
pub const LENT_PREVIEWED_GAS_UNITS: u64 = 14_000;

impl Form {
    const fn costs(self) -> Costs {
        match self {
            Self::Holdings => RATIO,
            Self::MakerPot => RATE,
            Self::EthenaStaking => REWARDED,
            // everybody's interest is made and taken first
            Self::SkySavings => costs([112_000, 109_000], 22_000),
            Self::SparkSavings => costs([62_000, 56_000], 22_000),
            // and the exchange with both joins
            Self::SkyThroughPsm => costs([266_000, 248_500], 42_000),
            Self::FalconStaking => costs([53_800, 54_700], 24_800),
            Self::FraxStaking => costs([44_300, 43_700], 11_500),
            Self::FraxSavings => costs([56_900, 56_500], 19_300),
            Self::ResolvWrapper => costs([85_500, 76_800], 30_200),
            Self::AaveSavings => costs([58_700, 59_400], 15_800),
            Self::FrankencoinSavings => costs([97_500, 87_600], 27_800),
            Self::YearnVault => costs([63_000, 60_600], 22_000),
        }
    }
}

impl State {
    /// What a trade costs less after a preview in the same transaction; of all but Aave's wrapped tokens, whoever asks first counts that.
    pub const fn previewed_gas_units(&self) -> u64 {
        match self.accrual {
            Accrual::Linear { .. } => LENT_PREVIEWED_GAS_UNITS,
            _ => 0,
        }
    }

    /// What a preview costs whoever asks.
    pub const fn preview_gas_units(&self) -> u64 {
        self.costs().preview
    }

    /// What a deposit or a redemption costs.
    pub const fn gas_units(&self, deposits: bool) -> u64 {
        let [deposit, redemption] = self.costs().steps;
        if deposits { deposit } else { redemption }
    }

    const fn costs(&self) -> Costs {
        match (self.form, &self.conversion, &self.accrual) {
            (Some(form), ..) => form.costs(),
            (None, _, Accrual::Linear { .. }) => LENT,
            (None, Conversion::Rate { .. }, _) => RATE,
            (None, _, Accrual::Vesting { .. } | Accrual::Streaming { .. }) => REWARDED,
            (None, ..) => RATIO,
        }
    }
}
