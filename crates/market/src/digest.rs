//! What names a market: a digest of what it holds, and one of the order in which it holds it.

use alloy_primitives::{B256, Keccak256};
use braid_primitives::{PoolId, PoolKey, Token};
use braid_protocols::{Pool, PoolState, Product};
use serde::Serialize;

use crate::{FileError, Market};

/// A pool as the digest reads it: without ids, which are positions.
#[derive(Serialize)]
struct Named<'a> {
    key: PoolKey,
    product: Product,
    coins: Vec<&'a Token>,
    state: &'a PoolState,
}

impl Market {
    /// Keccak-256 of the block and of every pool in the order of keys, each as a line of JSON. Markets of the same content have the same digest,
    /// whatever order their pools were learnt in. It reads the whole market: call it where blocking is fine.
    ///
    /// # Errors
    /// [`FileError::Body`], if a pool could not be written as text.
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

    /// Keccak-256 of the addresses of all tokens and the keys of all pools, in the order of ids. Ties of a search are broken by ids: the same
    /// request on markets of one digest and one order has the same answer to the byte.
    pub fn order_digest(&self) -> B256 {
        let mut hasher = Keccak256::new();
        self.tokens().iter().for_each(|(_, token)| hasher.update(token.address));
        self.pools().iter().for_each(|pool| hasher.update(format!("\n{}", pool.key)));
        hasher.finalize()
    }

    /// The market of some of its pools, with ids in the order of keys.
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
