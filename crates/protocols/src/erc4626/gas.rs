//! What deposits and redemptions cost, in gas units, as part of a route that the proxy runs: the vault's own work and the
//! transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's vaults (OpenZeppelin's code for a ratio, Aave's own for its wrapped tokens, stand-ins for savings, which do
//! less than the deployed contracts); `crates/execution/tests/it/vaults.rs` holds whole routes to their receipts. Those of the vaults with
//! rules of their own, which the local chain does not have, are what their stand-ins in an EVM take more than OpenZeppelin's vault there, and
//! what the deployed contracts do beside: proxies, events, minted interest. No receipt was compared.

use super::{Accrual, Conversion, RAY, State};

/// A deposit into a vault and a redemption from it.
type Both = [u64; 2];

/// Of a vault that keeps a ratio.
pub const RATIO_GAS_UNITS: Both = [39_300, 39_100];
/// On top, for a reward that vests or streams.
pub const REWARD_GAS_UNITS: u64 = 2_000;
/// At a rate that compounds: the rate is written anew.
pub const RATE_GAS_UNITS: Both = [60_300, 53_600];
/// Of one of Aave's wrapped tokens: the reserve is brought up to date and its rates are worked out.
pub const LENT_GAS_UNITS: Both = [192_400, 178_300];
/// Of a cycle's reward, which is written.
pub const DISTRIBUTING_GAS_UNITS: Both = [57_700, 57_300];
/// Of a wrapper, with the token that it wraps.
pub const WRAPPED_GAS_UNITS: Both = [74_000, 68_000];
/// Of an index that is written, or only read.
pub const INDEX_GAS_UNITS: Both = [58_000, 58_500];
/// Of savings elsewhere, with interest that is minted.
pub const TICKING_GAS_UNITS: Both = [94_000, 88_000];
/// Of shares that go.
pub const UNLOCKING_GAS_UNITS: Both = [59_500, 57_000];
/// At a rate that compounds behind Sky's exchange and its joins, counted by the words that they write.
pub const EXCHANGED_GAS_UNITS: Both = [230_000, 230_000];

/// What a preview costs whoever asks: of a ratio, three cold words of two contracts.
pub const RATIO_PREVIEW_GAS_UNITS: u64 = 10_000;
/// Of a rate that compounds.
pub const RATE_PREVIEW_GAS_UNITS: u64 = 23_200;
/// Of one of Aave's wrapped tokens: two proxies, and the reserve's rate and index.
pub const LENT_PREVIEW_GAS_UNITS: u64 = 28_500;
/// What a trade with it costs less after a preview in the same transaction.
pub const LENT_PREVIEWED_GAS_UNITS: u64 = 14_000;
/// Of a cycle's reward.
pub const DISTRIBUTING_PREVIEW_GAS_UNITS: u64 = 15_600;
/// Of a wrapper.
pub const WRAPPED_PREVIEW_GAS_UNITS: u64 = 23_600;
/// Of an index.
pub const INDEX_PREVIEW_GAS_UNITS: u64 = 12_400;
/// Of savings elsewhere.
pub const TICKING_PREVIEW_GAS_UNITS: u64 = 19_500;
/// Of shares that go.
pub const UNLOCKING_PREVIEW_GAS_UNITS: u64 = 17_700;
/// Behind Sky's exchange.
pub const EXCHANGED_PREVIEW_GAS_UNITS: u64 = 36_000;

impl State {
    /// What a trade costs less after a preview in the same transaction; of ratios and savings, whoever asks first counts that.
    pub const fn previewed_gas_units(&self) -> u64 {
        match self.accrual {
            Accrual::Linear { .. } => LENT_PREVIEWED_GAS_UNITS,
            _ => 0,
        }
    }

    /// What a preview costs whoever asks.
    pub fn preview_gas_units(&self) -> u64 {
        self.costs().1
    }

    /// What a deposit or a redemption costs.
    pub fn gas_units(&self, deposits: bool) -> u64 {
        let [deposit, redemption] = self.costs().0;
        if deposits { deposit } else { redemption }
    }

    fn costs(&self) -> (Both, u64) {
        match (&self.conversion, &self.accrual) {
            (_, Accrual::Linear { .. }) => (LENT_GAS_UNITS, LENT_PREVIEW_GAS_UNITS),
            (_, Accrual::Distributing { .. }) => (DISTRIBUTING_GAS_UNITS, DISTRIBUTING_PREVIEW_GAS_UNITS),
            (_, Accrual::Simple { .. } | Accrual::Straight { .. }) => (INDEX_GAS_UNITS, INDEX_PREVIEW_GAS_UNITS),
            (_, Accrual::Unlocking { .. }) => (UNLOCKING_GAS_UNITS, UNLOCKING_PREVIEW_GAS_UNITS),
            (Conversion::Price { .. }, _) => (TICKING_GAS_UNITS, TICKING_PREVIEW_GAS_UNITS),
            (Conversion::Wrapped { .. }, _) => (WRAPPED_GAS_UNITS, WRAPPED_PREVIEW_GAS_UNITS),
            (Conversion::Rate { one, .. }, Accrual::Compounding { .. }) if *one != RAY => {
                (EXCHANGED_GAS_UNITS, EXCHANGED_PREVIEW_GAS_UNITS)
            }
            (Conversion::Rate { .. }, _) => (RATE_GAS_UNITS, RATE_PREVIEW_GAS_UNITS),
            (Conversion::Ratio { .. }, Accrual::Vesting { .. } | Accrual::Streaming { .. }) => {
                (RATIO_GAS_UNITS.map(|gas| gas + REWARD_GAS_UNITS), RATIO_PREVIEW_GAS_UNITS + REWARD_GAS_UNITS)
            }
            (Conversion::Ratio { .. }, _) => (RATIO_GAS_UNITS, RATIO_PREVIEW_GAS_UNITS),
        }
    }
}
