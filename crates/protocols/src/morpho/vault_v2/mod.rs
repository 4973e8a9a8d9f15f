//! Vault V2: one asset, spread over adapters, each of markets of Morpho Blue or of a MetaMorpho vault.
//!
//! Sources: `VaultV2.sol`, `MorphoMarketV1Adapter.sol` in both versions, `MorphoVaultV1Adapter.sol`. Interest accrues
//! once per transaction, at most at the vault's maximum rate.

mod cold;
pub mod gas;
mod reader;

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::{Holding, MetaMorpho, metamorpho, shared::Shared};
use crate::{SwapError, maths::WAD};

pub use cold::VaultV2Protocol;

/// Maximum number of caps on one allocation: those of the adapter, of the collateral and of the market.
pub const MAX_CAPS: usize = 3;

/// State of a vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultV2 {
    /// `totalSupply` of shares.
    pub total_shares: U256,
    /// Virtual shares, next to one virtual asset.
    pub virtual_shares: U256,
    /// Total assets at the last accrual, `_totalAssets`.
    pub total_assets: U256,
    /// Time of the last accrual, in unix seconds.
    pub last_update: u64,
    /// Maximum growth of the total, in wad per second.
    pub max_rate_wad: u64,
    /// Owner's part of the interest, in wad.
    pub performance_fee_wad: U256,
    /// Owner's part of all assets, in wad per second.
    pub management_fee_wad: U256,
    /// Assets that the vault itself holds.
    pub idle_assets: U256,
    /// Adapters with the other assets.
    pub adapters: Arc<[Adapter]>,
    /// Destination of deposits, and source of redemptions beyond the idle assets.
    pub liquidity: Option<Liquidity>,
    /// Balance of the asset in Morpho Blue.
    pub morpho_balance_assets: U256,
    /// Whether a gate restricts deposits.
    pub deposits_gated: bool,
    /// Whether a gate restricts redemptions.
    pub redemptions_gated: bool,
}

/// An adapter's assets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adapter {
    /// Positions in markets of Morpho Blue.
    Markets(Arc<[Holding]>),
    /// Shares of a MetaMorpho vault.
    Vault {
        /// Address of that vault.
        address: Address,
        /// State of that vault.
        vault: Arc<MetaMorpho>,
        /// The adapter's shares.
        shares: U256,
        /// Whether the vault counts them: it does after its first allocation.
        allocated: bool,
    },
}

impl Adapter {
    /// Returns the positions in markets: its own, or those of its vault.
    pub(crate) fn holdings(&self) -> &[Holding] {
        match self {
            Self::Markets(holdings) => holdings,
            Self::Vault { vault, .. } => &vault.holdings,
        }
    }
}

/// Destination of deposits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Liquidity {
    /// Position of the adapter.
    pub adapter: u8,
    /// Position of the market within it; zero for a MetaMorpho vault.
    pub market: u8,
    /// Caps on deposits there.
    pub caps: ArrayVec<Cap, MAX_CAPS>,
}

/// A cap, and its current allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// Allocation at the last allocation or deallocation.
    pub allocation: U256,
    /// Absolute cap, in assets.
    pub absolute_assets: U256,
    /// Relative cap as a share of all assets, in wad; one means no cap.
    pub relative_wad: U256,
}

/// Assets of the liquidity adapter, at a time.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a box would be made for every quote")]
pub(super) enum Source<'a> {
    Nothing,
    Market(Holding),
    Vault { address: Address, vault: &'a MetaMorpho, now: metamorpho::Now<'a>, shares: U256 },
}

/// A vault at a time, while trades are applied.
#[derive(Clone, Debug)]
pub(super) struct Now<'a> {
    vault: &'a VaultV2,
    pub(super) total_assets: U256,
    pub(super) total_shares: U256,
    /// Total assets at the transaction's first accrual, to which relative caps refer.
    first_total_assets: U256,
    idle_assets: U256,
    at_hand: U256,
    source: Source<'a>,
    /// Caps; the last one's allocation is the source's assets at the last count.
    caps: ArrayVec<Cap, MAX_CAPS>,
    /// Whether assets moved to or from the source.
    pub(super) moved: bool,
}

