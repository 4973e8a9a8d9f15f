//! Gas units of a step through a pool, as part of a route that the proxy runs.

use super::State;

/// Gas units of a swap for one version of the pool's code. A fork that reads or writes other slots has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Base cost: a swap that ends in its first tick.
    pub swap_gas_units: u64,
    /// Additional cost of a swap that ends in another tick.
    pub tick_moved_gas_units: u64,
    /// Cost of each bitmap word edge passed.
    pub word_gas_units: u64,
    /// Cost of each initialised tick crossed.
    pub tick_gas_units: u64,
}

impl Costs {
    /// Costs of Uniswap's own code.
    pub const UNISWAP: Self = Self {
        swap_gas_units: SWAP_GAS_UNITS,
        tick_moved_gas_units: TICK_MOVED_GAS_UNITS,
        word_gas_units: WORD_GAS_UNITS,
        tick_gas_units: TICK_GAS_UNITS,
    };

    /// Returns the gas units of a swap, from whether its tick changed and how many initialised ticks and word edges it
    /// crossed.
    pub(super) const fn of_swap(&self, tick_moved: bool, ticks_crossed: u32, words_crossed: u32) -> u64 {
        let moved = if tick_moved { self.tick_moved_gas_units } else { 0 };
        let [ticks, words] = [ticks_crossed as u64, words_crossed as u64];
        self.swap_gas_units + moved + self.tick_gas_units * ticks + self.word_gas_units * words
    }
}

impl State {
    /// Returns the gas units of storing the protocol's share of a swap's fee.
    pub(super) const fn protocol_fee_gas_units(&self, zero_for_one: bool) -> u64 {
        let share = if zero_for_one { self.fee_protocol & 15 } else { self.fee_protocol >> 4 };
        if share == 0 { 0 } else { PROTOCOL_FEE_GAS_UNITS }
    }
}

/// Base cost of a swap, which ends in its first tick: the call, the callback, writing slot0 and fee growth, and the
/// transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
///
/// Measured in call traces on the local chain. `crates/execution/tests/it/random_routes.rs` compares whole routes with
/// their receipts.
pub const SWAP_GAS_UNITS: u64 = 68_300;

/// Additional cost of a swap that ends in another tick: it writes an oracle observation.
///
/// Measured like [`SWAP_GAS_UNITS`].
pub const TICK_MOVED_GAS_UNITS: u64 = 7_200;

/// Additional cost of a swap whose fee the protocol shares: it reads and writes `protocolFees`, a cold slot, and
/// computes the share.
///
/// Measured on the pool's own bytecode; `tests/it/gas.rs` holds it. Each tick crossed costs 147 more, which is not
/// counted. The first such swap of a pool costs 17,100 more, because the slot changes from zero; collecting the fees does
/// not clear it.
pub const PROTOCOL_FEE_GAS_UNITS: u64 = 5_300;

/// Cost of each further loop iteration that ends at a word edge: one bitmap word read, and the arithmetic of a step.
///
/// Measured on the pool's own bytecode; `tests/it/gas.rs` holds it within 7%.
pub const WORD_GAS_UNITS: u64 = 7_250;

/// Cost of each initialised tick crossed: four slots read, three of them written, and the arithmetic of a step.
///
/// Measured on the pool's own bytecode, for ticks that were crossed before; `tests/it/gas.rs` holds it within 7%. The
/// first crossing of a tick costs up to 17,100 more for each slot that changes from zero.
pub const TICK_GAS_UNITS: u64 = 23_600;
