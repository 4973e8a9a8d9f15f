//! The market, and its construction from its predecessor.

use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};

use braid_primitives::{Block, PoolId, PoolKey, Token, TokenId};
use braid_protocols::Pool;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Tokens,
    shared::{Chunks, Index},
};

/// Every pool and token at one block. Immutable.
///
/// Invariants, kept by every constructor:
///
/// - an id is a position: `pools()[id]` is the pool of that id, and keys are unique;
/// - every coin of every pool is in `tokens()`, and a pool has at least two coins, all different;
/// - a pool's coins and product never change from one market to the [`next`](Market::next);
/// - `pools_of(token)` lists exactly the pools that hold the token, in the order of ids.
///
/// Clones are cheap and share everything.
#[derive(Clone, Debug)]
pub struct Market {
    block: Block,
    tokens: Arc<Tokens>,
    pools: Vec<Arc<Pool>>,
    topology: Arc<Topology>,
}

/// The part that changes only if pools are added or removed.
#[derive(Clone, Debug, Default)]
struct Topology {
    by_key: Index<PoolKey>,
    by_token: Chunks<Vec<PoolId>>,
    /// Pools whose product does not stand alone.
    dependent: Vec<PoolId>,
    /// Pools whose product keeps the worth of some token's shares: a few.
    share_keepers: Vec<PoolId>,
    /// Computed on first use.
    most_pools_first: OnceLock<Vec<TokenId>>,
}

/// Difference between two markets, by pools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New pools, and pools with a new state, as in the newer market.
    pub changed: Vec<Arc<Pool>>,
    /// Pools of the older market that the newer one lacks.
    pub removed: Vec<PoolKey>,
}

/// Reason for which a market cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarketError {
    /// A pool names a token that is not in the table.
    #[error("pool {pool} has an unknown token")]
    UnknownToken {
        /// The pool.
        pool: PoolKey,
    },
    /// A pool changed its product or coins.
    #[error("pool {pool} changed its coins")]
    CoinsChanged {
        /// The pool.
        pool: PoolKey,
    },
    /// A pool has fewer than two coins, or one coin twice.
    #[error("pool {pool} does not have two or more different coins")]
    ImpossibleCoins {
        /// The pool.
        pool: PoolKey,
    },
    /// A table has no room for more ids.
    #[error("more than 4294967295 pools")]
    TooManyPools,
}

impl Market {
    /// Returns a market without pools.
    pub fn empty(block: Block, tokens: Arc<Tokens>) -> Self {
        Self { block, tokens, pools: Vec::new(), topology: Arc::default() }
    }

    /// Returns a market of the given pools.
    ///
    /// # Errors
    /// As [`Market::next`].
    pub fn new(block: Block, tokens: Arc<Tokens>, pools: impl IntoIterator<Item = Pool>) -> Result<Self, MarketError> {
        let empty = Self::empty(block, Arc::clone(&tokens));
        empty.next(block, tokens, pools)
    }

    /// Returns the next market: pools in `changed` replace those with the same key, or are appended.
    ///
    /// Unchanged pools are shared with this market, and ids stay. The cost is one pointer per pool and one copy per
    /// changed pool. An added pool also copies its neighbourhood in the graph.
    ///
    /// # Errors
    /// [`MarketError`] if a pool's tokens are unknown or impossible, or its coins differ from before.
    pub fn next(
        &self,
        block: Block,
        tokens: Arc<Tokens>,
        changed: impl IntoIterator<Item = Pool>,
    ) -> Result<Self, MarketError> {
        let mut pools = self.pools.clone();
        let mut topology = Arc::clone(&self.topology);
        for pool in changed {
            let key = pool.key;
            match topology.by_key.get(&key).and_then(|id| pools.get_mut(PoolId(id).index())) {
                Some(slot) if slot.coins == pool.coins && slot.product == pool.product => *slot = Arc::new(pool),
                Some(_) => return Err(MarketError::CoinsChanged { pool: key }),
                None => {
                    check_coins(&tokens, &pool)?;
                    let id = u32::try_from(pools.len()).map(PoolId).map_err(|_| MarketError::TooManyPools)?;
                    Arc::make_mut(&mut topology).add(id, &pool);
                    pools.push(Arc::new(pool));
                }
            }
        }
        Ok(Self { block, tokens, pools, topology })
    }

