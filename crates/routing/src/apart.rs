//! Steps of a route that stand on one contract and are priced apart.

use std::collections::BTreeMap;

use braid_market::Market;
use braid_primitives::{Address, PoolKey};

use crate::Route;

/// The contracts that two pools of a route stand on, each priced as if the other did not touch it (a vault and a pool that asks what its
/// shares are worth; two vaults that lend on the same markets): what the route pays may be off by some units.
pub fn priced_apart(market: &Market, route: &Route) -> Vec<Address> {
    let address = |token| market.tokens().get(token).map(|token| token.address);
    let mut seen: BTreeMap<Address, PoolKey> = BTreeMap::new();
    let mut shared = Vec::new();
    for pool in route.steps.iter().filter_map(|step| market.pool(step.pool)) {
        for place in pool.stands_on(address) {
            if *seen.entry(place).or_insert(pool.key) != pool.key && !shared.contains(&place) {
                shared.push(place);
            }
        }
    }
    shared
}
