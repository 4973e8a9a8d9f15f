//! Reads a listed vault in one round, which every block repeats: its numbers, and what its previews say of a large amount, which the
//! model must repeat.

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;

use super::{Accrual, Conversion, Form, Listed, RAY, State, listed::MAKER_POT};
use crate::{
    DecodeError, PoolState, ReadProgress, StateReader,
    answers::{Answers, Question, ask, calls, impossible, narrow},
};

sol! {
    function asset() external view returns (address);
    function totalAssets() external view returns (uint256);
    function totalSupply() external view returns (uint256);
    function maxDeposit(address receiver) external view returns (uint256);
    function previewDeposit(uint256 assets) external view returns (uint256);
    function previewRedeem(uint256 shares) external view returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function cooldownDuration() external view returns (uint24);
    function chi() external view returns (uint256);
    function ssr() external view returns (uint256);
    function vsr() external view returns (uint256);
    function dsr() external view returns (uint256);
    function rho() external view returns (uint256);
    function vestingAmount() external view returns (uint256);
    function lastDistributionTimestamp() external view returns (uint256);
    function lastRewardAmount() external view returns (uint192);
    function lastSync() external view returns (uint32);
    function rewardsCycleEnd() external view returns (uint32);
    function getCurrentBlockTimestamp() external view returns (uint256);
}

/// Multicall3, which knows the block's time. Source: its deployment list.
pub(crate) const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");

/// An account that no vault knows: whose limits are everybody's.
const ANYBODY: Address = address!("00000000000000000000000000000000000a11ce");

/// How long a reward of Ethena's vests, in seconds. Source: `StakedUSDe.VESTING_PERIOD`.
const ETHENA_VESTING_SECONDS: u64 = 8 * 3_600;

/// The most virtual shares per virtual asset that are tried, as a power of ten.
const MOST_OFFSET: u8 = 18;

/// What previews are asked of: so large that one virtual asset more or less shows in a vault of 10²⁸ atomic units, and so small that
/// 256 bits hold its product with a rate or with what a vault has.
pub(super) const PROBE: U256 = U256::from_limbs([0x1234_5678_9abc_def1, 0x000f_edcb_a987_6543, 0, 0]);

/// Reads one vault.
#[derive(Clone, Debug)]
pub(crate) struct VaultReader {
    listed: Listed,
    asked: Vec<Question>,
}

impl VaultReader {
    pub(super) const fn new(listed: Listed) -> Self {
        Self { listed, asked: Vec::new() }
    }

    /// Of a vault that is not listed, if it is one whose shares are of what lies in it.
    pub(crate) const fn of_holdings(vault: Address, asset: Address) -> Self {
        Self::new(Listed { vault, asset, form: Form::Holdings })
    }

    fn questions(&self) -> Vec<Question> {
        let Listed { vault, asset, form } = self.listed;
        let mut asked = vec![
            ask(vault, &assetCall {}),
            ask(MULTICALL3, &getCurrentBlockTimestampCall {}),
            ask(vault, &totalAssetsCall {}),
            ask(vault, &totalSupplyCall {}),
            ask(asset, &balanceOfCall { owner: vault }),
            ask(vault, &maxDepositCall { receiver: ANYBODY }),
            ask(vault, &previewDepositCall { assets: PROBE }),
            ask(vault, &previewRedeemCall { shares: PROBE }),
        ];
        asked.extend(match form {
            Form::Holdings => vec![],
            Form::SkySavings => vec![ask(vault, &chiCall {}), ask(vault, &ssrCall {}), ask(vault, &rhoCall {})],
            Form::SparkSavings => vec![ask(vault, &chiCall {}), ask(vault, &vsrCall {}), ask(vault, &rhoCall {})],
            Form::MakerPot => {
                vec![ask(MAKER_POT, &chiCall {}), ask(MAKER_POT, &dsrCall {}), ask(MAKER_POT, &rhoCall {})]
            }
            Form::EthenaStaking => {
                vec![
                    ask(vault, &cooldownDurationCall {}),
                    ask(vault, &vestingAmountCall {}),
                    ask(vault, &lastDistributionTimestampCall {}),
                ]
            }
            Form::FraxStaking => vec![
                ask(vault, &lastRewardAmountCall {}),
                ask(vault, &lastSyncCall {}),
                ask(vault, &rewardsCycleEndCall {}),
            ],
        });
        asked
    }

