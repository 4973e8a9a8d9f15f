//! Discovery and following of Vault V2.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Log, address};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::{ExecutionBlock, PoolKey};

use super::{Adapter, VaultV2, continuous::pair_curve, gas, reader};
use crate::{
    DecodeError, Discovered, Freshness, Product, Protocol, RouteState, Sale, Source, StateReader, StepCode, Swap,
    SwapError,
    answers::{Answers, Question, ask},
    continuous::PairCurve,
    morpho::{METAMORPHO, MORPHO_BLUE, gas as metamorpho, warm::Lends},
    reading::reader_of,
    vault::{
        self, ASSET_COIN, Action, EarlierTrades, Lender, Rate, Trade, Traded, Trades, Vault, VaultProtocol, step_code,
    },
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
static TOPICS: std::sync::LazyLock<Vec<B256>> = std::sync::LazyLock::new(|| {
    let mut topics = OWN.to_vec();
    topics.extend_from_slice(METAMORPHO.freshness_topics());
    topics
});

/// Record of Vault V2.
#[derive(Clone, Copy, Debug)]
pub struct VaultV2Protocol;

/// Vault V2. Source: Morpho's deployment list (`VaultV2Factory`), and the block of the factory's creation.
pub static VAULT_V2: VaultV2Protocol = VaultV2Protocol;

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
        let malformed = DecodeError::Log { event: "CreateVaultV2", emitter: log.address };
        let Ok(event) = CreateVaultV2::decode_log_data_validate(&log.data) else { return Err(malformed) };
        if event.newVaultV2 == Address::ZERO || event.asset == Address::ZERO || event.newVaultV2 == event.asset {
            return Err(malformed);
        }
        Ok(Discovered {
            key: event.newVaultV2.into(),
            product: Product::MorphoVaultV2,
            coins: vec![event.asset, event.newVaultV2],
            fee_pips: 0,
            tick_spacing: 0,
        })
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
        if !log.topics().first().is_some_and(|topic0| TOPICS.contains(topic0)) {
            return Ok(Freshness::Unaffected);
        }
        if log.address != MORPHO_BLUE {
            return Ok(Freshness::Stale);
        }
        let ours = log.topics().get(1).is_some_and(|id| lends_on(state, id));
        Ok(if ours { Freshness::Stale } else { Freshness::Unaffected })
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        reader_of(pool, reader::read)
    }

    fn validate(&self, state: &Self::State, _coins: usize) -> Result<(), &'static str> {
        state.validate()
    }

    fn swap(
        &self,
        pool: PoolKey,
        state: &Self::State,
        at: &ExecutionBlock,
        route: &RouteState,
        sale: Sale,
    ) -> Result<Swap, SwapError> {
        vault::swap(self, pool.contract, state, at, route, sale)
    }

    fn depends_on_time(&self, _state: &Self::State) -> bool {
        true
    }

    fn fee_pips(&self, _state: &Self::State) -> Option<u32> {
        Some(0)
    }

    fn curve(&self, state: &Self::State, _coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
        pair_curve(state, at)
    }

    fn vault_trades<'a>(
        &self,
        pool: Address,
        state: &Self::State,
        trades: &'a Trades,
    ) -> Option<(Address, Vault, &'a Trades)> {
        Some((pool, Vault { product: self.product(), state: state.clone().into() }, trades))
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

    fn ask_factory(&self, factory: Address, vault: Address, _asset: Address) -> Question {
        ask(factory, &isVaultV2Call { account: vault })
    }

    fn is_created(&self, _vault: Address, answers: &mut Answers<'_>) -> bool {
        answers.try_next::<isVaultV2Call>() == Some(true)
    }
}
