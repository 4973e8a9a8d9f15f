//! State changes that the earlier steps of a route made.

use alloy_primitives::{Address, U256};
use braid_primitives::{ExecutionBlock, PoolKey, TokenId};

use crate::{
    After, Pool, Sale, SharedChange, Swap, SwapError,
    registry::ChangeOf,
    vault::{EarlierTrades, SHARE_COIN, VaultTrade},
};

/// Shares whose worth detects a rate change, in atomic units: 10²⁴. Contracts ask for the worth of a smaller power of
/// ten, rounded down. If the worth of 10²⁴ is unchanged, so are theirs.
const ASKED_SHARES: U256 = U256::from_limbs([2_003_764_205_206_896_640, 54_210, 0, 0]);

/// State changes of one route's steps so far. Later steps are computed on top of them.
///
/// Starts empty, and allocates nothing until a step is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteState {
    changes: Vec<(PoolKey, After)>,
    /// Trades with vaults, in order.
    vault_trades: Vec<VaultTrade>,
    /// Changes of words that pools share, in order.
    shared: Vec<SharedChange>,
}

impl RouteState {
    /// Computes a swap of `amount_in` after the steps so far, to the wei. Records nothing.
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

    /// Records the state change of a step through `pool`.
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
        if let Some(left) = pool.shared_words(&after) {
            let vault_trades = self.vault_trades.len();
            self.shared.extend(left.map(|(token, words)| SharedChange { token, words, vault_trades }));
        }
        let place = pool.shares_state_at();
        match self.changes.iter_mut().find(|(changed, _)| *changed == place) {
            Some((_, known)) => *known = after,
            None => self.changes.push((place, after)),
        }
    }

    /// Returns the recorded change of the state that `pool` depends on.
    pub fn after(&self, pool: &Pool) -> &After {
        self.at(pool.shares_state_at()).unwrap_or(&After::Unchanged)
    }

    /// Tells whether the steps so far changed the worth of a vault's share, at the precision of [`ASKED_SHARES`].
    pub(crate) fn changed_rate_of(&self, token: TokenId, at: &ExecutionBlock) -> bool {
        let Some(known) = self.vault_trades.iter().find(|known| known.share == Some(token)) else { return false };
        let worth = |before| known.vault.rate(at, before).ok()?.down(false, ASKED_SHARES);
        worth(self.before(known.address)) != worth(EarlierTrades::new(known.address, &[], &[]))
    }

    /// Returns the trades with vaults and the changes of shared words so far, as seen by the next step at this contract.
    pub(crate) fn before(&self, contract: Address) -> EarlierTrades<'_> {
        EarlierTrades::new(contract, &self.vault_trades, &self.shared)
    }

    /// Returns the recorded change under a key, if it is of this type.
    pub(crate) fn change<C: ChangeOf>(&self, place: PoolKey) -> Option<&C> {
        self.at(place).and_then(C::of)
    }

    fn at(&self, place: PoolKey) -> Option<&After> {
        self.changes.iter().find(|(changed, _)| *changed == place).map(|(_, after)| after)
    }
}
