//! The largest mainnet pools, which a first start serves before the chain is searched. Pure.
//!
//! `data/mainnet_pools.tsv` holds the list and its sources.

use braid_primitives::Address;
use braid_protocols::{Discovered, Product};

const TEXT: &str = include_str!("../data/mainnet_pools.tsv");

/// Returns the listed pools of followed products, largest first.
pub(crate) fn pools(follows: impl Fn(Product) -> bool) -> Vec<Discovered> {
    let lines = TEXT.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(parse).filter(|pool| follows(pool.product)).collect()
}

fn parse(line: &str) -> Option<Discovered> {
    let mut fields = line.split('\t');
    let mut next = || fields.next();
    let (product, address, coin0, coin1) = (next()?, next()?, next()?, next()?);
    let coins: [Address; 2] = [coin0.parse().ok()?, coin1.parse().ok()?];
    Some(Discovered {
        key: address.parse().ok()?,
        product: Product::ALL.iter().copied().find(|known| known.id() == product)?,
        coins: coins.to_vec(),
        fee_pips: next()?.parse().ok()?,
        tick_spacing: next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use alloy::{primitives::keccak256, sol_types::SolValue};
    use braid_devnet::addresses;
    use braid_primitives::{B256, b256};

    use super::*;

    /// The init code hash that SushiSwap's factory returns as `pairCodeHash`.
    const SUSHI_V2_INIT_CODE_HASH: B256 = b256!("e18a34eb0e04b04f7a0ac29a6e80748dca96319b42c54d679cb821dca90c6303");

    fn create2(pool: &Discovered) -> Address {
        let (coin0, coin1) = (pool.coins[0], pool.coins[1]);
        let pair = keccak256([coin0.as_slice(), coin1.as_slice()].concat());
        match pool.product {
            Product::UniswapV2 => addresses::UNISWAP_V2_FACTORY.create2(pair, addresses::UNISWAP_V2_INIT_CODE_HASH),
            Product::SushiswapV2 => addresses::SUSHI_V2_FACTORY.create2(pair, SUSHI_V2_INIT_CODE_HASH),
            Product::UniswapV3 => {
                let salt = keccak256((coin0, coin1, alloy::primitives::U256::from(pool.fee_pips)).abi_encode());
                addresses::UNISWAP_V3_FACTORY.create2(salt, addresses::UNISWAP_V3_INIT_CODE_HASH)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_line_is_a_pool_of_its_factory_and_the_largest_come_first() {
        let lines: Vec<&str> = TEXT.lines().filter(|line| !line.starts_with('#')).collect();
        let pools = pools(|_| true);
        assert_eq!(pools.len(), lines.len(), "a line that cannot be read");
        assert!(pools.len() >= 300);
        for pool in &pools {
            assert!(pool.coins[0] < pool.coins[1]);
            assert_eq!(create2(pool), pool.key.contract, "{pool:?}");
        }
        assert_eq!(pools.iter().map(|pool| pool.key).collect::<BTreeSet<_>>().len(), pools.len());
        let field = |line: &str, at: usize| line.split('\t').nth(at).unwrap().to_owned();
        let values: Vec<u64> = lines.iter().map(|line| field(line, 6).parse().unwrap()).collect();
        assert!(values.is_sorted_by(|a, b| a >= b));
        assert!(lines.iter().all(|line| ["fynd", "cow"].contains(&field(line, 7).as_str())));
    }

    #[test]
    fn products_that_are_not_followed_are_not_listed() {
        assert!(
            pools(|product| product == Product::SushiswapV2).iter().all(|pool| pool.product == Product::SushiswapV2)
        );
        assert!(pools(|_| false).is_empty());
    }
}
