//! What a swap costs, in gas units, as part of a route that the proxy runs: the pool's own work and the transfers of
//! [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the stand-ins of the local chain, whose arithmetic is the deployed pools' and whose compiler is not: see
//! `docs/protocols/curve.md`, which sets these numbers beside what mainnet's pools used.

use super::crypto::Kind;

/// StableSwap of two coins, first generation.
pub const STABLE_SWAP_GAS_UNITS: u64 = 106_000;
/// StableSwap of two coins, next generation.
pub const STABLE_NG_SWAP_GAS_UNITS: u64 = 114_000;
/// Each further coin.
pub const MORE_COINS_GAS_UNITS: u64 = 9_500;
/// Each rate that a pool of the next generation asks for: an oracle's, a vault's.
pub const RATE_GAS_UNITS: u64 = 20_000;
/// What paying stETH costs more than paying a plain token.
pub const PAY_STETH_GAS_UNITS: u64 = 36_000;
/// A metapool's own two coins, at the price of shares that it remembers.
pub const META_SWAP_GAS_UNITS: u64 = 113_500;
/// Asking a base pool of two coins for that price.
pub const VIRTUAL_PRICE_GAS_UNITS: u64 = 37_500;
/// Each further coin of the base pool in its price.
pub const MORE_COINS_IN_PRICE_GAS_UNITS: u64 = 2_500;
/// Remembering a price anew.
pub const REMEMBER_PRICE_GAS_UNITS: u64 = 14_500;
/// What a trade through a base pool of two coins saves where the base pool was asked for its price before.
pub const BASE_ASKED_BEFORE_GAS_UNITS: u64 = 25_000;
/// As [`BASE_ASKED_BEFORE_GAS_UNITS`], for each further coin.
pub const MORE_COINS_ASKED_BEFORE_GAS_UNITS: u64 = 6_000;
/// Withdrawing one coin of a base pool of two.
pub const WITHDRAW_GAS_UNITS: u64 = 110_500;
/// Depositing one coin in a base pool of two.
pub const DEPOSIT_GAS_UNITS: u64 = 139_500;
/// Each further coin of the base pool in either.
pub const MORE_COINS_IN_BASE_GAS_UNITS: u64 = 14_000;
/// A pool of two coins at Aave.
pub const AAVE_SWAP_GAS_UNITS: u64 = 523_000;
/// A pool of two coins at Compound.
pub const COMPOUND_SWAP_GAS_UNITS: u64 = 564_000;
/// Each further coin of a lending pool.
pub const MORE_COINS_LENT_GAS_UNITS: u64 = 20_000;
/// What a deposit or a withdrawal at Compound costs, which a coin that is not lent needs none of.
pub const AT_COMPOUND_GAS_UNITS: u64 = 99_000;

/// What a CryptoSwap pool's work costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CryptoGas {
    /// A swap after which the price scale stays.
    pub swap: u64,
    /// Looking for another price scale after it; where the average is not known, what that costs times how often it happens.
    pub seek_scale: u64,
    /// Finding the invariant anew before it, during a ramp.
    pub find_d: u64,
}

/// The costs of a kind of pool.
pub const fn crypto(kind: Kind) -> CryptoGas {
    match kind {
        Kind::Cryptoswap(_) => CryptoGas { swap: 190_000, seek_scale: 34_000, find_d: 35_000 },
        Kind::Tricrypto => CryptoGas { swap: 242_000, seek_scale: 69_000, find_d: 46_000 },
        Kind::TricryptoNg => CryptoGas { swap: 212_000, seek_scale: 59_000, find_d: 45_000 },
        Kind::TwocryptoNg | Kind::TwocryptoStable => CryptoGas { swap: 193_000, seek_scale: 13_000, find_d: 35_000 },
    }
}