fn times(a: U256, b: U256, denominator: U256) -> Option<U256> {
    a.checked_mul(b)?.checked_div(denominator)
}

impl VaultV2 {
    /// Checks that the state is possible.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn validate(&self) -> Result<(), &'static str> {
        for adapter in self.adapters.iter() {
            if let Adapter::Vault { vault, .. } = adapter {
                vault.validate()?;
            }
        }
        let Some(liquidity) = &self.liquidity else { return Ok(()) };
        let there = match self.adapters.get(usize::from(liquidity.adapter)) {
            Some(Adapter::Markets(holdings)) => usize::from(liquidity.market) < holdings.len(),
            Some(Adapter::Vault { .. }) => true,
            None => false,
        };
        if there && !liquidity.caps.is_empty() { Ok(()) } else { Err("a liquidity adapter that does not exist") }
    }

    /// Returns the vault with interest and fee shares up to a time.
    pub(super) fn at(&self, now: u64) -> Option<Now<'_>> {
        self.after(&Shared::at(now))
    }

    /// Returns the vault with interest and fee shares, after a transaction's changes to Morpho's markets and vaults.
    /// Source: `accrueInterestView`.
    pub(super) fn after<'a>(&'a self, shared: &Shared<'a>) -> Option<Now<'a>> {
        let now = shared.timestamp;
        let elapsed = U256::from(now.checked_sub(self.last_update)?);
        let mut real = self.idle_assets;
        let mut source = Source::Nothing;
        let chosen = self.liquidity.as_ref().map(|liquidity| (usize::from(liquidity.adapter), liquidity.market));
        for (place, adapter) in self.adapters.iter().enumerate() {
            let market = chosen.filter(|(adapter, _)| *adapter == place).map(|(_, market)| usize::from(market));
            match adapter {
                Adapter::Markets(holdings) => {
                    for (index, holding) in holdings.iter().enumerate() {
                        let mut holding = holding.accrued(now)?;
                        shared.bring_up(holding.id, &mut holding.market);
                        real = real.checked_add(held(&holding)?)?;
                        if market == Some(index) {
                            source = Source::Market(holding);
                        }
                    }
                }
                Adapter::Vault { address, vault, shares, allocated } => {
                    let then = shared.metamorpho(*address, vault)?;
                    if *allocated {
                        real = real.checked_add(then.assets_of(*shares)?)?;
                    }
                    if market.is_some() {
                        source = Source::Vault { address: *address, vault, now: then, shares: *shares };
                    }
                }
            }
        }
        let grown = times(self.total_assets.checked_mul(elapsed)?, U256::from(self.max_rate_wad), WAD)?;
        let total = real.min(self.total_assets.checked_add(grown)?);
        let interest = total.saturating_sub(self.total_assets);
        let performance = times(interest, self.performance_fee_wad, WAD)?;
        let management = times(total.checked_mul(elapsed)?, self.management_fee_wad, WAD)?;
        let rest = total.checked_sub(performance)?.checked_sub(management)?.checked_add(U256::ONE)?;
        let shares = self.total_shares.checked_add(self.virtual_shares)?;
        let minted = times(performance, shares, rest)?.checked_add(times(management, shares, rest)?)?;
        Some(Now {
            vault: self,
            total_assets: total,
            total_shares: self.total_shares.checked_add(minted)?,
            first_total_assets: total,
            idle_assets: self.idle_assets,
            at_hand: self.morpho_balance_assets,
            source,
            caps: self.liquidity.as_ref().map(|liquidity| liquidity.caps.clone()).unwrap_or_default(),
            moved: false,
        })
    }
}

