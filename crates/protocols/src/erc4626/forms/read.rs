//! What is read of every vault, and the states of the forms that follow from it.

use alloy_primitives::{Address, U256};

use super::{
    super::{Accrual, Cap, Conversion, RAY, State, WAD, reader::balanceOfCall},
    FRANKENCOIN_SAVINGS, RESOLV_SHARES, RESOLV_STAKED, YEARN_RELEASE,
    asked::{
        Module, apiVersionCall, auto_allocateCall, currentRatePPMCall, currentTicksCall, deposit_limit_moduleCall,
        fullProfitUnlockDateCall, lastProfitUpdateCall, lastRewardAmountCall, lastRewardsDistributionCall,
        lastSyncCall, maxDistributionPerSecondPerAssetCall, nextRatePPMCall, pausedCall, profitUnlockingRateCall,
        rewardsCycleDataCall, rewardsCycleEndCall, savingsCall, stUSRAddressCall, storedTotalAssetsCall, totalIdleCall,
        totalSharesCall, unlockedSharesCall, withdraw_limit_moduleCall,
    },
};
use crate::{
    DecodeError,
    answers::{Answers, impossible, narrow},
    storage::storageAtCall,
};

/// What is read of every vault.
#[derive(Clone, Copy, Debug)]
pub(in crate::erc4626) struct Read {
    pub(in crate::erc4626) vault: Address,
    pub(in crate::erc4626) timestamp: u64,
    pub(in crate::erc4626) total_assets: U256,
    pub(in crate::erc4626) total_shares: U256,
    /// What lies in the vault.
    pub(in crate::erc4626) held: U256,
    pub(in crate::erc4626) max_deposit_assets: U256,
}

impl Read {
    pub(super) const fn odd(&self, what: &'static str) -> DecodeError {
        impossible(self.vault, what)
    }

    pub(super) fn time(&self, seconds: U256) -> Result<u64, DecodeError> {
        narrow(self.vault, seconds, "a time beyond 64 bits")
    }

    /// Shares of so many assets, which do not grow, and of which what lies in the vault can be paid out.
    pub(super) const fn over(&self, total_assets: U256) -> State {
        State {
            conversion: Conversion::Ratio {
                total_assets,
                total_shares: self.total_shares,
                virtual_assets: U256::ZERO,
                virtual_shares: U256::ZERO,
            },
            accrual: Accrual::None,
            max_deposit_assets: self.max_deposit_assets,
            max_redeem_shares: U256::MAX,
            max_withdraw_assets: self.held,
            reserve: None,
            cap: None,
            form: None,
        }
    }

    pub(super) fn streaming(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        let amount = answers.next::<lastRewardAmountCall>()?.to::<U256>();
        let since = u64::from(answers.next::<lastSyncCall>()?);
        let until = u64::from(answers.next::<rewardsCycleEndCall>()?);
        let accrual = Accrual::Streaming { amount, since, until };
        // the stored part is not public: what there is now, less what has streamed by now
        let streamed = accrual.streamed(self.timestamp).ok_or(self.odd("a reward without a cycle"))?;
        let stored = self.total_assets.checked_sub(streamed).ok_or(self.odd("more streamed than there is"))?;
        // a redemption is taken from what is stored, to which the reward comes with the first trade after its cycle
        let payable = if self.timestamp < until { stored } else { self.total_assets };
        Ok(State { accrual, max_withdraw_assets: payable.min(self.held), ..self.over(stored) })
    }

    pub(super) fn distributing(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        let stored = answers.next::<storedTotalAssetsCall>()?;
        let cycle = answers.next::<rewardsCycleDataCall>()?;
        let accrual = Accrual::Distributing {
            amount: cycle.rewardCycleAmount.to(),
            from: cycle.lastSync.to(),
            until: cycle.cycleEnd.to(),
            since: self.time(answers.next::<lastRewardsDistributionCall>()?)?,
            most_per_second_wad: answers.next::<maxDistributionPerSecondPerAssetCall>()?,
        };
        // a new cycle begins with what lies in the vault beyond what is stored
        if self.held < self.total_assets {
            return Err(self.odd("less in the vault than it counts"));
        }
        Ok(State { accrual, ..self.over(stored) })
    }

    pub(super) fn wrapped(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        if answers.next::<stUSRAddressCall>()? != RESOLV_STAKED {
            return Err(self.odd("a wrapper of another token"));
        }
        let inner_shares = answers.next::<totalSharesCall>()?;
        let total_assets = answers.next::<balanceOfCall>()?;
        let inner_per_share = U256::from(RESOLV_SHARES);
        Ok(State {
            conversion: Conversion::Wrapped { total_assets, inner_shares, inner_per_share },
            max_withdraw_assets: total_assets,
            ..self.over(U256::ZERO)
        })
    }

