//! Difference between two markets, from which the newer one can be rebuilt: pools, tokens and the order of both.

use std::sync::Arc;

use braid_primitives::{Block, PoolKey, Token};
use braid_protocols::Pool;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::file::check_states;
use crate::{FileError, Market, Tokens};

/// Difference between two markets. Unlike [`Changes`](crate::Changes) it also determines the order of ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// Block of the newer market.
    pub block: Block,
    /// Number of leading tokens of the older market that stay.
    pub tokens_kept: usize,
    /// Tokens after those.
    pub tokens: Vec<Token>,
    /// Pools removed from their position. A pool that is also in `changed` is added again at the end.
    pub removed: Vec<PoolKey>,
    /// Pools with a new state, followed by new pools in the order of their ids.
    pub changed: Vec<Arc<Pool>>,
}

impl Market {
    /// Returns the difference from an older market to this one. The older market may be of another branch of the chain.
    /// Shared pools are recognised by their address in memory.
    pub fn delta_since(&self, older: &Self) -> Delta {
        let (tokens_kept, tokens) = tokens_since(self.tokens(), older.tokens());
        let delta = Delta { block: *self.block(), tokens_kept, tokens, removed: Vec::new(), changed: Vec::new() };
        if self.shares_topology_with(older) {
            return Delta { changed: self.changes_since(older).changed, ..delta };
        }
        let (mut removed, mut changed) = (Vec::new(), Vec::new());
        let mut newer = self.pools().iter().peekable();
        for old in older.pools() {
            let takes_its_place =
                |new: &&Arc<Pool>| new.key == old.key && new.product == old.product && new.coins == old.coins;
            match newer.next_if(takes_its_place) {
                Some(new) if Arc::ptr_eq(new, old) => {}
                Some(new) => changed.push(Arc::clone(new)),
                None => removed.push(old.key),
            }
        }
        changed.extend(newer.map(Arc::clone));
        Delta { removed, changed, ..delta }
    }

    /// Applies a difference to this market.
    ///
    /// # Errors
    /// [`FileError`] if the difference starts from another market, or a state in it is impossible.
    pub fn after(&self, delta: Delta) -> Result<Self, FileError> {
        let Delta { block, tokens_kept, tokens, removed, changed } = delta;
        check_states(&changed)?;
        let tokens = tokens_after(self.tokens(), tokens_kept, tokens)?;
        let changed = changed.into_iter().map(Arc::unwrap_or_clone);
        if removed.is_empty() {
            return Ok(self.next(block, tokens, changed)?);
        }
        let removed: FxHashSet<PoolKey> = removed.into_iter().collect();
        let kept = self.pools().iter().filter(|pool| !removed.contains(&pool.key)).map(Arc::clone).collect();
        Ok(self.of(kept).next(block, tokens, changed)?)
    }
}

/// Returns the number of leading tokens that both tables share, and the newer one's tokens after them.
fn tokens_since(newer: &Arc<Tokens>, older: &Arc<Tokens>) -> (usize, Vec<Token>) {
    if Arc::ptr_eq(newer, older) {
        return (older.len(), Vec::new());
    }
    let kept = newer.iter().zip(older.iter()).take_while(|(new, old)| new == old).count();
    (kept, newer.iter().skip(kept).map(|(_, token)| token.clone()).collect())
}

fn tokens_after(tokens: &Arc<Tokens>, kept: usize, added: Vec<Token>) -> Result<Arc<Tokens>, FileError> {
    if kept == tokens.len() && added.is_empty() {
        return Ok(Arc::clone(tokens));
    }
    let mut table = if kept == tokens.len() {
        Tokens::clone(tokens)
    } else {
        let mut table = Tokens::new();
        for (_, token) in tokens.iter().take(kept) {
            table.insert(token.clone());
        }
        table
    };
    let expected = kept.saturating_add(added.len());
    for token in added {
        table.insert(token);
    }
    if table.len() != expected {
        return Err(FileError::Body { why: format!("{} tokens, expected {expected}", table.len()) });
    }
    Ok(Arc::new(table))
}

