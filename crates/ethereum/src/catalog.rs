//! The logs to follow: announcements of pools, and events that change pools.

use braid_primitives::{Address, B256, PoolKey};
use braid_protocols::{DecodeError, Discovered, PoolList, Product, Source};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::node::LogFilter;

/// The logs of all followed products.
#[derive(Clone, Debug)]
pub struct Catalog {
    products: Vec<Product>,
    sources: FxHashMap<(Address, B256), Product>,
    /// Events after which a contract's list of pools may have grown.
    growths: FxHashSet<(Address, B256)>,
    announcements: LogFilter,
    block: LogFilter,
    first_deployment: u64,
}

impl Catalog {
    /// Collects the logs of some products.
    pub fn new(products: &[Product]) -> Self {
        let of = |&product: &Product| product.sources().iter().map(move |source| (product, *source));
        let sources: Vec<(Product, Source)> = products.iter().flat_map(of).collect();
        let emitters = distinct(sources.iter().map(|(_, source)| source.emitter));
        let announced_by = distinct(sources.iter().map(|(_, source)| source.topic0));
        let freshness = products.iter().flat_map(|product| product.freshness_topics().iter().copied());
        let growths: FxHashSet<(Address, B256)> = lists_of(products)
            .flat_map(|(_, list)| list.topics().iter().map(move |topic0| (list.keeper(), *topic0)))
            .collect();
        let grown = growths.iter().map(|(_, topic0)| *topic0);
        let topics = distinct(announced_by.iter().copied().chain(freshness).chain(grown));
        Self {
            growths,
            products: products.to_vec(),
            first_deployment: sources.iter().map(|(_, source)| source.deployment_block).min().unwrap_or(0),
            // Of products that share an announcement, the first one decodes it.
            sources: sources.iter().rev().map(|(product, s)| ((s.emitter, s.topic0), *product)).collect(),
            announcements: LogFilter { emitters, topics: announced_by },
            block: LogFilter { emitters: Vec::new(), topics },
        }
    }

    /// Returns the filter of a scan for pools: the announcements of every factory.
    pub const fn announcements(&self) -> &LogFilter {
        &self.announcements
    }

    /// Returns every source once: emitter, `topic0` of its announcement, block of its deployment.
    pub(crate) fn source_list(&self) -> Vec<(Address, B256, u64)> {
        let of = |product: &Product| product.sources().iter().map(|s| (s.emitter, s.topic0, s.deployment_block));
        distinct(self.products.iter().flat_map(of))
    }

    /// Returns the lists of pools that contracts keep, each with its product.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (Product, &'static dyn PoolList)> + '_ {
        lists_of(&self.products)
    }

    /// Returns the list that a contract keeps.
    pub(crate) fn list_of(&self, keeper: Address) -> Option<(Product, &'static dyn PoolList)> {
        self.lists().find(|(_, list)| list.keeper() == keeper)
    }

    /// Returns whether a log says that its emitter's list may have grown.
    pub(crate) fn may_have_grown(&self, log: &alloy::primitives::Log) -> bool {
        let topic0 = log.topics().first().copied().unwrap_or_default();
        self.growths.contains(&(log.address, topic0))
    }

    /// Returns whether a chain of this height ends before the oldest factory's deployment: it is a local one.
    pub(crate) const fn is_short(&self, head: u64) -> bool {
        self.first_deployment > head
    }

    /// Returns whether a product is followed.
    pub(crate) fn follows(&self, product: Product) -> bool {
        self.products.contains(&product)
    }

    /// Returns whether a pool announced as a product may be of a followed one: products that share an announcement are
    /// distinguished when their pools are read.
    pub(crate) fn may_follow(&self, announced: Product) -> bool {
        let shared = |source: &Source| self.sources.contains_key(&(source.emitter, source.topic0));
        self.follows(announced) || announced.sources().iter().any(shared)
    }

    /// Returns the filter of one block: announcements and events that may change a pool, from any emitter.
    pub const fn block(&self) -> &LogFilter {
        &self.block
    }

    /// Returns whether a pool exists without an announcement.
    pub(crate) fn is_fixed(&self, pool: PoolKey) -> bool {
        self.fixed_pools().iter().any(|fixed| fixed.key == pool)
    }

    /// Returns the pools that exist without an announcement.
    pub fn fixed_pools(&self) -> Vec<Discovered> {
        self.products.iter().flat_map(|product| product.fixed_pools()).collect()
    }

    /// Returns the candidate pool that a log of an unknown contract suggests.
    pub(crate) fn candidate(&self, log: &alloy::primitives::Log) -> Option<Discovered> {
        self.products.iter().find_map(|product| product.suggested(log))
    }

    /// Returns the pools that a log names: by their ids, or by a vault that holds their coins.
    pub(crate) fn pools_named<'a>(&'a self, log: &'a alloy::primitives::Log) -> impl Iterator<Item = PoolKey> + 'a {
        self.products.iter().filter_map(|product| {
            let with_id = |id| PoolKey::with_id(log.address, id);
            product.log_pool_id(log).map(with_id).or_else(|| product.pool_named_by_vault(log))
        })
    }

    /// Decodes the pool that a log announces; `None` if the log is no announcement.
    ///
    /// # Errors
    /// [`DecodeError`] when an announcement cannot be decoded.
    pub fn announced(&self, log: &alloy::primitives::Log) -> Result<Option<Discovered>, DecodeError> {
        let topic0 = log.topics().first().copied().unwrap_or_default();
        let Some(product) = self.sources.get(&(log.address, topic0)) else { return Ok(None) };
        product.discover(log).map(Some)
    }

    /// Returns the block where a scan for pools starts: the configured one, else the oldest factory's deployment, or 0
    /// on a local chain that ends before that.
    pub fn first_block(&self, configured: Option<u64>, head: u64) -> u64 {
        configured.unwrap_or(if self.is_short(head) { 0 } else { self.first_deployment })
    }
}

