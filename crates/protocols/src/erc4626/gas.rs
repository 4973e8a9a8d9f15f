//! Gas units of deposits and redemptions, as part of a route that the proxy runs: the vault's own work and the
//! transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's vaults: OpenZeppelin's code for a ratio, Aave's own for its wrapped tokens, and
//! stand-ins for the others, whose heads list what they omit. `crates/execution/tests/it/vaults.rs` compares whole
//! routes with their receipts.

/// Gas units of a vault's calls; pairs are for a deposit and a redemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Cost net of refunds.
    pub steps: [u64; 2],
    /// Gas used and refunded in addition, for slots set from zero and cleared again (EIP-3529).
    pub refunded: [u64; 2],
    /// Cost of a preview, for any caller.
    pub preview: u64,
}

pub(super) const fn costs(steps: [u64; 2], preview: u64) -> Costs {
    Costs { steps, refunded: [0, 0], preview }
}

/// Refund of a slot that is set from zero and cleared again.
const WORD_REFUNDED_GAS_UNITS: u64 = 19_900;

impl Costs {
    /// Adds the refunds of slots that are set from zero and cleared again.
    pub(super) const fn passing(self, words: [u64; 2]) -> Self {
        Self { refunded: [words[0] * WORD_REFUNDED_GAS_UNITS, words[1] * WORD_REFUNDED_GAS_UNITS], ..self }
    }
}

/// A vault with a ratio. A preview reads three cold slots of two contracts.
pub const RATIO: Costs = costs([39_300, 39_100], 10_000);
/// A ratio with a reward that vests or streams.
pub const REWARDED: Costs = costs([41_300, 41_100], 12_000);
/// A rate that compounds: the rate is stored again.
pub const RATE: Costs = costs([60_300, 53_600], 23_200);
/// One of Aave's wrapped tokens: the reserve and its rates are updated; a preview passes through two proxies.
pub const LENT: Costs = costs([192_400, 178_300], 28_500);
/// Saving of a trade with one of Aave's wrapped tokens after a preview in the same transaction.
pub const LENT_PREVIEWED_GAS_UNITS: u64 = 14_000;
