//! What is asked of a vault of each form beside what is asked of all, and what its state is by the answers.

use alloy_primitives::{Address, U256, address};

mod asked;

use super::{Accrual, Cap, Conversion, Form, RAY, State, WAD, listed::MAKER_POT, reader::balanceOfCall};
use crate::{
    DecodeError,
    answers::{Answers, Question, ask, impossible, narrow},
    storage::{ask_word, storageAtCall},
};
use asked::{
    Module, apiVersionCall, auto_allocateCall, chiCall, cooldownDurationCall, currentRatePPMCall, currentTicksCall,
    deposit_limit_moduleCall, depositCapCall, dsrCall, fullProfitUnlockDateCall, lastDistributionTimestampCall,
    lastProfitUpdateCall, lastRewardAmountCall, lastRewardsDistributionCall, lastSyncCall,
    maxDistributionPerSecondPerAssetCall, nextRatePPMCall, pausedCall, pocketCall, profitUnlockingRateCall, psmCall,
    rewardsCycleDataCall, rewardsCycleEndCall, rhoCall, savingsCall, ssrCall, stUSRAddressCall, storedTotalAssetsCall,
    totalIdleCall, totalSharesCall, unlockedSharesCall, vestingAmountCall, vestingPeriodCall, vsrCall,
    withdraw_limit_moduleCall,
};

/// How long a reward of Ethena's vests, in seconds. Source: `StakedUSDe.VESTING_PERIOD`.
const ETHENA_VESTING_SECONDS: u64 = 8 * 3_600;

/// Fewer shares than this, and more than none, neither Ethena's vault nor Falcon's lets a trade leave. Source: `MIN_SHARES`.
const LEAST_SHARES: U256 = WAD;

/// The rebasing token that Resolv's wrapper holds. Source: `WstUSR.stUSRAddress`.
const RESOLV_STAKED: Address = address!("6c8984bc7DBBeDAf4F6b2FD766f16eBB7d10AAb4");

/// How many of its shares a wrapped one is. Source: `WstUSR.ST_USR_SHARES_OFFSET`.
const RESOLV_SHARES: u64 = 1_000;

/// Sky's exchange of USDC for USDS and where it keeps its USDC. Source: chainlog `WRAPPER_USDS_LITE_PSM_USDC_A`,
/// `MCD_LITE_PSM_USDC_A_POCKET`.
const SKY_PSM: Address = address!("A188EEC8F81263234dA3622A406892F3D630f98c");
const SKY_POCKET: Address = address!("37305B1cD40574E4C5Ce33f8e8306Be057fD7341");

/// Atomic units of USDS for one of USDC.
const USDS_PER_USDC: u64 = 1_000_000_000_000;

/// Where Frankencoin's vault saves. Source: `SavingsVaultZCHF_2.savings`.
const FRANKENCOIN_SAVINGS: Address = address!("27d9AD987BdE08a0d083ef7e0e4043C857A17B38");

/// The release of Yearn's vaults that is understood.
const YEARN_RELEASE: &str = "3.0.4";

/// The first of the two words of Aave's savings. Source: `sGho.sGhoStorageLocation`.
const AAVE_SAVINGS_SLOT: U256 =
    U256::from_limbs([0xb3ed_9862_d9a9_a400, 0xd285_be3b_9181_9fb1, 0xc5a7_c2ae_78ea_3854, 0x5219_0d4b_caca_04ca]);

/// What is read of every vault.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) vault: Address,
    pub(super) timestamp: u64,
    pub(super) total_assets: U256,
    pub(super) total_shares: U256,
    /// What lies in the vault.
    pub(super) held: U256,
    pub(super) max_deposit_assets: U256,
}

impl Form {
    /// What is asked beside what is asked of every vault.
    pub(super) fn questions(self, vault: Address, asset: Address) -> Vec<Question> {
        match self {
            Self::Holdings => vec![],
            Self::SkySavings => vec![ask(vault, &chiCall {}), ask(vault, &ssrCall {}), ask(vault, &rhoCall {})],
            Self::SparkSavings => vec![
                ask(vault, &chiCall {}),
                ask(vault, &vsrCall {}),
                ask(vault, &rhoCall {}),
                ask(vault, &depositCapCall {}),
            ],
            Self::MakerPot => {
                vec![ask(MAKER_POT, &chiCall {}), ask(MAKER_POT, &dsrCall {}), ask(MAKER_POT, &rhoCall {})]
            }
            Self::SkyThroughPsm => vec![
                ask(vault, &psmCall {}),
                ask(SKY_PSM, &pocketCall {}),
                ask(asset, &balanceOfCall { owner: SKY_POCKET }),
                ask(vault, &chiCall {}),
                ask(vault, &ssrCall {}),
                ask(vault, &rhoCall {}),
            ],
            Self::EthenaStaking => vec![
                ask(vault, &cooldownDurationCall {}),
                ask(vault, &vestingAmountCall {}),
                ask(vault, &lastDistributionTimestampCall {}),
            ],
            Self::FalconStaking => vec![
                ask(vault, &cooldownDurationCall {}),
                ask(vault, &vestingAmountCall {}),
                ask(vault, &lastDistributionTimestampCall {}),
                ask(vault, &vestingPeriodCall {}),
            ],
            Self::FraxStaking => vec![
                ask(vault, &lastRewardAmountCall {}),
                ask(vault, &lastSyncCall {}),
                ask(vault, &rewardsCycleEndCall {}),
            ],
            Self::FraxSavings => vec![
                ask(vault, &storedTotalAssetsCall {}),
                ask(vault, &rewardsCycleDataCall {}),
                ask(vault, &lastRewardsDistributionCall {}),
                ask(vault, &maxDistributionPerSecondPerAssetCall {}),
            ],
            Self::ResolvWrapper => vec![
                ask(vault, &stUSRAddressCall {}),
                ask(RESOLV_STAKED, &totalSharesCall {}),
                ask(asset, &balanceOfCall { owner: RESOLV_STAKED }),
            ],
            Self::AaveSavings => vec![
                ask(vault, &pausedCall {}),
                ask_word(vault, AAVE_SAVINGS_SLOT),
                ask_word(vault, AAVE_SAVINGS_SLOT | U256::ONE),
            ],
            Self::FrankencoinSavings => vec![
                ask(vault, &savingsCall {}),
                ask(FRANKENCOIN_SAVINGS, &Module::savingsCall { account: vault }),
                ask(FRANKENCOIN_SAVINGS, &currentTicksCall {}),
                ask(FRANKENCOIN_SAVINGS, &currentRatePPMCall {}),
                ask(FRANKENCOIN_SAVINGS, &nextRatePPMCall {}),
            ],
            Self::YearnVault => vec![
                ask(vault, &apiVersionCall {}),
                ask(vault, &auto_allocateCall {}),
                ask(vault, &deposit_limit_moduleCall {}),
                ask(vault, &withdraw_limit_moduleCall {}),
                ask(vault, &totalIdleCall {}),
                ask(vault, &unlockedSharesCall {}),
                ask(vault, &profitUnlockingRateCall {}),
                ask(vault, &lastProfitUpdateCall {}),
                ask(vault, &fullProfitUnlockDateCall {}),
                ask(vault, &balanceOfCall { owner: vault }),
            ],
        }
    }

