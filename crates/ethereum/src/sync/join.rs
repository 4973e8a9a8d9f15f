//! Reads pools for a market: states first, then the tokens of the pools that these states do not exclude, all at one
//! block.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, NATIVE_ETHER, PoolKey, Token, TokenId, is_native_ether};
use braid_protocols::{DecodeError, Discovered, Pool, pool::MAX_COINS};
use braid_store::market::{Exclusion, ExclusionKind};

use super::{advance::polled, grow::address, synchronizer::Synchronizer};
use crate::{
    FollowError,
    metadata::read_tokens,
    proof::{Proof, announced_in, by_factories},
    rules::denied,
    state::{Base, CallsLeft, Unread, read_states},
};

/// Pools of a market that a block may make unreadable without a warning.
const FEW_UNREAD: usize = 3;

/// Pools that were read at one block, and pools that are excluded.
pub(super) struct Joined {
    tokens: Arc<Tokens>,
    pools: Vec<Pool>,
    /// Pools excluded by the rules, or because of a token.
    refused: Vec<(PoolKey, Exclusion)>,
    /// Pools whose answers could not be decoded.
    unread: Vec<(PoolKey, DecodeError)>,
    /// Pools that take more calls than are left for a block.
    postponed: Vec<PoolKey>,
}

impl Joined {
    /// Returns the pools that the market will not have.
    fn excluded(&self) -> impl Iterator<Item = PoolKey> + '_ {
        self.refused.iter().map(|(pool, _)| *pool).chain(self.unread.iter().map(|(pool, _)| *pool))
    }
}

impl Synchronizer {
    /// Reads pools as [`Self::join`] does, after a market: a pool of it that would be excluded is read once more. A
    /// node that makes its next block may mix the states of two blocks, which then contradict each other.
    pub(super) async fn join_with_retry(
        &mut self,
        keys: &BTreeSet<PoolKey>,
        market: &Market,
        base: Option<Base<'_>>,
        left: Option<&CallsLeft>,
        block_hash: B256,
    ) -> Result<Joined, FollowError> {
        let mut joined = self.join(keys, market.tokens(), base, left, block_hash).await?;
        let lost: BTreeSet<PoolKey> = joined.excluded().filter(|pool| market.pool_id(*pool).is_some()).collect();
        if !lost.is_empty() {
            let again = self.join(&lost, &joined.tokens, None, left, block_hash).await?;
            joined.refused.retain(|(pool, _)| !lost.contains(pool));
            joined.unread.retain(|(pool, _)| !lost.contains(pool));
            joined.refused.extend(again.refused);
            joined.unread.extend(again.unread);
            joined.pools.extend(again.pools);
            joined.postponed.extend(again.postponed);
            joined.tokens = again.tokens;
        }
        Ok(joined)
    }

