//! Compares listed vaults with special rules with our stand-ins in an EVM, which implement the same rules a second time
//! with the libraries of the deployed vaults. The tests check what the reader reads, and what a trade pays at a later
//! timestamp, alone and after another in the same block.

pub mod aave;
pub mod frankencoin;
pub mod sky;
pub mod yearn;

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::{SolValue, sol};
use braid_primitives::ExecutionBlock;
use braid_protocols::{
    After, Pool, PoolState, Product, SwapError,
    erc4626::{self, Accrual, Conversion},
};

use crate::{
    support::{
        chain::{Chain, OWNER, try_read_state},
        random::Random,
    },
    vault_bytecode::{amount_of, discovered, read, trades, vault_call, with_asset},
};

sol! {
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function transferInRewards(uint256 amount) external;
    function setCooldownDuration(uint24 duration) external;
    function visit() external;
    function syncRewards() external;
    interface Staked { function initialize(address asset) external; }
    interface Resolv { function initialize(address asset, address staked) external; }
    interface Falcon { function initialize(address asset, uint32 period) external; }
}

pub const WSTUSR: Address = address!("1202F5C7b4B9E47a1A484E8B270be34dbbC75055");
pub const USR: Address = address!("66a1E37c9b0eAddca17d3662D6c05F4DECf3e110");
pub const STUSR: Address = address!("6c8984bc7DBBeDAf4F6b2FD766f16eBB7d10AAb4");
pub const SUSDF: Address = address!("c8CF6D7991f15525488b2A83Df53468D682Ba4B0");
pub const USDF: Address = address!("Fa2B947eEc368f42195f24F36d2aF29f7c24CeC2");
pub const SFRAX: Address = address!("A663B02CF0a4b149d2aD41910CB81e23e1c41c32");
pub const FRAX: Address = address!("853d955aCEf822Db058eb8505911ED77F175b99e");
pub const FRXETH: Address = address!("5E8422345238F34275888049021821E8E08CAa1f");
pub const SFRXETH: Address = address!("aC3E018457B222d93114458476f3E3416Abbe38F");

pub const DAY: u64 = 86_400;

/// A vault on its chain, with the counters of the turns.
pub struct World {
    pub chain: Chain,
    pub random: Random,
    pub now: u64,
    pub coins: [Address; 2],
    /// The longest pause in seconds, which some turns nearly reach. Even in the longest run the clock stays below the
    /// year 2106, where the 32-bit timestamps of some contracts end.
    pub pause: u64,
    paid: usize,
    refused: usize,
    /// Trades that the contract pays and the model refuses.
    cautious: usize,
}

impl World {
    /// Creates a chain with only the asset.
    pub fn new(seed: u64, coins: [Address; 2]) -> Self {
        let chain = with_asset(coins[0]);
        Self {
            chain,
            random: Random::new(seed),
            now: crate::vault_bytecode::START,
            coins,
            pause: 12 * DAY,
            paid: 0,
            refused: 0,
            cautious: 0,
        }
    }

    fn place(&mut self, name: &str, arguments: &[u8]) {
        self.chain.place(self.coins[1], name, arguments);
    }

    fn wrap_resolvs(&mut self) {
        self.chain.place(STUSR, "StandInStUsr", &[]);
        self.chain.send(STUSR, &Staked::initializeCall { asset: USR }).unwrap();
        self.place("StandInWstUsr", &[]);
        self.chain.send(WSTUSR, &Resolv::initializeCall { asset: USR, staked: STUSR }).unwrap();
    }

    /// Makes a first deposit, in atomic units of the asset.
    pub fn fill(&mut self, assets: U256) {
        self.chain.send(self.coins[1], &depositCall { assets, receiver: OWNER }).unwrap();
    }

    pub fn read(&mut self) -> Pool {
        read(&mut self.chain, &discovered(Product::Erc4626, self.coins[1], self.coins))
    }

    /// Returns whether the reader excludes the vault.
    fn is_odd(&mut self) -> bool {
        let vault = discovered(Product::Erc4626, self.coins[1], self.coins);
        try_read_state(&mut self.chain, Product::Erc4626, &vault).is_err()
    }

    /// Tries the largest amount that each side allows, and one unit more.
    pub fn around_limits(&mut self) {
        self.around(&[0, 1]);
    }

    /// Tries the same only for deposits, where only the vault's balance limits redemptions.
    fn around_deposits(&mut self) {
        self.around(&[0]);
    }

