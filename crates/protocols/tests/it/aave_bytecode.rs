//! Compares Aave's wrapped tokens with their own code and that of Aave's pool, tokens, libraries and interest rates,
//! compiled from Aave's package.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::{SolCall, sol};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::{After, Discovered, Pool, PoolState, Product, SwapError};

use crate::support::{
    aave::{self, Configuration, KEEPER, Keeper, Wrapped},
    bytecode,
    chain::{Chain, OWNER, read_state},
    random::Random,
};

sol! {
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function redeem(uint256 shares, address receiver, address owner) external returns (uint256);
}

const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");
const ASSET: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
const WRAPPED: Address = address!("5caF5a86f39073637Ac7c8A7b5290871de80cb9b");
const START: u64 = 1_700_000_000;

/// By how much the model may undercut a reserve's cap, in atomic units.
const CLOSE_TO_THE_CAP: u64 = 16;

struct World {
    chain: Chain,
    random: Random,
    configuration: Configuration,
    found: Discovered,
    now: u64,
}

impl World {
    /// Sets up a reserve with supply and debt, and a wrapped token with shares.
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut chain = Chain::new();
        chain.set_block(1, START);
        chain.set_code(MULTICALL3, bytecode::runtime("Multicall3"));
        chain.place(ASSET, "Asset", &[]);
        chain.set_balance(ASSET, OWNER, U256::ONE << 120);
        let factor_bps = random.below(3) * 2_500;
        let configuration = Configuration { decimals: 18, frozen: false, paused: false, factor_bps, cap: 0 };
        aave::place(&mut chain, ASSET, WRAPPED, configuration);
        let supplied = random.log_uniform_between(70, 88);
        aave::others(&mut chain, ASSET, 0, supplied);
        chain.send(WRAPPED, &depositCall { assets: random.log_uniform_between(60, 86), receiver: OWNER }).unwrap();
        aave::others(&mut chain, ASSET, 1, supplied * U256::from(7 + random.below(92)) / U256::from(125));
        let found = announced(&mut chain);
        Self { chain, random, configuration, found, now: START }
    }

    fn read(&mut self) -> Pool {
        let state = read_state(&mut self.chain, self.found.product, &self.found);
        let coins = [TokenId(0), TokenId(1)].into_iter().collect();
        Pool { key: WRAPPED.into(), product: Product::Erc4626, coins, state }
    }

    fn later(&mut self, most: u64) -> ExecutionBlock {
        self.now += self.random.below(most);
        self.chain.set_block(1, self.now);
        ExecutionBlock { number: 1, timestamp: self.now }
    }

    /// Lets others trade with the pool. At times sets caps near the supply, and freezes or pauses the reserve or the
    /// wrapped token.
    fn live(&mut self, turn: usize) {
        let (what, amount) = (self.random.below(6), self.random.log_uniform_between(40, 86));
        aave::others(&mut self.chain, ASSET, what, amount);
        if turn.is_multiple_of(5) {
            let PoolState::Erc4626(state) = &self.read().state else { panic!("a vault") };
            let reserve = state.limits.reserve.unwrap();
            let whole = U256::from(10).pow(U256::from(18));
            let supplied = reserve.scaled_supply / whole + U256::ONE;
            let more = self.random.below(4);
            self.configuration.cap = match more {
                0 => 0,
                more => {
                    u64::try_from(supplied + supplied * U256::from(more) / U256::from(9)).unwrap() & ((1 << 36) - 1)
                }
            };
            self.configuration.frozen = self.random.below(8) == 0;
            self.configuration.paused = self.random.below(8) == 0;
            let call = Keeper::configureCall { asset: ASSET, configuration: self.configuration.word() };
            self.chain.send(KEEPER, &call).unwrap();
        }
        if matches!(turn % 20, 10 | 12) {
            self.chain.send(WRAPPED, &Wrapped::setPausedCall { paused: turn % 20 == 10 }).unwrap();
        }
    }

    /// Returns an amount of any size, or one near what is left under the cap or in the reserve.
    fn amount(&mut self, pool: &Pool, at: &ExecutionBlock, before: &After, coin_in: u8) -> U256 {
        let any = self.random.log_uniform(100);
        let most = match pool.swap_after(at, before, coin_in, 1 - coin_in, U256::ONE << 111) {
            Err(SwapError::LimitExceeded { limit, .. }) => limit,
            Err(SwapError::InsufficientLiquidity { consumed, .. }) => consumed,
            _ => any,
        };
        let near = U256::from(self.random.below(40));
        match self.random.below(4) {
            0 => most.saturating_sub(U256::from(20)) + near,
            1 => most / U256::from(2),
            2 => U256::from(self.random.below(5)),
            _ => any,
        }
    }

    /// Returns what the contract pays. `keep` decides whether the trade changes the chain.
    fn code(&mut self, coin_in: u8, amount: U256, keep: bool) -> Option<U256> {
        let data = if coin_in == 0 {
            depositCall { assets: amount, receiver: OWNER }.abi_encode()
        } else {
            redeemCall { shares: amount, receiver: OWNER, owner: OWNER }.abi_encode()
        };
        let chain = &mut self.chain;
        let done = if keep { chain.send_data(WRAPPED, data.into()) } else { chain.try_data(WRAPPED, data.into()) };
        done.ok().map(|done| U256::from_be_slice(&done.output)).filter(|paid| !paid.is_zero())
    }
}