    /// Reads known pools at a block. `base` holds their earlier states, if there are any; `left` bounds their calls: pools
    /// that were announced earlier take theirs first.
    pub(super) async fn join(
        &mut self,
        keys: &BTreeSet<PoolKey>,
        tokens: &Arc<Tokens>,
        base: Option<Base<'_>>,
        left: Option<&CallsLeft>,
        block_hash: B256,
    ) -> Result<Joined, FollowError> {
        let mut unconfirmed = self.prove(keys, block_hash).await?;
        self.name_coins(keys, block_hash).await?;
        let mut joined =
            Joined { tokens: Arc::clone(tokens), pools: vec![], refused: vec![], unread: vec![], postponed: vec![] };
        let mut wanted: Vec<Discovered> = Vec::with_capacity(keys.len());
        for key in keys {
            let excluded = match self.known.get(*key) {
                Some(pool) => unconfirmed
                    .remove(key)
                    .or_else(|| self.config.rules.refuse(pool))
                    .or_else(|| Some(of_pool(invalid_coins(pool)?))),
                None => Some(of_pool("it was never announced".into())),
            };
            match excluded {
                Some(exclusion) => joined.refused.push((*key, exclusion)),
                None => wanted.extend(self.known.get(*key).cloned()),
            }
        }
        wanted.sort_by_key(|pool| left.and_then(|_| self.known.announced_at(pool.key)));
        let states = read_states(&self.node, block_hash, &wanted, base, left).await?;
        let mut read: Vec<_> = wanted.into_iter().zip(states).collect();
        read.sort_by_key(|(pool, _)| pool.key);
        let mut held = Vec::with_capacity(read.len());
        for (pool, state) in read {
            match state {
                // A pool whose announcement stands for several products shows its product only now.
                Ok((_, product)) if !self.catalog.follows(product) => joined.refused.push((pool.key, denied(product))),
                Ok((state, product)) => match self.config.rules.refuse_state(&pool, &state) {
                    Some(exclusion) => joined.refused.push((pool.key, exclusion)),
                    None => held.push((pool, state, product)),
                },
                Err(Unread::Undecoded(error)) => joined.unread.push((pool.key, error)),
                Err(Unread::Postponed) => joined.postponed.push(pool.key),
            }
        }
        // Most announced pools hold next to nothing and are excluded: their tokens are not read.
        let coins = held.iter().flat_map(|(pool, ..)| &pool.coins).filter(|coin| joined.tokens.id(**coin).is_none());
        let unknown: Vec<Address> = coins.copied().collect::<BTreeSet<_>>().into_iter().collect();
        let read = read_tokens(&self.node, block_hash, &unknown).await?.into_iter().flatten();
        let read: BTreeMap<Address, Token> = read.map(|token| (token.address, token)).collect();
        for (pool, state, product) in held {
            match coins_of(&pool, &mut joined.tokens, &read) {
                Ok(coins) => {
                    let coins = coins.into_iter().collect();
                    joined.pools.push(Pool { key: pool.key, product, coins, state });
                }
                Err(exclusion) => joined.refused.push((pool.key, exclusion)),
            }
        }
        Ok(joined)
    }

    /// Asks the chain to confirm pools that only a snapshot contains; returns those that it does not confirm.
    async fn prove(
        &mut self,
        keys: &BTreeSet<PoolKey>,
        block_hash: B256,
    ) -> Result<BTreeMap<PoolKey, Exclusion>, FollowError> {
        let unproven = |key: &PoolKey| Some((self.known.get(*key)?.clone(), self.known.unproven_since(*key)?));
        let unproven: Vec<(Discovered, u64)> = keys.iter().filter_map(unproven).collect();
        let mut unconfirmed = BTreeMap::new();
        if unproven.is_empty() {
            return Ok(unconfirmed);
        }
        let refuted = || of_pool("the chain does not confirm what the snapshot says of it".into());
        let unread =
            || of_reading("no node has the logs of the block in which the snapshot says it was announced".into());
        let pools: Vec<&Discovered> = unproven.iter().map(|(pool, _)| pool).collect();
        let proofs = by_factories(&self.node, block_hash, &pools).await?;
        let mut unasked = Vec::new();
        for ((pool, announced_at), proof) in unproven.into_iter().zip(proofs) {
            match proof {
                Proof::Refuted => {
                    unconfirmed.insert(pool.key, refuted());
                }
                // Without confirmations, the announcement is looked up. A factory that is not there cannot refute the
                // pool: a sample of announcements was looked up when the snapshot was checked.
                Proof::None if pool.product.confirmations(&pool).is_empty() => unasked.push((pool.key, announced_at)),
                Proof::None | Proof::Given => self.known.prove(pool),
            }
        }
        let heights: BTreeSet<u64> = unasked.iter().map(|(_, announced_at)| *announced_at).collect();
        let announced = announced_in(&self.node, &self.catalog, heights).await?;
        for (key, announced_at) in unasked {
            match announced.get(&announced_at).and_then(Option::as_ref) {
                None => drop(unconfirmed.insert(key, unread())),
                Some(pools) => match pools.iter().find(|pool| pool.key == key) {
                    Some(pool) => self.known.prove(pool.clone()),
                    None => drop(unconfirmed.insert(key, refuted())),
                },
            }
        }
        if !unconfirmed.is_empty() {
            let pools = unconfirmed.len();
            tracing::warn!(pools, "pools of the snapshot are excluded: the chain does not confirm them");
        }
        Ok(unconfirmed)
    }