    fn around(&mut self, sides: &[u8]) {
        let (pool, at) = (self.read(), self.pass(12));
        for coin_in in sides.iter().copied() {
            let limit = match pool.swap(&at, coin_in, 1 - coin_in, U256::ONE << 120) {
                Err(SwapError::LimitExceeded { limit, .. }) => limit,
                Err(SwapError::InsufficientLiquidity { consumed, .. }) => consumed,
                other => panic!("no limit: {other:?}"),
            };
            // The balance may be smaller than the limit on redemptions.
            let there = match pool.swap(&at, coin_in, 1 - coin_in, limit) {
                Err(SwapError::InsufficientLiquidity { consumed, .. }) => consumed,
                _ => limit,
            };
            for amount in [limit, limit + U256::ONE, there, there + U256::ONE] {
                self.try_trade(&pool, &After::Unchanged, &at, coin_in, amount);
            }
        }
    }

    pub fn pass(&mut self, seconds: u64) -> ExecutionBlock {
        self.now += seconds;
        self.chain.set_block(1, self.now);
        ExecutionBlock { number: 1, timestamp: self.now }
    }

    /// Checks that model and contract agree on a trade with the owner's balance. The exception is a trade that the
    /// model refuses because its liquidity would have to come from elsewhere.
    fn try_trade(&mut self, pool: &Pool, before: &After, at: &ExecutionBlock, coin_in: u8, amount: U256) -> bool {
        let owned = self.chain.view(pool.key.contract, &balanceOfCall { owner: OWNER });
        if coin_in == 1 && amount > owned {
            return false;
        }
        let contract = amount_of(self.chain.try_data(pool.key.contract, vault_call(coin_in, amount).into()));
        let model = pool.swap_after(at, before, coin_in, 1 - coin_in, amount);
        // The model does not count assets that the route deposited before towards the limit of a later redemption.
        let limited = matches!(model, Err(SwapError::LimitExceeded { .. })) && *before != After::Unchanged;
        if contract.is_some() && (limited || matches!(model, Err(SwapError::InsufficientLiquidity { .. }))) {
            self.cautious += 1;
            return false;
        }
        assert_eq!(
            model.as_ref().ok().map(|swap| swap.amount_out),
            contract,
            "coin {coin_in} {amount}: {model:?} {pool:?}"
        );
        if contract.is_some() {
            self.paid += 1
        } else {
            self.refused += 1
        }
        contract.is_some()
    }

    /// Makes turns. Each reads the vault, lets time pass and makes a trade of up to this many bits, often followed by
    /// another.
    pub fn turns(&mut self, bits: u64, mut between: impl FnMut(&mut Self, usize)) {
        for turn in 0..trades(300) {
            between(self, turn);
            let pool = self.read();
            let pause = if turn % 7 == 0 { self.pause } else { 600 };
            let seconds = self.random.below(pause);
            let at = self.pass(seconds);
            let (coin_in, amount) = (u8::from(self.random.coin()), self.random.log_uniform(bits));
            if self.try_trade(&pool, &After::Unchanged, &at, coin_in, amount) && turn % 2 == 0 {
                self.chain.send_data(pool.key.contract, vault_call(coin_in, amount).into()).unwrap();
                let first = pool.swap(&at, coin_in, 1 - coin_in, amount).unwrap();
                let (next, amount) = (u8::from(self.random.coin()), self.random.log_uniform(bits));
                self.try_trade(&pool, &first.after, &at, next, amount);
            }
        }
        println!(
            "{}: {} paid, {} refused, {} refused here alone",
            self.coins[1], self.paid, self.refused, self.cautious
        );
        assert!(self.paid > trades(300) / 3, "{} paid", self.paid);
    }
}

pub fn whole(units: u64) -> U256 {
    U256::from(units) * erc4626::WAD
}

fn state(pool: &Pool) -> &erc4626::State {
    let PoolState::Erc4626(state) = &pool.state else { panic!("a vault") };
    state
}

#[test]
fn resolvs_wrapper_is_a_thousand_shares_each() {
    let mut world = World::new(61, [USR, WSTUSR]);
    world.wrap_resolvs();
    world.fill(whole(100_000_000));
    world.turns(82, |world, turn| {
        if turn % 5 == 0 {
            let gain = world.random.log_uniform(70);
            let held = world.chain.view(USR, &balanceOfCall { owner: STUSR });
            world.chain.set_balance(USR, STUSR, held + gain);
        }
    });
    assert!(matches!(state(&world.read()).conversion, Conversion::Wrapped { .. }));
}

