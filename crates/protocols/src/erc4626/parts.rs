//! Parts that vaults consist of, each with the code that reads its values.
//!
//! A part makes all the calls that it needs, even if another part makes them too; equal calls are made once.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::sol;

use super::{Accrual, Cap, Conversion, Limits};
use crate::{
    aave::RAY,
    maths::WAD,
    reading::{Reading, Stop, is},
    vault::Rounding,
};

sol! {
    function maxDeposit(address receiver) external view returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function apiVersion() external view returns (string);
    function rewardsCycleData() external view returns (uint40 cycleEnd, uint40 lastSync, uint216 rewardCycleAmount);
    function savings(address account) external view returns (uint192 saved, uint64 ticks, address referrer, uint32 referralFeePPM);
}

/// An account unknown to any vault: its limits are those of everybody.
const ANYBODY: Address = address!("00000000000000000000000000000000000a11ce");

/// MakerDAO's pot, which holds sDAI's rate. Source: chainlog `MCD_POT`.
pub const MAKER_POT: Address = address!("197E90f9FAD81970bA7976f33CbD77088E5D7cf7");

/// Sky's PSM between USDC and USDS, and the pocket with its USDC. Source: chainlog `WRAPPER_USDS_LITE_PSM_USDC_A`,
/// `MCD_LITE_PSM_USDC_A_POCKET`.
const SKY_PSM: Address = address!("A188EEC8F81263234dA3622A406892F3D630f98c");
const SKY_POCKET: Address = address!("37305B1cD40574E4C5Ce33f8e8306Be057fD7341");

/// Rebasing token that Resolv's wrapper holds. Source: `WstUSR.stUSRAddress`.
const RESOLV_STAKED: Address = address!("6c8984bc7DBBeDAf4F6b2FD766f16eBB7d10AAb4");

/// Inner shares per wrapped share. Source: `WstUSR.ST_USR_SHARES_OFFSET`.
const RESOLV_SHARES: U256 = U256::from_limbs([1_000, 0, 0, 0]);

/// Savings contract of Frankencoin's vault. Source: `SavingsVaultZCHF_2.savings`.
const FRANKENCOIN_SAVINGS: Address = address!("27d9AD987BdE08a0d083ef7e0e4043C857A17B38");

/// Modelled release of Yearn's vaults.
const YEARN_RELEASE: &str = "3.0.4";

/// First of the two storage slots of Aave's savings. Source: `sGho.sGhoStorageLocation`.
const AAVE_SAVINGS_SLOT: U256 =
    U256::from_limbs([0xb3ed_9862_d9a9_a400, 0xd285_be3b_9181_9fb1, 0xc5a7_c2ae_78ea_3854, 0x5219_0d4b_caca_04ca]);

/// Views that several parts call, or that identify a vault.
const TOTAL_ASSETS: &str = "totalAssets()";
const TOTAL_SHARES: &str = "totalSupply()";
const UNLOCKED_SHARES: &str = "unlockedShares()";
const SAVINGS_RATE: &str = "currentRatePPM()";
pub(super) const STORED_ASSETS: &str = "storedTotalAssets()";
pub(super) const LAST_REWARD: &str = "lastRewardAmount()";
pub(super) const COOLDOWN: &str = "cooldownDuration()";

/// Minimum number of shares, unless zero, after a trade of Ethena's and Falcon's vaults. Source: `MIN_SHARES`.
const LEAST_SHARES: U256 = WAD;

