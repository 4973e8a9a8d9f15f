//! What a step through a pool costs, in gas units, as part of a route that the proxy runs.

/// A swap that stays within its first bitmap word and crosses nothing: the call, the callback, slot0, fee growth and oracle
/// written, and the transfers in and out of plain ERC-20 tokens.
///
/// First estimate from the storage schedule of EIP-2929 and EIP-2200; measured receipts calibrate it.
pub const SWAP_GAS_UNITS: u64 = 95_000;

/// Each further step of the loop that ends at the edge of a word: one bitmap word read and the arithmetic of a step.
///
/// Measured on the pool's own bytecode; `tests/it/gas.rs` holds it to within 7%.
pub const WORD_GAS_UNITS: u64 = 7_250;

/// Each initialised tick crossed: four slots of the tick read and three of them written, and the arithmetic of a step.
///
/// Measured on the pool's own bytecode, for ticks that were crossed before; `tests/it/gas.rs` holds it to within 7%.
/// The first crossing of a tick costs up to 17,100 more for each slot that goes from zero to a value.
pub const TICK_GAS_UNITS: u64 = 23_600;

/// Gas of a swap that crossed so many initialised ticks and word edges.
pub(super) const fn swap_gas_units(ticks_crossed: u32, words_crossed: u32) -> u64 {
    SWAP_GAS_UNITS + TICK_GAS_UNITS * ticks_crossed as u64 + WORD_GAS_UNITS * words_crossed as u64
}
