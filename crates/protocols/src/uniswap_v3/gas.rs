//! What a step through a pool costs, in gas units, as part of a route that the proxy runs.

/// What a swap costs by the code that a pool runs. The constants below are Uniswap's; a fork that reads or writes other words
/// has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// The least that a swap costs, one that ends in the tick where it began.
    pub swap_gas_units: u64,
    /// What a swap that ends in another tick costs more.
    pub tick_moved_gas_units: u64,
    /// Each edge of a bitmap word that a swap passes.
    pub word_gas_units: u64,
    /// Each initialised tick that a swap crosses.
    pub tick_gas_units: u64,
}

impl Costs {
    /// Uniswap's own code.
    pub const UNISWAP: Self = Self {
        swap_gas_units: SWAP_GAS_UNITS,
        tick_moved_gas_units: TICK_MOVED_GAS_UNITS,
        word_gas_units: WORD_GAS_UNITS,
        tick_gas_units: TICK_GAS_UNITS,
    };

    /// Returns the gas of a swap that ended in its first tick or another, and crossed so many initialised ticks and word edges.
    pub(super) const fn of_swap(&self, tick_moved: bool, ticks_crossed: u32, words_crossed: u32) -> u64 {
        let moved = if tick_moved { self.tick_moved_gas_units } else { 0 };
        let [ticks, words] = [ticks_crossed as u64, words_crossed as u64];
        self.swap_gas_units + moved + self.tick_gas_units * ticks + self.word_gas_units * words
    }
}

/// The least that a swap costs, one that ends in the tick where it began: the call, the callback, slot0 and fee growth
/// written, and the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
///
/// Measured in call traces on the local chain; `crates/execution/tests/it/random_routes.rs` holds whole routes to their receipts.
pub const SWAP_GAS_UNITS: u64 = 68_300;

/// A swap that ends in another tick also writes the oracle's observation.
///
/// Measured as [`SWAP_GAS_UNITS`].
pub const TICK_MOVED_GAS_UNITS: u64 = 7_200;

/// Each further step of the loop that ends at the edge of a word: one bitmap word read and the arithmetic of a step.
///
/// Measured on the pool's own bytecode; `tests/it/gas.rs` holds it to within 7%.
pub const WORD_GAS_UNITS: u64 = 7_250;

/// Each initialised tick crossed: four slots of the tick read and three of them written, and the arithmetic of a step.
///
/// Measured on the pool's own bytecode, for ticks that were crossed before; `tests/it/gas.rs` holds it to within 7%.
/// The first crossing of a tick costs up to 17,100 more for each slot that goes from zero to a value.
pub const TICK_GAS_UNITS: u64 = 23_600;