    /// Returns this market without some pools. Ids of pools after a removed one move up.
    pub fn without(&self, removed: &[PoolKey]) -> Self {
        let removed: FxHashSet<&PoolKey> = removed.iter().collect();
        let keep = |pool: &&Arc<Pool>| !removed.contains(&pool.key);
        self.of(self.pools.iter().filter(keep).map(Arc::clone).collect())
    }

    /// Returns the market of these of its pools.
    pub(crate) fn of(&self, pools: Vec<Arc<Pool>>) -> Self {
        let mut topology = Topology::default();
        for (pool, id) in pools.iter().zip(0u32..) {
            topology.add(PoolId(id), pool);
        }
        Self { block: self.block, tokens: Arc::clone(&self.tokens), pools, topology: Arc::new(topology) }
    }

    /// Returns the difference from an older market to this one. Shared pools are recognised by their address in memory,
    /// so the cost is one comparison per pool. A pool that changed and changed back counts as changed.
    pub fn changes_since(&self, older: &Self) -> Changes {
        let mut changes = Changes::default();
        if self.shares_topology_with(older) {
            let pairs = self.pools.iter().zip(&older.pools);
            changes.changed =
                pairs.filter(|(new, old)| !Arc::ptr_eq(new, old)).map(|(new, _)| Arc::clone(new)).collect();
            return changes;
        }
        // most pools keep their position; only the others are looked up
        let is_at = |market: &Self, place: usize, pool: &Arc<Pool>| {
            market.pools.get(place).is_some_and(|other| Arc::ptr_eq(other, pool))
        };
        let kept = |(place, pool): &(usize, &Arc<Pool>)| {
            let elsewhere = || older.pool_id(pool.key).is_some_and(|id| is_at(older, id.index(), pool));
            is_at(older, *place, pool) || elsewhere()
        };
        let changed = self.pools.iter().enumerate().filter(|pool| !kept(pool));
        changes.changed = changed.map(|(_, pool)| Arc::clone(pool)).collect();
        let is_there =
            |(place, pool): &(usize, &Arc<Pool>)| is_at(self, *place, pool) || self.pool_id(pool.key).is_some();
        let gone = older.pools.iter().enumerate().filter(|pool| !is_there(pool));
        changes.removed = gone.map(|(_, pool)| pool.key).collect();
        changes
    }

    /// Returns the same market with ids in the order of keys, and without tokens that no pool holds. Two markets with
    /// the same content then give the same bytes, in whatever order they were discovered.
    pub fn canonical(&self) -> Self {
        let mut held: Vec<(&Token, TokenId)> = self
            .tokens
            .iter()
            .filter(|(id, _)| !self.pools_of(*id).is_empty())
            .map(|(id, token)| (token, id))
            .collect();
        held.sort_unstable_by_key(|(token, _)| token.address);
        let mut tokens = Tokens::new();
        let ids: FxHashMap<TokenId, TokenId> =
            held.into_iter().map(|(token, id)| (id, tokens.insert(token.clone()))).collect();
        let mut pools = self.pools.clone();
        pools.sort_unstable_by_key(|pool| pool.key);
        let mut topology = Topology::default();
        for (pool, id) in pools.iter_mut().zip(0u32..) {
            let coins = pool.coins.iter().map(|coin| ids.get(coin).copied().unwrap_or(*coin)).collect();
            if coins != pool.coins {
                Arc::make_mut(pool).coins = coins;
            }
            topology.add(PoolId(id), pool);
        }
        Self { block: self.block, tokens: Arc::new(tokens), pools, topology: Arc::new(topology) }
    }

