//! The one list of kinds of pool that can be read from a file of vectors.

use super::entry::{Entry, EntryError, VectorPool};
use super::{curve, uniswap};

/// How the pools of some protocols are read.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The values of an entry's `protocol`.
    pub protocols: &'static [&'static str],
    /// Reads the entry's pool.
    pub load: fn(&Entry<'_>) -> Result<Box<dyn VectorPool>, EntryError>,
}

/// Every kind. A protocol adds a line.
pub const KINDS: &[Kind] = &[
    Kind { protocols: &["uniswap_v2", "sushiswap_v2", "pancakeswap_v2"], load: uniswap::pair },
    Kind { protocols: &["uniswap_v3", "sushiswap_v3", "pancakeswap_v3", "uniswap_v3_fork"], load: uniswap::pool },
    Kind { protocols: &["curve_stableswap", "curve_lending", "curve_stableswap_ng"], load: curve::stable },
    Kind { protocols: &["curve_meta", "curve_meta_ng"], load: curve::meta },
    Kind {
        protocols: &[
            "curve_cryptoswap2",
            "curve_tricrypto2",
            "curve_tricrypto_ng",
            "curve_twocrypto_ng",
            "curve_twocrypto_stableswap_math",
        ],
        load: curve::crypto,
    },
    Kind { protocols: &["curve_crypto_meta"], load: curve::crypto_meta },
];
