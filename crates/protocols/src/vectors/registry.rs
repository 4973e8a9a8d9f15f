//! The one list of kinds of pool that can be read from a file of vectors.

use super::entry::{Entry, EntryError, VectorPool};
use super::{balancer, curve, uniswap, vaults};

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
    Kind {
        protocols: &[
            "erc4626_susde",
            "erc4626_sfrxeth",
            "erc4626_pufeth",
            "erc4626_aave_static",
            "erc4626_wstusr",
            "erc4626_susdc",
            "erc4626_susds",
            "erc4626_sdai",
            "erc4626_fluid_ftoken",
            "erc4626_metamorpho_v1_0",
            "erc4626_balancer_buffer",
            "dai_usds_converter",
        ],
        load: vaults::vault,
    },
    Kind { protocols: &["lido_wsteth", "lido_steth_submit"], load: vaults::lido },
    Kind { protocols: &["balancer_v2_weighted"], load: balancer::weighted },
    Kind {
        protocols: &["balancer_v2_stable", "balancer_v2_meta_stable", "balancer_v2_composable_stable"],
        load: balancer::stable,
    },
];
