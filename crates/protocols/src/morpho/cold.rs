//! Discovery and following of MetaMorpho vaults.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Log, address};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::{ExecutionBlock, PoolKey};

use super::{MORPHO_BLUE, MetaMorpho, continuous::pair_curve, gas, reader, warm::Lends};
use crate::{
    DecodeError, Discovered, Freshness, Product, Protocol, RouteState, Sale, Source, StateReader, StepCode, Swap,
    SwapError,
    answers::{Answers, Question, ask},
    continuous::PairCurve,
    reading::reader_of,
    vault::{
        self, ASSET_COIN, Action, EarlierTrades, Lender, Rate, Trade, Traded, Trades, Vault, VaultProtocol, step_code,
    },
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

/// Record of MetaMorpho vaults.
#[derive(Clone, Copy, Debug)]
pub struct MorphoProtocol {
    product: Product,
    sources: &'static [Source],
}

/// MetaMorpho, versions 1.0 and 1.1. Source: Morpho's deployment list; the blocks are those of the factories' creation.
pub static METAMORPHO: MorphoProtocol = MorphoProtocol {
    product: Product::Metamorpho,
    sources: &[
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
    ],
};

impl Protocol for MorphoProtocol {
    type State = Arc<MetaMorpho>;
    type After = Trades;

    fn product(&self) -> Product {
        self.product
    }

    fn sources(&self) -> &'static [Source] {
        self.sources
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let malformed = DecodeError::Log { event: "CreateMetaMorpho", emitter: log.address };
        let Ok(event) = CreateMetaMorpho::decode_log_data_validate(&log.data) else { return Err(malformed) };
        if event.metaMorpho == Address::ZERO || event.asset == Address::ZERO || event.metaMorpho == event.asset {
            return Err(malformed);
        }
        Ok(Discovered {
            key: event.metaMorpho.into(),
            product: self.product,
            coins: vec![event.asset, event.metaMorpho],
            fee_pips: 0,
            tick_spacing: 0,
        })
    }

    fn freshness_topics(&self) -> &'static [B256] {
        TOPICS
    }

    fn listens_to(&self, _state: &Self::State) -> Vec<Address> {
        vec![MORPHO_BLUE]
    }

    fn apply(&self, state: &mut Self::State, log: &Log) -> Result<Freshness, DecodeError> {
        if !log.topics().first().is_some_and(|topic0| TOPICS.contains(topic0)) {
            return Ok(Freshness::Unaffected);
        }
        if log.address != MORPHO_BLUE {
            return Ok(Freshness::Stale);
        }
        let ours = log.topics().get(1).is_some_and(|id| state.holdings.iter().any(|holding| holding.id == *id));
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
        vec![Lender { vault: pool, lends: Lends::MetaMorpho(state), action }]
    }
}

impl VaultProtocol for MorphoProtocol {
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

    fn ask_factory(&self, factory: Address, vault: Address, _asset: Address) -> Question {
        ask(factory, &isMetaMorphoCall { target: vault })
    }

    fn is_created(&self, _vault: Address, answers: &mut Answers<'_>) -> bool {
        answers.try_next::<isMetaMorphoCall>() == Some(true)
    }
}
