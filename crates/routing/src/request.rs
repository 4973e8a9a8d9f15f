//! The request to the router.

use braid_primitives::{ExecutionBlock, PoolId, TokenId, U256};
use braid_protocols::Product;

/// Most gas that a route's steps may cost. With the gas around them and a quarter of headroom, a transaction then stays
/// below half of EIP-7825's cap of 16,777,216, so that a client may double its limit.
pub const MAX_ROUTE_GAS_UNITS: u64 = 6_000_000;

/// A swap to route: exact inputs, and outputs by share of value. Already validated: tokens exist and are distinct,
/// amounts are above zero, ratios sum to 10,000.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Tokens to sell, with amounts in atomic units.
    pub inputs: Vec<(TokenId, U256)>,
    /// Tokens to buy, each with its share of the output value in basis points.
    pub outputs: Vec<(TokenId, u16)>,
    /// Most steps of a path from an input to an output. Wrapping and unwrapping ether does not count.
    pub max_hops: u8,
    /// The pools that may be used.
    pub filter: PoolFilter,
    /// Price of a unit of gas, in wei, at which the route's gas is weighed against its output.
    pub gas_price_wei: u64,
    /// Most steps in the route.
    pub max_steps: u16,
    /// The block in which the amounts must be exact.
    pub at: ExecutionBlock,
}

/// The pools that a route may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PoolFilter {
    excluded_products: u64,
    /// A bit for each pool up to the last excluded one: a service that has checked few tokens excludes most of a
    /// market.
    excluded_pools: Vec<u64>,
}

impl PoolFilter {
    /// Excludes all pools of a product. Wrapped ether cannot be excluded: it is how ether enters and leaves.
    pub fn exclude_product(&mut self, product: Product) {
        if !product.wraps_ether() {
            self.excluded_products |= 1 << product.index();
        }
    }

    /// Excludes one pool.
    pub fn exclude_pool(&mut self, pool: PoolId) {
        let (word, bit) = (pool.index() / 64, pool.index() % 64);
        if self.excluded_pools.len() <= word {
            self.excluded_pools.resize(word + 1, 0);
        }
        self.excluded_pools[word] |= 1 << bit;
    }

    /// Returns whether all pools of a product are excluded.
    pub fn excludes_product(&self, product: Product) -> bool {
        self.excluded_products & (1 << product.index()) != 0
    }

    /// Returns whether a pool may be used.
    pub fn allows(&self, id: PoolId, product: Product) -> bool {
        !self.excludes_product(product) && self.allows_pool(id)
    }

    /// Returns whether a pool may be used, provided that its product may.
    fn allows_pool(&self, id: PoolId) -> bool {
        let word = self.excluded_pools.get(id.index() / 64).copied().unwrap_or(0);
        word & (1 << (id.index() % 64)) == 0
    }

    /// Returns whether every pool may be used.
    pub(crate) fn allows_all(&self) -> bool {
        self.excluded_products == 0 && self.excluded_pools.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_excluded_in_any_order_is_the_same_filter() {
        let [mut one, mut other] = [PoolFilter::default(), PoolFilter::default()];
        assert!(one.allows_all());
        [3, 64, 700].into_iter().for_each(|id| one.exclude_pool(PoolId(id)));
        [700, 3, 64, 3].into_iter().for_each(|id| other.exclude_pool(PoolId(id)));
        assert_eq!(one, other);
        let product = Product::UniswapV2;
        let left: Vec<u32> = (0..1_000).filter(|id| !one.allows(PoolId(*id), product)).collect();
        assert_eq!(left, [3, 64, 700]);
        assert!(!one.allows_all());
        one.exclude_product(product);
        assert!(!one.allows(PoolId(5), product) && one.allows(PoolId(5), Product::UniswapV3));
    }
}
