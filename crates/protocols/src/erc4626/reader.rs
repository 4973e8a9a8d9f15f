//! Reads a vault in one round, which every block repeats: its parts, and what its previews say of a large amount, which the model must
//! repeat. A vault that is on no list is first asked what it is.

use alloy_primitives::U256;
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;

use super::{
    Form, Reserve, State,
    aave::{self, Behind},
    parts::{COOLDOWN, LAST_REWARD, Of, STORED_ASSETS},
};
use crate::{
    answers::{Question, ask},
    reading::{Reading, Stop, is},
};

sol! {
    function previewDeposit(uint256 assets) external view returns (uint256);
    function previewRedeem(uint256 shares) external view returns (uint256);
    function convertToAssets(uint256 shares) external view returns (uint256);
}

/// The most virtual shares per virtual asset that are tried, as a power of ten.
const MOST_OFFSET: u64 = 18;

/// What previews are asked of: so large that one virtual asset more or less shows in a vault of 10²⁸ atomic units, and so small that
/// 256 bits hold its product with a rate or with what a vault has.
pub(super) const PROBE: U256 = U256::from_limbs([0x1234_5678_9abc_def1, 0x000f_edcb_a987_6543, 0, 0]);

/// The forms that a vault's own contract tells whole, each with a view that only vaults of its kind answer.
const SELF_DESCRIBING: [(Form, &str); 5] = [
    (Form::YearnVault, "apiVersion()"),
    (Form::FraxSavings, STORED_ASSETS),
    (Form::FraxStaking, LAST_REWARD),
    (Form::FalconStaking, COOLDOWN),
    (Form::SparkSavings, "chi()"),
];

/// What a vault's previews say of the probe in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Previews {
    at: ExecutionBlock,
    shares: U256,
    assets: U256,
}

impl Previews {
    /// Asks a vault for its previews, and whether its asset is the one that is expected.
    pub(super) fn ask(of: Of, form: Option<Form>, reading: &mut Reading) -> Result<Self, Stop> {
        let (timestamp, asset) = (reading.timestamp(), reading.word(of.vault, "asset()"));
        let [shares, assets] = questions(of, form).map(|question| reading.question(question));
        let (timestamp, asset) = (timestamp?, asset?);
        if !is(asset, of.asset) {
            return Err(reading.impossible("another asset than was announced"));
        }
        Ok(Self { at: ExecutionBlock { number: 0, timestamp }, shares: shares?, assets: assets? })
    }

    /// Whether the model says the same.
    pub(super) fn agree(&self, state: &State) -> bool {
        state.preview_deposit(&self.at, PROBE) == Ok(self.shares)
            && state.preview_redeem(&self.at, PROBE) == Ok(self.assets)
    }
}

/// Asks what the probe is worth, in shares and in assets. Where a preview of more than lies in the vault reverts, the conversion is asked, by which
/// such a vault pays. Source: `SparkVault.previewRedeem`.
pub(super) fn questions(of: Of, form: Option<Form>) -> [Question; 2] {
    let redeem = match form {
        Some(Form::SparkSavings) => ask(of.vault, &convertToAssetsCall { shares: PROBE }),
        _ => ask(of.vault, &previewRedeemCall { shares: PROBE }),
    };
    [ask(of.vault, &previewDepositCall { assets: PROBE }), redeem]
}

/// Reads a vault of a form.
pub(super) fn read(of: Of, form: Form, reading: &mut Reading) -> Result<State, Stop> {
    let (parts, previews) = (form.parts(), Previews::ask(of, Some(form), reading));
    let conversion = parts.conversion.read(of, reading);
    let accrual = parts.accrual.read(of, reading);
    let limits = parts.limits.read(of, reading);
    let (previews, conversion, accrual, limits) = (previews?, conversion?, accrual?, limits?);
    let state = State { conversion, accrual, limits, form: Some(form) };
    // where assets and shares are as many, previews do not tell one offset from another, and none is as good
    let offsets = (0..=MOST_OFFSET).filter(|_| form == Form::Holdings);
    let with =
        |offset: u64| State { conversion: conversion.with_virtual(U256::from(10).pow(U256::from(offset))), ..state };
    let agreed = std::iter::once(state).chain(offsets.map(with)).find(|state| previews.agree(state));
    agreed.ok_or(reading.impossible("previews that follow no rule that is modelled, or fees"))
}

/// What a vault on no list turned out to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// One of Aave's wrapped tokens.
    Wrapped(Behind),
    /// A vault that its own answers describe.
    Form(Form),
}

impl Kind {
    /// What a vault is that was read before.
    pub(super) fn of(state: &State) -> Option<Self> {
        let behind = |of: Reserve| Behind { pool: of.pool, a_token: of.a_token, debt_token: of.debt_token };
        state.limits.reserve.map(behind).map(Self::Wrapped).or(state.form.map(Self::Form))
    }

    fn ask(of: Of, reading: &mut Reading) -> Result<Self, Stop> {
        let (is_wrapped, behind) = (reading.has(of.vault, "POOL()"), aave::ask_behind(of, reading));
        if is_wrapped? {
            return behind.map(Self::Wrapped);
        }
        let mut form = Form::Holdings;
        for (described, answers) in SELF_DESCRIBING.map(|(form, view)| (form, reading.has(of.vault, view))) {
            if answers? && form == Form::Holdings {
                form = described;
            }
        }
        Ok(Self::Form(form))
    }
}

/// Reads a vault that is on no list: one of Aave's wrapped tokens, or one that somebody named. What it is never changes.
pub(super) fn read_unlisted(of: Of, known: Option<Kind>, reading: &mut Reading) -> Result<State, Stop> {
    match known.map_or_else(|| Kind::ask(of, reading), Ok)? {
        Kind::Wrapped(behind) => aave::read(of, behind, reading),
        Kind::Form(form) => read(of, form, reading),
    }
}
