//! The liquidity layer after the earlier steps of a route: what one protocol of Fluid changes there, the others meet.

use alloy_primitives::Address;
use braid_primitives::ExecutionBlock;

use super::{ftoken, layer::Token};
use crate::{PoolState, SharedWords, SwapError, vault::EarlierTrades};

/// The layer in a block, after earlier steps of the same transaction.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// Words of the tokens that the steps used.
    tokens: Vec<(Address, SharedWords)>,
    /// fTokens that the steps used, with their own words.
    shares: Vec<(Address, Box<ftoken::State>)>,
}

impl Earlier {
    /// Replays the steps in their order; `None` if none of them used the layer. A pool left its words. A trade with an
    /// fToken, directly or through a buffer, is computed again.
    ///
    /// # Errors
    /// [`SwapError`] if an fToken refuses its trade.
    pub(super) fn replay(at: &ExecutionBlock, before: EarlierTrades<'_>) -> Result<Option<Self>, SwapError> {
        let trades = before.all().iter().enumerate().filter_map(|(place, one)| match &one.vault.state {
            PoolState::FluidFToken(state) => Some((place, one.address, state, one.trade)),
            _ => None,
        });
        let mut trades = trades.peekable();
        if before.shared().is_empty() && trades.peek().is_none() {
            return Ok(None);
        }
        let mut earlier = Self::default();
        let mut changes = before.shared().iter().peekable();
        for (place, address, state, trade) in trades {
            while let Some(change) = changes.next_if(|change| change.vault_trades <= place) {
                put(&mut earlier.tokens, change.token, change.words);
            }
            let share = earlier.share(address, state);
            let after = share.swap(at, trade.deposits, trade.amount_in)?.after;
            let share = Box::new(share.with(&after));
            put(&mut earlier.tokens, share.stored, share.layer.shared());
            put(&mut earlier.shares, address, share);
        }
        changes.for_each(|change| put(&mut earlier.tokens, change.token, change.words));
        Ok(Some(earlier))
    }

    /// Returns an fToken after the steps.
    pub(super) fn share(&self, address: Address, state: &ftoken::State) -> ftoken::State {
        let known = self.shares.iter().find(|(known, _)| *known == address);
        let mut share = known.map_or_else(|| state.clone(), |(_, share)| (**share).clone());
        self.bring_up(share.stored, &mut share.layer);
        share
    }

    /// Writes the words of a token that all protocols share, as the steps left them.
    pub(super) fn bring_up(&self, address: Address, token: &mut Token) {
        if let Some((_, words)) = self.tokens.iter().find(|(known, _)| *known == address) {
            token.put_shared(words);
        }
    }
}

/// Replaces or adds the value of an address.
fn put<T>(list: &mut Vec<(Address, T)>, address: Address, value: T) {
    match list.iter_mut().find(|(known, _)| *known == address) {
        Some((_, known)) => *known = value,
        None => list.push((address, value)),
    }
}