/// Computes the worth of a position, rounded down; zero without shares.
fn held(holding: &Holding) -> Option<U256> {
    if holding.shares == 0 { Some(U256::ZERO) } else { holding.assets() }
}

impl<'a> Now<'a> {
    /// Returns the liquidity adapter's assets.
    pub(super) const fn source(&self) -> &Source<'a> {
        &self.source
    }

    /// Updates the liquidity adapter's assets with a transaction's later changes.
    pub(super) fn brought_up(mut self, shared: &Shared<'a>) -> Option<Self> {
        match &mut self.source {
            Source::Nothing => {}
            Source::Market(holding) => shared.bring_up(holding.id, &mut holding.market),
            Source::Vault { address, vault, now, .. } => *now = shared.metamorpho(*address, vault)?,
        }
        Some(self)
    }
}

impl Now<'_> {
    /// Computes `previewDeposit`, rounded down.
    pub(super) fn shares_of(&self, assets: U256) -> Option<U256> {
        let shares = self.total_shares.checked_add(self.vault.virtual_shares)?;
        times(assets, shares, self.total_assets.checked_add(U256::ONE)?)
    }

    /// Computes `previewRedeem`, rounded down.
    pub(super) fn assets_of(&self, shares: U256) -> Option<U256> {
        let all = self.total_shares.checked_add(self.vault.virtual_shares)?;
        times(shares, self.total_assets.checked_add(U256::ONE)?, all)
    }

    /// Computes the liquidity adapter's assets now.
    fn allocated(&self) -> Option<U256> {
        match &self.source {
            Source::Nothing => Some(U256::ZERO),
            Source::Market(holding) => held(holding),
            Source::Vault { now, shares, .. } => {
                let mut now = now.clone();
                now.accrue()?;
                now.assets_of(*shares)
            }
        }
    }

    /// Computes the maximum deposit, in assets.
    pub(super) fn suppliable(&self) -> Option<U256> {
        if self.vault.deposits_gated {
            return Some(U256::ZERO);
        }
        let mut most = match &self.source {
            Source::Vault { now, .. } => now.suppliable()?,
            Source::Nothing | Source::Market(_) => U256::from(u128::MAX),
        };
        let drifted = self.allocated()?;
        let last = self.caps.last().map(|cap| cap.allocation).unwrap_or_default();
        for cap in &self.caps {
            let counted = cap.allocation.checked_add(drifted)?.saturating_sub(last);
            let limit = self.limit(cap)?;
            most = most.min(limit.saturating_sub(counted));
        }
        Some(most)
    }

    /// Computes the maximum withdrawal, in assets.
    pub(super) fn withdrawable(&self) -> Option<U256> {
        if self.vault.redemptions_gated {
            return Some(U256::ZERO);
        }
        let from_source = match &self.source {
            Source::Nothing => U256::ZERO,
            Source::Market(holding) => holding.withdrawable(self.at_hand)?,
            Source::Vault { now, shares, .. } => now.withdrawable()?.min(now.assets_of(*shares)?),
        };
        self.idle_assets.checked_add(from_source).map(|all| all.min(self.total_assets))
    }

    fn limit(&self, cap: &Cap) -> Option<U256> {
        if cap.relative_wad == WAD {
            return Some(cap.absolute_assets);
        }
        Some(cap.absolute_assets.min(times(self.first_total_assets, cap.relative_wad, WAD)?))
    }

    /// Deposits assets or redeems shares. Requires accrued interest.
    pub(super) fn trade(&mut self, deposits: bool, amount_in: U256) -> Result<U256, SwapError> {
        let overflow = || SwapError::Overflow { amount_in };
        let gated = if deposits { self.vault.deposits_gated } else { self.vault.redemptions_gated };
        if gated {
            return Err(SwapError::Closed);
        }
        let amount_out = if deposits { self.shares_of(amount_in) } else { self.assets_of(amount_in) };
        let amount_out = amount_out.ok_or_else(overflow)?;
        if amount_out.is_zero() {
            return Err(SwapError::ZeroOutput);
        }
        if deposits {
            self.total_assets = self.total_assets.checked_add(amount_in).ok_or_else(overflow)?;
            self.total_shares = self.total_shares.checked_add(amount_out).ok_or_else(overflow)?;
            if self.total_assets.bit_len() > 128 {
                return Err(overflow());
            }
            if self.first_total_assets.is_zero() {
                // an empty vault accrues again when it allocates
                self.first_total_assets = self.total_assets;
            }
            self.idle_assets = self.idle_assets.saturating_add(amount_in);
            self.allocate(amount_in)?;
        } else {
            let short = SwapError::InsufficientLiquidity { consumed: self.total_shares, amount_in };
            let left = self.total_shares.checked_sub(amount_in).ok_or(short)?;
            if amount_out > self.idle_assets && !self.deallocate(amount_out - self.idle_assets) {
                let most = self.withdrawable().and_then(|most| self.shares_of(most)).unwrap_or_default();
                return Err(SwapError::InsufficientLiquidity { consumed: most.min(amount_in), amount_in });
            }
            self.total_shares = left;
            self.total_assets = self.total_assets.checked_sub(amount_out).ok_or_else(overflow)?;
            self.idle_assets -= amount_out;
        }
        Ok(amount_out)
    }

    /// Allocates assets to the liquidity adapter, up to the caps. Source: `allocateInternal`.
    fn allocate(&mut self, assets: U256) -> Result<(), SwapError> {
        let overflow = || SwapError::Overflow { amount_in: assets };
        match &mut self.source {
            Source::Nothing => return Ok(()),
            Source::Market(holding) => {
                let minted = holding.supply(assets).ok_or_else(overflow)?;
                if minted < assets {
                    return Err(SwapError::Closed);
                }
            }
            Source::Vault { now, shares, .. } => {
                let minted = now.trade(true, assets)?;
                *shares = shares.checked_add(minted).ok_or_else(overflow)?;
            }
        }
        self.idle_assets = self.idle_assets.saturating_sub(assets);
        self.at_hand = self.at_hand.saturating_add(assets);
        self.recount().ok_or_else(overflow)?;
        for cap in &self.caps {
            let limit = self.limit(cap).ok_or_else(overflow)?;
            if cap.absolute_assets.is_zero() || cap.allocation > limit {
                let over = cap.allocation.saturating_sub(limit);
                return Err(SwapError::LimitExceeded { limit: assets.saturating_sub(over), amount: assets });
            }
        }
        Ok(())
    }

    /// Deallocates assets; false where the contracts revert. Source: `deallocateInternal`.
    fn deallocate(&mut self, assets: U256) -> bool {
        if assets > self.at_hand || self.caps.iter().any(|cap| cap.allocation.is_zero()) {
            return false;
        }
        let taken = match &mut self.source {
            Source::Nothing => None,
            Source::Market(holding) => holding.withdraw(assets),
            Source::Vault { now, shares, .. } => take(now, shares, assets),
        };
        if taken.is_none() {
            return false;
        }
        self.idle_assets = self.idle_assets.saturating_add(assets);
        self.at_hand = self.at_hand.saturating_sub(assets);
        self.recount().is_some()
    }

    /// Updates the caps' allocations from the source's assets at the last count to those now.
    fn recount(&mut self) -> Option<()> {
        self.moved = true;
        let fresh = self.allocated()?;
        let last = self.caps.last()?.allocation;
        for cap in &mut self.caps {
            cap.allocation = cap.allocation.checked_add(fresh)?.checked_sub(last)?;
        }
        Some(())
    }
}

/// Withdraws assets from a MetaMorpho vault, for shares rounded up.
fn take(now: &mut metamorpho::Now<'_>, shares: &mut U256, assets: U256) -> Option<()> {
    let burnt = now.burn_for(assets)?;
    *shares = shares.checked_sub(burnt)?;
    Some(())
}
