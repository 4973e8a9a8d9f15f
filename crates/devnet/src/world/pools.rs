//! The pools of the local chain: pair, protocol, fee and depth.

use crate::addresses;
use alloy::primitives::Address;

/// The protocol that a pool belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Venue {
    /// Uniswap V2: 0.3%.
    UniswapV2,
    /// SushiSwap V2: 0.3%.
    SushiV2,
    /// Uniswap V3, at the pool's fee.
    UniswapV3,
    /// SushiSwap V3, at the pool's fee.
    SushiV3,
    /// PancakeSwap V3, at the pool's fee.
    PancakeV3,
}

impl Venue {
    /// Returns the factory's address.
    #[must_use]
    pub const fn factory(self) -> Address {
        match self {
            Self::UniswapV2 => addresses::UNISWAP_V2_FACTORY,
            Self::SushiV2 => addresses::SUSHI_V2_FACTORY,
            Self::UniswapV3 => addresses::UNISWAP_V3_FACTORY,
            Self::SushiV3 => addresses::SUSHI_V3_FACTORY,
            Self::PancakeV3 => addresses::PANCAKE_V3_FACTORY,
        }
    }

    /// Returns the contract that creates V3 positions; `None` for V2.
    #[must_use]
    pub const fn position_manager(self) -> Option<Address> {
        match self {
            Self::UniswapV2 | Self::SushiV2 => None,
            Self::UniswapV3 => Some(addresses::UNISWAP_V3_POSITION_MANAGER),
            Self::SushiV3 => Some(addresses::SUSHI_V3_POSITION_MANAGER),
            Self::PancakeV3 => Some(addresses::PANCAKE_V3_POSITION_MANAGER),
        }
    }
}

/// Volatility of a pair, which decides the ranges of V3 positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Two tokens of nearly the same value: ranges of a tenth of a percent to five percent.
    Pegged,
    /// All other pairs: ranges of a percent to the full range.
    Free,
}

/// A pool to create.
#[derive(Debug, Clone, Copy)]
pub struct PoolSpec {
    /// The protocol.
    pub venue: Venue,
    /// The symbols of both tokens, in any order.
    pub pair: (&'static str, &'static str),
    /// The fee in hundredths of a basis point; 3000 for V2.
    pub fee_pips: u32,
    /// The value of both sides together, in thousands of dollars.
    pub depth_kusd: u32,
    /// Volatility of the pair.
    pub spread: Spread,
}

const fn v2(a: &'static str, b: &'static str, depth_kusd: u32) -> PoolSpec {
    PoolSpec { venue: Venue::UniswapV2, pair: (a, b), fee_pips: 3_000, depth_kusd, spread: Spread::Free }
}

const fn sushi(a: &'static str, b: &'static str, depth_kusd: u32) -> PoolSpec {
    PoolSpec { venue: Venue::SushiV2, pair: (a, b), fee_pips: 3_000, depth_kusd, spread: Spread::Free }
}

const fn v3(a: &'static str, b: &'static str, fee_pips: u32, depth_kusd: u32) -> PoolSpec {
    PoolSpec { venue: Venue::UniswapV3, pair: (a, b), fee_pips, depth_kusd, spread: Spread::Free }
}

const fn peg(a: &'static str, b: &'static str, fee_pips: u32, depth_kusd: u32) -> PoolSpec {
    PoolSpec { venue: Venue::UniswapV3, pair: (a, b), fee_pips, depth_kusd, spread: Spread::Pegged }
}

const fn at_sushi(spec: PoolSpec) -> PoolSpec {
    PoolSpec { venue: Venue::SushiV3, ..spec }
}

const fn at_pancake(spec: PoolSpec) -> PoolSpec {
    PoolSpec { venue: Venue::PancakeV3, ..spec }
}

