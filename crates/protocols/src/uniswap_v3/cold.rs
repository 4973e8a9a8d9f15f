//! Discovery and following of pools.

use alloy_primitives::{Address, B256, Log, U256, address, aliases::U24, b256};
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;

use super::{
    After, MAX_FEE_PIPS, MAX_TICK_SPACING, State,
    continuous::{holdings, pair_curve},
    gas::Costs,
    lens,
    logs::Logs,
    reader,
    step::step_code,
};
use crate::{
    Call, DecodeError, Discovered, Freshness, Prediction, Product, Protocol, Source, StateReader, Step, StepCode, Swap,
    SwapError,
    continuous::PairCurve,
    logs::{decode, malformed},
    step::Factory,
    uniswap_v2::sorted_pool,
};

sol! {
    function getPool(address tokenA, address tokenB, uint24 fee) external view returns (address pool);
    function feeAmountTickSpacing(uint24 fee) external view returns (int24 spacing);
    event PoolCreated(address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, address pool);
}

/// `topic0` of the factory's `PoolCreated`.
pub(crate) const POOL_CREATED: B256 = b256!("783cca1c0412dd0d695e784568c96da2e9c22ff989357a2e8b1d9b2b4e6b7118");

/// Record of a factory whose pools run Uniswap V3's code.
#[derive(Clone, Copy, Debug)]
pub struct PoolProtocol {
    pub(crate) product: Product,
    pub(crate) sources: &'static [Source],
    pub(crate) logs: Logs,
    pub(crate) costs: Costs,
    pub(crate) factory: Factory,
}

/// Uniswap V3 on mainnet.
///
/// Source: Uniswap's deployment list. A test recomputes the address from known pools by CREATE2.
pub static UNISWAP_V3: PoolProtocol = PoolProtocol {
    product: Product::UniswapV3,
    sources: &[Source {
        emitter: address!("1F98431c8aD98523631AE4a59f267346ea31F984"),
        topic0: POOL_CREATED,
        deployment_block: 12_369_621,
    }],
    logs: Logs::UNISWAP,
    costs: Costs::UNISWAP,
    factory: Factory {
        number: 2,
        deployer: address!("1F98431c8aD98523631AE4a59f267346ea31F984"),
        init_code_hash: POOL_INIT_CODE_HASH,
    },
};

/// Keccak-256 of the creation code of a Uniswap pool. SushiSwap's factory deploys the same code.
pub(crate) const POOL_INIT_CODE_HASH: B256 = b256!("e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54");

impl Protocol for PoolProtocol {
    type State = State;
    type After = After;

    fn product(&self) -> Product {
        self.product
    }

    fn sources(&self) -> &'static [Source] {
        self.sources
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let event: PoolCreated = decode(log)?;
        let (fee_pips, tick_spacing) = (event.fee.to::<u32>(), event.tickSpacing.as_i32());
        let sorted = event.token0 < event.token1 && event.token0 != Address::ZERO && event.pool != Address::ZERO;
        let enabled = fee_pips < MAX_FEE_PIPS && tick_spacing > 0 && tick_spacing < MAX_TICK_SPACING;
        if !sorted || !enabled {
            return Err(malformed::<PoolCreated>(log));
        }
        let pool = Discovered::new(event.pool, self.product, vec![event.token0, event.token1]);
        Ok(Discovered { fee_pips, tick_spacing, ..pool })
    }

    fn confirmations(&self, pool: &Discovered) -> Vec<Prediction> {
        let (Some(source), [token0, token1]) = (self.sources.first(), &pool.coins[..]) else { return Vec::new() };
        let fee = U24::from(pool.fee_pips & 0xff_ffff);
        let spacing = U256::from(pool.tick_spacing.unsigned_abs());
        let enabled = pool.fee_pips < MAX_FEE_PIPS && pool.tick_spacing > 0;
        let answer = if enabled { sorted_pool(pool) } else { U256::MAX };
        let find = Call::new(source.emitter, &getPoolCall { tokenA: *token0, tokenB: *token1, fee });
        let tell_spacing = Call::new(source.emitter, &feeAmountTickSpacingCall { fee });
        vec![Prediction { call: find, answer }, Prediction { call: tell_spacing, answer: spacing }]
    }

    fn freshness_topics(&self) -> &'static [B256] {
        self.logs.topics
    }

    fn stands_alone(&self) -> bool {
        true
    }

    fn apply(&self, state: &mut State, log: &Log) -> Result<Freshness, DecodeError> {
        self.logs.apply(state, log)
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        reader::reader(pool)
    }

    fn lens_reader(&self, pool: &Discovered) -> Option<Box<dyn StateReader>> {
        lens::reader(pool)
    }

    fn spot_checks(&self, pool: Address, state: &State) -> Vec<Prediction> {
        reader::spot_checks(pool, state)
    }

    fn validate(&self, state: &State, _coins: usize) -> Result<(), &'static str> {
        state.validate()
    }

    fn swap(&self, state: &State, Step { pool, route, sale, .. }: Step<'_>) -> Result<Swap, SwapError> {
        let before = route.change::<After>(pool).copied().unwrap_or_else(|| state.now());
        state.swap_from(&before, sale.coin_in == 0, sale.amount_in, &self.costs)
    }

    fn is_bought_from(&self) -> bool {
        true
    }

    fn amount_in_for(&self, state: &State, [coin_in, _]: [u8; 2], amount_out: U256) -> Result<U256, SwapError> {
        state.swap_exact_out(coin_in == 0, amount_out)
    }

    fn fee_pips(&self, state: &State) -> Option<u32> {
        Some(state.fee_pips)
    }

    fn curve(&self, state: &State, _coins: [u8; 2], _at: &ExecutionBlock) -> Option<PairCurve> {
        Some(pair_curve(state, &self.costs))
    }

    fn holds(&self, state: &State, coin: u8) -> Option<f64> {
        Some(holdings(state, coin == 0))
    }

    fn step_code(&self, pool: Address, state: &State, _coin_in: u8, _coin_out: u8) -> StepCode {
        step_code(self.factory, pool, state.fee_pips)
    }
}
