//! Discovery and following of fTokens.

use alloy_primitives::{Address, B256, Log, address};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::ExecutionBlock;

use super::{State, continuous::pair_curve, gas, reader};
use crate::{
    DecodeError, Discovered, Freshness, Product, Protocol, Source, StateReader, Step, StepCode, Swap, SwapError,
    Touched,
    continuous::PairCurve,
    fluid::AGAIN_GAS_UNITS,
    fluid::earlier::Earlier,
    fluid::reading::{self, LIQUIDITY},
    reading::{Reading, Stop},
    vault::{self, EarlierTrades, Rate, Trade, Traded, Trades, VaultProtocol, step_code},
};

sol! {
    event LogTokenCreated(address indexed token, address indexed asset, uint256 indexed count, string fTokenType);
    function allTokens() external view returns (address[]);

    // events of an fToken; the liquidity layer emits those about balances
    event LogUpdateRates(uint256 tokenExchangePrice, uint256 liquidityExchangePrice);
    event LogUpdateRewards(address indexed rewardsRateModel);
    event LogRebalance(uint256 assets);
}

/// Events after which an fToken's state is read again.
const TOPICS: &[B256] = &[
    LogUpdateRates::SIGNATURE_HASH,
    LogUpdateRewards::SIGNATURE_HASH,
    LogRebalance::SIGNATURE_HASH,
    reading::OPERATE,
    reading::EXCHANGE_PRICES_UPDATED,
    reading::REVENUE_COLLECTED,
    reading::STATUS_CHANGED,
    reading::TOKENS_CONFIGURED,
    reading::SUPPLY_CONFIGURED,
    reading::USER_PAUSED,
    reading::USER_UNPAUSED,
    reading::RATES_V1_UPDATED,
    reading::RATES_V2_UPDATED,
    reading::LIMIT_UPDATED,
];

/// Factory on mainnet. Source: Fluid's deployment list.
static SOURCES: [Source; 1] = [Source {
    emitter: address!("54B91A0D94cb471F37f949c60F7Fa7935b551D03"),
    topic0: LogTokenCreated::SIGNATURE_HASH,
    deployment_block: 19_239_226,
}];

/// Record of fTokens.
#[derive(Clone, Copy, Debug)]
pub struct FToken;

impl Protocol for FToken {
    type State = Box<State>;
    type After = Trades;

    fn product(&self) -> Product {
        Product::FluidFToken
    }

    fn sources(&self) -> &'static [Source] {
        &SOURCES
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let malformed = DecodeError::Log { event: "LogTokenCreated", emitter: log.address };
        let Ok(event) = LogTokenCreated::decode_log_data_validate(&log.data) else { return Err(malformed) };
        if event.token == Address::ZERO || event.asset == Address::ZERO || event.token == event.asset {
            return Err(malformed);
        }
        Ok(Discovered {
            key: event.token.into(),
            product: Product::FluidFToken,
            coins: vec![event.asset, event.token],
            fee_pips: 0,
            tick_spacing: 0,
        })
    }

    fn freshness_topics(&self) -> &'static [B256] {
        TOPICS
    }

    fn listens_to(&self, _state: &Self::State) -> Vec<Address> {
        vec![LIQUIDITY]
    }

    fn apply(&self, state: &mut Self::State, log: &Log) -> Result<Freshness, DecodeError> {
        let known = log.topics().first().is_some_and(|topic0| TOPICS.contains(topic0));
        let stale = known && (log.address != LIQUIDITY || reading::matters(log, &[state.stored]));
        Ok(if stale { Freshness::Stale } else { Freshness::Unaffected })
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        let (share, asset) = (pool.key.contract, pool.coins.first().copied().unwrap_or_default());
        crate::reading::reader(share, move |reading| reader::read(share, asset, reading).map(Box::new))
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
        pair_curve(state, at)
    }

    fn step_code(&self, _pool: Address, _state: &Self::State, coin_in: u8, _coin_out: u8) -> StepCode {
        step_code(coin_in)
    }

    fn holder(&self, _pool: Address) -> Address {
        LIQUIDITY
    }

    fn refunded_gas_units(&self, state: &Self::State, _coin_in: u8) -> u64 {
        gas::refunded_gas_units(state)
    }

    fn saved_gas_units(&self, _state: &Self::State, _coins: [u8; 2], _at: &ExecutionBlock, before: Touched<'_>) -> u64 {
        if before.holder { AGAIN_GAS_UNITS } else { 0 }
    }
}

impl VaultProtocol for FToken {
    fn rate(&self, state: &Self::State, at: &ExecutionBlock, _before: EarlierTrades<'_>) -> Result<Rate, SwapError> {
        // trades of the same second leave the exchange prices
        state.rate(at)
    }

    fn trade(
        &self,
        state: &Self::State,
        at: &ExecutionBlock,
        before: EarlierTrades<'_>,
        trade: Trade,
    ) -> Result<Traded, SwapError> {
        let left = Earlier::replay(at, before)?.map(|earlier| earlier.share(before.vault(), state));
        let swap = left.as_ref().unwrap_or(state).swap(at, trade.deposits, trade.amount_in)?;
        Ok(Traded { amount_out: swap.amount_out, gas_units: swap.gas_units })
    }

    fn preview_gas_units(&self, _state: &Self::State) -> u64 {
        gas::PREVIEW_GAS_UNITS
    }

    fn is_created(&self, factory: Address, [_, vault]: [Address; 2], reading: &mut Reading) -> Result<bool, Stop> {
        let created = reading.try_ask(factory, &allTokensCall {})?;
        Ok(created.is_some_and(|created| created.contains(&vault)))
    }
}
