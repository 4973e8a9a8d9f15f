//! Discovery and following of Vault V2.

use alloy_primitives::{Address, B256, Log, address};
use alloy_sol_types::{SolEvent, sol};

use super::{Adapter, VaultV2, reader::VaultV2Reader};
use crate::{
    DecodeError, Discovered, Freshness, PoolState, Product, Protocol, Source, StateReader,
    morpho::{METAMORPHO, MORPHO_BLUE},
};

sol! {
    event CreateVaultV2(address indexed owner, address indexed asset, bytes32 salt, address indexed newVaultV2);

    // of a vault
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

/// Events of a vault after which its state is read again: a deposit and a redemption both take note of interest.
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

/// Those, and the events of Morpho Blue and of MetaMorpho vaults.
static TOPICS: std::sync::LazyLock<Vec<B256>> = std::sync::LazyLock::new(|| {
    let mut topics = OWN.to_vec();
    topics.extend_from_slice(METAMORPHO.freshness_topics());
    topics
});

/// The record of Vault V2.
#[derive(Clone, Copy, Debug)]
pub struct VaultV2Protocol;

/// Vault V2. Source: Morpho's deployment list (`VaultV2Factory`), and the block of the factory's creation.
pub static VAULT_V2: VaultV2Protocol = VaultV2Protocol;

static SOURCES: [Source; 1] = [Source {
    emitter: address!("A1D94F746dEfa1928926b84fB2596c06926C0405"),
    topic0: CreateVaultV2::SIGNATURE_HASH,
    deployment_block: 23_375_073,
}];

/// Whether a vault has something in a market, itself or through a MetaMorpho vault.
fn lends_on(vault: &VaultV2, id: &B256) -> bool {
    vault.adapters.iter().any(|adapter| adapter.holdings().iter().any(|holding| holding.id == *id))
}

impl Protocol for VaultV2Protocol {
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
            address: event.newVaultV2,
            product: Product::MorphoVaultV2,
            coins: vec![event.asset, event.newVaultV2],
            fee_pips: 0,
            tick_spacing: 0,
        })
    }

    fn freshness_topics(&self) -> &'static [B256] {
        &TOPICS
    }

    fn listens_to(&self, state: &PoolState) -> Vec<Address> {
        let mut emitters = vec![MORPHO_BLUE];
        if let PoolState::VaultV2(vault) = state {
            emitters.extend(vault.adapters.iter().filter_map(|adapter| match adapter {
                Adapter::Vault { address, .. } => Some(*address),
                Adapter::Markets(_) => None,
            }));
        }
        emitters
    }

    fn apply(&self, state: &mut PoolState, log: &Log) -> Result<Freshness, DecodeError> {
        let PoolState::VaultV2(vault) = state else {
            return Err(DecodeError::State { pool: log.address, what: "not a Vault V2" });
        };
        if !log.topics().first().is_some_and(|topic0| TOPICS.contains(topic0)) {
            return Ok(Freshness::Unaffected);
        }
        if log.address != MORPHO_BLUE {
            return Ok(Freshness::Stale);
        }
        let ours = log.topics().get(1).is_some_and(|id| lends_on(vault, id));
        Ok(if ours { Freshness::Stale } else { Freshness::Unaffected })
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        Box::new(VaultV2Reader::new(pool))
    }
}