#[test]
fn a_unit_of_the_rebasing_token_shows_in_a_wrapper_of_little() {
    for seed in 71..81 {
        let mut world = World::new(seed, [USR, WSTUSR]);
        world.wrap_resolvs();
        world.fill(U256::from(1_003));
        world.chain.set_balance(USR, STUSR, U256::from(900_001));
        world.turns(16, |_, _| {});
    }
}

#[test]
fn falcons_reward_vests_in_the_period_that_is_set() {
    let mut world = World::new(62, [USDF, SUSDF]);
    world.place("StandInStakedUsdf", &[]);
    world.chain.send(SUSDF, &Falcon::initializeCall { asset: USDF, period: 7 * DAY as u32 }).unwrap();
    world.fill(whole(400_000_000));
    let (waiting, at) = (world.read(), world.pass(12));
    let refused = waiting.swap(&at, 1, 0, whole(1));
    assert!(matches!(refused, Err(SwapError::LimitExceeded { limit: U256::ZERO, .. })), "{refused:?}");
    world.chain.send(SUSDF, &setCooldownDurationCall { duration: Default::default() }).unwrap();
    world.turns(89, |world, turn| {
        if turn % 20 == 0 {
            let amount = world.random.log_uniform(85);
            world.chain.send(SUSDF, &transferInRewardsCall { amount }).unwrap();
        }
    });
}

#[test]
fn a_cycle_of_frax_is_distributed_no_faster_than_the_cap() {
    let mut world = World::new(63, [FRAX, SFRAX]);
    world.place("StandInStakedFrax", &(FRAX, 7 * DAY, U256::from(3_170_979_198_u64)).abi_encode());
    world.fill(whole(50_000_000));
    let mut capped = 0;
    world.turns(86, |world, turn| {
        if turn % 4 == 0 {
            // The reward of the next cycle, which sometimes exceeds the cap.
            let gain = world.random.log_uniform_between(60, 84);
            let held = world.chain.view(FRAX, &balanceOfCall { owner: SFRAX });
            world.chain.set_balance(FRAX, SFRAX, held + gain);
        }
        if turn % 9 == 0 {
            world.chain.send(SFRAX, &visitCall {}).unwrap();
        }
        let Accrual::Distributing { amount, from, until, most_per_second_wad, .. } = state(&world.read()).accrual
        else {
            panic!("a cycle")
        };
        let a_second = amount / U256::from(until - from);
        capped += usize::from(a_second > most_per_second_wad * whole(60_000_000) / erc4626::WAD);
    });
    assert!(capped > 10, "the cap was met {capped} times");
}

#[test]
fn a_cycle_of_sfrxeth_streams_and_the_next_begins_with_a_deposit() {
    let mut world = World::new(71, [FRXETH, SFRXETH]);
    world.place("StandInSfrxEth", &(FRXETH, 7 * DAY).abi_encode());
    world.fill(whole(100_000));
    let mut streamed = 0;
    world.turns(74, |world, turn| {
        if turn % 4 == 0 {
            let gain = world.random.log_uniform_between(45, 66);
            let held = world.chain.view(FRXETH, &balanceOfCall { owner: SFRXETH });
            world.chain.set_balance(FRXETH, SFRXETH, held + gain);
        }
        let Accrual::Streaming { amount, until, .. } = state(&world.read()).accrual else { panic!("a stream") };
        streamed += usize::from(!amount.is_zero() && until > world.now);
        if until <= world.now && turn % 2 == 0 {
            world.chain.send(SFRXETH, &syncRewardsCall {}).unwrap();
        }
    });
    assert!(streamed > 10, "a reward streamed {streamed} times");
    // Rewards that have streamed since a cycle began are not paid out before the next cycle, however many shares are
    // redeemed.
    let held = world.chain.view(FRXETH, &balanceOfCall { owner: SFRXETH });
    world.chain.set_balance(FRXETH, SFRXETH, held + whole(1_000));
    world.pass(8 * DAY);
    world.chain.send(SFRXETH, &syncRewardsCall {}).unwrap();
    let (pool, at) = (world.read(), world.pass(DAY));
    let owned = world.chain.view(SFRXETH, &balanceOfCall { owner: OWNER });
    assert!(!world.try_trade(&pool, &After::Unchanged, &at, 1, owned));
    assert!(world.try_trade(&pool, &After::Unchanged, &at, 1, owned / U256::from(2)));
}
