//! A pool's state, from the chain or from a recording.

use alloy_primitives::{Address, U256};
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::{Fees, Reserves, Snapshot, Storage, StorageAfter, gas::swap_gas_units};
use crate::{
    Swap, SwapError,
    fluid::arith::{bits, expand},
};

/// What a pool's swap depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The words that the chain stores: exact at any time.
    Storage(Box<Storage>),
    /// Reserves that a resolver gave for one moment: what recorded markets have.
    Snapshot(Box<Snapshot>),
}

/// What a swap changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "a box would be made for every quote")]
pub enum After {
    /// Of stored words.
    Storage(StorageAfter),
    /// Of a recording.
    Snapshot(Box<Snapshot>),
}

impl State {
    /// What a swap pays at a time.
    ///
    /// # Errors
    /// As [`Storage::swap`] and [`Snapshot::swap`].
    pub fn swap(&self, at: &ExecutionBlock, zero_for_one: bool, amount_in: U256) -> Result<Swap, SwapError> {
        match self {
            Self::Storage(storage) => self.of_storage(storage, at, zero_for_one, amount_in),
            Self::Snapshot(snapshot) => self.of_snapshot(snapshot, at, zero_for_one, amount_in),
        }
    }

    /// As [`State::swap`], on the pool as an earlier swap left it.
    ///
    /// # Errors
    /// As [`State::swap`].
    pub fn swap_after(
        &self,
        before: &After,
        at: &ExecutionBlock,
        zero_for_one: bool,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        match (self, before) {
            (Self::Storage(storage), After::Storage(after)) => {
                self.of_storage(&storage.with(after), at, zero_for_one, amount_in)
            }
            (Self::Snapshot(_), After::Snapshot(snapshot)) => self.of_snapshot(snapshot, at, zero_for_one, amount_in),
            (Self::Storage(_), After::Snapshot(_)) | (Self::Snapshot(_), After::Storage(_)) => {
                self.swap(at, zero_for_one, amount_in)
            }
        }
    }

    /// The reserves at a time.
    ///
    /// # Errors
    /// As [`Storage::reserves`].
    pub fn reserves(&self, at: &ExecutionBlock) -> Result<Reserves, SwapError> {
        match self {
            Self::Storage(storage) => storage.reserves(at),
            Self::Snapshot(snapshot) => Ok(snapshot.reserves),
        }
    }

    /// What a trade is charged.
    pub fn fees(&self) -> Fees {
        match self {
            Self::Storage(storage) => storage.fees(),
            Self::Snapshot(snapshot) => snapshot.reserves.fees,
        }
    }

    fn of_storage(
        &self,
        storage: &Storage,
        at: &ExecutionBlock,
        zero_for_one: bool,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        let (amount_out, parts, after) = storage.swap(at, zero_for_one, amount_in)?;
        let after = crate::After::FluidDexT1(After::Storage(after));
        Ok(Swap { amount_out, gas_units: swap_gas_units(self, zero_for_one, &parts), after })
    }

    fn of_snapshot(
        &self,
        snapshot: &Snapshot,
        at: &ExecutionBlock,
        zero_for_one: bool,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        let (amount_out, parts, after) = snapshot.swap(at, zero_for_one, amount_in)?;
        let after = crate::After::FluidDexT1(After::Snapshot(Box::new(after)));
        Ok(Swap { amount_out, gas_units: swap_gas_units(self, zero_for_one, &parts), after })
    }

    /// Whether the pool has collateral, and whether it has debt.
    pub(super) fn sides(&self) -> (bool, bool) {
        match self {
            Self::Storage(storage) => (storage.variables2.bit(0), storage.variables2.bit(1)),
            Self::Snapshot(snapshot) => (snapshot.reserves.collateral.is_some(), snapshot.reserves.debt.is_some()),
        }
    }

    /// The price that the last swap left, token 1 in token 0, 27 decimals; a recording does not say.
    pub(super) fn last_price(&self) -> Option<U256> {
        match self {
            Self::Storage(storage) => Some(expand(bits(storage.variables, 41, 40))),
            Self::Snapshot(_) => None,
        }
    }

    /// Whether another contract tells the centre.
    pub(super) fn is_told_its_centre(&self) -> bool {
        matches!(self, Self::Storage(storage) if storage.external_centre.is_some())
    }

    /// The address of a coin, ether as `0xEeee…`.
    pub fn token_at(&self, coin: u8) -> Option<Address> {
        let addresses = match self {
            Self::Storage(storage) => &storage.addresses,
            Self::Snapshot(snapshot) => &snapshot.addresses,
        };
        addresses.get(usize::from(coin)).copied()
    }

    /// Whether a pool can be in this state.
    ///
    /// # Errors
    /// What is impossible about it.
    pub fn validate(&self) -> Result<(), &'static str> {
        if self.decimals().iter().any(|decimals| *decimals > 18) {
            return Err("a token of more than 18 decimals");
        }
        let fees = self.fees();
        if fees.fee_pips >= 1_000_000 || fees.revenue_cut_percent > 100 {
            return Err("a fee above the whole");
        }
        Ok(())
    }

    /// Decimals of both tokens.
    pub fn decimals(&self) -> [u8; 2] {
        match self {
            Self::Storage(storage) => storage.decimals,
            Self::Snapshot(snapshot) => snapshot.decimals,
        }
    }
}
