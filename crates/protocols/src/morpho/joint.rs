//! Trades with vaults that lend on Morpho, computed after the earlier steps of a route, in their order.

use alloy_primitives::{Address, U256};
use braid_primitives::ExecutionBlock;

use super::{
    MetaMorpho, VaultV2,
    shared::{Shared, put},
    vault_v2,
    warm::Lends,
};
use crate::{
    SwapError,
    vault::{EarlierTrades, Rate, VaultTrade},
};

/// Vaults in a block, after trades of the same transaction.
struct Joint<'a> {
    shared: Shared<'a>,
    vaults_v2: Vec<(Address, vault_v2::Now<'a>)>,
}

impl<'a> Joint<'a> {
    /// Replays trades. Trades with vaults that do not lend on Morpho change nothing here.
    ///
    /// # Errors
    /// [`SwapError`] if a vault refuses its trade.
    fn after(at: &ExecutionBlock, trades: &'a [VaultTrade]) -> Result<Self, SwapError> {
        let mut joint = Self { shared: Shared::at(at.timestamp), vaults_v2: Vec::new() };
        for VaultTrade { address, vault, trade, .. } in trades {
            let overflow = || SwapError::Overflow { amount_in: trade.amount_in };
            match vault.lends() {
                Some(Lends::MetaMorpho(vault)) => {
                    let mut now = joint.shared.metamorpho(*address, vault).ok_or_else(overflow)?;
                    now.trade(trade.deposits, trade.amount_in)?;
                    joint.shared.keep_metamorpho(*address, now);
                }
                Some(Lends::VaultV2(vault)) => {
                    let mut now = joint.vault_v2(*address, vault).ok_or_else(overflow)?;
                    now.trade(trade.deposits, trade.amount_in)?;
                    joint.keep_vault_v2(*address, now);
                }
                None => {}
            }
        }
        Ok(joint)
    }

    /// Returns a Vault V2 with interest up to the block's time. `None` where the contract reverts.
    fn vault_v2(&self, address: Address, vault: &'a VaultV2) -> Option<vault_v2::Now<'a>> {
        match self.vaults_v2.iter().find(|(known, _)| *known == address) {
            Some((_, now)) => now.clone().brought_up(&self.shared),
            None => vault.after(&self.shared),
        }
    }

    fn keep_vault_v2(&mut self, address: Address, now: vault_v2::Now<'a>) {
        match now.source() {
            vault_v2::Source::Market(holding) => self.shared.keep_market(holding.id, holding.market),
            vault_v2::Source::Vault { address, now, .. } => self.shared.keep_metamorpho(*address, now.clone()),
            vault_v2::Source::Nothing => {}
        }
        put(&mut self.vaults_v2, address, now);
    }
}

impl MetaMorpho {
    /// Computes a deposit or a redemption in a block, after trades of the same block, and the number of visited markets
    /// of the queue.
    ///
    /// # Errors
    /// - [`SwapError::LimitExceeded`] above the caps of the supply queue.
    /// - [`SwapError::InsufficientLiquidity`] above the liquidity.
    /// - [`SwapError::ZeroOutput`] if the output rounds to zero.
    /// - [`SwapError::Overflow`] where the contracts' arithmetic reverts.
    pub fn swap(
        &self,
        at: &ExecutionBlock,
        before: EarlierTrades<'_>,
        deposits: bool,
        amount_in: U256,
    ) -> Result<(U256, u64), SwapError> {
        let joint = Joint::after(at, before.all())?;
        let now = joint.shared.metamorpho(before.vault(), self);
        let mut now = now.ok_or(SwapError::Overflow { amount_in })?;
        now.visited = 0;
        let amount_out = now.trade(deposits, amount_in)?;
        Ok((amount_out, now.visited))
    }

    /// Computes the conversion rate in a block, after trades of the same block.
    ///
    /// # Errors
    /// As [`Self::swap`].
    pub(crate) fn rate(&self, at: &ExecutionBlock, before: EarlierTrades<'_>) -> Result<Rate, SwapError> {
        let joint = Joint::after(at, before.all())?;
        let now = joint.shared.metamorpho(before.vault(), self).ok_or(SwapError::Overflow { amount_in: U256::ZERO })?;
        let shares = now.total_shares.checked_add(self.virtual_shares);
        Rate::new(now.total_assets.checked_add(U256::ONE), shares)
    }
}

impl VaultV2 {
    /// Computes a deposit or a redemption in a block, after trades of the same transaction, and tells whether assets
    /// move to or from an adapter.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] behind a gate.
    /// - [`SwapError::LimitExceeded`] above a cap.
    /// - [`SwapError::InsufficientLiquidity`] above the liquidity.
    /// - [`SwapError::ZeroOutput`] if the output rounds to zero.
    /// - [`SwapError::Overflow`] where the contracts' arithmetic reverts.
    pub fn swap(
        &self,
        at: &ExecutionBlock,
        before: EarlierTrades<'_>,
        deposits: bool,
        amount_in: U256,
    ) -> Result<(U256, bool), SwapError> {
        let joint = Joint::after(at, before.all())?;
        let mut now = joint.vault_v2(before.vault(), self).ok_or(SwapError::Overflow { amount_in })?;
        now.moved = false;
        let amount_out = now.trade(deposits, amount_in)?;
        Ok((amount_out, now.moved))
    }

    /// Computes the conversion rate in a block, after trades of the same transaction.
    ///
    /// # Errors
    /// As [`Self::swap`].
    pub(crate) fn rate(&self, at: &ExecutionBlock, before: EarlierTrades<'_>) -> Result<Rate, SwapError> {
        let joint = Joint::after(at, before.all())?;
        let now = joint.vault_v2(before.vault(), self).ok_or(SwapError::Overflow { amount_in: U256::ZERO })?;
        let shares = now.total_shares.checked_add(self.virtual_shares);
        Rate::new(now.total_assets.checked_add(U256::ONE), shares)
    }
}
