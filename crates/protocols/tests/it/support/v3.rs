//! A real V3 pool, created by the real factory, with random positions.

use alloy_primitives::{Address, I256, U256, aliases::I24, aliases::U24};
use alloy_sol_types::{SolCall, SolEvent, SolValue, sol};
use braid_primitives::TokenId;
use braid_protocols::{
    Discovered, Freshness, Pool, PoolState, Product, lens,
    uniswap_v3::{After, State, tick_math},
};

use super::{
    bytecode,
    chain::{Chain, OWNER, Reason, read_state, read_with},
    random::Random,
};

sol! {
    function enableFeeAmount(uint24 fee, int24 tickSpacing) external;
    function createPool(address a, address b, uint24 fee) external returns (address pool);
    function initialize(uint160 sqrtPriceX96) external;
    function maxLiquidityPerTick() external view returns (uint128 most);
    function swapPool(address pool, bool zeroForOne, uint256 amountIn) external returns (int256 amount0, int256 amount1);
    function mint(address pool, int24 lower, int24 upper, uint128 liquidity) external;
    function setFeeProtocol(uint8 feeProtocol0, uint8 feeProtocol1) external;
    function burn(address pool, int24 lower, int24 upper, uint128 liquidity) external;
    event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick);
}

/// The project whose code a pool runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Uniswap,
    PancakeSwap,
}

impl Code {
    fn record(self) -> Product {
        match self {
            Self::Uniswap => Product::UniswapV3,
            Self::PancakeSwap => Product::PancakeswapV3,
        }
    }

    /// Deploys a factory.
    fn factory(self, chain: &mut Chain) -> Address {
        match self {
            Self::Uniswap => chain.deploy("UniswapV3Factory", &()),
            Self::PancakeSwap => {
                let code = bytecode::initcode("PancakeV3Pool");
                let deployer = chain.deploy_with("StandInPancakeV3PoolDeployer", &(code,).abi_encode_params());
                chain.deploy("PancakeV3Factory", &(deployer,))
            }
        }
    }

    /// Returns the fees that a new factory allows, with their tick spacings.
    const fn first_fees(self) -> &'static [(u32, i32)] {
        match self {
            Self::Uniswap => &[(500, 10), (3_000, 60), (10_000, 200)],
            Self::PancakeSwap => &[(100, 1), (500, 10), (2_500, 50), (10_000, 200)],
        }
    }
}

/// A pool with the state that its logs have built.
pub struct Venue {
    pub chain: Chain,
    pub harness: Address,
    pub pool: Discovered,
    pub record: Product,
    pub state: PoolState,
    /// The maximum liquidity of a tick.
    pub max_liquidity: u128,
    /// The minted positions: both ends and the liquidity.
    pub positions: Vec<(i32, i32, u128)>,
}

/// The result of a swap: the amounts that the pool returned, and the state that it logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub consumed: U256,
    pub amount_out: U256,
    pub after: After,
    pub gas_used: u64,
}

impl Venue {
    /// Creates a pool of a new Uniswap factory, not yet initialised.
    pub fn new(fee_pips: u32, tick_spacing: i32) -> Self {
        Self::of(Code::Uniswap, fee_pips, tick_spacing)
    }

    /// Creates a pool of a new factory, not yet initialised.
    pub fn of(code: Code, fee_pips: u32, tick_spacing: i32) -> Self {
        let mut chain = Chain::new();
        let mut coins = [(); 2].map(|()| chain.deploy("Coin", &(OWNER, U256::ZERO)));
        coins.sort();
        let harness = chain.deploy("Harness", &(coins[0], coins[1]));
        for coin in coins {
            chain.set_balance(coin, harness, U256::ONE << 254);
        }
        let factory = code.factory(&mut chain);
        let fee = U24::from(fee_pips);
        if !code.first_fees().contains(&(fee_pips, tick_spacing)) {
            let tick_spacing = I24::try_from(tick_spacing).unwrap();
            chain.send(factory, &enableFeeAmountCall { fee, tickSpacing: tick_spacing }).unwrap();
        }
        let created = chain.send(factory, &createPoolCall { a: coins[1], b: coins[0], fee }).unwrap();
        let record = code.record();
        let pool = record.discover(&created.logs[0]).unwrap();
        assert_eq!((pool.fee_pips, pool.tick_spacing, &pool.coins[..]), (fee_pips, tick_spacing, &coins[..]));
        let max_liquidity = chain.view(pool.key.contract, &maxLiquidityPerTickCall {});
        let state = read_state(&mut chain, record, &pool);
        Self { chain, harness, pool, record, state, max_liquidity, positions: Vec::new() }
    }

    pub fn state(&self) -> &State {
        let PoolState::UniswapV3(state) = &self.state else { panic!("a V3 pool has a V3 state") };
        state
    }

    /// Returns the pool as its product prices it.
    pub fn priced(&self) -> Pool {
        let coins = [TokenId(0), TokenId(1)].into_iter().collect();
        Pool { key: self.pool.key, product: self.record, coins, state: self.state.clone() }
    }

    /// Sends a transaction and applies every log of the pool to the model's state.
    pub fn send(&mut self, to: Address, call: &impl SolCall) -> Result<(), Reason> {
        let done = self.chain.send(to, call)?;
        for log in done.logs.iter().filter(|log| log.address == self.pool.key.contract) {
            assert_ne!(self.record.apply(&mut self.state, log).unwrap(), Freshness::Stale);
        }
        Ok(())
    }

