//! State at Morpho that the vaults of a route share: the totals of a market, whichever vault changed them, and a vault
//! that another vault supplies to.

use alloy_primitives::{Address, B256};

use super::{MetaMorpho, blue::Market, metamorpho};

/// Markets and MetaMorpho vaults in a block, after trades of the same transaction.
///
/// Morpho's balance of an asset is tracked per vault. It is at least the liquidity of any one market, so other vaults'
/// trades never make it the limit.
pub(super) struct Shared<'a> {
    /// Block timestamp of the transaction, in unix seconds.
    pub(super) timestamp: u64,
    /// Markets that a trade changed, with interest.
    markets: Vec<(B256, Market)>,
    metamorphos: Vec<(Address, metamorpho::Now<'a>)>,
}

impl<'a> Shared<'a> {
    /// Returns the state before any trade.
    pub(super) const fn at(timestamp: u64) -> Self {
        Self { timestamp, markets: Vec::new(), metamorphos: Vec::new() }
    }

    /// Returns a MetaMorpho vault with interest up to the block's time. `None` where the contract reverts.
    pub(super) fn metamorpho(&self, address: Address, vault: &'a MetaMorpho) -> Option<metamorpho::Now<'a>> {
        let known = self.metamorphos.iter().find(|(known, _)| *known == address);
        let mut now = match known {
            Some((_, now)) => now.clone(),
            None => vault.opened(self.timestamp)?,
        };
        for holding in &mut now.holdings {
            self.bring_up(holding.id, &mut holding.market);
        }
        now.accrue()?;
        Some(now)
    }

    /// Updates a market with the trades so far.
    pub(super) fn bring_up(&self, id: B256, market: &mut Market) {
        if let Some((_, moved)) = self.markets.iter().find(|(known, _)| *known == id) {
            *market = *moved;
        }
    }

    /// Stores the state of a MetaMorpho vault and of its markets after a trade.
    pub(super) fn keep_metamorpho(&mut self, address: Address, now: metamorpho::Now<'a>) {
        for holding in &now.holdings {
            self.keep_market(holding.id, holding.market);
        }
        put(&mut self.metamorphos, address, now);
    }

    /// Stores the state of a market after a trade.
    pub(super) fn keep_market(&mut self, id: B256, market: Market) {
        put(&mut self.markets, id, market);
    }
}

/// Replaces the value with the same key, or appends it.
pub(super) fn put<K: PartialEq, V>(list: &mut Vec<(K, V)>, key: K, value: V) {
    match list.iter_mut().find(|(known, _)| *known == key) {
        Some((_, known)) => *known = value,
        None => list.push((key, value)),
    }
}
