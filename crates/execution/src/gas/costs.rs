//! What the proxy and plain tokens cost apart from accounts and storage, in gas units.
//!
//! Measured: `tests/random_routes.rs` holds the model to the receipts of hundreds of transactions on the local chain.

/// Entering, decoding and leaving: what every order pays.
pub(super) const CALL: u64 = 4_000;
/// Each input and output: decoding, duplicates, settlement.
pub(super) const ORDER_TOKEN: u64 = 700;
/// Each further token of the program.
pub(super) const LISTED_TOKEN: u64 = 200;
/// Each step: decoding and the ledger.
pub(super) const STEP: u64 = 900;
/// `transfer`: the call, its arithmetic and its log; accounts and balances are counted apart.
pub(super) const TRANSFER: u64 = 2_700;
/// `transferFrom`: as `transfer`; the allowance is counted apart.
pub(super) const TRANSFER_FROM: u64 = 3_300;
/// `balanceOf`.
pub(super) const BALANCE_OF: u64 = 700;
/// A call with value to an account that exists.
pub(super) const SEND_ETHER: u64 = 6_900;
/// `deposit()`: a call with value, its log.
pub(super) const WRAP: u64 = 8_800;
/// `withdraw(uint256)`: its log, a call with value back to the proxy.
pub(super) const UNWRAP: u64 = 9_800;
/// Hashing the witness, recovering the signer, marking the nonce.
pub(super) const PERMIT2: u64 = 16_000;
/// Each permitted token.
pub(super) const PERMIT2_TOKEN: u64 = 1_500;

/// So many of a cost.
pub(super) fn times(count: usize, gas_units: u64) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(gas_units)
}
