//! Reads a listed vault in one round, which every block repeats: its numbers, and what its previews say of a large amount, which the
//! model must repeat.

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;

use super::{Conversion, Form, Listed, State, forms::Read};
use crate::{
    DecodeError, PoolState, ReadProgress, StateReader,
    answers::{Answers, MULTICALL3, Question, ask, calls, impossible, narrow},
};

sol! {
    function asset() external view returns (address);
    function totalAssets() external view returns (uint256);
    function totalSupply() external view returns (uint256);
    function maxDeposit(address receiver) external view returns (uint256);
    function previewDeposit(uint256 assets) external view returns (uint256);
    function previewRedeem(uint256 shares) external view returns (uint256);
    function convertToAssets(uint256 shares) external view returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function getCurrentBlockTimestamp() external view returns (uint256);
}

/// An account that no vault knows: whose limits are everybody's.
const ANYBODY: Address = address!("00000000000000000000000000000000000a11ce");

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
        ];
        asked.push(form.asks_for_assets(vault, PROBE));
        asked.extend(form.questions(vault, asset));
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
        // either answers a word
        let assets_for_probe = answers.next::<previewRedeemCall>()?;
        let read = Read { vault, timestamp, total_assets, total_shares, held, max_deposit_assets };
        let state = State { form: Some(form), ..form.state(&read, answers)? };
        let now = ExecutionBlock { number: 0, timestamp };
        let agrees = |state: &State| {
            state.preview_deposit(&now, PROBE) == Ok(shares_for_probe)
                && state.preview_redeem(&now, PROBE) == Ok(assets_for_probe)
        };
        let agreed = state.candidates(form).find(agrees);
        agreed.ok_or(impossible(vault, "previews that follow no rule that is modelled, or fees"))
    }
}

impl Form {
    /// Asks what shares are worth. Where a preview of more than lies in the vault reverts, the conversion is asked, by which such a vault
    /// pays. Source: `SparkVault.previewRedeem`.
    pub(super) fn asks_for_assets(self, vault: Address, shares: U256) -> Question {
        match self {
            Self::SparkSavings => ask(vault, &convertToAssetsCall { shares }),
            _ => ask(vault, &previewRedeemCall { shares }),
        }
    }
}

impl State {
    /// The state with every virtual amount that vaults of a form have. Where assets and shares are as many, previews do not tell one from
    /// another, and for a form that moves with time it makes a difference which it is.
    fn candidates(self, form: Form) -> impl Iterator<Item = Self> {
        let (plain, most_offset) = match form {
            Form::Holdings => (true, Some(MOST_OFFSET)),
            Form::EthenaStaking | Form::FalconStaking => (false, Some(0)),
            _ => (true, None),
        };
        let offsets = most_offset.into_iter().flat_map(|most| 0..=most);
        plain.then_some(self).into_iter().chain(offsets.filter_map(move |offset| self.with_offset(offset)))
    }

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
