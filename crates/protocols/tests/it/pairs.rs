//! Compares pairs of Uniswap V2 and SushiSwap V2 with their own bytecode.

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolEvent, sol};
use braid_protocols::{After, PoolState, Product, SwapError, uniswap_v2::State};

use crate::support::{
    chain::{Chain, Reason},
    random::Random,
};

sol! {
    function createPair(address a, address b) external returns (address pair);
    function sync() external;
    function getAmountOut(uint256 amountIn, uint256 reserveIn, uint256 reserveOut) external pure returns (uint256 amountOut);
    function swapPair(address pair, bool zeroForOne, uint256 amountIn, uint256 amountOut) external;
    event Sync(uint112 reserve0, uint112 reserve1);
}

const CASES: usize = 100_000;
const SWAPS_PER_STATE: usize = 10;

/// A real pair of two test coins, and the router whose library prices it.
struct Venue {
    chain: Chain,
    coins: [Address; 2],
    pair: Address,
    router: Address,
    harness: Address,
    record: Product,
    state: PoolState,
}

/// The result of the contracts: the amount that the library returns and the reserves that the pair logs.
type Outcome = Result<(U256, PoolState), Reason>;

impl Venue {
    fn new(product: Product) -> Self {
        let (factory, router) = match product {
            Product::SushiswapV2 => ("SushiV2Factory", "SushiV2Router"),
            _ => ("UniswapV2Factory", "UniswapV2Router02"),
        };
        let mut chain = Chain::new();
        let owner = (crate::support::chain::OWNER,);
        let mut coins = [(); 2].map(|()| chain.deploy("Coin", &(owner.0, U256::ZERO)));
        coins.sort();
        let factory = chain.deploy(factory, &owner);
        let router = chain.deploy(router, &(factory, Address::ZERO));
        let harness = chain.deploy("Harness", &(coins[0], coins[1]));
        let created = chain.send(factory, &createPairCall { a: coins[1], b: coins[0] }).unwrap();

        let record = product;
        let discovered = record.discover(created.logs.last().unwrap()).unwrap();
        assert_eq!((discovered.product, &discovered.coins[..]), (product, &coins[..]));
        let pair = discovered.key.contract;
        let state = crate::support::chain::read_state(&mut chain, record, &discovered);
        Self { chain, coins, pair, router, harness, record, state }
    }

    /// Sets the pair's reserves with its own `sync`, and applies its log.
    fn set_reserves(&mut self, reserves: [u128; 2]) {
        for (coin, reserve) in self.coins.into_iter().zip(reserves) {
            self.chain.set_balance(coin, self.pair, U256::from(reserve));
            self.chain.set_balance(coin, self.harness, U256::ONE << 255);
        }
        let synced = self.chain.send(self.pair, &syncCall {}).unwrap();
        self.record.apply(&mut self.state, synced.logs.last().unwrap()).unwrap();
        assert_eq!([self.reserves().reserve0, self.reserves().reserve1], reserves);
    }

    fn reserves(&self) -> State {
        let PoolState::UniswapV2(state) = self.state else { panic!("a pair has reserves") };
        state
    }

    /// Swaps as the proxy does: computes the amount from the reserves, pays the pair, and requests the amount.
    fn swap(&mut self, zero_for_one: bool, amount_in: U256) -> Outcome {
        let State { reserve0, reserve1, .. } = self.reserves();
        let (reserve_in, reserve_out) = if zero_for_one { (reserve0, reserve1) } else { (reserve1, reserve0) };
        let price = getAmountOutCall {
            amountIn: amount_in,
            reserveIn: U256::from(reserve_in),
            reserveOut: U256::from(reserve_out),
        };
        let priced = self.chain.try_call(self.router, &price)?;
        let amount_out = U256::from_be_slice(&priced.output);
        self.ask(zero_for_one, amount_in, amount_out).map(|after| (amount_out, after))
    }

    /// Pays the pair and requests an amount.
    fn ask(&mut self, zero_for_one: bool, amount_in: U256, amount_out: U256) -> Result<PoolState, Reason> {
        let call =
            swapPairCall { pair: self.pair, zeroForOne: zero_for_one, amountIn: amount_in, amountOut: amount_out };
        let done = self.chain.try_call(self.harness, &call)?;
        let sync = done.logs.iter().find(|log| log.topics()[0] == Sync::SIGNATURE_HASH).unwrap();
        let mut after = self.state.clone();
        self.record.apply(&mut after, sync).unwrap();
        Ok(after)
    }
}

