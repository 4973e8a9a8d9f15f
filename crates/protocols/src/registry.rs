//! The single list of products. It generates the enums of pool states and state changes, and every dispatch to a
//! product's code.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Protocol, balancer, curve, erc4626, fluid, lido, morpho, uniswap_v2, uniswap_v3, vault, wrapped_ether};

/// Conversion between a product's state and its variant of [`PoolState`].
pub trait StateOf: Into<PoolState> {
    /// Returns the state, if it is this product's.
    fn of(state: &PoolState) -> Option<&Self>;

    /// Returns the state for writing, if it is this product's.
    fn of_mut(state: &mut PoolState) -> Option<&mut Self>;
}

/// Conversion between a state change and its variant of [`After`].
pub trait ChangeOf: Into<After> {
    /// Returns the change, if it is this product's.
    fn of(after: &After) -> Option<&Self>;
}

impl From<()> for After {
    fn from((): ()) -> Self {
        Self::Unchanged
    }
}

impl ChangeOf for () {
    fn of(_: &After) -> Option<&Self> {
        None
    }
}

/// Returns a product's own state. It is present in every validated pool.
pub(crate) fn own<'a, P: Protocol>(_: &P, state: &'a PoolState) -> Option<&'a P::State> {
    P::State::of(state)
}

/// Returns a product's own state for writing.
pub(crate) fn own_mut<'a, P: Protocol>(_: &P, state: &'a mut PoolState) -> Option<&'a mut P::State> {
    P::State::of_mut(state)
}

