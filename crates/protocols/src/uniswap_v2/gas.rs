//! What a step through a pair costs, in gas units, as part of a route that the proxy runs.

/// One swap: the call, both reserves and the price accumulators written, two balance reads, and the transfers in and out
/// of plain ERC-20 tokens whose slots are touched for the first time.
///
/// First estimate from the storage schedule of EIP-2929 and EIP-2200; measured receipts calibrate it.
pub const SWAP_GAS_UNITS: u64 = 80_000;