/// Discovers the wrapped token by its factory's log, as the follower does.
fn announced(chain: &mut Chain) -> Discovered {
    let record = Product::Erc4626;
    let source = record.sources()[0];
    let done = chain.try_call(source.emitter, &aave::Factory::announceCall { wrapped: WRAPPED }).unwrap();
    let found = record.discover(done.logs.iter().find(|log| log.topics()[0] == source.topic0).unwrap()).unwrap();
    assert_eq!((found.key.contract, &found.coins[..]), (WRAPPED, &[ASSET, WRAPPED][..]));
    found
}

#[derive(Debug, Default)]
struct Tally {
    paid: usize,
    refused: usize,
    at_the_cap: usize,
}

/// Model and contract must pay the same, with two exceptions. Just below a cap the model may refuse what the contract
/// still pays. And it does not count the room under the cap that an earlier redemption of the route made.
fn compare(
    world: &mut World,
    pool: &Pool,
    before: &After,
    at: &ExecutionBlock,
    tally: &mut Tally,
) -> Option<(u8, U256)> {
    let coin_in = u8::from(world.random.coin());
    let amount = world.amount(pool, at, before, coin_in);
    let code = world.code(coin_in, amount, false);
    let model = pool.swap_after(at, before, coin_in, 1 - coin_in, amount);
    if let (Err(SwapError::LimitExceeded { limit, .. }), Some(_)) = (&model, code)
        && (amount - *limit <= U256::from(CLOSE_TO_THE_CAP) || *before != After::Unchanged)
        && coin_in == 0
    {
        tally.at_the_cap += 1;
        return None;
    }
    assert_eq!(
        model.as_ref().ok().map(|swap| swap.amount_out),
        code,
        "{coin_in} {amount}: {model:?} {pool:?} at {at:?}"
    );
    match code {
        Some(_) => tally.paid += 1,
        None => tally.refused += 1,
    }
    code.map(|_| (coin_in, amount))
}

/// The number of trades that must pay.
fn trades() -> usize {
    if std::env::var_os("LONG").is_some() { 20_000 } else { 200 }
}

#[test]
fn wrapped_tokens_pay_what_the_model_says_through_time() {
    let mut tally = Tally::default();
    let mut seed = 0xaa3e;
    while tally.paid < trades() {
        seed += 1;
        let mut world = World::new(seed);
        for turn in 0..60 {
            world.live(turn);
            let pool = world.read();
            let at = world.later(if turn % 9 == 0 { 3_000_000 } else { 60 });
            let Some((coin_in, amount)) = compare(&mut world, &pool, &After::Unchanged, &at, &mut tally) else {
                continue;
            };
            if turn % 2 == 0 {
                // The trade is kept, and a second one follows at the same timestamp.
                let swap = pool.swap(&at, coin_in, 1 - coin_in, amount).unwrap();
                world.code(coin_in, amount, true).unwrap();
                compare(&mut world, &pool, &swap.after, &at, &mut tally);
            }
        }
    }
    println!("wrapped tokens: {tally:?}");
    assert!(tally.refused > trades() / 10 && tally.paid > tally.refused, "{tally:?}");
}