macro_rules! products {
    (
        $d:tt
        states { $($(#[$state_doc:meta])* $state:ident($state_type:ty),)* }
        changes { $($(#[$change_doc:meta])* $change:ident($change_type:ty),)* }
        products { $(
            $(#[$doc:meta])*
            $variant:ident $($vault:ident)? { id: $id:literal, family: $family:literal, name: $name:literal, record: $($record:ident)::+ },
        )* }
    ) => {
        /// A product: one kind of pool of one protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        pub enum Product { $($(#[$doc])* $variant,)* }

        impl Product {
            /// All products, in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the id used in `exclude_protocols`, `protocols_used` and steps.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// Returns the family of the product. A family name in `exclude_protocols` excludes all its products.
            pub const fn family(self) -> &'static str {
                match self { $(Self::$variant => $family,)* }
            }

            /// Returns the display name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        /// State of a pool: everything that decides the output of a swap.
        ///
        /// Products that run the same code share a variant.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum PoolState { $($(#[$state_doc])* $state($state_type),)* }

        /// State change of a swap: enough to compute a second swap in the same route.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(
            clippy::large_enum_variant,
            reason = "it lives on the stack of a solve, where a box would have to be allocated"
        )]
        pub enum After {
            /// No change.
            Unchanged,
            $($(#[$change_doc])* $change($change_type),)*
        }

        $(
            impl From<$state_type> for PoolState {
                fn from(state: $state_type) -> Self {
                    Self::$state(state)
                }
            }

            impl StateOf for $state_type {
                fn of(state: &PoolState) -> Option<&Self> {
                    if let PoolState::$state(state) = state { Some(state) } else { None }
                }

                fn of_mut(state: &mut PoolState) -> Option<&mut Self> {
                    if let PoolState::$state(state) = state { Some(state) } else { None }
                }
            }
        )*

        $(
            impl From<$change_type> for After {
                fn from(change: $change_type) -> Self {
                    Self::$change(change)
                }
            }

            impl ChangeOf for $change_type {
                fn of(after: &After) -> Option<&Self> {
                    if let After::$change(change) = after { Some(change) } else { None }
                }
            }
        )*

        /// Evaluates an expression with a product's record: `with_record!(product, record => record.sources())`.
        macro_rules! with_record {
            ($d product:expr, $d name:ident => $d body:expr) => {
                match $d product { $($crate::Product::$variant => { let $d name = &$crate::$($record)::+; $d body })* }
            };
        }
        pub(crate) use with_record;

        /// Evaluates an expression with a vault's record, or another expression if the product is not a vault.
        macro_rules! with_vault_record {
            ($d product:expr, $d name:ident => $d body:expr, else $d other:expr) => {
                match $d product {
                    $($crate::Product::$variant => $crate::registry::with_vault_record!(
                        @arm [$($vault)?] $($record)::+, $d name => $d body, $d other
                    ),)*
                }
            };
            (@arm [] $d ($d record:ident)::+, $d name:ident => $d body:expr, $d other:expr) => { $d other };
            (@arm [vault] $d ($d record:ident)::+, $d name:ident => $d body:expr, $d other:expr) => {{
                let $d name = &$crate::$d ($d record)::+;
                $d body
            }};
        }
        pub(crate) use with_vault_record;
    };
}

products! {
    $
    states {
        /// Wrapped ether: ether and WETH, one to one.
        WrappedEther(wrapped_ether::State),
        /// Constant product with a fee, two coins.
        UniswapV2(uniswap_v2::State),
        /// Concentrated liquidity, two coins.
        UniswapV3(uniswap_v3::State),
        /// ERC-4626 vault: coin 0 is the asset, coin 1 the share.
        Erc4626(Box<erc4626::State>),
        /// Pool of Balancer's V2 vault.
        BalancerV2(Arc<balancer::v2::State>),
        /// Pool of Balancer's V3 vault.
        BalancerV3(Arc<balancer::v3::State>),
        /// Buffer of Balancer's V3 vault: coin 0 is the asset, coin 1 the ERC-4626 share.
        BalancerV3Buffer(Arc<balancer::v3::buffer::State>),
        /// Curve pool of any kind.
        Curve(Arc<curve::State>),
        /// Lido, for staking and for wrapping.
        Lido(lido::State),
        /// MetaMorpho vault: coin 0 is the asset, coin 1 the share.
        Metamorpho(Arc<morpho::MetaMorpho>),
        /// Fluid DEX: collateral and debt around a centre price, two coins.
        FluidDexT1(fluid::dex::State),
        /// Fluid fToken: coin 0 is the asset, coin 1 the share.
        FluidFToken(Box<fluid::ftoken::State>),
        /// Morpho Vault V2: coin 0 is the asset, coin 1 the share.
        VaultV2(Arc<morpho::VaultV2>),
    }
    changes {
        /// New reserves.
        UniswapV2(uniswap_v2::After),
        /// New price, tick and liquidity in range.
        UniswapV3(uniswap_v3::After),
        /// New balances of the pool in Balancer's V2 vault.
        BalancerV2(balancer::v2::After),
        /// New balances of the pool in Balancer's V3 vault.
        BalancerV3(balancer::v3::After),
        /// New balances of a buffer, and its trades with the vault.
        BalancerV3Buffer(balancer::v3::buffer::After),
        /// New balances and prices of a Curve pool.
        Curve(curve::After),
        /// New totals of Lido, on which staking and wrapping depend.
        Lido(lido::State),
        /// Deposits and redemptions of a vault, in order.
        Vault(vault::Trades),
        /// New storage words of a pool and of its tokens in the liquidity layer.
        FluidDexT1(fluid::dex::After),
    }
    products {
        /// Ether and WETH, one to one.
        WrappedEther { id: "wrapped_ether", family: "wrapped_ether", name: "Wrapped Ether", record: wrapped_ether::WrappedEther },
        /// Uniswap V2 pairs.
        UniswapV2 { id: "uniswap_v2", family: "uniswap", name: "Uniswap V2", record: uniswap_v2::UNISWAP_V2 },
        /// SushiSwap V2 pairs.
        SushiswapV2 { id: "sushiswap_v2", family: "sushiswap", name: "SushiSwap V2", record: sushiswap::SUSHISWAP_V2 },
        /// Uniswap V3 pools.
        UniswapV3 { id: "uniswap_v3", family: "uniswap", name: "Uniswap V3", record: uniswap_v3::UNISWAP_V3 },
        /// SushiSwap V3 pools.
        SushiswapV3 { id: "sushiswap_v3", family: "sushiswap", name: "SushiSwap V3", record: sushiswap::SUSHISWAP_V3 },
        /// PancakeSwap V3 pools.
        PancakeswapV3 { id: "pancakeswap_v3", family: "pancakeswap", name: "PancakeSwap V3", record: pancakeswap::PANCAKESWAP_V3 },
        /// Listed and unlisted ERC-4626 vaults.
        Erc4626 vault { id: "erc4626", family: "erc4626", name: "ERC-4626 vaults", record: erc4626::Erc4626 },
        /// Balancer V2 weighted pools.
        BalancerV2Weighted { id: "balancer_v2_weighted", family: "balancer", name: "Balancer V2 weighted", record: balancer::v2::BALANCER_V2_WEIGHTED },
        /// Balancer V2 stable and meta-stable pools.
        BalancerV2Stable { id: "balancer_v2_stable", family: "balancer", name: "Balancer V2 stable", record: balancer::v2::BALANCER_V2_STABLE },
        /// Balancer V2 composable stable pools.
        BalancerV2ComposableStable { id: "balancer_v2_composable_stable", family: "balancer", name: "Balancer V2 composable stable", record: balancer::v2::BALANCER_V2_COMPOSABLE_STABLE },
        /// Balancer V3 weighted pools.
        BalancerV3Weighted { id: "balancer_v3_weighted", family: "balancer", name: "Balancer V3 weighted", record: balancer::v3::BALANCER_V3_WEIGHTED },
        /// Balancer V3 stable pools.
        BalancerV3Stable { id: "balancer_v3_stable", family: "balancer", name: "Balancer V3 stable", record: balancer::v3::BALANCER_V3_STABLE },
        /// Balancer V3 buffers of ERC-4626 vaults.
        BalancerV3Buffer { id: "balancer_v3_buffer", family: "balancer", name: "Balancer V3 buffers", record: balancer::v3::buffer::BalancerV3Buffer },
        /// Curve StableSwap pools, first generation.
        CurveStableswap { id: "curve_stableswap", family: "curve", name: "Curve StableSwap", record: curve::CURVE_STABLESWAP },
        /// Curve metapools, including swaps with the coins of their base pools.
        CurveMetapool { id: "curve_metapool", family: "curve", name: "Curve metapool", record: curve::CURVE_METAPOOL },
        /// Curve StableSwap pools, next generation.
        CurveStableswapNg { id: "curve_stableswap_ng", family: "curve", name: "Curve StableSwap-NG", record: curve::CURVE_STABLESWAP_NG },
        /// Curve CryptoSwap pools of two coins.
        CurveCryptoswap { id: "curve_cryptoswap", family: "curve", name: "Curve CryptoSwap", record: curve::CURVE_CRYPTOSWAP },
        /// Curve tricrypto2.
        CurveTricrypto { id: "curve_tricrypto", family: "curve", name: "Curve Tricrypto", record: curve::CURVE_TRICRYPTO },
        /// Curve Tricrypto, next generation.
        CurveTricryptoNg { id: "curve_tricrypto_ng", family: "curve", name: "Curve Tricrypto-NG", record: curve::CURVE_TRICRYPTO_NG },
        /// Curve Twocrypto, next generation.
        CurveTwocryptoNg { id: "curve_twocrypto_ng", family: "curve", name: "Curve Twocrypto-NG", record: curve::CURVE_TWOCRYPTO_NG },
        /// Staking of ether for stETH.
        LidoSteth { id: "lido_steth", family: "lido", name: "Lido stETH", record: lido::LIDO_STETH },
        /// Wrapping and unwrapping of stETH.
        LidoWsteth { id: "lido_wsteth", family: "lido", name: "Lido wstETH", record: lido::LIDO_WSTETH },
        /// MetaMorpho vaults, 1.0 and 1.1.
        Metamorpho vault { id: "metamorpho", family: "morpho", name: "MetaMorpho", record: morpho::MetaMorphoProtocol },
        /// Fluid DEX T1 pools.
        FluidDexT1 { id: "fluid_dex_t1", family: "fluid", name: "Fluid DEX", record: fluid::dex::DexT1 },
        /// Fluid fTokens.
        FluidFToken vault { id: "fluid_ftoken", family: "fluid", name: "Fluid fTokens", record: fluid::ftoken::FToken },
        /// Morpho Vault V2.
        MorphoVaultV2 vault { id: "morpho_vault_v2", family: "morpho", name: "Morpho Vault V2", record: morpho::VaultV2Protocol },
    }
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

    /// Returns the position in [`Product::ALL`]. It is below 64, so a set of products fits one word.
    pub const fn index(self) -> usize {
        self as usize
    }
}
