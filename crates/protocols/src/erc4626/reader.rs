//! Reads a vault in one round, which is repeated every block: its parts, and its previews of a large amount, which the
//! model must reproduce. An unlisted vault is first identified.

use alloy_primitives::U256;

use super::{
    Form, Reserve, State,
    aave::{self, Behind},
    parts::{COOLDOWN, LAST_REWARD, STORED_ASSETS, VaultAddresses},
    previews::Previews,
};
use crate::reading::{Reading, Stop};

/// Maximum tried number of virtual shares per virtual asset, as a power of ten.
const MOST_OFFSET: u64 = 18;

/// Forms whose values the vault's own contract reveals, each with a view that only vaults of the form have.
const SELF_DESCRIBING: [(Form, &str); 5] = [
    (Form::YearnVault, "apiVersion()"),
    (Form::FraxSavings, STORED_ASSETS),
    (Form::FraxStaking, LAST_REWARD),
    (Form::FalconStaking, COOLDOWN),
    (Form::SparkSavings, "chi()"),
];

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
