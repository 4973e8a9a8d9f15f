//! Wrapped ether: ether and WETH at one to one.

pub mod gas;
mod step;

use alloy_primitives::{B256, Bytes, Log, U256};
use braid_primitives::{NATIVE_ETHER, WETH};

use crate::{
    After, DecodeError, Discovered, Freshness, PoolState, Product, Protocol, ReadProgress, Source, StateReader, Swap,
};

pub(crate) use step::step_code;
pub use step::{UNWRAP_OPCODE, WRAP_OPCODE};

/// Position of ether among the coins; WETH is the other.
pub const ETHER_COIN: u8 = 0;

/// Wraps when the coin in is ether (position 0), unwraps otherwise: the same amount, always.
pub const fn swap(coin_in: u8, amount_in: U256) -> Swap {
    let gas_units = if coin_in == ETHER_COIN { gas::WRAP_GAS_UNITS } else { gas::UNWRAP_GAS_UNITS };
    Swap { amount_out: amount_in, gas_units, after: After::Unchanged }
}

/// The record of wrapped ether: one pool, the WETH9 contract, that never changes.
#[derive(Clone, Copy, Debug)]
pub struct WrappedEther;

impl Protocol for WrappedEther {
    fn product(&self) -> Product {
        Product::WrappedEther
    }

    fn sources(&self) -> &'static [Source] {
        &[]
    }

    fn fixed_pools(&self) -> Vec<Discovered> {
        vec![Discovered {
            address: WETH,
            product: Product::WrappedEther,
            coins: vec![NATIVE_ETHER, WETH],
            fee_pips: 0,
            tick_spacing: 0,
        }]
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        Err(DecodeError::Log { event: "an announcement, which wrapped ether has none of,", emitter: log.address })
    }

    fn freshness_topics(&self) -> &'static [B256] {
        &[]
    }

    fn apply(&self, _state: &mut PoolState, _log: &Log) -> Result<Freshness, DecodeError> {
        Ok(Freshness::Unaffected)
    }

    fn reader(&self, _pool: &Discovered) -> Box<dyn StateReader> {
        Box::new(Nothing)
    }
}

/// There is nothing to read.
#[derive(Clone, Copy, Debug)]
struct Nothing;

impl StateReader for Nothing {
    fn start(&mut self) -> ReadProgress {
        ReadProgress::Done(PoolState::WrappedEther)
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        if answers.is_empty() {
            Ok(ReadProgress::Done(PoolState::WrappedEther))
        } else {
            Err(DecodeError::AnswerCount { expected: 0, got: answers.len() })
        }
    }
}
