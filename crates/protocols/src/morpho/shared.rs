//! What the vaults of a route share at Morpho: a market's totals are one thing, whichever vault moved them, and so is a vault that another
//! one lends to.

use alloy_primitives::{Address, B256};

use super::{MetaMorpho, blue::Market, metamorpho};

/// Markets and MetaMorpho vaults in a block, after trades of the same transaction.
///
/// What lies in Morpho of an asset is kept for each vault by itself: it is at least what is not lent out of any one market, so that it never
/// decides what another vault's trade left.
pub(super) struct Shared<'a> {
    /// When the transaction runs, unix seconds.
    pub(super) timestamp: u64,
    /// Markets that a trade moved, with interest.
    markets: Vec<(B256, Market)>,
    metamorphos: Vec<(Address, metamorpho::Now<'a>)>,
}

impl<'a> Shared<'a> {
    /// Starts before any trade.
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

    /// Brings a market up to what trades left of it.
    pub(super) fn bring_up(&self, id: B256, market: &mut Market) {
        if let Some((_, moved)) = self.markets.iter().find(|(known, _)| *known == id) {
            *market = *moved;
        }
    }

    /// Keeps what a trade left of a MetaMorpho vault and of its markets.
    pub(super) fn keep_metamorpho(&mut self, address: Address, now: metamorpho::Now<'a>) {
        for holding in &now.holdings {
            self.keep_market(holding.id, holding.market);
        }
        put(&mut self.metamorphos, address, now);
    }

    /// Keeps what a trade left of a market.
    pub(super) fn keep_market(&mut self, id: B256, market: Market) {
        put(&mut self.markets, id, market);
    }
}

/// Puts a value in the place of the one with the same key, or at the end.
pub(super) fn put<K: PartialEq, V>(list: &mut Vec<(K, V)>, key: K, value: V) {
    match list.iter_mut().find(|(known, _)| *known == key) {
        Some((_, known)) => *known = value,
        None => list.push((key, value)),
    }
}