    /// Asks for coins that the announcements of these pools do not name. Without an answer the pool keeps too few
    /// coins, and is excluded.
    async fn name_coins(&mut self, keys: &BTreeSet<PoolKey>, block_hash: B256) -> Result<(), FollowError> {
        let unnamed = |key: &PoolKey| {
            let pool = self.known.get(*key)?;
            Some((*key, pool.product.unnamed_coin(pool)?))
        };
        let (pools, calls): (Vec<PoolKey>, Vec<_>) = keys.iter().filter_map(unnamed).unzip();
        if pools.is_empty() {
            return Ok(());
        }
        let answers = self.node.read(block_hash, calls).await?;
        for (pool, answer) in pools.into_iter().zip(&answers) {
            if let Some(coin) = address(answer.as_ref()) {
                self.known.name_coin(pool, coin);
            }
        }
        Ok(())
    }

    /// Builds the market of a block: `base` with some pools changed and others read, without excluded pools. A pool
    /// that could not be read and was not excluded before waits to be read once more, since a node that makes blocks
    /// may mix the states of two.
    pub(super) fn build_market(
        &mut self,
        base: &Market,
        block: Block,
        changed: Vec<Pool>,
        joined: Joined,
    ) -> Result<Arc<Market>, FollowError> {
        let mut dropped: Vec<PoolKey> = joined.excluded().filter(|pool| base.pool_id(*pool).is_some()).collect();
        let mut unread = joined.unread.iter().filter(|(pool, _)| dropped.contains(pool)).peekable();
        if let Some((_, error)) = unread.peek().copied() {
            let (number, pools) = (block.number, unread.count());
            if pools > FEW_UNREAD {
                tracing::warn!(number, pools, %error, "many pools could not be read at once: they leave the market, and are read again later");
            }
        }
        dropped.extend(replaced(base, &joined.pools));
        dropped.extend(joined.postponed.iter().filter(|pool| base.pool_id(**pool).is_some()));
        let trimmed = if dropped.is_empty() { None } else { Some(base.without(&dropped)) };
        let changed = changed.into_iter().filter(|pool| !dropped.contains(&pool.key));
        let read: Vec<PoolKey> = joined.pools.iter().map(|pool| pool.key).collect();
        let pools = changed.chain(joined.pools);
        let market = trimmed.as_ref().unwrap_or(base).next(block, joined.tokens, pools)?;
        for pool in read {
            self.known.include(pool);
            self.pending.remove(&pool);
            if base.pool_id(pool).is_none() {
                self.report_named(pool, None);
            }
        }
        for (pool, exclusion) in joined.refused {
            self.pending.remove(&pool);
            self.exclude(pool, exclusion);
        }
        self.postpone(joined.postponed, base, block.number);
        for (pool, error) in joined.unread {
            if self.known.is_excluded(pool) {
                self.pending.remove(&pool);
            } else {
                self.pending.insert(pool);
            }
            self.exclude(pool, of_reading(error.to_string()));
        }
        Ok(Arc::new(market))
    }

    /// Makes pools wait that take more calls than are left for a block: between blocks they may take any number. Those of
    /// the market before a block that take so many at each are excluded, and read again like others that were not read.
    fn postpone(&mut self, postponed: Vec<PoolKey>, before: &Market, number: u64) {
        if postponed.is_empty() {
            return;
        }
        let each_block: BTreeSet<PoolKey> = polled(before).collect();
        let (excluded, waiting): (Vec<PoolKey>, Vec<PoolKey>) =
            postponed.into_iter().partition(|pool| each_block.contains(pool));
        self.pending.extend(waiting);
        if let Some(example) = excluded.first() {
            let pools = excluded.len();
            tracing::warn!(number, pools, %example, "pools take more calls than there are for a block: they leave the market, and are read again later");
        }
        for pool in excluded {
            self.pending.remove(&pool);
            self.exclude(pool, of_reading("reading it takes more calls than there are for a block".into()));
        }
    }

    /// Adds pools that were excluded because they could not be read to those that wait to be read: the node may have
    /// been at fault.
    pub(super) fn await_unread(&mut self) {
        self.pending.extend(self.known.unread());
    }

