//! Holds what a route's steps so far did to the contracts that they touched.

use alloy_primitives::{Address, U256};
use braid_primitives::{ExecutionBlock, PoolKey, TokenId};

use crate::{
    After, Pool, Sale, Swap, SwapError,
    registry::ChangeOf,
    vault::{Before, SHARE_COIN, VaultTrade},
};

/// Shares whose worth tells whether a rate moved, in atomic units: 10²⁴. Contracts ask for the worth of a smaller power of ten, rounded down; where
/// that of 10²⁴ did not move, that of none of them did.
const ASKED_SHARES: U256 = U256::from_limbs([2_003_764_205_206_896_640, 54_210, 0, 0]);

/// What the steps of one route did so far. A further step is priced after them.
///
/// Empty at first; it allocates nothing until a step is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteState {
    changes: Vec<(PoolKey, After)>,
    /// Trades with vaults, in order.
    vault_trades: Vec<VaultTrade>,
}

impl RouteState {
    /// Returns what a swap of `amount_in` pays after the steps so far, to the wei. Nothing is recorded.
    ///
    /// # Errors
    /// As [`Pool::swap`].
    pub fn swap(
        &self,
        pool: &Pool,
        at: &ExecutionBlock,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        pool.swap_in(at, self, Sale { coin_in, coin_out, amount_in })
    }

    /// Records what a step through `pool` changed.
    pub fn record(&mut self, pool: &Pool, after: After) {
        if let Some((address, vault, trades)) = pool.vault_trades(&after) {
            let known = self.before(address).own().count();
            let share = pool.coins.get(usize::from(SHARE_COIN)).copied();
            let fresh = trades.list().iter().skip(known);
            self.vault_trades.extend(fresh.map(|trade| VaultTrade {
                address,
                share,
                vault: vault.clone(),
                trade: *trade,
            }));
        }
        let place = pool.shares_state_at();
        match self.changes.iter_mut().find(|(changed, _)| *changed == place) {
            Some((_, known)) => *known = after,
            None => self.changes.push((place, after)),
        }
    }

    /// Returns what the steps so far did to what `pool` depends on.
    pub fn after(&self, pool: &Pool) -> &After {
        self.at(pool.shares_state_at()).unwrap_or(&After::Unchanged)
    }

    /// Tells whether the steps so far moved what a vault's share is worth, as far as anybody asks.
    pub(crate) fn moved_worth_of(&self, token: TokenId, at: &ExecutionBlock) -> bool {
        let Some(known) = self.vault_trades.iter().find(|known| known.share == Some(token)) else { return false };
        let worth = |before| known.vault.rate(at, before).ok()?.down(false, ASKED_SHARES);
        worth(self.before(known.address)) != worth(Before::new(known.address, &[]))
    }

    /// Returns what the steps so far did before the next one comes to a vault.
    pub(crate) fn before(&self, vault: Address) -> Before<'_> {
        Before::new(vault, &self.vault_trades)
    }

    /// Returns what the steps so far changed at a pool, if that is a change of this kind.
    pub(crate) fn change<C: ChangeOf>(&self, place: PoolKey) -> Option<&C> {
        self.at(place).and_then(C::of)
    }

    fn at(&self, place: PoolKey) -> Option<&After> {
        self.changes.iter().find(|(changed, _)| *changed == place).map(|(_, after)| after)
    }
}
