//! Reads pools into a market: tokens first, then states, all at one block.

use std::{collections::BTreeSet, sync::Arc};

use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, PoolKey, TokenId};
use braid_protocols::{DecodeError, Discovered, Pool};

use super::{grow::address, synchronizer::Synchronizer};
use crate::{
    FollowError,
    metadata::read_tokens,
    rules::denied,
    state::{Base, read_states},
};

/// Pools read at one block, and those that could not be.
pub(super) struct Joined {
    tokens: Arc<Tokens>,
    pools: Vec<Pool>,
    /// Pools that nobody wants, or whose tokens are none.
    refused: Vec<(PoolKey, String)>,
    /// Pools of whose answers nothing could be made.
    unread: Vec<(PoolKey, DecodeError)>,
}

impl Joined {
    fn left_out(&self) -> impl Iterator<Item = PoolKey> + '_ {
        self.refused.iter().map(|(pool, _)| *pool).chain(self.unread.iter().map(|(pool, _)| *pool))
    }
}

impl Synchronizer {
    /// As [`Self::join`], for what comes after a market: a pool of it that is refused is read once more before it is left out. A
    /// node that makes its next block may mix what it says of two, which then does not fit together (see `doubt`).
    pub(super) async fn join_surely(
        &mut self,
        keys: &BTreeSet<PoolKey>,
        market: &Market,
        base: Option<Base<'_>>,
        block_hash: B256,
    ) -> Result<Joined, FollowError> {
        let mut joined = self.join(keys, market.tokens(), base, block_hash).await?;
        let lost: BTreeSet<PoolKey> = joined.left_out().filter(|pool| market.pool_id(*pool).is_some()).collect();
        if !lost.is_empty() {
            let again = self.join(&lost, &joined.tokens, None, block_hash).await?;
            joined.refused.retain(|(pool, _)| !lost.contains(pool));
            joined.unread.retain(|(pool, _)| !lost.contains(pool));
            joined.refused.extend(again.refused);
            joined.unread.extend(again.unread);
            joined.pools.extend(again.pools);
            joined.tokens = again.tokens;
        }
        Ok(joined)
    }

    /// Reads known pools at a block. The answers of the node decide which of them make it. `base` is what is known of
    /// them, if there is anything.
    pub(super) async fn join(
        &mut self,
        keys: &BTreeSet<PoolKey>,
        tokens: &Arc<Tokens>,
        base: Option<Base<'_>>,
        block_hash: B256,
    ) -> Result<Joined, FollowError> {
        self.name_coins(keys, block_hash).await?;
        let mut joined = Joined { tokens: Arc::clone(tokens), pools: vec![], refused: vec![], unread: vec![] };
        let mut wanted: Vec<&Discovered> = Vec::with_capacity(keys.len());
        for key in keys {
            match self.known.get(*key) {
                Some(pool) => match self.config.rules.refuse(pool) {
                    Some(reason) => joined.refused.push((*key, reason.into())),
                    None => wanted.push(pool),
                },
                None => joined.refused.push((*key, "it was never announced".into())),
            }
        }
        self.learn_tokens(&wanted, &mut joined.tokens, block_hash).await?;
        let mut ready = Vec::with_capacity(wanted.len());
        for pool in wanted {
            match coins(pool, &joined.tokens) {
                Ok(coins) => ready.push((pool.clone(), coins)),
                Err(reason) => joined.refused.push((pool.key, reason)),
            }
        }
        let (pools, coins): (Vec<Discovered>, Vec<Vec<TokenId>>) = ready.into_iter().unzip();
        let states = read_states(&self.node, block_hash, &pools, base).await?;
        for ((pool, coins), state) in pools.into_iter().zip(coins).zip(states) {
            match state {
                // what shares its announcement with others shows only now what it is
                Ok((_, product)) if !self.catalog.follows(product) => {
                    joined.refused.push((pool.key, denied(product)));
                }
                Ok((state, product)) => match self.config.rules.refuse_state(&pool, &state) {
                    Some(reason) => joined.refused.push((pool.key, reason.into())),
                    None => {
                        let coins = coins.into_iter().collect();
                        joined.pools.push(Pool { key: pool.key, product, coins, state });
                    }
                },
                Err(error) => joined.unread.push((pool.key, error)),
            }
        }
        Ok(joined)
    }

    /// Asks for the coins that announcements of these pools do not name. Where nothing comes back that is a token, the pool stays as
    /// it was announced, too few coins for a pool.
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

    /// Adds the metadata of tokens that the table lacks.
    async fn learn_tokens(
        &self,
        pools: &[&Discovered],
        tokens: &mut Arc<Tokens>,
        block_hash: B256,
    ) -> Result<(), FollowError> {
        let mut seen = BTreeSet::new();
        let coins = pools.iter().flat_map(|pool| pool.coins.iter().copied());
        let unknown: Vec<Address> =
            coins.filter(|coin| tokens.id(*coin).is_none()).filter(|coin| seen.insert(*coin)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let read = read_tokens(&self.node, block_hash, &unknown).await?;
        let table = Arc::make_mut(tokens);
        for token in read.into_iter().flatten() {
            table.insert(token);
        }
        Ok(())
    }

    /// The market of a block: `base` with some pools changed and others read, without those that could not be read. A node that makes
    /// blocks may mix what it says of two: a pool that could not be read and was not left out before is read once more behind this market.
    pub(super) fn settle(
        &mut self,
        base: &Market,
        block: Block,
        changed: Vec<Pool>,
        joined: Joined,
    ) -> Result<Arc<Market>, FollowError> {
        let dropped: Vec<PoolKey> = joined.left_out().filter(|pool| base.pool_id(*pool).is_some()).collect();
        let trimmed = if dropped.is_empty() { None } else { Some(base.without(&dropped)) };
        let changed = changed.into_iter().filter(|pool| !dropped.contains(&pool.key));
        let read: Vec<PoolKey> = joined.pools.iter().map(|pool| pool.key).collect();
        let pools = changed.chain(joined.pools);
        let market = trimmed.as_ref().unwrap_or(base).next(block, joined.tokens, pools)?;
        for pool in read {
            self.known.take_in(pool);
            self.pending.remove(&pool);
            if base.pool_id(pool).is_none() {
                self.tell_of_named(pool, None);
            }
        }
        for (pool, reason) in joined.refused {
            self.pending.remove(&pool);
            self.leave_out(pool, reason);
        }
        for (pool, error) in joined.unread {
            if self.known.is_left_out(pool) {
                self.pending.remove(&pool);
            } else {
                self.pending.insert(pool);
            }
            self.leave_out(pool, error.to_string());
        }
        Ok(Arc::new(market))
    }

    /// What is known and should be in a market waits to be read, beside what waits already.
    pub(super) fn await_missing(&mut self, market: &Market) {
        self.pending.retain(|pool| self.known.get(*pool).is_some());
        self.pending.extend(self.known.missing_from(market));
    }
}

fn coins(pool: &Discovered, tokens: &Tokens) -> Result<Vec<TokenId>, String> {
    if pool.coins.len() > braid_protocols::pool::MAX_COINS {
        return Err(format!("it has {} coins", pool.coins.len()));
    }
    let id = |coin: &Address| tokens.id(*coin).ok_or_else(|| format!("token {coin} has no usable decimals"));
    let coins: Vec<TokenId> = pool.coins.iter().map(id).collect::<Result<_, _>>()?;
    let distinct = coins.iter().collect::<BTreeSet<_>>().len();
    if distinct < 2 || distinct != coins.len() {
        return Err("its coins are not two or more different tokens".into());
    }
    Ok(coins)
}
