//! What the steps of a route did to vaults that lend on Morpho, in their order: a market's totals are one thing, whichever vault moved them.

use alloy_primitives::{Address, B256};
use braid_primitives::ExecutionBlock;

use super::{MetaMorpho, VaultV2, blue::Market, metamorpho, vault_v2, warm::Lends};
use crate::{SwapError, vault::Deal};

/// Markets and vaults in a block, after trades of the same transaction.
///
/// What lies in Morpho of an asset is kept for each vault by itself: it is at least what is not lent out of any one market, so that it never
/// decides what another vault's trade left.
pub(super) struct Joint<'a> {
    timestamp: u64,
    /// Markets that a trade moved, with interest.
    markets: Vec<(B256, Market)>,
    metamorphos: Vec<(Address, metamorpho::Now<'a>)>,
    vaults_v2: Vec<(Address, vault_v2::Now<'a>)>,
}

impl<'a> Joint<'a> {
    /// Before any trade.
    pub(super) const fn at(timestamp: u64) -> Self {
        Self { timestamp, markets: Vec::new(), metamorphos: Vec::new(), vaults_v2: Vec::new() }
    }

    /// When the transaction runs, unix seconds.
    pub(super) const fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// Replays trades; those with vaults that do not lend on Morpho move nothing here.
    ///
    /// # Errors
    /// [`SwapError`] where a vault refuses its trade.
    pub(super) fn after(at: &ExecutionBlock, deals: &'a [Deal]) -> Result<Self, SwapError> {
        let mut joint = Self::at(at.timestamp);
        for deal in deals {
            let amount_in = deal.trade.amount_in;
            let overflow = || SwapError::Overflow { amount_in };
            match deal.vault.lends() {
                Some(Lends::MetaMorpho(vault)) => {
                    let mut now = joint.metamorpho(deal.address, vault).ok_or_else(overflow)?;
                    now.trade(deal.trade.deposits, amount_in)?;
                    joint.keep_metamorpho(deal.address, now);
                }
                Some(Lends::VaultV2(vault)) => {
                    let mut now = joint.vault_v2(deal.address, vault).ok_or_else(overflow)?;
                    now.trade(deal.trade.deposits, amount_in)?;
                    joint.keep_vault_v2(deal.address, now);
                }
                None => {}
            }
        }
        Ok(joint)
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

    /// Returns a Vault V2 with interest up to the block's time. `None` where the contract reverts.
    pub(super) fn vault_v2(&self, address: Address, vault: &'a VaultV2) -> Option<vault_v2::Now<'a>> {
        match self.vaults_v2.iter().find(|(known, _)| *known == address) {
            Some((_, now)) => now.clone().brought_up(self),
            None => vault.after(self),
        }
    }

    /// Brings a market up to what trades left of it.
    pub(super) fn bring_up(&self, id: B256, market: &mut Market) {
        if let Some((_, moved)) = self.markets.iter().find(|(known, _)| *known == id) {
            *market = *moved;
        }
    }

    fn keep_metamorpho(&mut self, address: Address, now: metamorpho::Now<'a>) {
        for holding in &now.holdings {
            self.keep_market(holding.id, holding.market);
        }
        put(&mut self.metamorphos, address, now);
    }

    fn keep_vault_v2(&mut self, address: Address, now: vault_v2::Now<'a>) {
        match now.source() {
            vault_v2::Source::Market(holding) => self.keep_market(holding.id, holding.market),
            vault_v2::Source::Vault { address, now, .. } => self.keep_metamorpho(*address, now.clone()),
            vault_v2::Source::Nothing => {}
        }
        put(&mut self.vaults_v2, address, now);
    }

    fn keep_market(&mut self, id: B256, market: Market) {
        put(&mut self.markets, id, market);
    }
}

fn put<K: PartialEq, V>(list: &mut Vec<(K, V)>, key: K, value: V) {
    match list.iter_mut().find(|(known, _)| *known == key) {
        Some((_, known)) => *known = value,
        None => list.push((key, value)),
    }
}
