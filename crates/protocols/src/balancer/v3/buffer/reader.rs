//! Reads a buffer: its balances, the product of the vault behind it, and that vault by its product's own reader.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use alloy_sol_types::sol;

use super::{super::VAULT, MINIMUM_WRAP, State};
use crate::{
    Discovered, StateReader,
    reading::{self, Reading, Stop, is},
    vault::{Kind, Vault, ask_kind},
};

sol! {
    function getBufferBalance(address wrappedToken) external view returns (uint256 underlyingBalanceRaw, uint256 wrappedBalanceRaw);
    function areBuffersPaused() external view returns (bool);
    function getERC4626BufferAsset(address wrappedToken) external view returns (address asset);
}

/// Returns a reader of a buffer. The vault of an earlier reading has the same kind.
pub(super) fn reader(pool: &Discovered, was: Option<&State>) -> Box<dyn StateReader> {
    reader_of(pool, was, false)
}

/// Returns a reader for a block without logs that concern the buffer or its vault.
pub(super) fn reader_each_block(pool: &Discovered, was: &State) -> Box<dyn StateReader> {
    reader_of(pool, Some(was), true)
}

fn reader_of(pool: &Discovered, was: Option<&State>, no_relevant_log: bool) -> Box<dyn StateReader> {
    let [asset, wrapped] = [0, 1].map(|place: usize| pool.coins.get(place).copied().unwrap_or_default());
    let was = was.map(|was| was.vault.clone());
    reading::reader(pool.key.contract, move |reading| {
        read([asset, wrapped], was.as_ref(), no_relevant_log, reading).map(Arc::new)
    })
}

fn read(
    [asset, wrapped]: [Address; 2],
    was: Option<&Vault>,
    no_relevant_log: bool,
    reading: &mut Reading,
) -> Result<State, Stop> {
    let held = reading.ask(VAULT, &getBufferBalanceCall { wrappedToken: wrapped });
    let paused = reading.ask(VAULT, &areBuffersPausedCall {});
    let asset_said = reading.word(wrapped, "asset()");
    let kind = match was {
        Some(was) => Ok(Kind::of(was, wrapped)),
        None => first_kind(asset, wrapped, reading),
    };
    let vault = kind.and_then(|kind| match was.filter(|_| no_relevant_log) {
        Some(was) => kind.read_each_block(wrapped, asset, was, reading),
        None => kind.read(wrapped, asset, was, reading),
    });
    let held = held?;
    if !is(asset_said?, asset) {
        return Err(reading.impossible("another asset than the buffer was made for"));
    }
    let held = [held.underlyingBalanceRaw, held.wrappedBalanceRaw];
    let state = State { wrapped, held, paused: paused?, vault: vault? };
    state.validate().map_err(|what| reading.impossible(what))?;
    Ok(state)
}

/// Reads the kind of the vault, and checks what never changes.
fn first_kind(asset: Address, wrapped: Address, reading: &mut Reading) -> Result<Kind, Stop> {
    let made_for = reading.ask(VAULT, &getERC4626BufferAssetCall { wrappedToken: wrapped });
    let minimum = reading.word(VAULT, "getMinimumWrapAmount()");
    let kind = ask_kind(wrapped, asset, reading);
    if made_for? != asset {
        return Err(reading.impossible("another asset than announced"));
    }
    if minimum? != U256::from(MINIMUM_WRAP) {
        return Err(reading.impossible("another minimum amount than mainnet's"));
    }
    kind
}