    pub fn initialise(&mut self, sqrt_price_x96: U256) {
        self.send(self.pool.key.contract, &initializeCall { sqrtPriceX96: sqrt_price_x96.to() }).unwrap();
    }

    /// Mints a position. Skips a range that the pool refuses because a tick would hold too much.
    pub fn mint(&mut self, lower: i32, upper: i32, liquidity: u128) {
        let call = mintCall { pool: self.pool.key.contract, lower: tick(lower), upper: tick(upper), liquidity };
        if self.send(self.harness, &call).is_ok() {
            self.positions.push((lower, upper, liquidity));
        }
    }

    /// Burns all or a part of a position. Skips an empty position, since the pool refuses to burn nothing.
    pub fn burn(&mut self, position: usize, liquidity: u128) {
        let (lower, upper, held) = self.positions[position];
        if held == 0 {
            return;
        }
        let call = burnCall { pool: self.pool.key.contract, lower: tick(lower), upper: tick(upper), liquidity };
        self.send(self.harness, &call).unwrap();
        self.positions[position].2 = held - liquidity;
    }

    /// Swaps without keeping the changes.
    pub fn try_swap(&mut self, zero_for_one: bool, amount_in: U256) -> Result<Outcome, Reason> {
        let call = swapPoolCall { pool: self.pool.key.contract, zeroForOne: zero_for_one, amountIn: amount_in };
        let done = self.chain.try_call(self.harness, &call)?;
        let amounts = swapPoolCall::abi_decode_returns(&done.output).unwrap();
        let (paid, received) =
            if zero_for_one { (amounts.amount0, amounts.amount1) } else { (amounts.amount1, amounts.amount0) };
        let log = done.logs.iter().find(|log| log.address == self.pool.key.contract).unwrap();
        // PancakeSwap's event ends with two additional words.
        let event = Swap::abi_decode_data(log.data.data.get(..160).unwrap()).unwrap();
        let (_, _, sqrt_price_x96, liquidity, tick) = event;
        Ok(Outcome {
            consumed: unsigned(paid),
            amount_out: unsigned(-received),
            after: After { sqrt_price_x96: U256::from(sqrt_price_x96), tick: tick.as_i32(), liquidity },
            gas_used: done.gas_used,
        })
    }

    /// Swaps and keeps the changes in both the chain and the model.
    pub fn swap(&mut self, zero_for_one: bool, amount_in: U256) -> Result<(), Reason> {
        let call = swapPoolCall { pool: self.pool.key.contract, zeroForOne: zero_for_one, amountIn: amount_in };
        self.send(self.harness, &call)
    }

    /// Sets the protocol's share of the fee on each coin in a Uniswap pool: one part in so many, or nothing.
    pub fn set_fee_protocol(&mut self, [of_coin0, of_coin1]: [u8; 2]) {
        let call = setFeeProtocolCall { feeProtocol0: of_coin0, feeProtocol1: of_coin1 };
        self.send(self.pool.key.contract, &call).unwrap();
    }

    /// Returns the state as the contract's own views show it.
    pub fn read(&mut self) -> PoolState {
        read_state(&mut self.chain, self.record, &self.pool)
    }

    /// Returns the state as the lens reads it.
    pub fn read_by_lens(&mut self) -> PoolState {
        self.chain.set_code(lens::ADDRESS, lens::runtime_code().clone());
        read_with(&mut self.chain, self.record.lens_reader(&self.pool).unwrap()).unwrap()
    }

    /// Initialises the pool at a random price and mints up to `most` random positions: some wide, most narrow, with
    /// gaps.
    pub fn populate(&mut self, random: &mut Random, most: u64) {
        let spacing = self.pool.tick_spacing;
        let highest = tick_math::MAX_TICK / spacing;
        let start = match random.below(12) {
            0 => random.between(tick_math::MIN_TICK, tick_math::MIN_TICK + 4_000),
            1 => random.between(tick_math::MAX_TICK - 4_000, tick_math::MAX_TICK - 1),
            2..=4 => random.between(-5_000, 5_000),
            _ => random.between(-300_000, 300_000),
        };
        let low = tick_math::sqrt_price_at_tick(start).unwrap();
        let high = tick_math::sqrt_price_at_tick(start + 1).unwrap();
        let within = if random.one_in(4) { U256::ZERO } else { random.up_to(high - low - U256::ONE) };
        self.initialise(low + within);
        let liquidity_bits = 8 + random.below(100);
        for _ in 0..=random.below(most) {
            let centre = (start / spacing) + random.between(-60, 60);
            let (lower, upper) = match random.below(16) {
                0 => (-highest, highest),
                1..=3 => (centre - random.between(1, 3_000), centre + random.between(1, 3_000)),
                _ => (centre - random.between(0, 12), centre + random.between(1, 12)),
            };
            let (lower, upper) = (lower.clamp(-highest, highest - 1), upper.clamp(1 - highest, highest));
            if lower < upper {
                let liquidity = random.log_uniform_u128(liquidity_bits).min(self.max_liquidity / 2);
                self.mint(lower * spacing, upper * spacing, liquidity);
            }
        }
    }
}

pub fn tick(index: i32) -> I24 {
    I24::try_from(index).unwrap()
}

fn unsigned(amount: I256) -> U256 {
    assert!(!amount.is_negative());
    amount.into_raw()
}
