//! Reads pools into a market: states first, then the tokens of those that are wanted in these states, all at one block.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, NATIVE_ETHER, PoolKey, Token, TokenId, is_native_ether};
use braid_protocols::{DecodeError, Discovered, Pool, pool::MAX_COINS};

use super::{grow::address, synchronizer::Synchronizer};
use crate::{
    FollowError,
    metadata::read_tokens,
    proof::{Proof, announced_in, by_factories},
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
        let refuted = self.prove(keys, block_hash).await?;
        self.name_coins(keys, block_hash).await?;
        let mut joined = Joined { tokens: Arc::clone(tokens), pools: vec![], refused: vec![], unread: vec![] };
        let mut wanted: Vec<Discovered> = Vec::with_capacity(keys.len());
        for key in keys {
            let refused = match self.known.get(*key) {
                Some(_) if refuted.contains(key) => {
                    Some("the chain knows nothing of what the snapshot said of it".into())
                }
                Some(pool) => self.config.rules.refuse(pool).map(String::from).or_else(|| impossible(pool)),
                None => Some("it was never announced".into()),
            };
            match refused {
                Some(reason) => joined.refused.push((*key, reason)),
                None => wanted.extend(self.known.get(*key).cloned()),
            }
        }
        let states = read_states(&self.node, block_hash, &wanted, base).await?;
        let mut held = Vec::with_capacity(wanted.len());
        for (pool, state) in wanted.into_iter().zip(states) {
            match state {
                // what shares its announcement with others shows only now what it is
                Ok((_, product)) if !self.catalog.follows(product) => joined.refused.push((pool.key, denied(product))),
                Ok((state, product)) => match self.config.rules.refuse_state(&pool, &state) {
                    Some(reason) => joined.refused.push((pool.key, reason.into())),
                    None => held.push((pool, state, product)),
                },
                Err(error) => joined.unread.push((pool.key, error)),
            }
        }
        // most announced pools hold next to nothing: their tokens are not asked about, and are in no table
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
                Err(reason) => joined.refused.push((pool.key, reason)),
            }
        }
        Ok(joined)
    }

    /// Asks the chain about pools that only a snapshot told of; those of which it knows nothing.
    async fn prove(&mut self, keys: &BTreeSet<PoolKey>, block_hash: B256) -> Result<BTreeSet<PoolKey>, FollowError> {
        let supposed = |key: &PoolKey| Some((self.known.get(*key)?.clone(), self.known.supposed_at(*key)?));
        let supposed: Vec<(Discovered, u64)> = keys.iter().filter_map(supposed).collect();
        let mut refuted = BTreeSet::new();
        if supposed.is_empty() {
            return Ok(refuted);
        }
        let pools: Vec<&Discovered> = supposed.iter().map(|(pool, _)| pool).collect();
        let proofs = by_factories(&self.node, block_hash, &pools).await?;
        let mut unasked = Vec::new();
        for ((pool, announced_at), proof) in supposed.into_iter().zip(proofs) {
            match proof {
                Proof::Refuted => {
                    refuted.insert(pool.key);
                }
                // a factory that is not there: a sample of its announcements was looked up when the snapshot was taken
                Proof::None if pool.product.confirmations(&pool).is_empty() => unasked.push((pool.key, announced_at)),
                Proof::None | Proof::Given => self.known.prove(pool),
            }
        }
        let heights: BTreeSet<u64> = unasked.iter().map(|(_, announced_at)| *announced_at).collect();
        let announced = announced_in(&self.node, &self.catalog, heights).await?;
        for (key, announced_at) in unasked {
            let there = announced.get(&announced_at).and_then(Option::as_ref);
            match there.and_then(|pools| pools.iter().find(|pool| pool.key == key)) {
                Some(pool) => self.known.prove(pool.clone()),
                None => {
                    refuted.insert(key);
                }
            }
        }
        if !refuted.is_empty() {
            let pools = refuted.len();
            tracing::warn!(pools, "pools of the snapshot are excluded: the chain knows nothing of them");
        }
        Ok(refuted)
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

/// Why coins that a pool was announced with are none of a pool.
fn impossible(pool: &Discovered) -> Option<String> {
    if pool.coins.len() > MAX_COINS {
        return Some(format!("it has {} coins", pool.coins.len()));
    }
    let name = |coin: &Address| if is_native_ether(*coin) { NATIVE_ETHER } else { *coin };
    let distinct = pool.coins.iter().map(name).collect::<BTreeSet<_>>().len();
    (distinct < 2 || distinct != pool.coins.len()).then(|| "its coins are not two or more different tokens".into())
}

/// The coins of a pool; those that the table lacks join it, if all of them were read.
fn coins_of(
    pool: &Discovered,
    tokens: &mut Arc<Tokens>,
    read: &BTreeMap<Address, Token>,
) -> Result<Vec<TokenId>, String> {
    let missing = |coin: &&Address| tokens.id(**coin).is_none();
    let new: Vec<Address> = pool.coins.iter().filter(missing).copied().collect();
    if let Some(coin) = new.iter().find(|coin| !read.contains_key(*coin)) {
        return Err(format!("token {coin} has no usable decimals"));
    }
    if !new.is_empty() {
        let table = Arc::make_mut(tokens);
        new.iter().filter_map(|coin| read.get(coin)).for_each(|token| {
            table.insert(token.clone());
        });
    }
    Ok(pool.coins.iter().filter_map(|coin| tokens.id(*coin)).collect())
}