    /// Tells whether ids mean the same pools and coins in both markets, because neither gained nor lost a pool since
    /// they diverged. Data that depends only on the graph can then be reused.
    pub fn shares_topology_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.topology, &other.topology)
    }

    /// Returns the block at which all states were read.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Returns the token table.
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// Returns every pool, in the order of ids.
    pub fn pools(&self) -> &[Arc<Pool>] {
        &self.pools
    }

    /// Returns the pool with an id.
    pub fn pool(&self, id: PoolId) -> Option<&Pool> {
        self.pools.get(id.index()).map(Arc::as_ref)
    }

    /// Returns the id of the pool with a key. An address is the key of a contract that is one pool.
    pub fn pool_id(&self, key: impl Into<PoolKey>) -> Option<PoolId> {
        self.topology.by_key.get(&key.into()).map(PoolId)
    }

    /// Returns the pools whose product does not [stand alone](braid_protocols::Protocol::stands_alone), in the order of
    /// ids.
    pub fn dependent_pools(&self) -> impl Iterator<Item = (PoolId, &Pool)> {
        self.topology.dependent.iter().filter_map(|id| Some((*id, self.pool(*id)?)))
    }

    /// Returns the pools whose product [keeps the worth of shares](braid_protocols::Product::keeps_shares) that a token
    /// counts in, in the order of ids.
    pub fn share_keepers(&self) -> impl Iterator<Item = (PoolId, &Pool)> {
        self.topology.share_keepers.iter().filter_map(|id| Some((*id, self.pool(*id)?)))
    }

    /// Returns the pools that hold a token, in the order of ids.
    pub fn pools_of(&self, token: TokenId) -> &[PoolId] {
        self.topology.by_token.get(token.index()).map_or(&[], Vec::as_slice)
    }

    /// Returns the tokens that pools hold, those with most pools first. Sorted once, until a pool is added or removed.
    pub fn most_pools_first(&self) -> &[TokenId] {
        self.topology.most_pools_first.get_or_init(|| {
            let pools = |token: &TokenId| self.pools_of(*token).len();
            let ids = (0u32..).map(TokenId).take(self.topology.by_token.len());
            let mut tokens: Vec<TokenId> = ids.filter(|id| pools(id) > 0).collect();
            tokens.sort_by_key(|id| (Reverse(pools(id)), *id));
            tokens
        })
    }
}

fn check_coins(tokens: &Tokens, pool: &Pool) -> Result<(), MarketError> {
    if pool.coins.iter().any(|coin| tokens.get(*coin).is_none()) {
        return Err(MarketError::UnknownToken { pool: pool.key });
    }
    let repeated = |(index, coin)| pool.coins.iter().skip(index + 1).any(|other| other == coin);
    if pool.coins.len() < 2 || pool.coins.iter().enumerate().any(repeated) {
        return Err(MarketError::ImpossibleCoins { pool: pool.key });
    }
    Ok(())
}

