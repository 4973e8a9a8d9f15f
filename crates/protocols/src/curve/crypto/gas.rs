//! Gas units of a CryptoSwap pool's work, measured as in [`gas`](crate::curve::gas).

use super::state::Kind;

/// Gas units of a CryptoSwap pool's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CryptoGas {
    /// A swap after which the price scale stays.
    pub swap: u64,
    /// Trying another price scale after the swap. If the average price is unknown: that cost times its frequency.
    pub seek_scale: u64,
    /// Computing the invariant again before the swap, during a ramp.
    pub find_d: u64,
    /// Saving of a further swap through the same pool in one transaction.
    pub again: u64,
}

/// Returns the gas units of a kind of pool.
pub const fn swap_gas(kind: Kind) -> CryptoGas {
    match kind {
        // the saving is that of the next generation: on the local chain no pool of the first takes a second swap
        Kind::Cryptoswap(_) => CryptoGas { swap: 190_000, seek_scale: 34_000, find_d: 35_000, again: 63_000 },
        Kind::Tricrypto => CryptoGas { swap: 242_000, seek_scale: 69_000, find_d: 46_000, again: 86_000 },
        Kind::TricryptoNg => CryptoGas { swap: 212_000, seek_scale: 59_000, find_d: 45_000, again: 78_000 },
        Kind::TwocryptoNg | Kind::TwocryptoStable => {
            CryptoGas { swap: 193_000, seek_scale: 13_000, find_d: 35_000, again: 63_000 }
        }
    }
}