/// Every pool: the most traded first, then the long tail.
#[rustfmt::skip]
pub const POOLS: &[PoolSpec] = &[
    // Ether against dollars, at every fee and protocol.
    v3("USDC", "WETH", 100, 2_000), v3("USDC", "WETH", 500, 90_000), v3("USDC", "WETH", 3_000, 45_000), v3("USDC", "WETH", 10_000, 3_000),
    v3("WETH", "USDT", 100, 1_500), v3("WETH", "USDT", 500, 30_000), v3("WETH", "USDT", 3_000, 25_000), v3("WETH", "USDT", 10_000, 800),
    v3("DAI", "WETH", 500, 5_000), v3("DAI", "WETH", 3_000, 8_000),
    at_sushi(v3("USDC", "WETH", 500, 1_200)), at_sushi(v3("WETH", "USDT", 500, 700)), at_sushi(v3("USDC", "WETH", 3_000, 400)),
    v2("USDC", "WETH", 30_000), v2("WETH", "USDT", 22_000), v2("DAI", "WETH", 9_000),
    sushi("USDC", "WETH", 5_000), sushi("WETH", "USDT", 3_500), sushi("DAI", "WETH", 2_500),
    // Bitcoin.
    v3("WBTC", "WETH", 500, 50_000), v3("WBTC", "WETH", 3_000, 70_000), v3("WBTC", "WETH", 10_000, 900),
    v3("WBTC", "USDC", 500, 6_000), v3("WBTC", "USDC", 3_000, 15_000),
    v3("WBTC", "USDT", 500, 4_000), v3("WBTC", "USDT", 3_000, 9_000),
    v2("WBTC", "WETH", 6_000), v2("WBTC", "USDC", 700), sushi("WBTC", "WETH", 4_500), at_sushi(v3("WBTC", "WETH", 500, 1_000)),
    peg("WBTC", "cbBTC", 100, 9_000), v3("cbBTC", "USDC", 500, 8_000), v3("cbBTC", "WETH", 500, 4_000), v3("cbBTC", "WETH", 3_000, 1_000),
    // Dollars against dollars.
    peg("USDC", "USDT", 100, 40_000), peg("USDC", "USDT", 500, 4_000), peg("DAI", "USDC", 100, 25_000), peg("DAI", "USDC", 500, 3_000),
    peg("DAI", "USDT", 100, 6_000), at_sushi(peg("USDC", "USDT", 100, 900)), v2("USDC", "USDT", 2_000), v2("DAI", "USDC", 1_500), sushi("DAI", "USDC", 300),
    // Staked ether.
    peg("wstETH", "WETH", 100, 22_000), peg("wstETH", "WETH", 500, 2_500), peg("rETH", "WETH", 100, 5_000), peg("rETH", "WETH", 500, 1_500), v3("wstETH", "USDC", 500, 800),
    // The long tail: dollars.
    peg("FRAX", "USDC", 100, 4_000), peg("FRAX", "USDC", 500, 1_500), peg("FRAX", "USDT", 500, 400), peg("LUSD", "USDC", 500, 900), v3("LUSD", "WETH", 3_000, 250),
    peg("GUSD", "USDC", 500, 800), v3("GUSD", "WETH", 3_000, 150), peg("EURS", "USDC", 500, 900), peg("PYUSD", "USDC", 100, 2_500),
    peg("USDe", "USDT", 100, 6_000), peg("USDe", "USDC", 100, 2_000), peg("sUSDe", "USDT", 100, 3_000), peg("sUSDe", "USDe", 100, 1_000), v2("FRAX", "WETH", 600),
    // The long tail: everything else.
    v3("LINK", "WETH", 500, 1_000), v3("LINK", "WETH", 3_000, 9_000), v3("LINK", "USDC", 3_000, 900), v2("LINK", "WETH", 2_000), sushi("LINK", "WETH", 800),
    v3("UNI", "WETH", 500, 500), v3("UNI", "WETH", 3_000, 7_000), v3("UNI", "USDC", 3_000, 400), v2("UNI", "WETH", 2_500), sushi("UNI", "WETH", 200),
    v3("MKR", "WETH", 3_000, 4_000), v3("MKR", "WETH", 10_000, 600), v2("MKR", "WETH", 1_000), v2("MKR", "DAI", 250),
    v3("AAVE", "WETH", 3_000, 5_000), v3("AAVE", "USDC", 3_000, 300), v2("AAVE", "WETH", 700), sushi("AAVE", "WETH", 500),
    v3("CRV", "WETH", 3_000, 1_800), v3("CRV", "WETH", 10_000, 500), sushi("CRV", "WETH", 350),
    v3("LDO", "WETH", 3_000, 2_200), v3("LDO", "WETH", 10_000, 300), sushi("LDO", "WETH", 250),
    v3("PEPE", "WETH", 3_000, 4_500), v3("PEPE", "WETH", 10_000, 1_500), v2("PEPE", "WETH", 7_000), v3("PEPE", "USDC", 3_000, 250),
    v3("SHIB", "WETH", 3_000, 2_000), v3("SHIB", "WETH", 10_000, 400), v2("SHIB", "WETH", 6_000), sushi("SHIB", "WETH", 600),
    v3("COMP", "WETH", 3_000, 1_200), v2("COMP", "WETH", 300), sushi("COMP", "WETH", 150),
    v3("ENS", "WETH", 3_000, 1_000), v2("ENS", "WETH", 250),
    // The assets of listed vaults.
    peg("USDS", "USDC", 100, 3_000), peg("frxETH", "WETH", 500, 2_000), peg("USDf", "USDT", 100, 1_500), peg("USR", "USDC", 100, 1_500),
    peg("GHO", "USDC", 500, 2_000), v3("ZCHF", "USDC", 500, 800), peg("USG", "USDC", 500, 600),
    // PancakeSwap, at each of its fees.
    at_pancake(peg("USDC", "USDT", 100, 1_500)), at_pancake(v3("WETH", "USDT", 500, 1_200)), at_pancake(v3("USDC", "WETH", 2_500, 300)),
    at_pancake(v3("WBTC", "WETH", 2_500, 900)), at_pancake(v3("LINK", "WETH", 10_000, 120)),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tokens;

    #[test]
    fn the_market_has_the_promised_shape() {
        let mentioned: BTreeSet<_> = POOLS.iter().flat_map(|p| [p.pair.0, p.pair.1]).collect();
        assert!(POOLS.len() >= 60, "{} pools", POOLS.len());
        assert!(mentioned.len() >= 14, "{} tokens", mentioned.len());
        for (pair, fee) in
            [(("USDC", "WETH"), 500), (("USDC", "WETH"), 3_000), (("WBTC", "WETH"), 500), (("WBTC", "WETH"), 3_000)]
        {
            let deep = |p: &&PoolSpec| {
                p.venue == Venue::UniswapV3 && p.pair == pair && p.fee_pips == fee && p.depth_kusd > 1_000
            };
            assert_eq!(POOLS.iter().filter(deep).count(), 1, "{pair:?} at {fee}");
        }
    }

    #[test]
    fn every_pool_is_one_pool_over_known_tokens() {
        let mut seen = BTreeSet::new();
        for pool in POOLS {
            let (a, b) = (tokens::by_symbol(pool.pair.0).address, tokens::by_symbol(pool.pair.1).address);
            assert_ne!(a, b, "{pool:?}");
            assert!(seen.insert((pool.venue, a.min(b), a.max(b), pool.fee_pips)), "{pool:?} is there twice");
        }
    }
}
