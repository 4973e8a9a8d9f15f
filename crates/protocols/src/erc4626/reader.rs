//! Reads a vault in one round, which is repeated every block: its parts, and its previews of a large amount, which the
//! model must reproduce. An unlisted vault is first identified.

use alloy_primitives::U256;
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;

use super::{
    Form, Reserve, State,
    aave::{self, Behind},
    parts::{COOLDOWN, LAST_REWARD, STORED_ASSETS, VaultAddresses},
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

/// Maximum tried number of virtual shares per virtual asset, as a power of ten.
const MOST_OFFSET: u64 = 18;

/// Probe amount of the previews. It is large enough to reveal one virtual asset in a vault of 10²⁸ atomic units, and
/// small enough that its product with a rate or with a vault's assets fits 256 bits.
pub(super) const PROBE: U256 = U256::from_limbs([0x1234_5678_9abc_def1, 0x000f_edcb_a987_6543, 0, 0]);

/// Forms whose values the vault's own contract reveals, each with a view that only vaults of the form have.
const SELF_DESCRIBING: [(Form, &str); 5] = [
    (Form::YearnVault, "apiVersion()"),
    (Form::FraxSavings, STORED_ASSETS),
    (Form::FraxStaking, LAST_REWARD),
    (Form::FalconStaking, COOLDOWN),
    (Form::SparkSavings, "chi()"),
];

/// A vault's previews of the probe in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Previews {
    at: ExecutionBlock,
    shares: U256,
    assets: U256,
}

impl Previews {
    /// Calls a vault's previews, and checks that its asset is the expected one.
    pub(super) fn ask(of: VaultAddresses, form: Option<Form>, reading: &mut Reading) -> Result<Self, Stop> {
        let (timestamp, asset) = (reading.timestamp(), reading.word(of.vault, "asset()"));
        let [shares, assets] = questions(of, form).map(|question| reading.question(question));
        let (timestamp, asset) = (timestamp?, asset?);
        if !is(asset, of.asset) {
            return Err(reading.impossible("another asset than announced"));
        }
        Ok(Self { at: ExecutionBlock { number: 0, timestamp }, shares: shares?, assets: assets? })
    }

    /// Tells whether the model agrees.
    pub(super) fn agree(&self, state: &State) -> bool {
        state.preview_deposit(&self.at, PROBE) == Ok(self.shares)
            && state.preview_redeem(&self.at, PROBE) == Ok(self.assets)
    }
}

/// Builds the previews of the probe, in shares and in assets. Some vaults revert in a preview above their balance.
/// Those pay what the conversion returns, so it is called instead. Source: `SparkVault.previewRedeem`.
pub(super) fn questions(of: VaultAddresses, form: Option<Form>) -> [Question; 2] {
    let redeem = match form {
        Some(Form::SparkSavings) => ask(of.vault, &convertToAssetsCall { shares: PROBE }),
        _ => ask(of.vault, &previewRedeemCall { shares: PROBE }),
    };
    [ask(of.vault, &previewDepositCall { assets: PROBE }), redeem]
}

/// Reads a vault of a form.
pub(super) fn read(of: VaultAddresses, form: Form, reading: &mut Reading) -> Result<State, Stop> {
    let (parts, previews) = (form.parts(), Previews::ask(of, Some(form), reading));
    let conversion = parts.conversion.read(of, reading);
    let accrual = parts.accrual.read(of, reading);
    let limits = parts.limits.read(of, reading);
    let (previews, conversion, accrual, limits) = (previews?, conversion?, accrual?, limits?);
    let state = State { conversion, accrual, limits, form: Some(form) };
    // with as many assets as shares, previews cannot distinguish offsets, so the first is as good as any
    let offsets = (0..=MOST_OFFSET).filter(|_| form == Form::Holdings);
    let with =
        |offset: u64| State { conversion: conversion.with_virtual(U256::from(10).pow(U256::from(offset))), ..state };
    let agreed = std::iter::once(state).chain(offsets.map(with)).find(|state| previews.agree(state));
    agreed.ok_or(reading.impossible("previews that follow no modelled rule, or fees"))
}

/// Kind of an unlisted vault.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// One of Aave's wrapped tokens.
    Wrapped(Behind),
    /// A vault that its own answers identify.
    Form(Form),
}

impl Kind {
    /// Returns the kind from an earlier reading.
    pub(super) fn of(state: &State) -> Option<Self> {
        let behind = |of: Reserve| Behind { pool: of.pool, a_token: of.a_token, debt_token: of.debt_token };
        state.limits.reserve.map(behind).map(Self::Wrapped).or(state.form.map(Self::Form))
    }

    fn ask(of: VaultAddresses, reading: &mut Reading) -> Result<Self, Stop> {
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

/// Reads an unlisted vault: one of Aave's wrapped tokens, or one that the operator named. Its kind never changes.
pub(super) fn read_unlisted(of: VaultAddresses, known: Option<Kind>, reading: &mut Reading) -> Result<State, Stop> {
    match known.map_or_else(|| Kind::ask(of, reading), Ok)? {
        Kind::Wrapped(behind) => aave::read(of, behind, reading),
        Kind::Form(form) => read(of, form, reading),
    }
}
