//! Discovery and following of MetaMorpho vaults.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Log, address};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::ExecutionBlock;

use super::{MORPHO_BLUE, MetaMorpho, continuous, gas, reader, warm::Lends};
use crate::{
    DecodeError, Discovered, Freshness, Product, Protocol, Source, StateReader, Step, StepCode, Swap, SwapError,
    continuous::PairCurve,
    logs::{decode, is_one_of, malformed},
    reading::{Reading, Stop, reader_of},
    vault::{self, ASSET_COIN, Action, EarlierTrades, Lender, Rate, Trade, Traded, Trades, VaultProtocol, step_code},
};

sol! {
    event CreateMetaMorpho(address indexed metaMorpho, address indexed caller, address initialOwner, uint256 initialTimelock, address indexed asset, string name, string symbol, bytes32 salt);
    function isMetaMorpho(address target) external view returns (bool);

    // events of a vault
    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event UpdateLastTotalAssets(uint256 updatedTotalAssets);
    event AccrueFee(uint256 newTotalAssets, uint256 feeShares);
    event SetCap(address indexed caller, bytes32 indexed id, uint256 cap);
    event SetFee(address indexed caller, uint256 newFee);
    event SetSupplyQueue(address indexed caller, bytes32[] newSupplyQueue);
    event SetWithdrawQueue(address indexed caller, bytes32[] newWithdrawQueue);
    event ReallocateSupply(address indexed caller, bytes32 indexed id, uint256 suppliedAssets, uint256 suppliedShares);
    event ReallocateWithdraw(address indexed caller, bytes32 indexed id, uint256 withdrawnAssets, uint256 withdrawnShares);
}

/// Events of Morpho Blue; the first indexed argument of each is a market's id.
mod blue_events {
    alloy_sol_types::sol! {
        event AccrueInterest(bytes32 indexed id, uint256 prevBorrowRate, uint256 interest, uint256 feeShares);
        event Supply(bytes32 indexed id, address indexed caller, address indexed onBehalf, uint256 assets, uint256 shares);
        event Withdraw(bytes32 indexed id, address caller, address indexed onBehalf, address indexed receiver, uint256 assets, uint256 shares);
        event Borrow(bytes32 indexed id, address caller, address indexed onBehalf, address indexed receiver, uint256 assets, uint256 shares);
        event Repay(bytes32 indexed id, address indexed caller, address indexed onBehalf, uint256 assets, uint256 shares);
        event Liquidate(bytes32 indexed id, address indexed caller, address indexed borrower, uint256 repaidAssets, uint256 repaidShares, uint256 seizedAssets, uint256 badDebtAssets, uint256 badDebtShares);
        event SetFee(bytes32 indexed id, uint256 newFee);
    }
}

/// Events after which a vault's state is read again.
const TOPICS: &[B256] = &[
    Deposit::SIGNATURE_HASH,
    UpdateLastTotalAssets::SIGNATURE_HASH,
    AccrueFee::SIGNATURE_HASH,
    SetCap::SIGNATURE_HASH,
    SetFee::SIGNATURE_HASH,
    SetSupplyQueue::SIGNATURE_HASH,
    SetWithdrawQueue::SIGNATURE_HASH,
    ReallocateSupply::SIGNATURE_HASH,
    ReallocateWithdraw::SIGNATURE_HASH,
    blue_events::AccrueInterest::SIGNATURE_HASH,
    blue_events::Supply::SIGNATURE_HASH,
    blue_events::Withdraw::SIGNATURE_HASH,
    blue_events::Borrow::SIGNATURE_HASH,
    blue_events::Repay::SIGNATURE_HASH,
    blue_events::Liquidate::SIGNATURE_HASH,
    blue_events::SetFee::SIGNATURE_HASH,
];

/// Returns the effect of a log on a vault, from whether it lends on a market.
pub(super) fn effect(log: &Log, topics: &[B256], lends_on: impl Fn(&B256) -> bool) -> Freshness {
    let concerns = log.address != MORPHO_BLUE || log.topics().get(1).is_some_and(lends_on);
    Freshness::stale_if(is_one_of(log, topics) && concerns)
}

