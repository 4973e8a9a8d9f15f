//! Wrapped ether: ether and WETH, one to one.

pub mod gas;
mod step;

use alloy_primitives::{Address, U256};
use braid_primitives::{ExecutionBlock, NATIVE_ETHER, WETH};
use serde::{Deserialize, Serialize};

use crate::{
    After, Discovered, Product, Protocol, StateReader, Step, StepCode, Swap, SwapError, continuous::PairCurve, reading,
};

pub use step::{UNWRAP_OPCODE, WRAP_OPCODE};

/// Position of ether among the coins; WETH is the other coin.
pub const ETHER_COIN: u8 = 0;

/// State of the conversion, which never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State;

/// Record of wrapped ether: one pool, the WETH9 contract.
#[derive(Clone, Copy, Debug)]
pub struct WrappedEther;

impl Protocol for WrappedEther {
    type State = State;
    type After = ();

    fn product(&self) -> Product {
        Product::WrappedEther
    }

    fn fixed_pools(&self) -> Vec<Discovered> {
        vec![Discovered::new(WETH, Product::WrappedEther, vec![NATIVE_ETHER, WETH])]
    }

    fn reader(&self, _pool: &Discovered) -> Box<dyn StateReader> {
        reading::reader(WETH, |_| Ok(State))
    }

    /// Wraps if the coin in is ether, otherwise unwraps. The amount out always equals the amount in.
    fn swap(&self, _state: &State, Step { sale, .. }: Step<'_>) -> Result<Swap, SwapError> {
        let gas_units = if sale.coin_in == ETHER_COIN { gas::WRAP_GAS_UNITS } else { gas::UNWRAP_GAS_UNITS };
        Ok(Swap { amount_out: sale.amount_in, gas_units, after: After::Unchanged })
    }

    fn amount_in_for(&self, _state: &State, _coins: [u8; 2], amount_out: U256) -> Result<U256, SwapError> {
        Ok(amount_out)
    }

    fn fee_pips(&self, _state: &State) -> Option<u32> {
        Some(0)
    }

    fn curve(&self, _state: &State, _coins: [u8; 2], _at: &ExecutionBlock) -> Option<PairCurve> {
        None
    }

    fn wraps_ether(&self) -> bool {
        true
    }

    fn step_code(&self, _pool: Address, _state: &State, coin_in: u8, _coin_out: u8) -> StepCode {
        step::step_code(coin_in)
    }
}
