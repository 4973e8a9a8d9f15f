//! Discovery and following of DEX T1 pools.

use alloy_primitives::{Address, B256, Log, address};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::ExecutionBlock;

use super::{
    After, State, Storage,
    continuous::pair_curve,
    reader::{read, read_centre},
    step::step_code,
};
use crate::{
    DecodeError, Discovered, Freshness, Product, Protocol, SharedWords, Source, StateReader, Step, StepCode, SwapError,
    Touched,
    continuous::PairCurve,
    fluid::AGAIN_GAS_UNITS,
    fluid::earlier::Earlier,
    fluid::reading::{self, LIQUIDITY},
    reading as asking,
};

sol! {
    event DexT1Deployed(address indexed dex, uint256 dexId, address indexed supplyToken, address indexed borrowToken);

    // events of a pool; the liquidity layer emits those about balances
    event Swap(bool swap0to1, uint256 amountIn, uint256 amountOut, address to);
    event LogTurnOnSmartCol(uint256 token0Amt);
    event LogTurnOnSmartDebt(uint256 token0Amt);
    event LogUpdateFeeAndRevenueCut(uint256 fee, uint256 revenueCut);
    event LogUpdateRangePercents(uint256 upperPercent, uint256 lowerPercent, uint256 shiftTime);
    event LogUpdateThresholdPercent(uint256 upperThresholdPercent, uint256 lowerThresholdPercent, uint256 thresholdShiftTime, uint256 shiftTime);
    event LogUpdateCenterPriceAddress(uint256 centerPriceAddress, uint256 percent, uint256 time);
    event LogUpdateCenterPriceLimits(uint256 maxCenterPrice, uint256 minCenterPrice);
    event LogUpdateUtilizationLimit(uint256 token0UtilizationLimit, uint256 token1UtilizationLimit);
    event LogPauseSwapAndArbitrage();
    event LogUnpauseSwapAndArbitrage();
}

/// Events after which a pool's state is read again.
const TOPICS: &[B256] = &[
    Swap::SIGNATURE_HASH,
    LogTurnOnSmartCol::SIGNATURE_HASH,
    LogTurnOnSmartDebt::SIGNATURE_HASH,
    LogUpdateFeeAndRevenueCut::SIGNATURE_HASH,
    LogUpdateRangePercents::SIGNATURE_HASH,
    LogUpdateThresholdPercent::SIGNATURE_HASH,
    LogUpdateCenterPriceAddress::SIGNATURE_HASH,
    LogUpdateCenterPriceLimits::SIGNATURE_HASH,
    LogUpdateUtilizationLimit::SIGNATURE_HASH,
    LogPauseSwapAndArbitrage::SIGNATURE_HASH,
    LogUnpauseSwapAndArbitrage::SIGNATURE_HASH,
    reading::OPERATE,
    reading::EXCHANGE_PRICES_UPDATED,
    reading::REVENUE_COLLECTED,
    reading::STATUS_CHANGED,
    reading::TOKENS_CONFIGURED,
    reading::SUPPLY_CONFIGURED,
    reading::BORROW_CONFIGURED,
    reading::USER_PAUSED,
    reading::USER_UNPAUSED,
    reading::RATES_V1_UPDATED,
    reading::RATES_V2_UPDATED,
    reading::LIMIT_UPDATED,
];

/// Factory on mainnet. Source: Fluid's deployment list.
static SOURCES: [Source; 1] = [Source {
    emitter: address!("91716C4EDA1Fb55e84Bf8b4c7085f84285c19085"),
    topic0: DexT1Deployed::SIGNATURE_HASH,
    deployment_block: 21_015_648,
}];

/// Record of DEX T1 pools.
///
/// A pool is followed by its own logs and by the liquidity layer's logs about its tokens. A pool whose centre price
/// comes from another contract is polled every block.
#[derive(Clone, Copy, Debug)]
pub struct DexT1;

fn reader(pool: &Discovered, was: Option<Box<Storage>>) -> Box<dyn StateReader> {
    let (pool, tokens) = (pool.key.contract, coins(pool));
    asking::reader(pool, move |reading| Ok(State::Storage(read(pool, tokens, was.as_deref(), reading)?.into())))
}

impl Protocol for DexT1 {
    type State = State;
    type After = After;

    fn product(&self) -> Product {
        Product::FluidDexT1
    }

    fn sources(&self) -> &'static [Source] {
        &SOURCES
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let malformed = DecodeError::Log { event: "DexT1Deployed", emitter: log.address };
        let Ok(event) = DexT1Deployed::decode_log_data_validate(&log.data) else { return Err(malformed) };
        // the constructor requires sorted tokens
        if event.supplyToken >= event.borrowToken || event.supplyToken == Address::ZERO || event.dex == Address::ZERO {
            return Err(malformed);
        }
        Ok(Discovered {
            key: event.dex.into(),
            product: Product::FluidDexT1,
            coins: vec![event.supplyToken, event.borrowToken],
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

    fn reads_each_block(&self, state: &Self::State) -> bool {
        matches!(state, State::Storage(storage) if storage.external_centre.is_some())
    }

    fn apply(&self, state: &mut Self::State, log: &Log) -> Result<Freshness, DecodeError> {
        let State::Storage(storage) = state else {
            return Err(DecodeError::State { pool: log.address, what: "a Fluid pool without storage words" });
        };
        let known = log.topics().first().is_some_and(|topic0| TOPICS.contains(topic0));
        let stale = known && (log.address != LIQUIDITY || reading::matters(log, &storage.addresses));
        Ok(if stale { Freshness::Stale } else { Freshness::Unaffected })
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        reader(pool, None)
    }

    fn reader_again(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        reader(pool, if let State::Storage(storage) = was { Some(storage.clone()) } else { None })
    }

    fn reader_each_block(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        let State::Storage(storage) = was else { return self.reader_again(pool, was) };
        let storage = storage.clone();
        let read = move |reading: &mut asking::Reading| Ok(State::Storage(read_centre(&storage, reading)?.into()));
        asking::reader(pool.key.contract, read)
    }

    fn validate(&self, state: &Self::State, _coins: usize) -> Result<(), &'static str> {
        state.validate()
    }

    fn swap(&self, state: &Self::State, Step { pool, at, route, sale }: Step<'_>) -> Result<crate::Swap, SwapError> {
        let earlier = Earlier::replay(at, route.before(pool.contract))?;
        state.swap_after(route.change(pool), earlier.as_ref(), at, sale.coin_in == 0, sale.amount_in)
    }

    fn shared_words(&self, state: &Self::State, after: &After) -> Option<[(Address, SharedWords); 2]> {
        state.shared_words(after)
    }

    fn depends_on_time(&self, _state: &Self::State) -> bool {
        true
    }

    fn fee_pips(&self, state: &Self::State) -> Option<u32> {
        Some(state.fees().fee_pips)
    }

    fn curve(&self, state: &Self::State, _coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
        pair_curve(state, at)
    }

    fn step_code(&self, pool: Address, state: &Self::State, coin_in: u8, _coin_out: u8) -> StepCode {
        step_code(pool, state, coin_in)
    }

    fn holder(&self, _pool: Address) -> Address {
        LIQUIDITY
    }

    fn saved_gas_units(&self, _state: &Self::State, _coins: [u8; 2], _at: &ExecutionBlock, before: Touched<'_>) -> u64 {
        if before.holder { AGAIN_GAS_UNITS } else { 0 }
    }
}

fn coins(pool: &Discovered) -> [Address; 2] {
    [0, 1].map(|place: usize| pool.coins.get(place).copied().unwrap_or_default())
}