    /// Adds known pools that a market lacks to those that wait to be read.
    pub(super) fn await_missing(&mut self, market: &Market) {
        self.pending.retain(|pool| self.known.get(*pool).is_some());
        self.pending.extend(self.known.missing_from(market));
    }
}

/// Returns the pools of a market that were read as pools of another product or of other coins: a market does not change
/// them, so they leave it before they are added again.
fn replaced(base: &Market, read: &[Pool]) -> impl Iterator<Item = PoolKey> {
    let was = |pool: &Pool| base.pool(base.pool_id(pool.key)?);
    let is_other =
        move |pool: &&Pool| was(pool).is_some_and(|was| (was.product, &was.coins) != (pool.product, &pool.coins));
    read.iter().filter(is_other).map(|pool| pool.key)
}

/// Returns the exclusion of a pool for a property that does not change.
const fn of_pool(reason: String) -> Exclusion {
    Exclusion { kind: ExclusionKind::Pool, reason }
}

/// Returns the exclusion of a pool that could not be read.
const fn of_reading(reason: String) -> Exclusion {
    Exclusion { kind: ExclusionKind::Unread, reason }
}

/// Returns why the announced coins of a pool are invalid.
fn invalid_coins(pool: &Discovered) -> Option<String> {
    if pool.coins.len() > MAX_COINS {
        return Some(format!("it has {} coins", pool.coins.len()));
    }
    if let Some(coin) = pool.product.refused_share_token(&pool.coins) {
        return Some(format!("transfers of {coin} may deliver less than their amount, which the pool refuses"));
    }
    let name = |coin: &Address| if is_native_ether(*coin) { NATIVE_ETHER } else { *coin };
    let distinct = pool.coins.iter().map(name).collect::<BTreeSet<_>>().len();
    (distinct < 2 || distinct != pool.coins.len()).then(|| "its coins are not two or more different tokens".into())
}

/// Returns the coins of a pool; adds those that the table lacks, if all of them were read.
fn coins_of(
    pool: &Discovered,
    tokens: &mut Arc<Tokens>,
    read: &BTreeMap<Address, Token>,
) -> Result<Vec<TokenId>, Exclusion> {
    let missing = |coin: &&Address| tokens.id(**coin).is_none();
    let new: Vec<Address> = pool.coins.iter().filter(missing).copied().collect();
    if let Some(coin) = new.iter().find(|coin| !read.contains_key(*coin)) {
        return Err(of_reading(format!("token {coin} has no usable decimals")));
    }
    if !new.is_empty() {
        let table = Arc::make_mut(tokens);
        new.iter().filter_map(|coin| read.get(coin)).for_each(|token| {
            table.insert(token.clone());
        });
    }
    Ok(pool.coins.iter().filter_map(|coin| tokens.id(*coin)).collect())
}

#[cfg(test)]
mod tests {
    use braid_protocols::{PoolState, Product, uniswap_v2};

    use super::*;
    use crate::testing::block;

    /// A pool that was read as another product made every block fail for ever.
    #[test]
    fn a_pool_of_another_product_takes_the_place_of_the_one_before() {
        let pool = |byte: u8, product| Pool {
            key: Address::repeat_byte(byte).into(),
            product,
            coins: [Tokens::ETHER, Tokens::WETH].into_iter().collect(),
            state: PoolState::UniswapV2(uniswap_v2::State { reserve0: 1, reserve1: 1, fee_bps: 30 }),
        };
        let pools = [pool(1, Product::UniswapV2), pool(2, Product::UniswapV2)];
        let base = Market::new(block(1), Arc::default(), pools.clone()).unwrap();
        let read = [pools[0].clone(), pool(2, Product::SushiswapV2), pool(3, Product::UniswapV2)];
        assert!(base.next(block(2), Arc::default(), read.clone()).is_err());
        let gone: Vec<PoolKey> = replaced(&base, &read).collect();
        assert_eq!(gone, [read[1].key]);
        let next = base.without(&gone).next(block(2), Arc::default(), read).unwrap();
        assert_eq!(next.pools().len(), 3);
    }
}