/// Returns whether the contracts' reason is that of the model's error.
fn agrees(error: &SwapError, reason: &str) -> bool {
    match error {
        SwapError::ZeroOutput => reason.ends_with("INSUFFICIENT_OUTPUT_AMOUNT"),
        SwapError::InsufficientLiquidity { .. } => reason.ends_with("INSUFFICIENT_LIQUIDITY"),
        SwapError::Overflow { .. } => reason.ends_with("OVERFLOW") || reason == "ds-math-mul-overflow",
        _ => false,
    }
}

/// Returns a reserve of any size, sometimes at the ends of the range.
fn random_reserve(random: &mut Random) -> u128 {
    match random.below(20) {
        0 => u128::from(random.below(4)),
        1 => (1 << 112) - 1 - u128::from(random.below(4)),
        _ => random.log_uniform_u128(112),
    }
}

/// Returns an amount from one wei to far more than a reserve may hold.
fn random_amount(random: &mut Random, reserve_in: u128) -> U256 {
    match random.below(20) {
        0 => U256::from(1 + random.below(1_000)),
        1 => U256::from(((1 << 112) - 1 - reserve_in).saturating_sub(2)) + U256::from(1 + random.below(5)),
        2 => random.log_uniform(240),
        _ => random.log_uniform(113),
    }
}

fn differential(product: Product, seed: u64) {
    let (mut venue, mut random) = (Venue::new(product), Random::new(seed));
    let (mut paid, mut refused) = (0, 0);
    for _ in 0..CASES / SWAPS_PER_STATE {
        venue.set_reserves([random_reserve(&mut random), random_reserve(&mut random)]);
        for _ in 0..SWAPS_PER_STATE {
            let zero_for_one = random.coin();
            let state = venue.reserves();
            let amount_in = random_amount(&mut random, if zero_for_one { state.reserve0 } else { state.reserve1 });
            let contract = venue.swap(zero_for_one, amount_in);
            let model = state.swap(zero_for_one, amount_in);
            let story = format!("{product:?} {state:?} zero_for_one={zero_for_one} amount_in={amount_in}");
            match (&contract, &model) {
                (Ok((amount_out, after)), Ok(swap)) => {
                    assert_eq!(swap.amount_out, *amount_out, "{story}");
                    let After::UniswapV2(reserves) = &swap.after else { panic!("{story}") };
                    assert_eq!(&PoolState::UniswapV2(state.with(reserves)), after, "{story}");
                    paid += 1;
                }
                (Err(reason), Err(error)) if agrees(error, reason) => refused += 1,
                _ => panic!("{story}: the contracts say {contract:?}, the model says {model:?}"),
            }
        }
    }
    println!("{product:?}: {paid} swaps equal to the wei, {refused} refused by both for the same reason");
    assert!(paid > CASES / 2 && refused > CASES / 100, "a fair share of both: {paid} paid, {refused} refused");
}

#[test]
fn uniswap_pairs_pay_what_the_model_says() {
    differential(Product::UniswapV2, 1);
}

#[test]
fn sushiswap_pairs_pay_what_the_model_says() {
    differential(Product::SushiswapV2, 2);
}

#[test]
fn a_pair_gives_not_one_wei_more() {
    for product in [Product::UniswapV2, Product::SushiswapV2] {
        let (mut venue, mut random) = (Venue::new(product), Random::new(3));
        for _ in 0..1_000 {
            venue.set_reserves([random.log_uniform_u128(112), random.log_uniform_u128(112)]);
            let (zero_for_one, amount_in) = (random.coin(), random.log_uniform(100));
            if let Ok(swap) = venue.reserves().swap(zero_for_one, amount_in) {
                let reason = venue.ask(zero_for_one, amount_in, swap.amount_out + U256::ONE).unwrap_err();
                assert!(reason.ends_with(": K") || reason.ends_with("INSUFFICIENT_LIQUIDITY"), "{reason}");
            }
        }
    }
}