    /// Both releases of Aave's savings keep the same numbers at the same place, packed differently.
    pub(super) fn indexed(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        let paused = answers.next::<pausedCall>()?;
        let (first, second): (U256, U256) = (answers.next::<storageAtCall>()?, answers.next::<storageAtCall>()?);
        let field = |word: U256, from: usize, bits: usize| (word >> from) & ((U256::ONE << bits) - U256::ONE);
        let narrow_field = |from, bits| field(first, from, bits).to::<u64>();
        // the second release has no more there than a pace of 16 bits
        let (rate, accrual, most_assets) = if (second >> 16_usize).is_zero() {
            let next = Some((narrow_field(216, 40), second.to::<u64>())).filter(|(at, _)| *at != 0);
            let accrual =
                Accrual::Straight { per_year_bips: narrow_field(160, 16), since: narrow_field(120, 40), next };
            (field(first, 0, 120), accrual, field(first, 176, 40) * WAD)
        } else {
            let accrual = Accrual::Simple { per_second_ray: second >> 160_usize, since: narrow_field(176, 64) };
            (field(first, 0, 176), accrual, field(second, 0, 160))
        };
        let open = |limit| if paused { U256::ZERO } else { limit };
        let state = State {
            conversion: Conversion::Rate { rate, one: RAY },
            accrual,
            max_deposit_assets: open(U256::MAX),
            max_redeem_shares: open(self.total_shares),
            cap: Some(Cap { most_assets, total_shares: self.total_shares }),
            ..self.over(self.held)
        };
        let now = state.accrual.apply(state.conversion, self.timestamp);
        if now.and_then(|now| state.room(&now, self.timestamp)) != Some(self.max_deposit_assets) {
            return Err(self.odd("another limit of deposits than its cap leaves"));
        }
        Ok(state)
    }

    pub(super) fn ticking(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        if answers.next::<savingsCall>()? != FRANKENCOIN_SAVINGS {
            return Err(self.odd("savings elsewhere"));
        }
        let account = answers.next::<Module::savingsCall>()?;
        let accrual = Accrual::Ticking {
            ticks: answers.next::<currentTicksCall>()?,
            since: self.timestamp,
            per_second: answers.next::<currentRatePPMCall>()?.to(),
            mark: account.ticks,
            fee_millionths: if account.referrer.is_zero() { 0 } else { account.referralFeePPM },
        };
        let ends = answers.next::<nextRatePPMCall>()?.is_zero();
        let earns = !matches!(accrual, Accrual::Ticking { per_second: 0, .. });
        Ok(State {
            conversion: Conversion::Price { total_assets: account.saved.to(), total_shares: self.total_shares },
            accrual,
            // savings that earn nothing, or soon will, take nothing in
            max_deposit_assets: if earns && !ends { self.max_deposit_assets } else { U256::ZERO },
            max_withdraw_assets: U256::MAX,
            ..self.over(U256::ZERO)
        })
    }

    pub(super) fn unlocking(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        if answers.next::<apiVersionCall>()? != YEARN_RELEASE {
            return Err(self.odd("another release than the one that is understood"));
        }
        if answers.next::<auto_allocateCall>()? {
            return Err(self.odd("deposits that go on into a strategy"));
        }
        let limits = (answers.next::<deposit_limit_moduleCall>()?, answers.next::<withdraw_limit_moduleCall>()?);
        let max_withdraw_assets = answers.next::<totalIdleCall>()?;
        let gone = answers.next::<unlockedSharesCall>()?;
        // what is unlocked counts neither in the supply nor in what the vault says that it holds of itself
        let with_gone = |shares: U256| shares.checked_add(gone).ok_or(self.odd("shares beyond 256 bits"));
        let accrual = Accrual::Unlocking {
            per_second: answers.next::<profitUnlockingRateCall>()?,
            since: self.time(answers.next::<lastProfitUpdateCall>()?)?,
            until: self.time(answers.next::<fullProfitUnlockDateCall>()?)?,
            held: with_gone(answers.next::<balanceOfCall>()?)?,
        };
        let total_shares = with_gone(self.total_shares)?;
        let own = Self { total_shares, ..*self };
        Ok(State {
            accrual,
            // a module may say of each account something else
            max_deposit_assets: if limits.0.is_zero() { self.max_deposit_assets } else { U256::ZERO },
            max_redeem_shares: if limits.1.is_zero() { U256::MAX } else { U256::ZERO },
            max_withdraw_assets,
            ..own.over(self.total_assets)
        })
    }
}
