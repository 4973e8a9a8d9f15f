//! The one list of products.

use serde::{Deserialize, Serialize};

use crate::{
    Protocol,
    balancer::{v2, v3},
    curve, erc4626, fluid, lido, morpho, pancakeswap, sushiswap, uniswap_v2, uniswap_v3, wrapped_ether,
};

macro_rules! products {
    ($($(#[$doc:meta])* $variant:ident { id: $id:literal, family: $family:literal, name: $name:literal, record: $record:expr },)*) => {
        /// A product: one kind of pool of one protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        pub enum Product { $($(#[$doc])* $variant,)* }

        impl Product {
            /// Every product, in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The id that `exclude_protocols`, `protocols_used` and steps use.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// The family that the product belongs to; a family name excludes all its products.
            pub const fn family(self) -> &'static str {
                match self { $(Self::$variant => $family,)* }
            }

            /// The name a person reads.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The product's record.
            pub fn protocol(self) -> &'static dyn Protocol {
                match self { $(Self::$variant => $record,)* }
            }
        }
    };
}

products! {
    /// Wrapped ether: ether and WETH at one to one.
    WrappedEther { id: "wrapped_ether", family: "wrapped_ether", name: "Wrapped Ether", record: &wrapped_ether::WrappedEther },
    /// Uniswap V2 pairs.
    UniswapV2 { id: "uniswap_v2", family: "uniswap", name: "Uniswap V2", record: &uniswap_v2::UNISWAP_V2 },
    /// SushiSwap V2 pairs.
    SushiswapV2 { id: "sushiswap_v2", family: "sushiswap", name: "SushiSwap V2", record: &sushiswap::SUSHISWAP_V2 },
    /// Uniswap V3 pools.
    UniswapV3 { id: "uniswap_v3", family: "uniswap", name: "Uniswap V3", record: &uniswap_v3::UNISWAP_V3 },
    /// SushiSwap V3 pools.
    SushiswapV3 { id: "sushiswap_v3", family: "sushiswap", name: "SushiSwap V3", record: &sushiswap::SUSHISWAP_V3 },
    /// PancakeSwap V3 pools.
    PancakeswapV3 { id: "pancakeswap_v3", family: "pancakeswap", name: "PancakeSwap V3", record: &pancakeswap::PANCAKESWAP_V3 },
    /// Vaults of the list, by the ERC-4626 calls.
    Erc4626 { id: "erc4626", family: "erc4626", name: "ERC-4626 vaults", record: &erc4626::Erc4626 },
    /// Balancer V2's weighted pools.
    BalancerV2Weighted { id: "balancer_v2_weighted", family: "balancer", name: "Balancer V2 weighted", record: &v2::BALANCER_V2_WEIGHTED },
    /// Balancer V2's stable and meta-stable pools.
    BalancerV2Stable { id: "balancer_v2_stable", family: "balancer", name: "Balancer V2 stable", record: &v2::BALANCER_V2_STABLE },
    /// Balancer V2's composable stable pools.
    BalancerV2ComposableStable { id: "balancer_v2_composable_stable", family: "balancer", name: "Balancer V2 composable stable", record: &v2::BALANCER_V2_COMPOSABLE_STABLE },
    /// Weighted pools of Balancer's third vault.
    BalancerV3Weighted { id: "balancer_v3_weighted", family: "balancer", name: "Balancer V3 weighted", record: &v3::BALANCER_V3_WEIGHTED },
    /// Stable pools of Balancer's third vault.
    BalancerV3Stable { id: "balancer_v3_stable", family: "balancer", name: "Balancer V3 stable", record: &v3::BALANCER_V3_STABLE },
    /// The third vault's buffers of ERC-4626 vaults.
    BalancerV3Buffer { id: "balancer_v3_buffer", family: "balancer", name: "Balancer V3 buffers", record: &v3::buffer::BALANCER_V3_BUFFER },
    /// Curve's StableSwap pools of plain coins, first generation.
    CurveStableswap { id: "curve_stableswap", family: "curve", name: "Curve StableSwap", record: &curve::CURVE_STABLESWAP },
    /// Curve's metapools, and through them the coins of their base pools.
    CurveMetapool { id: "curve_metapool", family: "curve", name: "Curve metapool", record: &curve::CURVE_METAPOOL },
    /// Curve's StableSwap pools, next generation.
    CurveStableswapNg { id: "curve_stableswap_ng", family: "curve", name: "Curve StableSwap-NG", record: &curve::CURVE_STABLESWAP_NG },
    /// Curve's two-coin CryptoSwap pools.
    CurveCryptoswap { id: "curve_cryptoswap", family: "curve", name: "Curve CryptoSwap", record: &curve::CURVE_CRYPTOSWAP },
    /// Curve's tricrypto2.
    CurveTricrypto { id: "curve_tricrypto", family: "curve", name: "Curve Tricrypto", record: &curve::CURVE_TRICRYPTO },
    /// Curve's Tricrypto, next generation.
    CurveTricryptoNg { id: "curve_tricrypto_ng", family: "curve", name: "Curve Tricrypto-NG", record: &curve::CURVE_TRICRYPTO_NG },
    /// Curve's Twocrypto, next generation.
    CurveTwocryptoNg { id: "curve_twocrypto_ng", family: "curve", name: "Curve Twocrypto-NG", record: &curve::CURVE_TWOCRYPTO_NG },
    /// Ether staked for stETH.
    LidoSteth { id: "lido_steth", family: "lido", name: "Lido stETH", record: &lido::LIDO_STETH },
    /// stETH wrapped and unwrapped.
    LidoWsteth { id: "lido_wsteth", family: "lido", name: "Lido wstETH", record: &lido::LIDO_WSTETH },
    /// MetaMorpho vaults, 1.0 and 1.1.
    Metamorpho { id: "metamorpho", family: "morpho", name: "MetaMorpho", record: &morpho::METAMORPHO },
    /// Fluid's DEX T1 pools.
    FluidDexT1 { id: "fluid_dex_t1", family: "fluid", name: "Fluid DEX", record: &fluid::dex::DexT1 },
    /// Fluid's lending shares.
    FluidFToken { id: "fluid_ftoken", family: "fluid", name: "Fluid fTokens", record: &fluid::ftoken::FToken },
    /// Morpho's Vault V2.
    MorphoVaultV2 { id: "morpho_vault_v2", family: "morpho", name: "Morpho Vault V2", record: &morpho::VAULT_V2 },
}

impl Product {
    /// The products that a name means: one for an id, all of a family for its name, none if it is unknown.
    ///
    /// ```
    /// # use braid_protocols::Product;
    /// assert_eq!(Product::named("sushiswap"), [Product::SushiswapV2, Product::SushiswapV3]);
    /// assert_eq!(Product::named("uniswap_v3"), [Product::UniswapV3]);
    /// assert!(Product::named("nonesuch").is_empty());
    /// ```
    pub fn named(name: &str) -> Vec<Self> {
        let matches = |p: &&Self| p.id() == name || p.family() == name;
        Self::ALL.iter().filter(matches).copied().collect()
    }

    /// Position in [`Product::ALL`]; below 64, so that a set of products fits one word.
    pub const fn index(self) -> usize {
        self as usize
    }
}
