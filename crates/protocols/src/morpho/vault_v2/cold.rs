//! Discovery and following of Vault V2.

use std::sync::{Arc, LazyLock};

use alloy_primitives::{Address, B256, Log, address};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::ExecutionBlock;

use super::{Adapter, VaultV2, gas, reader};
use crate::{
    DecodeError, Discovered, Freshness, Product, Protocol, Source, StateReader, Step, StepCode, Swap, SwapError,
    continuous::PairCurve,
    logs::{decode, malformed},
    morpho::{MORPHO_BLUE, MetaMorphoProtocol, cold::effect, continuous, gas as metamorpho, warm::Lends},
    reading::{Reading, Stop, reader_of},
    vault::{self, ASSET_COIN, Action, EarlierTrades, Lender, Rate, Trade, Traded, Trades, VaultProtocol, step_code},
};

sol! {
    event CreateVaultV2(address indexed owner, address indexed asset, bytes32 salt, address indexed newVaultV2);
    function isVaultV2(address account) external view returns (bool);

    // events of a vault
    event AccrueInterest(uint256 previousTotalAssets, uint256 newTotalAssets, uint256 performanceFeeShares, uint256 managementFeeShares);
    event Allocate(address indexed sender, address indexed adapter, uint256 assets, bytes32[] ids, int256 change);
    event Deallocate(address indexed sender, address indexed adapter, uint256 assets, bytes32[] ids, int256 change);
    event AddAdapter(address indexed account);
    event RemoveAdapter(address indexed account);
    event SetLiquidityAdapterAndData(address indexed sender, address indexed newLiquidityAdapter, bytes indexed newLiquidityData);
    event SetReceiveSharesGate(address indexed newReceiveSharesGate);
    event SetSendSharesGate(address indexed newSendSharesGate);
    event SetReceiveAssetsGate(address indexed newReceiveAssetsGate);
    event SetSendAssetsGate(address indexed newSendAssetsGate);
    event SetPerformanceFee(uint256 newPerformanceFee);
    event SetManagementFee(uint256 newManagementFee);
    event SetMaxRate(uint256 newMaxRate);
    event DecreaseAbsoluteCap(address indexed sender, bytes32 indexed id, bytes idData, uint256 newAbsoluteCap);
    event IncreaseAbsoluteCap(bytes32 indexed id, bytes idData, uint256 newAbsoluteCap);
    event DecreaseRelativeCap(address indexed sender, bytes32 indexed id, bytes idData, uint256 newRelativeCap);
    event IncreaseRelativeCap(bytes32 indexed id, bytes idData, uint256 newRelativeCap);
}

/// Events of a vault after which its state is read again: deposits and redemptions accrue interest.
const OWN: &[B256] = &[
    AccrueInterest::SIGNATURE_HASH,
    Allocate::SIGNATURE_HASH,
    Deallocate::SIGNATURE_HASH,
    AddAdapter::SIGNATURE_HASH,
    RemoveAdapter::SIGNATURE_HASH,
    SetLiquidityAdapterAndData::SIGNATURE_HASH,
    SetReceiveSharesGate::SIGNATURE_HASH,
    SetSendSharesGate::SIGNATURE_HASH,
    SetReceiveAssetsGate::SIGNATURE_HASH,
    SetSendAssetsGate::SIGNATURE_HASH,
    SetPerformanceFee::SIGNATURE_HASH,
    SetManagementFee::SIGNATURE_HASH,
    SetMaxRate::SIGNATURE_HASH,
    DecreaseAbsoluteCap::SIGNATURE_HASH,
    IncreaseAbsoluteCap::SIGNATURE_HASH,
    DecreaseRelativeCap::SIGNATURE_HASH,
    IncreaseRelativeCap::SIGNATURE_HASH,
];

/// Those events, and the events of Morpho Blue and of MetaMorpho vaults.
static TOPICS: LazyLock<Vec<B256>> = LazyLock::new(|| {
    let mut topics = OWN.to_vec();
    topics.extend_from_slice(MetaMorphoProtocol.freshness_topics());
    topics
});

/// Record of Vault V2.
#[derive(Clone, Copy, Debug)]
pub struct VaultV2Protocol;

/// Source: Morpho's deployment list (`VaultV2Factory`), and the block of the factory's creation.
static SOURCES: [Source; 1] = [Source {
    emitter: address!("A1D94F746dEfa1928926b84fB2596c06926C0405"),
    topic0: CreateVaultV2::SIGNATURE_HASH,
    deployment_block: 23_375_073,
}];

