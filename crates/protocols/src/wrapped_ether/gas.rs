//! What wrapping and unwrapping cost, in gas units, as part of a route that the proxy runs.

/// `deposit()`: a call with value, one balance written, one log.
///
/// First estimate from the storage schedule of EIP-2929 and EIP-2200; measured receipts calibrate it.
pub const WRAP_GAS_UNITS: u64 = 30_000;

/// `withdraw(uint256)`: one balance written, one log, ether sent back.
///
/// First estimate from the storage schedule of EIP-2929 and EIP-2200; measured receipts calibrate it.
pub const UNWRAP_GAS_UNITS: u64 = 20_000;