/// Factories of versions 1.0 and 1.1. Source: Morpho's deployment list; the blocks are those of their creation.
const SOURCES: &[Source] = &[
    Source {
        emitter: address!("A9c3D3a366466Fa809d1Ae982Fb2c46E5fC41101"),
        topic0: CreateMetaMorpho::SIGNATURE_HASH,
        deployment_block: 18_925_584,
    },
    Source {
        emitter: address!("1897A8997241C1cD4bD0698647e4EB7213535c24"),
        topic0: CreateMetaMorpho::SIGNATURE_HASH,
        deployment_block: 21_439_510,
    },
];

/// Record of MetaMorpho vaults.
#[derive(Clone, Copy, Debug)]
pub struct MetaMorphoProtocol;

impl Protocol for MetaMorphoProtocol {
    type State = Arc<MetaMorpho>;
    type After = Trades;

    fn product(&self) -> Product {
        Product::Metamorpho
    }

    fn sources(&self) -> &'static [Source] {
        SOURCES
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let event: CreateMetaMorpho = decode(log)?;
        vault::announced(event.metaMorpho, event.asset, self.product())
            .ok_or_else(|| malformed::<CreateMetaMorpho>(log))
    }

    fn freshness_topics(&self) -> &'static [B256] {
        TOPICS
    }

    fn listens_to(&self, _state: &Self::State) -> Vec<Address> {
        vec![MORPHO_BLUE]
    }

    fn apply(&self, state: &mut Self::State, log: &Log) -> Result<Freshness, DecodeError> {
        Ok(effect(log, TOPICS, |id| state.holdings.iter().any(|holding| holding.id == *id)))
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        reader_of(pool, reader::read)
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
        continuous::metamorpho(state, at)
    }

    fn step_code(&self, _pool: Address, _state: &Self::State, coin_in: u8, _coin_out: u8) -> StepCode {
        step_code(coin_in)
    }

    fn lenders<'a>(&self, pool: Address, state: &'a Self::State, coin_in: u8, gas_units: u64) -> Vec<Lender<'a>> {
        let action = Action::Trades { deposits: coin_in == ASSET_COIN, gas_units };
        vec![Lender { vault: pool, lends: Lends::MetaMorpho(state), action }]
    }
}

impl VaultProtocol for MetaMorphoProtocol {
    fn rate(&self, state: &Self::State, at: &ExecutionBlock, before: EarlierTrades<'_>) -> Result<Rate, SwapError> {
        state.rate(at, before)
    }

    fn trade(
        &self,
        state: &Self::State,
        at: &ExecutionBlock,
        before: EarlierTrades<'_>,
        trade: Trade,
    ) -> Result<Traded, SwapError> {
        let (amount_out, visited) = state.swap(at, before, trade.deposits, trade.amount_in)?;
        Ok(Traded { amount_out, gas_units: gas::gas_units(state, visited) })
    }

    fn preview_gas_units(&self, state: &Self::State) -> u64 {
        gas::preview_gas_units(state)
    }

    /// Returns the cost of all previews: nearly all of it belongs to the first call.
    fn rate_gas_units(&self, state: &Self::State) -> u64 {
        self.preview_gas_units(state).saturating_add(gas::PROVIDED_GAS_UNITS)
    }

    fn previewed_gas_units(&self, state: &Self::State) -> u64 {
        gas::previewed_gas_units(state.holdings.len())
    }

    fn lends<'a>(&self, state: &'a Self::State) -> Option<Lends<'a>> {
        Some(Lends::MetaMorpho(state))
    }

    fn is_created(&self, factory: Address, [_, vault]: [Address; 2], reading: &mut Reading) -> Result<bool, Stop> {
        Ok(reading.try_ask(factory, &isMetaMorphoCall { target: vault })? == Some(true))
    }
}
