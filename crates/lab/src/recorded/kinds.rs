//! The kinds of pools in recorded markets.

use braid_protocols::{PoolState, Product, pool::MAX_COINS};
use serde_json::Value;

use super::json::{Reason, TokensOf};
use super::{balancer, curve, erc4626, fluid, uniswap};

/// A reader of the pools of a kind.
pub(super) struct Kind {
    /// The values of an entry's `kind`.
    names: &'static [&'static str],
    /// The products that such a pool may have. The entry's `dex` selects one by its id; the first is used if it names
    /// none of them.
    products: &'static [Product],
    /// The maximum number of coins of such a pool.
    pub(super) most_coins: usize,
    /// Reads a pool, or returns why its entry is skipped.
    pub(super) import: fn(&Value, TokensOf<'_>) -> Result<PoolState, Reason>,
}

const KINDS: &[Kind] = &[
    Kind {
        names: &["uniswap_v2"],
        products: &[Product::UniswapV2, Product::SushiswapV2],
        most_coins: 2,
        import: uniswap::pair,
    },
    Kind {
        names: &["uniswap_v3"],
        products: &[Product::UniswapV3, Product::SushiswapV3, Product::PancakeswapV3],
        most_coins: 2,
        import: uniswap::pool,
    },
    Kind { names: &["erc4626"], products: &[Product::Erc4626], most_coins: 2, import: erc4626::vault },
    Kind {
        names: &["balancer_weighted"],
        products: &[Product::BalancerV2Weighted],
        most_coins: MAX_COINS,
        import: balancer::weighted,
    },
    Kind {
        names: &["balancer_stable"],
        products: &[Product::BalancerV2Stable],
        most_coins: MAX_COINS,
        import: balancer::stable,
    },
    curve(&["curve_stable", "curve_stableswap", "curve_lending"], &[Product::CurveStableswap]),
    curve(&["curve_meta", "curve_meta_ng"], &[Product::CurveMetapool]),
    curve(&["curve_stableswap_ng"], &[Product::CurveStableswapNg]),
    curve(&["curve_crypto_meta"], &[Product::CurveCryptoswap]),
    curve(&["curve_tricrypto2"], &[Product::CurveTricrypto]),
    curve(&["curve_tricrypto_ng"], &[Product::CurveTricryptoNg]),
    curve(&["curve_twocrypto_ng", "curve_twocrypto_stableswap_math"], &[Product::CurveTwocryptoNg]),
    Kind { names: &["fluid_t1"], products: &[Product::FluidDexT1], most_coins: 2, import: fluid::dex },
];

const fn curve(names: &'static [&'static str], products: &'static [Product]) -> Kind {
    Kind { names, products, most_coins: MAX_COINS, import: curve::pool }
}

impl Kind {
    /// Returns the kind with a name, and the product as which the pools of a `dex` are read.
    pub(super) fn named(name: &str, dex: &str) -> Option<(&'static Self, Product)> {
        let kind = KINDS.iter().find(|kind| kind.names.contains(&name))?;
        let named = kind.products.iter().find(|product| product.id() == dex);
        Some((kind, *named.or_else(|| kind.products.first())?))
    }
}

/// Applies an update to a pool. Fields that the update does not contain keep their values.
pub(super) fn update(state: &mut PoolState, entry: &Value) -> Result<(), Reason> {
    match state {
        PoolState::UniswapV2(state) => uniswap::update_pair(state, entry),
        PoolState::UniswapV3(state) => uniswap::update_pool(state, entry),
        PoolState::Erc4626(state) => erc4626::update(state, entry),
        PoolState::FluidDexT1(state) => fluid::update(state, entry),
        _ => Err("updates not covered".into()),
    }
}
