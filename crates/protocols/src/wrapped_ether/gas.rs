//! Gas units of wrapping and unwrapping, as part of a route that the proxy runs.

/// `deposit()`: a call with value, one balance written, one log; net of the refund when the proxy spends the balance.
///
/// Measured in call traces on the local chain.
pub const WRAP_GAS_UNITS: u64 = 14_000;

/// `withdraw(uint256)`: one balance written, one log, ether sent back.
///
/// Measured in call traces on the local chain.
pub const UNWRAP_GAS_UNITS: u64 = 12_000;
