//! State of a pool, from the chain or from a recording.

use alloy_primitives::{Address, U256};
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::{Fees, Parts, Reserves, Snapshot, Storage, StorageAfter, gas};
use crate::{
    SharedWords, Swap, SwapError,
    fluid::{
        arith::{bits, expand},
        earlier::Earlier,
        reading::ETHER,
    },
    step::TRANSFERS_GAS_UNITS,
};

/// State that a swap depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Storage words of the chain: exact at any time.
    Storage(Box<Storage>),
    /// Reserves that a resolver reported for one moment, as in recorded markets.
    Snapshot(Box<Snapshot>),
}

/// State change of a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "a box would be made for every quote")]
pub enum After {
    /// Change of storage words.
    Storage(StorageAfter),
    /// Change of a recording.
    Snapshot(Box<Snapshot>),
}

impl State {
    /// Computes a swap at a time.
    ///
    /// # Errors
    /// As [`Storage::swap`] and [`Snapshot::swap`].
    pub fn swap(&self, at: &ExecutionBlock, zero_for_one: bool, amount_in: U256) -> Result<Swap, SwapError> {
        match self {
            Self::Storage(storage) => self.of_storage(storage, at, zero_for_one, amount_in),
            Self::Snapshot(snapshot) => self.of_snapshot(snapshot, at, zero_for_one, amount_in),
        }
    }

    /// Computes a swap like [`State::swap`], after the earlier steps of a route: those through this pool, and those at
    /// any protocol of the layer.
    ///
    /// # Errors
    /// As [`State::swap`].
    pub(super) fn swap_after(
        &self,
        own: Option<&After>,
        earlier: Option<&Earlier>,
        at: &ExecutionBlock,
        zero_for_one: bool,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        match (self, own, earlier) {
            (Self::Storage(storage), own, Some(earlier)) => {
                let own = if let Some(After::Storage(own)) = own { Some(own) } else { None };
                self.of_storage(&storage.after(own, earlier), at, zero_for_one, amount_in)
            }
            (Self::Snapshot(_), Some(After::Snapshot(left)), _) => self.of_snapshot(left, at, zero_for_one, amount_in),
            _ => self.swap(at, zero_for_one, amount_in),
        }
    }

    /// Returns the words of both tokens that a swap left to all protocols of the layer; none in a recording.
    pub(crate) fn shared_words(&self, after: &After) -> Option<[(Address, SharedWords); 2]> {
        match (self, after) {
            (Self::Storage(storage), After::Storage(after)) => Some(storage.shared(after)),
            _ => None,
        }
    }

    /// Computes the reserves at a time.
    ///
    /// # Errors
    /// As [`Storage::reserves`].
    pub fn reserves(&self, at: &ExecutionBlock) -> Result<Reserves, SwapError> {
        match self {
            Self::Storage(storage) => storage.reserves(at),
            Self::Snapshot(snapshot) => Ok(snapshot.reserves),
        }
    }

    /// Returns the fees of a trade.
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
        Ok(Swap { amount_out, gas_units: self.swap_gas_units(zero_for_one, &parts), after })
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
        Ok(Swap { amount_out, gas_units: self.swap_gas_units(zero_for_one, &parts), after })
    }

    /// Tells whether the pool has collateral, and whether it has debt.
    pub(super) fn sides(&self) -> (bool, bool) {
        match self {
            Self::Storage(storage) => (storage.variables2.bit(0), storage.variables2.bit(1)),
            Self::Snapshot(snapshot) => (snapshot.reserves.collateral.is_some(), snapshot.reserves.debt.is_some()),
        }
    }

    /// Returns the price after the last swap, token 1 in token 0, 27 decimals; a recording does not have it.
    pub(super) fn last_price(&self) -> Option<U256> {
        match self {
            Self::Storage(storage) => Some(expand(bits(storage.variables, 41, 40))),
            Self::Snapshot(_) => None,
        }
    }

    /// Tells whether another contract determines the centre price.
    pub(super) fn has_external_centre(&self) -> bool {
        matches!(self, Self::Storage(storage) if storage.external_centre.is_some())
    }

    /// Returns the address of a coin; ether is `0xEeee…`.
    pub fn token_at(&self, coin: u8) -> Option<Address> {
        let addresses = match self {
            Self::Storage(storage) => &storage.addresses,
            Self::Snapshot(snapshot) => &snapshot.addresses,
        };
        addresses.get(usize::from(coin)).copied()
    }

    /// Checks that the state is possible.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn validate(&self) -> Result<(), &'static str> {
        if self.decimals().iter().any(|decimals| *decimals > 18) {
            return Err("a token of more than 18 decimals");
        }
        let fees = self.fees();
        if fees.fee_pips >= 1_000_000 || fees.revenue_cut_percent > 100 {
            return Err("a fee above 100%");
        }
        Ok(())
    }

    /// Returns the decimals of both tokens.
    pub fn decimals(&self) -> [u8; 2] {
        match self {
            Self::Storage(storage) => storage.decimals,
            Self::Snapshot(snapshot) => snapshot.decimals,
        }
    }
}

impl State {
    /// Returns the gas units of a swap of the first token or the second, from its parts for each side.
    fn swap_gas_units(&self, zero_for_one: bool, parts: &Parts) -> u64 {
        let sides = [parts.collateral, parts.debt].iter().filter(|(amount_in, _)| !amount_in.is_zero()).count();
        self.one_sided_gas_units(zero_for_one) + if sides > 1 { gas::SIDE_GAS_UNITS } else { 0 }
    }

    /// Returns the gas units of a swap with one side.
    pub(super) fn one_sided_gas_units(&self, zero_for_one: bool) -> u64 {
        let part = |there: bool, gas_units: u64| if there { gas_units } else { 0 };
        let (collateral, debt) = self.sides();
        let is_ether = |coin: u8| self.token_at(coin) == Some(ETHER);
        let (coin_in, coin_out) = if zero_for_one { (0, 1) } else { (1, 0) };
        let own = gas::POOL_GAS_UNITS
            + gas::SIDE_GAS_UNITS
            + part(collateral, gas::COLLATERAL_GAS_UNITS)
            + part(debt, gas::DEBT_GAS_UNITS)
            + part(self.has_external_centre(), gas::CENTRE_GAS_UNITS)
            + part(is_ether(coin_in), gas::ETHER_IN_GAS_UNITS);
        TRANSFERS_GAS_UNITS + own - part(is_ether(coin_out), gas::ETHER_OUT_GAS_UNITS)
    }
}
