//! Which tokens are known to move as amounts say. A quote goes through no other.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use braid_market::Market;
use braid_primitives::{Address, NATIVE_ETHER, TokenId, WETH};
use braid_routing::PoolFilter;

/// Most blocks between two tries of a token that could not be checked.
const LONGEST_WAIT_BLOCKS: u64 = 64;

/// What is known of tokens.
#[derive(Debug, Default)]
pub struct Tokens(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    sound: HashSet<Address>,
    unknown: HashMap<Address, Unknown>,
}

/// A token that could not be checked.
#[derive(Debug)]
struct Unknown {
    why: String,
    tries: u32,
    /// Height from which it is tried again.
    due_at: u64,
}

impl Tokens {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a token is known to move as amounts say. Ether does, and WETH is its wrapper.
    pub fn is_sound(&self, token: Address) -> bool {
        token == NATIVE_ETHER || token == WETH || self.state().sound.contains(&token)
    }

    /// Whether a token that could not be checked should be tried at a block.
    pub fn is_due(&self, token: Address, block: u64) -> bool {
        self.state().unknown.get(&token).is_none_or(|unknown| unknown.due_at <= block)
    }

    /// How many tokens are known to move as amounts say, besides ether and WETH.
    pub fn count(&self) -> usize {
        self.state().sound.len()
    }

    /// Why a token is not known to move as amounts say.
    pub fn why(&self, token: Address) -> String {
        let why = self.state().unknown.get(&token).map(|unknown| unknown.why.clone());
        why.unwrap_or_else(|| "its check takes longer than a quote waits".into())
    }

    /// Notes that a token moves as amounts say.
    pub(super) fn is_found_sound(&self, token: Address) {
        let mut state = self.state();
        state.unknown.remove(&token);
        state.sound.insert(token);
    }

    /// Notes that a token does not: nothing is known of it until it is checked again.
    pub(super) fn is_found_at_fault(&self, token: Address) {
        let mut state = self.state();
        state.unknown.remove(&token);
        state.sound.remove(&token);
    }

    /// Notes that a token could not be checked: it is tried again after 1, 2, 4, … blocks.
    pub(super) fn is_not_known(&self, token: Address, why: String, block: u64) {
        let mut state = self.state();
        let tries = state.unknown.get(&token).map_or(0, |unknown| unknown.tries);
        let blocks = 1u64.checked_shl(tries).unwrap_or(LONGEST_WAIT_BLOCKS).min(LONGEST_WAIT_BLOCKS);
        let due_at = block.saturating_add(blocks);
        state.unknown.insert(token, Unknown { why, tries: tries.saturating_add(1), due_at });
    }

    /// The token with most pools of those that are not known, but for what waits to be tried again and what is set aside.
    pub(super) fn next(&self, market: &Market, aside: impl Fn(Address) -> bool) -> Option<TokenId> {
        let block = market.block().number;
        let open = market.tokens().iter().filter(|(_, token)| {
            !self.is_sound(token.address) && self.is_due(token.address, block) && !aside(token.address)
        });
        let ranked = open.map(|(id, _)| (market.pools_of(id).len(), Reverse(id)));
        ranked.filter(|(pools, _)| *pools > 0).max().map(|(_, Reverse(id))| id)
    }

    /// Leaves out every pool of a token that is not known to be sound.
    pub fn leave_out_unknown(&self, market: &Market, filter: &mut PoolFilter) {
        for (id, _) in market.tokens().iter().filter(|(_, token)| !self.is_sound(token.address)) {
            for pool in market.pools_of(id) {
                filter.exclude_pool(*pool);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_checked_is_tried_ever_more_seldom_until_it_is_known() {
        let (tokens, token) = (Tokens::default(), Address::repeat_byte(1));
        assert!(tokens.is_due(token, 0) && !tokens.is_sound(token));
        let mut block = 100;
        for wait in [1, 2, 4, 8, 16, 32, 64, 64] {
            tokens.is_not_known(token, "the node is gone".into(), block);
            assert!(!tokens.is_due(token, block + wait - 1) && tokens.is_due(token, block + wait));
            block += wait;
        }
        assert_eq!(tokens.why(token), "the node is gone");
        tokens.is_found_sound(token);
        assert!(tokens.is_sound(token));
        tokens.is_found_at_fault(token);
        assert!(!tokens.is_sound(token));
    }
}
