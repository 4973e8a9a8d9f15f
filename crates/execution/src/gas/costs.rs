//! What the proxy and plain tokens cost apart from accounts and storage, in gas units.
//!
//! Measured: `tests/it/random_routes.rs` holds the model to the receipts of hundreds of transactions on the local
//! chain.

/// Entering, decoding and leaving: what every order pays.
pub(super) const CALL: u64 = 7_100;
/// Each input and output: decoding, duplicates, settlement.
pub(super) const ORDER_TOKEN: u64 = 850;
/// Each further token of the program.
pub(super) const LISTED_TOKEN: u64 = 400;
/// Entering, decoding and leaving a swap along a path, its event included.
pub(super) const PATH: u64 = 3_900;
/// Each hop of a path: finding its pool.
pub(super) const HOP: u64 = 1_100;
/// Finding out whether a pool that pays the recipient is one that its factory vouches for.
pub(super) const KNOWN_POOL: u64 = 1_600;
/// Paying a partner, apart from the transfer.
pub(super) const PARTNER_FEE: u64 = 1_500;
/// Each step: decoding and the ledger.
pub(super) const STEP: u64 = 2_550;
/// `transfer`: the call, its arithmetic and its log; accounts and balances are counted apart.
pub(super) const TRANSFER: u64 = 2_769;
/// `transferFrom`: as `transfer`; the allowance is counted apart.
pub(super) const TRANSFER_FROM: u64 = 3_316;
/// `approve` and reading the allowance back, the calls and their logs; the allowance itself is counted apart.
pub(super) const ALLOWANCE: u64 = 5_200;
/// `balanceOf`.
pub(super) const BALANCE_OF: u64 = 541;
/// Ether that a pool sends to the proxy: as much as the first transfer of a token to it, which is what pools' own gas
/// takes it for.
pub(super) const ETHER_IN: u64 = 32_369;
/// A call with value to an account that exists.
pub(super) const SEND_ETHER: u64 = 6_900;
/// `deposit()`: a call with value, its log.
pub(super) const WRAP: u64 = 8_500;
/// `withdraw(uint256)`: its log, a call with value back to the proxy.
pub(super) const UNWRAP: u64 = 9_200;
/// Hashing the witness, recovering the signer, marking the nonce.
pub(super) const PERMIT2: u64 = 9_900;
/// Each permitted token.
pub(super) const PERMIT2_TOKEN: u64 = 1_500;

/// So many of a cost.
pub(super) fn times(count: usize, gas_units: u64) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(gas_units)
}
