//! Previews of a vault, which the model must reproduce.

use alloy_primitives::U256;
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;

use super::{Form, State, parts::VaultAddresses};
use crate::reading::{Question, Reading, Stop, is};

sol! {
    function previewDeposit(uint256 assets) external view returns (uint256);
    function previewRedeem(uint256 shares) external view returns (uint256);
    function convertToAssets(uint256 shares) external view returns (uint256);
}

/// Probe amount of the previews. It is large enough to reveal one virtual asset in a vault of 10²⁸ atomic units, and
/// small enough that its product with a rate or with a vault's assets fits 256 bits.
pub(super) const PROBE: U256 = U256::from_limbs([0x1234_5678_9abc_def1, 0x000f_edcb_a987_6543, 0, 0]);

/// A vault's previews of the probe in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Previews {
    at: ExecutionBlock,
    shares: U256,
    assets: U256,
}

impl Previews {
    /// Calls a vault's previews, and checks that its asset is the expected one.
    pub(super) fn ask(of: VaultAddresses, form: Option<Form>, reading: &mut Reading) -> Result<Self, Stop> {
        let (timestamp, asset) = (reading.timestamp(), reading.word(of.vault, "asset()"));
        let [shares, assets] = questions(of, form).map(|question| reading.question(question));
        let (timestamp, asset) = (timestamp?, asset?);
        if !is(asset, of.asset) {
            return Err(reading.impossible("another asset than announced"));
        }
        Ok(Self { at: ExecutionBlock { number: 0, timestamp }, shares: shares?, assets: assets? })
    }

    /// Tells whether the model agrees.
    pub(super) fn agree(&self, state: &State) -> bool {
        state.preview_deposit(&self.at, PROBE) == Ok(self.shares)
            && state.preview_redeem(&self.at, PROBE) == Ok(self.assets)
    }
}

/// Builds the previews of the probe, in shares and in assets. Some vaults revert in a preview above their balance.
/// Those pay what the conversion returns, so it is called instead. Source: `SparkVault.previewRedeem`.
pub(super) fn questions(of: VaultAddresses, form: Option<Form>) -> [Question; 2] {
    let redeem = match form {
        Some(Form::SparkSavings) => Question::new(of.vault, &convertToAssetsCall { shares: PROBE }),
        _ => Question::new(of.vault, &previewRedeemCall { shares: PROBE }),
    };
    [Question::new(of.vault, &previewDepositCall { assets: PROBE }), redeem]
}
