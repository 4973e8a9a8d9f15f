//! What deposits and redemptions cost, in gas units, as part of a route that the proxy runs: the vault's own work and the
//! transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's vaults (OpenZeppelin's code for a ratio, Aave's own for its wrapped tokens, stand-ins for the rest of the list,
//! which say at their heads what they leave out); `crates/execution/tests/it/vaults.rs` holds whole routes to their receipts.

use super::{Accrual, Conversion, State};

/// What a vault's calls cost, a deposit and a redemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// After what is refunded.
    pub steps: [u64; 2],
    /// What is used and refunded besides: words that are written from zero and back (EIP-3529).
    pub refunded: [u64; 2],
    /// A preview, whoever asks.
    pub preview: u64,
}

pub(super) const fn costs(steps: [u64; 2], preview: u64) -> Costs {
    Costs { steps, refunded: [0, 0], preview }
}

/// So much is refunded for a word that is written from zero and back.
const WORD_REFUNDED_GAS_UNITS: u64 = 19_900;

impl Costs {
    /// With so many words that are written from zero and back.
    pub(super) const fn passing(self, words: [u64; 2]) -> Self {
        Self { refunded: [words[0] * WORD_REFUNDED_GAS_UNITS, words[1] * WORD_REFUNDED_GAS_UNITS], ..self }
    }
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

impl State {
    /// What a trade costs less after a preview in the same transaction; of all but Aave's wrapped tokens, whoever asks first counts that.
    pub const fn previewed_gas_units(&self) -> u64 {
        if self.limits.reserve.is_some() { LENT_PREVIEWED_GAS_UNITS } else { 0 }
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

    /// What such a step uses and the transaction gets back at its end.
    pub const fn refunded_gas_units(&self, deposits: bool) -> u64 {
        let [deposit, redemption] = self.costs().refunded;
        if deposits { deposit } else { redemption }
    }

    const fn costs(&self) -> Costs {
        match (self.form, &self.conversion, &self.accrual) {
            (Some(form), ..) => form.parts().costs,
            _ if self.limits.reserve.is_some() => LENT,
            (None, Conversion::Rate { .. }, _) => RATE,
            (None, _, Accrual::Vesting { .. } | Accrual::Streaming { .. }) => REWARDED,
            (None, ..) => RATIO,
        }
    }
}