    /// The state by the answers, which are taken in the order of the questions.
    pub(super) fn state(self, read: &Read, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        match self {
            Self::Holdings if read.total_assets != read.held => {
                Err(read.odd("assets that do not lie in the vault: no model of what they earn"))
            }
            Self::Holdings => Ok(read.over(read.held)),
            Self::SkySavings | Self::SparkSavings | Self::MakerPot | Self::SkyThroughPsm => self.savings(read, answers),
            Self::EthenaStaking | Self::FalconStaking => self.vesting(read, answers),
            Self::FraxStaking => read.streaming(answers),
            Self::FraxSavings => read.distributing(answers),
            Self::ResolvWrapper => read.wrapped(answers),
            Self::AaveSavings => read.indexed(answers),
            Self::FrankencoinSavings => read.ticking(answers),
            Self::YearnVault => read.unlocking(answers),
        }
    }

    /// A rate that compounds.
    fn savings(self, read: &Read, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        let mut state = read.over(read.held);
        let mut one = RAY;
        // what these pay out is minted, but for Spark's
        if self != Self::SparkSavings {
            state.max_withdraw_assets = U256::MAX;
        }
        if self == Self::SkyThroughPsm {
            // both ways are one to one, or the previews do not agree
            one *= U256::from(USDS_PER_USDC);
            if answers.next::<psmCall>()? != SKY_PSM || answers.next::<pocketCall>()? != SKY_POCKET {
                return Err(read.odd("another exchange than Sky's"));
            }
            state.max_withdraw_assets = answers.next::<balanceOfCall>()?;
        }
        let rate = answers.next::<chiCall>()?;
        let per_second_ray = match self {
            Self::SparkSavings => answers.next::<vsrCall>()?,
            Self::MakerPot => answers.next::<dsrCall>()?,
            _ => answers.next::<ssrCall>()?,
        };
        let since = read.time(answers.next::<rhoCall>()?)?;
        state.conversion = Conversion::Rate { rate, one };
        state.accrual = Accrual::Compounding { per_second_ray, since };
        if self == Self::SparkSavings {
            // its `maxDeposit` is what the cap left at the block that was read
            let most_assets = answers.next::<depositCapCall>()?;
            state.cap = Some(Cap { most_assets, total_shares: read.total_shares });
            state.max_deposit_assets = U256::MAX;
        }
        Ok(state)
    }

    /// What lies in the vault, less what has not vested.
    fn vesting(self, read: &Read, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        let mut state = read.over(read.held);
        let waits = !answers.next::<cooldownDurationCall>()?.is_zero();
        let spare = read.total_shares.checked_sub(LEAST_SHARES).ok_or(read.odd("fewer shares than it lets be left"))?;
        state.max_redeem_shares = if waits { U256::ZERO } else { spare };
        let amount = answers.next::<vestingAmountCall>()?;
        let since = read.time(answers.next::<lastDistributionTimestampCall>()?)?;
        let duration_seconds = match self {
            Self::FalconStaking => u64::from(answers.next::<vestingPeriodCall>()?),
            _ => ETHENA_VESTING_SECONDS,
        };
        state.accrual = Accrual::Vesting { amount, since, duration_seconds };
        Ok(state)
    }
}

impl Read {
    const fn odd(&self, what: &'static str) -> DecodeError {
        impossible(self.vault, what)
    }

    fn time(&self, seconds: U256) -> Result<u64, DecodeError> {
        narrow(self.vault, seconds, "a time beyond 64 bits")
    }

    /// Shares of so many assets, which do not grow, and of which what lies in the vault can be paid out.
    const fn over(&self, total_assets: U256) -> State {
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

    fn streaming(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
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

    fn distributing(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
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

    fn wrapped(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
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
    fn indexed(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
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

    fn ticking(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
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

    fn unlocking(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
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