/// Conversion of assets to shares, with the code that reads it.
#[derive(Clone, Copy, Debug)]
pub(super) enum ConversionPart {
    /// Shares of the assets that the vault holds, which are all that it counts, with virtual amounts or without. 11
    /// listed vaults, and unlisted ones.
    Holdings,
    /// Shares of the assets that the vault holds, plus one virtual asset and one virtual share. 2 vaults: sUSDe, sUSDf.
    HoldingsAndOne,
    /// A rate of 27 decimals, `chi` of the vault itself or of `keeper`; `one` is its scale. 7 vaults.
    Rate { keeper: Option<Address>, one: U256 },
    /// Shares of the vault's total assets less the streamed part of a reward. 1 vault: sfrxETH.
    BeforeStream,
    /// Shares of the vault's stored assets. 1 vault: sFRAX.
    Stored,
    /// Shares of the vault's total assets, including shares unlocked since the last report. 1 vault: sUSG, and unlisted
    /// ones with its code.
    BeforeUnlocking,
    /// A thousand shares each of a rebasing token that holds the asset. 1 vault: wstUSR.
    Rebasing,
    /// An index in the vault's storage. 1 vault: sGHO.
    StoredIndex,
    /// The price of savings in another contract. 1 vault: svZCHF.
    Saved,
}

/// Growth with time, with the code that reads it.
#[derive(Clone, Copy, Debug)]
pub(super) enum AccrualPart {
    /// None. 12 vaults.
    None,
    /// A rate that compounds since `rho`, of the vault itself or of `keeper`; the view `rate` returns the growth per
    /// second. 7 vaults.
    Compounding { keeper: Option<Address>, rate: &'static str },
    /// A reward that vests in a number of seconds, or in `vestingPeriod`. 2 vaults: sUSDe, sUSDf.
    Vesting { seconds: Option<u64> },
    /// A reward that streams until its cycle ends. 1 vault: sfrxETH.
    Streaming,
    /// A reward distributed per cycle, rate-capped. 1 vault: sFRAX.
    Distributing,
    /// Interest on an index in the vault's storage. 1 vault: sGHO.
    StoredIndex,
    /// Interest by a counter of ticks. 1 vault: svZCHF.
    Ticking,
    /// Shares that unlock linearly. 1 vault: sUSG.
    Unlocking,
}

/// Limits of deposits and redemptions, with the code that reads them.
#[derive(Clone, Copy, Debug)]
pub(super) enum LimitsPart {
    /// `maxDeposit`, and the vault's balance. 12 vaults.
    Holdings,
    /// `maxDeposit`, and no payout limit: payouts are minted. 3 vaults: sUSDS, sUSDD, sDAI.
    Minted,
    /// A cap on all assets, and the vault's balance. 3 vaults: spUSDC, spUSDT, spETH.
    Capped,
    /// Balance of Sky's PSM. 1 vault: sUSDC.
    Exchange,
    /// A cooldown that closes redemptions, or a minimum number of remaining shares. 2 vaults: sUSDe, sUSDf.
    Cooldown,
    /// Stored assets, until the cycle's end. 1 vault: sfrxETH.
    BeforeStream,
    /// Balance of the rebasing token. 1 vault: wstUSR.
    Rebasing,
    /// A cap on all assets and a pause, converted to shares. 1 vault: sGHO.
    CappedAndPaused,
    /// No deposits while savings earn no interest, now or soon. 1 vault: svZCHF.
    Earning,
    /// Idle balance. Modules with limits per account close their direction. 1 vault: sUSG.
    Idle,
}

/// Addresses of a vault and of its asset.
#[derive(Clone, Copy, Debug)]
pub(super) struct VaultAddresses {
    pub(super) vault: Address,
    pub(super) asset: Address,
}

impl VaultAddresses {
    fn held(self, reading: &mut Reading) -> Result<U256, Stop> {
        reading.ask(self.asset, &balanceOfCall { owner: self.vault })
    }

    /// Returns the vault's balance and its reported total assets.
    fn held_and_counted(self, reading: &mut Reading) -> Result<(U256, U256), Stop> {
        let (held, counted) = (self.held(reading), reading.word(self.vault, TOTAL_ASSETS));
        Ok((held?, counted?))
    }

    fn saved(self, reading: &mut Reading) -> Result<savingsReturn, Stop> {
        let keeper = reading.word(self.vault, "savings()");
        let account = reading.ask(FRANKENCOIN_SAVINGS, &savingsCall { account: self.vault });
        if is(keeper?, FRANKENCOIN_SAVINGS) { account } else { Err(reading.impossible("savings elsewhere")) }
    }

