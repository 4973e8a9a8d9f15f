//! Digests of a market: one of its content, one of its order.

use alloy_primitives::{B256, Keccak256};
use braid_primitives::{PoolId, PoolKey, Token};
use braid_protocols::{Pool, PoolState, Product};
use serde::Serialize;

use crate::{FileError, Market};

/// A pool as hashed: without ids, which are only positions.
#[derive(Serialize)]
struct Named<'a> {
    key: PoolKey,
    product: Product,
    coins: Vec<&'a Token>,
    state: &'a PoolState,
}

impl Market {
    /// Computes Keccak-256 over the block and every pool in the order of keys, each as a line of JSON. Markets with the
    /// same content have the same digest, in whatever order their pools were discovered. It reads the whole market, so
    /// call it where blocking is acceptable.
    ///
    /// # Errors
    /// [`FileError::Body`] if a pool could not be serialised.
    pub fn digest(&self) -> Result<B256, FileError> {
        let mut pools: Vec<&Pool> = self.pools().iter().map(AsRef::as_ref).collect();
        pools.sort_unstable_by_key(|pool| pool.key);
        let mut hasher = Keccak256::new();
        let mut line = Vec::new();
        add(&mut hasher, &mut line, self.block())?;
        for pool in pools {
            let coins = pool.coins.iter().filter_map(|coin| self.tokens().get(*coin)).collect();
            let named = Named { key: pool.key, product: pool.product, coins, state: &pool.state };
            add(&mut hasher, &mut line, &named)?;
        }
        Ok(hasher.finalize())
    }

    /// Computes Keccak-256 over the addresses of all tokens and the keys of all pools, in the order of ids. The search
    /// breaks ties by ids. So the same request on markets with equal digest and order gives the same bytes.
    pub fn order_digest(&self) -> B256 {
        let mut hasher = Keccak256::new();
        self.tokens().iter().for_each(|(_, token)| hasher.update(token.address));
        self.pools().iter().for_each(|pool| hasher.update(format!("\n{}", pool.key)));
        hasher.finalize()
    }

    /// Returns a market with only these pools, with ids in the order of keys.
    #[must_use]
    pub fn only(&self, pools: impl IntoIterator<Item = PoolId>) -> Self {
        let mut kept: Vec<_> = pools.into_iter().filter_map(|id| self.pools().get(id.index()).cloned()).collect();
        kept.sort_unstable_by_key(|pool| pool.key);
        kept.dedup_by_key(|pool| pool.key);
        self.of(kept).canonical()
    }
}

fn add(hasher: &mut Keccak256, line: &mut Vec<u8>, value: &impl Serialize) -> Result<(), FileError> {
    line.clear();
    serde_json::to_writer(&mut *line, value).map_err(|error| FileError::Body { why: error.to_string() })?;
    line.push(b'\n');
    hasher.update(line);
    Ok(())
}