fn lists_of(products: &[Product]) -> impl Iterator<Item = (Product, &'static dyn PoolList)> + '_ {
    products.iter().flat_map(|product| product.lists().iter().map(|list| (*product, *list)))
}

/// Returns the distinct items in order.
pub(crate) fn distinct<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.collect::<std::collections::BTreeSet<T>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_filter_covers_every_product() {
        let catalog = Catalog::new(Product::ALL);
        for product in Product::ALL {
            for source in product.sources() {
                assert!(catalog.announcements().emitters.contains(&source.emitter));
                assert!(catalog.announcements().topics.contains(&source.topic0));
                assert!(catalog.block().topics.contains(&source.topic0));
                assert!(source.deployment_block >= catalog.first_block(None, u64::MAX));
            }
            for topic in product.freshness_topics() {
                assert!(catalog.block().topics.contains(topic));
            }
            for list in product.lists() {
                assert!(list.topics().iter().all(|topic| catalog.block().topics.contains(topic)));
                assert_eq!(
                    catalog.list_of(list.keeper()).unwrap().1.topics(),
                    list.topics(),
                    "one list of each keeper"
                );
            }
        }
    }

    /// One announcement is shared by all products of a vault, so disabling one product must not disable the others.
    #[test]
    fn a_denied_product_takes_no_announcement_from_its_siblings() {
        for denied in Product::ALL {
            let products: Vec<Product> = Product::ALL.iter().copied().filter(|product| product != denied).collect();
            let catalog = Catalog::new(&products);
            for source in products.iter().flat_map(|product| product.sources()) {
                let reads = catalog.sources[&(source.emitter, source.topic0)];
                assert!(catalog.follows(reads), "{reads:?} reads what was announced, and is denied");
            }
        }
        let stable = Catalog::new(&[Product::BalancerV2Stable]);
        let [(vault, topic0, _)] = stable.source_list()[..] else { panic!("one vault announces") };
        assert_eq!(stable.sources[&(vault, topic0)], Product::BalancerV2Stable);
        assert!(stable.may_follow(Product::BalancerV2Weighted) && !stable.follows(Product::BalancerV2Weighted));
        assert!(!stable.may_follow(Product::BalancerV3Weighted) && !stable.may_follow(Product::UniswapV2));
    }

    #[test]
    fn a_local_chain_is_scanned_from_its_first_block() {
        let catalog = Catalog::new(Product::ALL);
        assert_eq!(catalog.first_block(None, 300), 0);
        assert!(catalog.first_block(None, 25_000_000) > 9_000_000);
        assert_eq!(catalog.first_block(Some(7), 300), 7);
    }
}