#[cfg(test)]
mod tests {
    use braid_protocols::Product;

    use super::*;
    use crate::testing::{block, pool, tokens_of};

    fn tokens(bytes: &[u8]) -> Arc<Tokens> {
        tokens_of(bytes.iter().copied())
    }

    /// Sends the difference as JSON, and checks that it gives exactly the same market, including the order of pools and
    /// tokens.
    fn leads(older: &Market, newer: &Market) -> Delta {
        let delta = newer.delta_since(older);
        let sent: Delta = serde_json::from_slice(&serde_json::to_vec(&delta).unwrap()).unwrap();
        let made = older.after(sent).unwrap();
        assert_eq!(made.digest().unwrap(), newer.digest().unwrap());
        assert_eq!(made.order_digest(), newer.order_digest());
        assert_eq!(made.pools(), newer.pools());
        assert!(made.tokens().iter().eq(newer.tokens().iter()));
        delta
    }

    #[test]
    fn a_block_is_the_pools_that_it_changed() {
        let two = tokens(&[1, 2]);
        let first = Market::new(block(1), Arc::clone(&two), [pool(1, [1, 2], 10), pool(2, [2, 3], 10)]).unwrap();
        let second = first.next(block(2), Arc::clone(&two), [pool(2, [2, 3], 11)]).unwrap();
        let delta = leads(&first, &second);
        assert_eq!((delta.changed.len(), delta.removed.len(), delta.tokens_kept), (1, 0, 4));
        let third = second.next(block(3), tokens(&[1, 2, 3]), [pool(3, [1, 4], 1)]).unwrap();
        let delta = leads(&second, &third);
        assert_eq!((delta.changed.len(), delta.tokens.len()), (1, 1), "a new pool and its token");
        let delta = leads(&first, &third);
        assert_eq!(delta.changed.len(), 2, "two blocks at once");
        assert_eq!(leads(&third, &third).changed.len(), 0);
    }

    #[test]
    fn another_branch_gives_ids_anew() {
        let base = Market::new(block(1), tokens(&[1, 2]), [pool(1, [1, 2], 10), pool(2, [2, 3], 10)]).unwrap();
        let replaced = base.next(block(2), tokens(&[1, 2, 3]), [pool(3, [1, 4], 1), pool(1, [1, 2], 9)]).unwrap();
        let other = base.next(block(2), tokens(&[1, 2, 4, 3]), [pool(4, [1, 4], 1), pool(3, [1, 5], 1)]).unwrap();
        let delta = leads(&replaced, &other);
        assert_eq!((delta.tokens_kept, delta.removed.len()), (4, 1));
        leads(&other, &replaced);
        leads(&replaced, &base);
        // A pool removed from the middle changes the positions of the others, but the difference contains only the
        // removal.
        let trimmed = other.without(&[pool(1, [1, 2], 0).key]);
        assert_eq!(leads(&other, &trimmed).changed.len(), 0);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let base = Market::new(block(1), tokens(&[1, 2]), [pool(1, [1, 2], 10)]).unwrap();
        let none = base.delta_since(&base);
        let with = |change: fn(&mut Delta)| {
            let mut delta = none.clone();
            change(&mut delta);
            base.after(delta).unwrap_err()
        };
        assert!(matches!(with(|delta| delta.tokens_kept = 9), FileError::Body { .. }));
        let twice = |delta: &mut Delta| delta.tokens.extend(tokens(&[1]).iter().map(|(_, token)| token.clone()));
        assert!(matches!(with(twice), FileError::Body { .. }));
        assert!(matches!(with(|delta| delta.changed = vec![Arc::new(pool(1, [2, 1], 1))]), FileError::Market(_)));
        assert!(matches!(with(|delta| delta.changed = vec![Arc::new(pool(2, [1, 9], 1))]), FileError::Market(_)));
        let impossible = |delta: &mut Delta| {
            delta.changed = vec![Arc::new(Pool { product: Product::UniswapV3, ..pool(1, [1, 2], 1) })];
        };
        assert!(matches!(with(impossible), FileError::State { .. }));
    }
}
