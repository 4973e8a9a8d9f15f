//! Following of Lido's two contracts, which are fixed: the staked token, and the wrapper that listens to it.

use alloy_primitives::{Address, B256, Log, address};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::NATIVE_ETHER;

use super::reader::LidoReader;
use crate::{DecodeError, Discovered, Freshness, PoolState, Product, Protocol, Source, StateReader};

/// stETH. Source: Lido's deployed contracts.
pub const STETH: Address = address!("ae7ab96520DE3A18E5e111B5EaAb095312D7fE84");

/// wstETH. Source: Lido's deployed contracts.
pub const WSTETH: Address = address!("7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0");

sol! {
    event Submitted(address indexed sender, uint256 amount, address referral);
    event TokenRebased(uint256 indexed reportTimestamp, uint256 timeElapsed, uint256 preTotalShares, uint256 preTotalEther, uint256 postTotalShares, uint256 postTotalEther, uint256 sharesMintedAsFees);
    event ETHDistributed(uint256 indexed reportTimestamp, uint256 preCLBalance, uint256 postCLBalance, uint256 withdrawalsWithdrawn, uint256 executionLayerRewardsWithdrawn, uint256 postBufferedEther);
    event ELRewardsReceived(uint256 amount);
    event WithdrawalsReceived(uint256 amount);
    event SharesBurnt(address indexed account, uint256 preRebaseTokenAmount, uint256 postRebaseTokenAmount, uint256 sharesAmount);
    event ExternalSharesMinted(address indexed receiver, uint256 amountOfShares);
    event ExternalSharesBurnt(uint256 amountOfShares);
    event ExternalEtherTransferredToBuffer(uint256 amount);
    event ExternalBadDebtInternalized(uint256 amountOfShares);
    event StakingPaused();
    event StakingResumed();
    event StakingLimitSet(uint256 maxStakeLimit, uint256 stakeLimitIncreasePerBlock);
    event StakingLimitRemoved();
    event Stopped();
    event Resumed();
}

/// Events of stETH after which its shares are worth something else, or the doors stand otherwise.
const TOPICS: &[B256] = &[
    Submitted::SIGNATURE_HASH,
    TokenRebased::SIGNATURE_HASH,
    ETHDistributed::SIGNATURE_HASH,
    ELRewardsReceived::SIGNATURE_HASH,
    WithdrawalsReceived::SIGNATURE_HASH,
    SharesBurnt::SIGNATURE_HASH,
    ExternalSharesMinted::SIGNATURE_HASH,
    ExternalSharesBurnt::SIGNATURE_HASH,
    ExternalEtherTransferredToBuffer::SIGNATURE_HASH,
    ExternalBadDebtInternalized::SIGNATURE_HASH,
    StakingPaused::SIGNATURE_HASH,
    StakingResumed::SIGNATURE_HASH,
    StakingLimitSet::SIGNATURE_HASH,
    StakingLimitRemoved::SIGNATURE_HASH,
    Stopped::SIGNATURE_HASH,
    Resumed::SIGNATURE_HASH,
];

/// The record of one of Lido's doors.
#[derive(Clone, Copy, Debug)]
pub struct Lido {
    product: Product,
    pool: Address,
    coins: [Address; 2],
}

/// Staking: ether for stETH.
pub static LIDO_STETH: Lido = Lido { product: Product::LidoSteth, pool: STETH, coins: [NATIVE_ETHER, STETH] };

/// Wrapping: stETH for wstETH, and back.
pub static LIDO_WSTETH: Lido = Lido { product: Product::LidoWsteth, pool: WSTETH, coins: [STETH, WSTETH] };

impl Protocol for Lido {
    fn product(&self) -> Product {
        self.product
    }

    fn sources(&self) -> &'static [Source] {
        &[]
    }

    fn fixed_pools(&self) -> Vec<Discovered> {
        let coins = self.coins.to_vec();
        vec![Discovered { address: self.pool, product: self.product, coins, fee_pips: 0, tick_spacing: 0 }]
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        Err(DecodeError::Log { event: "an announcement, which Lido has none of,", emitter: log.address })
    }

    fn freshness_topics(&self) -> &'static [B256] {
        TOPICS
    }

    fn listens_to(&self, _state: &PoolState) -> Vec<Address> {
        vec![STETH]
    }

    fn apply(&self, _state: &mut PoolState, log: &Log) -> Result<Freshness, DecodeError> {
        let matters = log.address == STETH && log.topics().first().is_some_and(|topic0| TOPICS.contains(topic0));
        Ok(if matters { Freshness::Stale } else { Freshness::Unaffected })
    }

    fn reader(&self, _pool: &Discovered) -> Box<dyn StateReader> {
        Box::new(LidoReader::new(self.pool))
    }
}
