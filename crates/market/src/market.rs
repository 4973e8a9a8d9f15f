//! The market and how it follows from the one before it.

use std::sync::Arc;

use braid_primitives::{Address, Block, PoolId, TokenId};
use braid_protocols::Pool;
use rustc_hash::FxHashMap;

use crate::Tokens;

/// Every pool and token at one block. Immutable.
#[derive(Clone, Debug)]
pub struct Market {
    block: Block,
    tokens: Arc<Tokens>,
    pools: Vec<Arc<Pool>>,
    topology: Arc<Topology>,
}

/// What changes only when pools come or go.
#[derive(Clone, Debug, Default)]
struct Topology {
    by_address: FxHashMap<Address, PoolId>,
    by_token: Vec<Vec<PoolId>>,
}

/// Why a market cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarketError {
    /// A pool names a token that the table does not have.
    #[error("pool {pool} has an unknown token")]
    UnknownToken {
        /// The pool.
        pool: Address,
    },
    /// A pool changed its product or coins, which pools never do.
    #[error("pool {pool} changed its coins")]
    CoinsChanged {
        /// The pool.
        pool: Address,
    },
}

impl Market {
    /// A market without pools.
    pub fn empty(block: Block, tokens: Arc<Tokens>) -> Self {
        Self { block, tokens, pools: Vec::new(), topology: Arc::default() }
    }

    /// The next market: pools in `changed` replace those at their address, or are added at the end.
    ///
    /// Unchanged pools are shared with this market; their ids stay.
    ///
    /// # Errors
    /// [`MarketError`] when a pool's tokens are unknown, or its coins differ from before.
    pub fn next(
        &self,
        block: Block,
        tokens: Arc<Tokens>,
        changed: impl IntoIterator<Item = Pool>,
    ) -> Result<Self, MarketError> {
        let mut pools = self.pools.clone();
        let mut topology: Option<Topology> = None;
        for pool in changed {
            let address = pool.address;
            if pool.coins.iter().any(|coin| tokens.get(*coin).is_none()) {
                return Err(MarketError::UnknownToken { pool: address });
            }
            let known = topology.as_ref().unwrap_or(&self.topology).by_address.get(&address).copied();
            match known.and_then(|id| pools.get_mut(id.index())) {
                Some(slot) => {
                    if slot.coins != pool.coins || slot.product != pool.product {
                        return Err(MarketError::CoinsChanged { pool: address });
                    }
                    *slot = Arc::new(pool);
                }
                None => {
                    let id = PoolId(u32::try_from(pools.len()).unwrap_or(u32::MAX));
                    topology.get_or_insert_with(|| Topology::clone(&self.topology)).add(id, &pool);
                    pools.push(Arc::new(pool));
                }
            }
        }
        let topology = topology.map_or_else(|| Arc::clone(&self.topology), Arc::new);
        Ok(Self { block, tokens, pools, topology })
    }

    /// The block that every state was read at.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// The token table.
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// Every pool, in the order of ids.
    pub fn pools(&self) -> &[Arc<Pool>] {
        &self.pools
    }

    /// The pool of an id.
    pub fn pool(&self, id: PoolId) -> Option<&Pool> {
        self.pools.get(id.index()).map(Arc::as_ref)
    }

    /// The id of the pool at an address.
    pub fn pool_id(&self, address: Address) -> Option<PoolId> {
        self.topology.by_address.get(&address).copied()
    }

    /// The pools that hold a token, in the order of ids.
    pub fn pools_of(&self, token: TokenId) -> &[PoolId] {
        self.topology.by_token.get(token.index()).map_or(&[], Vec::as_slice)
    }
}

impl Topology {
    fn add(&mut self, id: PoolId, pool: &Pool) {
        self.by_address.insert(pool.address, id);
        for coin in &pool.coins {
            if self.by_token.len() <= coin.index() {
                self.by_token.resize_with(coin.index() + 1, Vec::new);
            }
            self.by_token[coin.index()].push(id);
        }
    }
}