    /// Returns the index, its growth, and the cap. Both releases of Aave's savings store the same values in the same
    /// slots, packed differently.
    fn stored_index(self, reading: &mut Reading) -> Result<(U256, Accrual, U256), Stop> {
        let words = [AAVE_SAVINGS_SLOT, AAVE_SAVINGS_SLOT | U256::ONE].map(|slot| reading.storage(self.vault, slot));
        let [first, second] = words;
        let (first, second) = (first?, second?);
        let field = |word: U256, from: usize, bits: usize| (word >> from) & ((U256::ONE << bits) - U256::ONE);
        let narrow = |from, bits| field(first, from, bits).to::<u64>();
        // the second release stores only a pace of 16 bits there
        Ok(if (second >> 16_usize).is_zero() {
            let next = Some((narrow(216, 40), second.to::<u64>())).filter(|(at, _)| *at != 0);
            let accrual = Accrual::Straight { per_year_bips: narrow(160, 16), since: narrow(120, 40), next };
            (field(first, 0, 120), accrual, field(first, 176, 40) * WAD)
        } else {
            let accrual = Accrual::Simple {
                interest_ray: second >> 160_usize,
                period_seconds: 1,
                rounding: Rounding::Down,
                since: narrow(176, 64),
            };
            (field(first, 0, 176), accrual, field(second, 0, 160))
        })
    }

