//! What is asked of a vault of each form beside what is asked of all, and what its state is by the answers.

use alloy_primitives::{Address, U256, address};

mod asked;
mod read;

use super::{Accrual, Cap, Conversion, Form, RAY, State, WAD, listed::MAKER_POT, reader::balanceOfCall};
use crate::{
    DecodeError,
    answers::{Answers, Question, ask},
    storage::ask_word,
};
pub(super) use read::Read;

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