/// Tells whether a vault has a position in a market, itself or through a MetaMorpho vault.
fn lends_on(vault: &VaultV2, id: &B256) -> bool {
    vault.adapters.iter().any(|adapter| adapter.holdings().iter().any(|holding| holding.id == *id))
}

impl Protocol for VaultV2Protocol {
    type State = Arc<VaultV2>;
    type After = Trades;

    fn product(&self) -> Product {
        Product::MorphoVaultV2
    }

    fn sources(&self) -> &'static [Source] {
        &SOURCES
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let event: CreateVaultV2 = decode(log)?;
        vault::announced(event.newVaultV2, event.asset, self.product()).ok_or_else(|| malformed::<CreateVaultV2>(log))
    }

    fn freshness_topics(&self) -> &'static [B256] {
        &TOPICS
    }

    fn listens_to(&self, state: &Self::State) -> Vec<Address> {
        let mut emitters = vec![MORPHO_BLUE];
        emitters.extend(state.adapters.iter().filter_map(|adapter| match adapter {
            Adapter::Vault { address, .. } => Some(*address),
            Adapter::Markets(_) => None,
        }));
        emitters
    }

    fn apply(&self, state: &mut Self::State, log: &Log) -> Result<Freshness, DecodeError> {
        Ok(effect(log, &TOPICS, |id| lends_on(state, id)))
    }

    /// Tells that every vault is polled: whoever sends it assets, or shares to its adapter, and an adapter that drops
    /// its shares of a market, cause no log of the vault or of Morpho Blue.
    fn reads_each_block(&self, _state: &Self::State) -> bool {
        true
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        reader_of(pool, reader::read)
    }

    fn reader_each_block(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        reader::each_block(pool, was)
    }

    fn validate(&self, state: &Self::State, _coins: usize) -> Result<(), &'static str> {
        state.validate()
    }

    fn swap(&self, state: &Self::State, step: Step<'_>) -> Result<Swap, SwapError> {
        vault::swap(self, state, step)
    }

    fn depends_on_time(&self, _state: &Self::State) -> bool {
        true
    }

    fn fee_pips(&self, _state: &Self::State) -> Option<u32> {
        Some(0)
    }

    fn curve(&self, state: &Self::State, _coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
        continuous::vault_v2(state, at)
    }

    fn step_code(&self, _pool: Address, _state: &Self::State, coin_in: u8, _coin_out: u8) -> StepCode {
        step_code(coin_in)
    }

    fn lenders<'a>(&self, pool: Address, state: &'a Self::State, coin_in: u8, gas_units: u64) -> Vec<Lender<'a>> {
        let action = Action::Trades { deposits: coin_in == ASSET_COIN, gas_units };
        vec![Lender { vault: pool, lends: Lends::VaultV2(state), action }]
    }
}

impl VaultProtocol for VaultV2Protocol {
    fn rate(&self, state: &Self::State, at: &ExecutionBlock, before: EarlierTrades<'_>) -> Result<Rate, SwapError> {
        if state.deposits_gated || state.redemptions_gated {
            return Err(SwapError::Closed);
        }
        state.rate(at, before)
    }

    fn trade(
        &self,
        state: &Self::State,
        at: &ExecutionBlock,
        before: EarlierTrades<'_>,
        trade: Trade,
    ) -> Result<Traded, SwapError> {
        let (amount_out, moved) = state.swap(at, before, trade.deposits, trade.amount_in)?;
        Ok(Traded { amount_out, gas_units: gas::gas_units(state, trade.deposits, moved) })
    }

    fn preview_gas_units(&self, state: &Self::State) -> u64 {
        gas::preview_gas_units(state)
    }

    /// Returns the cost of all previews: nearly all of it belongs to the first call.
    fn rate_gas_units(&self, state: &Self::State) -> u64 {
        self.preview_gas_units(state).saturating_add(metamorpho::PROVIDED_GAS_UNITS)
    }

    fn previewed_gas_units(&self, state: &Self::State) -> u64 {
        metamorpho::previewed_gas_units(state.adapters.iter().map(|adapter| adapter.holdings().len()).sum())
    }

    fn lends<'a>(&self, state: &'a Self::State) -> Option<Lends<'a>> {
        Some(Lends::VaultV2(state))
    }

    fn is_created(&self, factory: Address, [_, vault]: [Address; 2], reading: &mut Reading) -> Result<bool, Stop> {
        Ok(reading.try_ask(factory, &isVaultV2Call { account: vault })? == Some(true))
    }
}