    /// Returns the stored assets, and the part of all assets that can be paid out. The stored assets have no view, but
    /// follow from the total assets less the streamed part.
    fn before_stream(self, reading: &mut Reading) -> Result<(U256, U256), Stop> {
        let (accrual, counted, now) =
            (AccrualPart::Streaming.read(self, reading), reading.word(self.vault, TOTAL_ASSETS), reading.timestamp());
        let (accrual, counted, now) = (accrual?, counted?, now?);
        let streamed = accrual.streamed(now).ok_or(reading.impossible("a reward without a cycle"))?;
        let stored =
            counted.checked_sub(streamed).ok_or(reading.impossible("a streamed reward above the total assets"))?;
        // a redemption is paid from the stored assets, to which the first trade after a cycle adds the reward
        let streams = matches!(accrual, Accrual::Streaming { until, .. } if now < until);
        Ok((stored, if streams { stored } else { counted }))
    }
}

impl ConversionPart {
    pub(super) fn read(self, of: VaultAddresses, reading: &mut Reading) -> Result<Conversion, Stop> {
        let (vault, shares) = (of.vault, reading.word(of.vault, TOTAL_SHARES));
        Ok(match self {
            Self::Holdings => {
                let (held, counted) = of.held_and_counted(reading)?;
                if held != counted {
                    return Err(reading.impossible("assets held elsewhere, whose yield is not modelled"));
                }
                Conversion::ratio(held, shares?)
            }
            Self::HoldingsAndOne => Conversion::ratio(of.held(reading)?, shares?).with_virtual(U256::ONE),
            Self::Rate { keeper, one } => {
                Conversion::Rate { rate: reading.word(keeper.unwrap_or(vault), "chi()")?, one }
            }
            Self::BeforeStream => Conversion::ratio(of.before_stream(reading)?.0, shares?),
            Self::Stored => {
                let (stored, both) = (reading.word(vault, STORED_ASSETS), of.held_and_counted(reading));
                let (held, counted) = both?;
                // a new cycle begins with the balance beyond the stored assets
                if held < counted {
                    return Err(reading.impossible("a balance below its total assets"));
                }
                Conversion::ratio(stored?, shares?)
            }
            Self::BeforeUnlocking => {
                let release = reading.ask(vault, &apiVersionCall {});
                let [allocates, gone, counted] =
                    reading.words(vault, ["auto_allocate()", UNLOCKED_SHARES, TOTAL_ASSETS])?;
                if release? != YEARN_RELEASE {
                    return Err(reading.impossible("a release that is not modelled"));
                }
                if !allocates.is_zero() {
                    return Err(reading.impossible("deposits that are forwarded to a strategy"));
                }
                // the supply excludes unlocked shares
                let shares = shares?.checked_add(gone).ok_or(reading.impossible("shares beyond 256 bits"))?;
                Conversion::ratio(counted, shares)
            }
            Self::Rebasing => {
                let inner_shares = reading.word(RESOLV_STAKED, "totalShares()");
                let total_assets = reading.ask(of.asset, &balanceOfCall { owner: RESOLV_STAKED });
                if !is(reading.word(vault, "stUSRAddress()")?, RESOLV_STAKED) {
                    return Err(reading.impossible("a wrapper of another token"));
                }
                let (total_assets, inner_shares) = (total_assets?, inner_shares?);
                Conversion::Wrapped { total_assets, inner_shares, inner_per_share: RESOLV_SHARES }
            }
            Self::StoredIndex => Conversion::Rate { rate: of.stored_index(reading)?.0, one: RAY },
            Self::Saved => Conversion::Price { total_assets: of.saved(reading)?.saved.to(), total_shares: shares? },
        })
    }
}

impl AccrualPart {
    pub(super) fn read(self, of: VaultAddresses, reading: &mut Reading) -> Result<Accrual, Stop> {
        let vault = of.vault;
        Ok(match self {
            Self::None => Accrual::None,
            Self::Compounding { keeper, rate } => {
                let [per_second_ray, since] = reading.words(keeper.unwrap_or(vault), [rate, "rho()"])?;
                Accrual::Compounding { per_second_ray, since: reading.narrow(since)? }
            }
            Self::Vesting { seconds } => {
                let period =
                    seconds.map_or_else(|| reading.word(vault, "vestingPeriod()"), |known| Ok(U256::from(known)));
                let [amount, since] = reading.words(vault, ["vestingAmount()", "lastDistributionTimestamp()"])?;
                let (since, duration_seconds) = (reading.narrow(since)?, reading.narrow(period?)?);
                Accrual::Vesting { amount, since, duration_seconds }
            }
            Self::Streaming => {
                let [amount, since, until] = reading.words(vault, [LAST_REWARD, "lastSync()", "rewardsCycleEnd()"])?;
                Accrual::Streaming { amount, since: reading.narrow(since)?, until: reading.narrow(until)? }
            }
            Self::Distributing => {
                let cycle = reading.ask(vault, &rewardsCycleDataCall {});
                let views = ["lastRewardsDistribution()", "maxDistributionPerSecondPerAsset()"];
                let [since, most_per_second_wad] = reading.words(vault, views)?;
                let (cycle, since) = (cycle?, reading.narrow(since)?);
                let (from, until) = (cycle.lastSync.to(), cycle.cycleEnd.to());
                Accrual::Distributing { amount: cycle.rewardCycleAmount.to(), from, until, since, most_per_second_wad }
            }
            Self::StoredIndex => of.stored_index(reading)?.1,
            Self::Ticking => {
                let (account, now) = (of.saved(reading), reading.timestamp());
                let [ticks, per_second] = reading.words(FRANKENCOIN_SAVINGS, ["currentTicks()", SAVINGS_RATE])?;
                let (account, ticks, per_second) = (account?, reading.narrow(ticks)?, reading.narrow(per_second)?);
                let fee_millionths = if account.referrer.is_zero() { 0 } else { account.referralFeePPM };
                Accrual::Ticking { ticks, since: now?, per_second, mark: account.ticks, fee_millionths }
            }
            Self::Unlocking => {
                let held = reading.ask(vault, &balanceOfCall { owner: vault });
                let views = [UNLOCKED_SHARES, "profitUnlockingRate()", "lastProfitUpdate()", "fullProfitUnlockDate()"];
                let [gone, per_second, since, until] = reading.words(vault, views)?;
                let (since, until) = (reading.narrow(since)?, reading.narrow(until)?);
                // the vault's balance of its own shares excludes unlocked ones
                let held = held?.checked_add(gone).ok_or(reading.impossible("shares beyond 256 bits"))?;
                Accrual::Unlocking { per_second, since, until, held }
            }
        })
    }
}

impl LimitsPart {
    pub(super) fn read(self, of: VaultAddresses, reading: &mut Reading) -> Result<Limits, Stop> {
        let (vault, held) = (of.vault, of.held(reading));
        let (most, shares) =
            (reading.ask(vault, &maxDepositCall { receiver: ANYBODY }), reading.word(vault, TOTAL_SHARES));
        let usual = most.and_then(|max_deposit_assets| {
            Ok(Limits { max_deposit_assets, max_withdraw_assets: held?, ..Limits::NONE })
        });
        Ok(match self {
            Self::Holdings => usual?,
            Self::Minted => Limits { max_withdraw_assets: U256::MAX, ..usual? },
            Self::Capped => {
                // its `maxDeposit` is the remaining cap at the block of the reading
                let most_assets = reading.word(vault, "depositCap()")?;
                let cap = Some(Cap { most_assets, total_shares: shares? });
                Limits { max_deposit_assets: U256::MAX, cap, ..usual? }
            }
            Self::Exchange => {
                let there = reading.ask(of.asset, &balanceOfCall { owner: SKY_POCKET });
                let (psm, pocket) = (reading.word(vault, "psm()"), reading.word(SKY_PSM, "pocket()"));
                if !is(psm?, SKY_PSM) || !is(pocket?, SKY_POCKET) {
                    return Err(reading.impossible("another PSM than Sky's"));
                }
                Limits { max_withdraw_assets: there?, ..usual? }
            }
            Self::Cooldown => {
                let waits = !reading.word(vault, COOLDOWN)?.is_zero();
                let spare = shares?.checked_sub(LEAST_SHARES);
                let spare = spare.ok_or(reading.impossible("fewer shares than its minimum"))?;
                Limits { max_redeem_shares: if waits { U256::ZERO } else { spare }, ..usual? }
            }
            Self::BeforeStream => {
                let (_, payable) = of.before_stream(reading)?;
                let usual = usual?;
                Limits { max_withdraw_assets: payable.min(usual.max_withdraw_assets), ..usual }
            }
            Self::Rebasing => {
                let there = reading.ask(of.asset, &balanceOfCall { owner: RESOLV_STAKED })?;
                Limits { max_withdraw_assets: there, ..usual? }
            }
            Self::CappedAndPaused => {
                let (index, paused, now) =
                    (of.stored_index(reading), reading.word(vault, "paused()"), reading.timestamp());
                let ((rate, accrual, most_assets), open, now) = (index?, paused?.is_zero(), now?);
                let (usual, total_shares) = (usual?, shares?);
                let limit = |most| if open { most } else { U256::ZERO };
                let limits = Limits {
                    max_deposit_assets: limit(U256::MAX),
                    max_redeem_shares: limit(total_shares),
                    cap: Some(Cap { most_assets, total_shares }),
                    counts_shares: true,
                    ..usual
                };
                let conversion = accrual.apply(Conversion::Rate { rate, one: RAY }, now);
                if conversion.and_then(|conversion| limits.room(&conversion, now)) != Some(usual.max_deposit_assets) {
                    return Err(reading.impossible("a deposit limit that does not follow from its cap"));
                }
                limits
            }
            Self::Earning => {
                let [rate, next] = reading.words(FRANKENCOIN_SAVINGS, [SAVINGS_RATE, "nextRatePPM()"])?;
                let usual = Limits { max_withdraw_assets: U256::MAX, ..usual? };
                let earns = !rate.is_zero() && !next.is_zero();
                if earns { usual } else { Limits { max_deposit_assets: U256::ZERO, ..usual } }
            }
            Self::Idle => {
                let views = ["deposit_limit_module()", "withdraw_limit_module()", "totalIdle()"];
                let [deposits, withdrawals, max_withdraw_assets] = reading.words(vault, views)?;
                let open = |module: U256, limit| if module.is_zero() { limit } else { U256::ZERO };
                let usual = usual?;
                Limits {
                    max_deposit_assets: open(deposits, usual.max_deposit_assets),
                    max_redeem_shares: open(withdrawals, U256::MAX),
                    max_withdraw_assets,
                    ..usual
                }
            }
        })
    }
}
