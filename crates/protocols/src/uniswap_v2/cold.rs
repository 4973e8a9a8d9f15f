//! Discovery, reading and following of pairs.

use alloy_primitives::{Address, B256, Log, U256, address, b256};
use alloy_sol_types::sol;
use braid_primitives::{BPS, ExecutionBlock};

use super::{After, MAX_RESERVE, State, continuous::pair_curve, step::step_code};
use crate::{
    Call, DecodeError, Discovered, Freshness, PoolState, Prediction, Product, Protocol, Source, StateReader, Step,
    StepCode, Swap, SwapError,
    continuous::PairCurve,
    logs::{decode, malformed},
    reading,
    step::Factory,
};

sol! {
    event PairCreated(address indexed token0, address indexed token1, address pair, uint256 count);
    event Sync(uint112 reserve0, uint112 reserve1);
    function getPair(address token0, address token1) external view returns (address pair);
    function getReserves() external view returns (uint112 reserve0, uint112 reserve1, uint32 timestamp);
}

/// `topic0` of the factory's `PairCreated`.
pub(crate) const PAIR_CREATED: B256 = b256!("0d3648bd0f6ba80134a33ba9275ac585d9d315f0ad8355cddefde31afa28d0e9");
/// `topic0` of a pair's `Sync`, which carries the new reserves.
pub(crate) const SYNC: B256 = b256!("1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1");

/// Fee of Uniswap and SushiSwap pairs, in basis points.
const FEE_BPS: u16 = 30;

/// Record of a factory whose pairs run Uniswap V2's code with a fee of 0.3%.
#[derive(Clone, Copy, Debug)]
pub struct PairProtocol {
    pub(crate) product: Product,
    pub(crate) sources: &'static [Source],
    pub(crate) factory: Factory,
}

/// Uniswap V2 on mainnet.
///
/// Source: Uniswap's deployment list. A test recomputes the address from known pairs by CREATE2.
pub static UNISWAP_V2: PairProtocol = PairProtocol {
    product: Product::UniswapV2,
    sources: &[Source {
        emitter: address!("5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f"),
        topic0: PAIR_CREATED,
        deployment_block: 10_000_835,
    }],
    factory: Factory {
        number: 0,
        deployer: address!("5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f"),
        init_code_hash: b256!("96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f"),
    },
};

impl Protocol for PairProtocol {
    type State = State;
    type After = After;

    fn product(&self) -> Product {
        self.product
    }

    fn sources(&self) -> &'static [Source] {
        self.sources
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let event: PairCreated = decode(log)?;
        // the factory sorts the tokens and refuses the zero address
        if event.token0 >= event.token1 || event.token0 == Address::ZERO || event.pair == Address::ZERO {
            return Err(malformed::<PairCreated>(log));
        }
        let pool = Discovered::new(event.pair, self.product, vec![event.token0, event.token1]);
        Ok(Discovered { fee_pips: u32::from(FEE_BPS) * 100, ..pool })
    }

    fn confirmations(&self, pool: &Discovered) -> Vec<Prediction> {
        let (Some(source), [token0, token1]) = (self.sources.first(), &pool.coins[..]) else { return Vec::new() };
        let call = Call::new(source.emitter, &getPairCall { token0: *token0, token1: *token1 });
        vec![Prediction { call, answer: sorted_pool(pool) }]
    }

    fn freshness_topics(&self) -> &'static [B256] {
        &[SYNC]
    }

    fn stands_alone(&self) -> bool {
        true
    }

    fn apply(&self, state: &mut State, log: &Log) -> Result<Freshness, DecodeError> {
        if log.topics().first() != Some(&SYNC) {
            return Ok(Freshness::Unaffected);
        }
        let event: Sync = decode(log)?;
        (state.reserve0, state.reserve1) = (event.reserve0.to(), event.reserve1.to());
        Ok(Freshness::Applied)
    }

    fn state_from_log(&self, log: &Log) -> Option<PoolState> {
        let mut state = State { reserve0: 0, reserve1: 0, fee_bps: FEE_BPS };
        matches!(self.apply(&mut state, log), Ok(Freshness::Applied)).then(|| state.into())
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        let pair = pool.key.contract;
        reading::reader(pair, move |reading| {
            let reserves = reading.ask(pair, &getReservesCall {})?;
            Ok(State { reserve0: reserves.reserve0.to(), reserve1: reserves.reserve1.to(), fee_bps: FEE_BPS })
        })
    }

    fn spot_checks(&self, pool: Address, state: &State) -> Vec<Prediction> {
        vec![Prediction { call: Call::new(pool, &getReservesCall {}), answer: U256::from(state.reserve0) }]
    }

    fn validate(&self, state: &State, _coins: usize) -> Result<(), &'static str> {
        let fits = state.reserve0.max(state.reserve1) <= MAX_RESERVE;
        if fits && u64::from(state.fee_bps) < BPS { Ok(()) } else { Err("reserves or fee out of range") }
    }

    fn swap(&self, state: &State, Step { pool, route, sale, .. }: Step<'_>) -> Result<Swap, SwapError> {
        let zero_for_one = sale.coin_in == 0;
        match route.change::<After>(pool) {
            Some(after) => state.with(after).swap(zero_for_one, sale.amount_in),
            None => state.swap(zero_for_one, sale.amount_in),
        }
    }

    fn is_bought_from(&self) -> bool {
        true
    }

    fn amount_in_for(&self, state: &State, [coin_in, _]: [u8; 2], amount_out: U256) -> Result<U256, SwapError> {
        state.swap_exact_out(coin_in == 0, amount_out)
    }

    fn fee_pips(&self, state: &State) -> Option<u32> {
        Some(u32::from(state.fee_bps) * 100)
    }

    fn curve(&self, state: &State, _coins: [u8; 2], _at: &ExecutionBlock) -> Option<PairCurve> {
        Some(pair_curve(state))
    }

    fn holds(&self, state: &State, coin: u8) -> Option<f64> {
        Some(if coin == 0 { state.reserve0 } else { state.reserve1 } as f64)
    }

    fn step_code(&self, pool: Address, state: &State, _coin_in: u8, _coin_out: u8) -> StepCode {
        step_code(self.factory, pool, state.fee_bps)
    }
}

/// Returns the answer of a factory that finds a pool by its two sorted coins: the pool's address, as a word. Returns a
/// value that no factory answers if the coins are not sorted or the pool has an id.
pub(crate) fn sorted_pool(pool: &Discovered) -> U256 {
    let named = U256::from_be_slice(pool.key.contract.as_slice());
    if pool.coins.is_sorted() && pool.key.id.is_none() { named } else { U256::MAX }
}