impl Topology {
    fn add(&mut self, id: PoolId, pool: &Pool) {
        self.most_pools_first.take();
        self.by_key.insert(pool.key, id.0);
        if !pool.product.stands_alone() {
            self.dependent.push(id);
        }
        if pool.product.keeps_shares() {
            self.share_keepers.push(id);
        }
        for coin in &pool.coins {
            while self.by_token.len() <= coin.index() {
                self.by_token.push(Vec::new());
            }
            if let Some(pools) = self.by_token.get_mut(coin.index()) {
                pools.push(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::{Address, B256};
    use braid_protocols::{PoolState, Product};

    use super::*;
    use crate::testing::{block, pool, tokens_of};

    fn tokens(count: u8) -> Arc<Tokens> {
        tokens_of(1..=count)
    }

    #[test]
    fn the_next_market_shares_what_did_not_change() {
        let tokens = tokens(2);
        let first = Market::new(block(1), Arc::clone(&tokens), [pool(1, [1, 2], 10), pool(2, [2, 3], 10)]).unwrap();
        let second = first.next(block(2), tokens, [pool(2, [2, 3], 11)]).unwrap();
        assert!(Arc::ptr_eq(&first.pools()[0], &second.pools()[0]));
        assert_eq!(first.pools()[1].state, pool(2, [2, 3], 10).state, "a market never changes");
        assert_eq!(second.pools()[1].state, pool(2, [2, 3], 11).state);
        assert!(second.shares_topology_with(&first));
    }

    #[test]
    fn a_new_pool_joins_the_graph_of_the_next_market_only() {
        let tokens = tokens(2);
        let first = Market::new(block(1), Arc::clone(&tokens), [pool(1, [1, 2], 10)]).unwrap();
        let second = first.next(block(2), tokens, [pool(2, [2, 3], 10)]).unwrap();
        assert_eq!(first.pools_of(TokenId(2)), [PoolId(0)]);
        assert_eq!(second.pools_of(TokenId(2)), [PoolId(0), PoolId(1)]);
        assert_eq!(first.most_pools_first(), [1, 2].map(TokenId));
        assert_eq!(second.most_pools_first(), [2, 1, 3].map(TokenId));
        assert_eq!(second.pool_id(Address::repeat_byte(2)), Some(PoolId(1)));
        assert!(!second.shares_topology_with(&first));
    }

    #[test]
    fn a_removed_pool_leaves_no_trace_in_the_graph() {
        let tokens = tokens(2);
        let pools = [pool(1, [1, 2], 10), pool(2, [2, 3], 10), pool(3, [1, 3], 10)];
        let market = Market::new(block(1), tokens, pools).unwrap().without(&[Address::repeat_byte(1).into()]);
        assert_eq!(market.pool_id(Address::repeat_byte(1)), None);
        assert_eq!(market.pools_of(TokenId(1)), [PoolId(1)]);
        assert_eq!(market.pool(PoolId(1)).unwrap().key.contract, Address::repeat_byte(3));
    }

    #[test]
    fn the_changes_between_two_markets_are_what_was_written_and_what_is_gone() {
        let tokens = tokens(2);
        let pools = [pool(1, [1, 2], 10), pool(2, [2, 3], 10), pool(3, [1, 3], 10)];
        let first = Market::new(block(1), Arc::clone(&tokens), pools).unwrap();
        let second = first.next(block(2), Arc::clone(&tokens), [pool(3, [1, 3], 11)]).unwrap();
        let names = |changes: &Changes| changes.changed.iter().map(|pool| pool.key.contract).collect::<Vec<_>>();
        assert_eq!(second.changes_since(&second.clone()), Changes::default());
        assert_eq!(names(&second.changes_since(&first)), [Address::repeat_byte(3)]);
        let third =
            second.without(&[Address::repeat_byte(1).into()]).next(block(3), tokens, [pool(4, [1, 2], 1)]).unwrap();
        let changes = third.changes_since(&first);
        assert_eq!(names(&changes), [Address::repeat_byte(3), Address::repeat_byte(4)]);
        assert_eq!(changes.removed, [Address::repeat_byte(1).into()]);
        let more = first.next(block(2), Arc::clone(first.tokens()), [pool(4, [1, 2], 1)]).unwrap();
        assert_eq!(names(&more.changes_since(&first)), [Address::repeat_byte(4)], "the others are where they were");
        assert_eq!(first.changes_since(&more).removed, [Address::repeat_byte(4).into()]);
    }

    #[test]
    fn pools_that_do_not_stand_alone_are_listed() {
        let weth = Pool {
            key: Address::repeat_byte(9).into(),
            product: Product::WrappedEther,
            state: PoolState::WrappedEther(braid_protocols::wrapped_ether::State),
            ..pool(9, [0, 1], 1)
        };
        let market = Market::new(block(1), tokens(2), [pool(1, [1, 2], 10), weth, pool(2, [2, 3], 10)]).unwrap();
        let listed = |market: &Market| market.dependent_pools().map(|(id, pool)| (id, pool.key)).collect::<Vec<_>>();
        assert_eq!(listed(&market), [(PoolId(1), Address::repeat_byte(9).into())]);
        let without = market.without(&[Address::repeat_byte(1).into()]);
        assert_eq!(listed(&without), [(PoolId(0), Address::repeat_byte(9).into())]);
    }

    #[test]
    fn pools_that_share_a_contract_are_told_apart_by_their_ids() {
        let contract = Address::repeat_byte(7);
        let key = |id| PoolKey::with_id(contract, B256::with_last_byte(id));
        let of_id = |id, reserve| Pool { key: key(id), ..pool(7, [1, 2], reserve) };
        let tokens = tokens(1);
        let first = Market::new(block(1), Arc::clone(&tokens), [of_id(2, 10), of_id(1, 10)]).unwrap();
        assert_eq!([key(2), key(1)].map(|key| first.pool_id(key)), [0, 1].map(|id| Some(PoolId(id))));
        assert_eq!(first.pool_id(contract), None, "the contract itself is no pool");
        assert_eq!(first.canonical().pools()[0].key, key(1));

        let second = first.next(block(2), Arc::clone(&tokens), [of_id(1, 11)]).unwrap();
        let changes = second.changes_since(&first);
        assert_eq!(changes, Changes { changed: vec![Arc::new(of_id(1, 11))], removed: vec![] });
        let third = second.without(&[key(1)]).next(block(3), tokens, [pool(7, [1, 2], 1)]).unwrap();
        assert_eq!(third.pools().iter().map(|pool| pool.key).collect::<Vec<_>>(), [key(2), contract.into()]);
        let changes = third.changes_since(&second);
        assert_eq!(changes, Changes { changed: vec![Arc::new(pool(7, [1, 2], 1))], removed: vec![key(1)] });
        assert_eq!(Market::from_bytes(&third.to_bytes().unwrap()).unwrap().pools(), third.pools());
    }

    #[test]
    fn the_order_of_learning_leaves_no_trace_in_the_canonical_market() {
        let mut other = Tokens::new();
        for byte in [9, 2, 1] {
            let address = Address::with_last_byte(byte);
            other.insert(Token { address, symbol: format!("T{byte}"), name: String::new(), decimals: 18 });
        }
        // The same pools over tokens 1 and 2, which have ids 2 and 3 in the first market, and 4 and 3 in the second.
        let one = Market::new(block(1), tokens(2), [pool(1, [2, 3], 10), pool(2, [1, 2], 10)]).unwrap();
        let two = Market::new(block(1), Arc::new(other), [pool(2, [1, 4], 10), pool(1, [4, 3], 10)]).unwrap();
        assert_ne!(one.to_bytes().unwrap(), two.to_bytes().unwrap());
        assert_eq!(one.canonical().to_bytes().unwrap(), two.canonical().to_bytes().unwrap());
        assert_eq!(one.digest(), two.digest());
        assert_ne!(one.order_digest(), two.order_digest());
        assert_eq!(one.canonical().order_digest(), two.canonical().order_digest());
        let changed = one.next(block(1), Arc::clone(one.tokens()), [pool(2, [1, 2], 11)]).unwrap();
        assert_ne!(changed.digest(), one.digest());
        assert_ne!(changed.next(block(2), Arc::clone(one.tokens()), []).unwrap().digest(), changed.digest());
    }

    #[test]
    fn some_of_a_markets_pools_are_a_market() {
        let market = Market::new(block(1), tokens(2), [pool(2, [2, 3], 10), pool(1, [1, 2], 10)]).unwrap();
        let some = market.only([PoolId(0), PoolId(0)]);
        assert_eq!(some.pools().iter().map(|pool| pool.key).collect::<Vec<_>>(), [market.pools()[0].key]);
        assert_eq!((some.tokens().len(), some.block()), (4, market.block()));
        assert_eq!(market.only([PoolId(0), PoolId(1)]).digest(), market.digest());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let tokens = tokens(1);
        let market = Market::new(block(1), Arc::clone(&tokens), [pool(1, [1, 2], 10)]).unwrap();
        let next = |pool| market.next(block(2), Arc::clone(&tokens), [pool]).unwrap_err();
        let [one, two] = [1, 2].map(|byte| Address::repeat_byte(byte).into());
        assert_eq!(next(pool(2, [1, 9], 10)), MarketError::UnknownToken { pool: two });
        assert_eq!(next(pool(2, [1, 1], 10)), MarketError::ImpossibleCoins { pool: two });
        assert_eq!(next(pool(1, [2, 1], 10)), MarketError::CoinsChanged { pool: one });
    }
}
