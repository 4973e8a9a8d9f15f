//! The list of all kinds of pools that can be read from a file of vectors.

use super::entry::{Entry, VectorPool};
use super::{balancer, curve, fluid, uniswap, vaults};
use crate::states::StateError;

/// A reader of the pools of some protocols.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The values of an entry's `protocol`.
    pub protocols: &'static [&'static str],
    /// Reads the entry's pool.
    pub load: fn(&Entry<'_>) -> Result<Box<dyn VectorPool>, StateError>,
}

/// Every kind. Each protocol adds a line.
pub const KINDS: &[Kind] = &[
    Kind { protocols: &["uniswap_v2", "sushiswap_v2", "pancakeswap_v2"], load: uniswap::pair },
    Kind { protocols: &["uniswap_v3", "sushiswap_v3", "pancakeswap_v3", "uniswap_v3_fork"], load: uniswap::pool },
    Kind { protocols: &["curve_stableswap", "curve_lending", "curve_stableswap_ng"], load: curve::stable },
    Kind { protocols: &["curve_meta", "curve_meta_ng", "curve_metapool"], load: curve::meta },
    Kind {
        protocols: &[
            "curve_cryptoswap2",
            "curve_cryptoswap",
            "curve_tricrypto2",
            "curve_tricrypto",
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
            // Any other ERC-4626 vault, whose `kind` states how it converts.
            "erc4626",
        ],
        load: vaults::vault,
    },
    Kind { protocols: &["lido_wsteth", "lido_steth_submit", "lido_steth"], load: vaults::lido },
    Kind { protocols: &["balancer_v2_weighted"], load: balancer::weighted },
    Kind {
        protocols: &["balancer_v2_stable", "balancer_v2_meta_stable", "balancer_v2_composable_stable"],
        load: balancer::stable,
    },
    Kind { protocols: &["balancer_v3_weighted", "balancer_v3_stable"], load: balancer::third },
    Kind { protocols: &["fluid_dex_t1"], load: fluid::dex },
];

/// Protocols that files contain but Braid does not route over, each with the reason.
const NOT_OURS: &[(&str, &str)] = &[
    ("uniswap_v4", "Uniswap V4 is not one of Braid's protocols"),
    ("fluid_dex_lite", "Fluid DEX Lite is not one of Braid's products"),
    ("rocketpool_reth", "Rocket Pool is not one of Braid's protocols"),
    ("balancer_v3_gyro_eclp", "Balancer's Gyro pools are not among Braid's products"),
    ("balancer_v3_quantamm", "Balancer's QuantAMM pools are not among Braid's products"),
];

/// Returns the kind of an entry's pool, by its protocol or, for names that begin with `erc4626_`, that of ERC-4626
/// vaults.
pub(super) fn kind_of(protocol: &str) -> Option<&'static Kind> {
    let named = |name: &str| KINDS.iter().find(|kind| kind.protocols.contains(&name));
    named(protocol).or_else(|| protocol.starts_with("erc4626_").then(|| named("erc4626")).flatten())
}

/// Returns the reason for which the rows of a protocol without a [`Kind`] are skipped.
pub(super) fn why_not(protocol: &str) -> String {
    let known = NOT_OURS.iter().find(|(name, _)| *name == protocol);
    known.map_or_else(|| format!("no model of {protocol:?}"), |(_, why)| (*why).to_owned())
}