    fn state(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        let Listed { vault, asset, form } = self.listed;
        if answers.next::<assetCall>()? != asset {
            return Err(impossible(vault, "another asset than the list says"));
        }
        let timestamp = narrow(vault, answers.next::<getCurrentBlockTimestampCall>()?, "a time beyond 64 bits")?;
        let total_assets = answers.next::<totalAssetsCall>()?;
        let total_shares = answers.next::<totalSupplyCall>()?;
        let held = answers.next::<balanceOfCall>()?;
        let max_deposit_assets = answers.next::<maxDepositCall>()?;
        let shares_for_probe = answers.next::<previewDepositCall>()?;
        let assets_for_probe = answers.next::<previewRedeemCall>()?;
        let ratio = |total_assets| Conversion::Ratio {
            total_assets,
            total_shares,
            virtual_assets: U256::ZERO,
            virtual_shares: U256::ZERO,
        };
        let mut state = State {
            conversion: ratio(held),
            accrual: Accrual::None,
            reserve: None,
            max_deposit_assets,
            max_redeem_shares: U256::MAX,
            max_withdraw_assets: held,
        };
        match form {
            Form::Holdings if total_assets != held => {
                return Err(impossible(vault, "assets that do not lie in the vault: no model of what they earn"));
            }
            Form::Holdings => {}
            Form::SkySavings | Form::SparkSavings | Form::MakerPot => {
                let rate = answers.next::<chiCall>()?;
                let per_second_ray = match form {
                    Form::SkySavings => answers.next::<ssrCall>()?,
                    Form::SparkSavings => answers.next::<vsrCall>()?,
                    _ => answers.next::<dsrCall>()?,
                };
                let since = narrow(vault, answers.next::<rhoCall>()?, "a time beyond 64 bits")?;
                state.conversion = Conversion::Rate { rate, one: RAY };
                state.accrual = Accrual::Compounding { per_second_ray, since };
                if form != Form::SparkSavings {
                    // what these pay out is minted
                    state.max_withdraw_assets = U256::MAX;
                }
            }
            Form::EthenaStaking => {
                if !answers.next::<cooldownDurationCall>()?.is_zero() {
                    state.max_redeem_shares = U256::ZERO;
                }
                let amount = answers.next::<vestingAmountCall>()?;
                let since = narrow(vault, answers.next::<lastDistributionTimestampCall>()?, "a time beyond 64 bits")?;
                state.accrual = Accrual::Vesting { amount, since, duration_seconds: ETHENA_VESTING_SECONDS };
            }
            Form::FraxStaking => {
                let amount = answers.next::<lastRewardAmountCall>()?.to::<U256>();
                let (since, until) =
                    (u64::from(answers.next::<lastSyncCall>()?), u64::from(answers.next::<rewardsCycleEndCall>()?));
                state.accrual = Accrual::Streaming { amount, since, until };
                // the stored part is not public: what there is now, less what has streamed by now
                let streamed =
                    state.accrual.streamed(timestamp).ok_or(impossible(vault, "a reward without a cycle"))?;
                let stored = total_assets.checked_sub(streamed);
                state.conversion = ratio(stored.ok_or(impossible(vault, "more streamed than there is"))?);
            }
        }
        let now = ExecutionBlock { number: 0, timestamp };
        let agrees = |state: &State| {
            state.preview_deposit(&now, PROBE) == Ok(shares_for_probe)
                && state.preview_redeem(&now, PROBE) == Ok(assets_for_probe)
        };
        let candidates = std::iter::once(state).chain((0..=MOST_OFFSET).filter_map(|k| state.with_offset(k)));
        let agreed = candidates.into_iter().find(agrees);
        agreed.ok_or(impossible(vault, "previews that follow no rule that is modelled, or fees"))
    }
}

impl State {
    /// With OpenZeppelin's one virtual asset and `10^offset` virtual shares, where the conversion is a ratio.
    fn with_offset(&self, offset: u8) -> Option<Self> {
        let Conversion::Ratio { total_assets, total_shares, .. } = self.conversion else { return None };
        let virtual_shares = U256::from(10).checked_pow(U256::from(offset))?;
        let conversion = Conversion::Ratio { total_assets, total_shares, virtual_assets: U256::ONE, virtual_shares };
        Some(Self { conversion, ..*self })
    }
}

impl StateReader for VaultReader {
    fn start(&mut self) -> ReadProgress {
        self.asked = self.questions();
        ReadProgress::Calls(calls(&self.asked))
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let asked = std::mem::take(&mut self.asked);
        let mut answers = Answers::new(self.listed.vault, &asked, answers)?;
        self.state(&mut answers).map(|state| ReadProgress::Done(PoolState::Erc4626(Box::new(state))))
    }
}
