//! Listed vaults with rules of their own against our stand-ins in an EVM, which are a second writing of the same rules over the libraries that
//! the deployed vaults use: what the reader sees, and what a trade pays at a later second, alone and after another of the same block.

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
    function setFees(uint256 tin, uint256 tout) external;
    function setCap(uint256 cap) external;
    function setPaused(bool paused) external;
    function setTargetRate(uint16 rate, uint40 at) external;
    function setRate(uint24 rate) external;
    function propose(uint24 rate) external;
    function setReferrer(address account, address referrer, uint32 fee) external;
    function set(bool allocates, address deposits, address withdrawals, uint256 limit) external;
    function lend(uint256 keep) external;
    function report(uint256 gain, uint256 time) external;
}

pub const WSTUSR: Address = address!("1202F5C7b4B9E47a1A484E8B270be34dbbC75055");
pub const USR: Address = address!("66a1E37c9b0eAddca17d3662D6c05F4DECf3e110");
pub const STUSR: Address = address!("6c8984bc7DBBeDAf4F6b2FD766f16eBB7d10AAb4");
pub const SUSDF: Address = address!("c8CF6D7991f15525488b2A83Df53468D682Ba4B0");
pub const USDF: Address = address!("Fa2B947eEc368f42195f24F36d2aF29f7c24CeC2");
pub const SFRAX: Address = address!("A663B02CF0a4b149d2aD41910CB81e23e1c41c32");
pub const FRAX: Address = address!("853d955aCEf822Db058eb8505911ED77F175b99e");
pub const SUSDC: Address = address!("Bc65ad17c5C0a2A4D159fa5a503f4992c7B545FE");
pub const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
pub const USDS: Address = address!("dC035D45d973E3EC169d2276DDab16f1e407384F");
pub const SUSDS: Address = address!("a3931d71877C0E7a3148CB7Eb4463524FEc27fbD");
pub const PSM: Address = address!("A188EEC8F81263234dA3622A406892F3D630f98c");
pub const POCKET: Address = address!("37305B1cD40574E4C5Ce33f8e8306Be057fD7341");
pub const SGHO: Address = address!("E1753F2e00940cC31213dd92013cF019DFE4ca1d");
pub const GHO: Address = address!("40D16FC0246aD3160Ccc09B8D0D3A2cD28aE6C2f");
pub const SVZCHF: Address = address!("E5F130253fF137f9917C0107659A4c5262abf6b0");
pub const ZCHF: Address = address!("B58E61C3098d85632Df34EecfB899A1Ed80921cB");
pub const SAVINGS: Address = address!("27d9AD987BdE08a0d083ef7e0e4043C857A17B38");
pub const SUSG: Address = address!("F17D6f98A5C6EAA99d149079984119e0A4EF6900");
pub const USG: Address = address!("B1c2Db5d6cA03FCe73dBd304d320bF76C55Ae1B1");

pub const DAY: u64 = 86_400;

/// A vault on its chain, and what the turns count.
pub struct World {
    pub chain: Chain,
    pub random: Random,
    pub now: u64,
    pub coins: [Address; 2],
    /// The longest pause, in seconds, which some turns come near.
    pub pause: u64,
    paid: usize,
    refused: usize,
    /// Paid by the chain and refused here.
    cautious: usize,
}

impl World {
    /// With the asset alone.
    pub fn new(seed: u64, coins: [Address; 2]) -> Self {
        let chain = with_asset(coins[0]);
        Self {
            chain,
            random: Random::new(seed),
            now: crate::vault_bytecode::START,
            coins,
            pause: 20 * DAY,
            paid: 0,
            refused: 0,
            cautious: 0,
        }
    }

    fn place(&mut self, name: &str, arguments: &[u8]) {
        self.chain.place(self.coins[1], name, arguments);
    }

    /// A first deposit of whole units of the asset.
    pub fn fill(&mut self, assets: U256) {
        self.chain.send(self.coins[1], &depositCall { assets, receiver: OWNER }).unwrap();
    }

    pub fn read(&mut self) -> Pool {
        read(&mut self.chain, &discovered(Product::Erc4626, self.coins[1], self.coins))
    }

    /// Whether the reader leaves the vault out.
    fn is_odd(&mut self) -> bool {
        let vault = discovered(Product::Erc4626, self.coins[1], self.coins);
        try_read_state(&mut self.chain, Product::Erc4626.protocol(), &vault).is_err()
    }

    /// The last amount that each door lets through, and one more.
    pub fn around_limits(&mut self) {
        let (pool, at) = (self.read(), self.pass(12));
        for coin_in in [0, 1] {
            let limit = match pool.swap(&at, coin_in, 1 - coin_in, U256::ONE << 120) {
                Err(SwapError::LimitExceeded { limit, .. }) => limit,
                Err(SwapError::InsufficientLiquidity { consumed, .. }) => consumed,
                other => panic!("no limit: {other:?}"),
            };
            // below what may be asked for there can be less that is there
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

    /// The model and the contract say the same of a trade with what is owned, or the model refuses one for which liquidity would have to come from elsewhere.
    fn try_trade(&mut self, pool: &Pool, before: &After, at: &ExecutionBlock, coin_in: u8, amount: U256) -> bool {
        let owned = self.chain.view(pool.address, &balanceOfCall { owner: OWNER });
        if coin_in == 1 && amount > owned {
            return false;
        }
        let contract = amount_of(self.chain.try_data(pool.address, vault_call(coin_in, amount).into()));
        let model = pool.swap_after(at, before, coin_in, 1 - coin_in, amount);
        // what comes in on the way is not counted towards what may go out
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

    /// Turns of one reading, some time, a trade of up to so many bits, and often another on top of it.
    pub fn turns(&mut self, bits: u64, mut between: impl FnMut(&mut Self, usize)) {
        for turn in 0..trades(300) {
            between(self, turn);
            let pool = self.read();
            let pause = if turn % 7 == 0 { self.pause } else { 600 };
            let seconds = self.random.below(pause);
            let at = self.pass(seconds);
            let (coin_in, amount) = (u8::from(self.random.coin()), self.random.log_uniform(bits));
            if self.try_trade(&pool, &After::Unchanged, &at, coin_in, amount) && turn % 2 == 0 {
                self.chain.send_data(pool.address, vault_call(coin_in, amount).into()).unwrap();
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
    world.chain.place(STUSR, "StandInStUsr", &USR.abi_encode());
    world.place("StandInWstUsr", &(USR, STUSR).abi_encode());
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
        world.chain.place(STUSR, "StandInStUsr", &USR.abi_encode());
        world.place("StandInWstUsr", &(USR, STUSR).abi_encode());
        world.fill(U256::from(1_003));
        world.chain.set_balance(USR, STUSR, U256::from(900_001));
        world.turns(16, |_, _| {});
    }
}

#[test]
fn falcons_reward_vests_in_the_period_that_is_set() {
    let mut world = World::new(62, [USDF, SUSDF]);
    world.place("StandInStakedUsdf", &(USDF, 7 * DAY).abi_encode());
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
            // the reward of the next cycle, of which some are more than the cap lets through
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
fn sparks_dollars_go_through_skys_exchange_one_to_one_or_not_at_all() {
    let mut world = World::new(64, [USDC, SUSDC]);
    world.chain.place(USDS, "Asset", &[]);
    world.chain.place(PSM, "StandInSkyPsm", &(USDC, USDS, POCKET).abi_encode());
    let (rate, growth) = (1_090_658_613_438_076_468_123_456_789_u128, 1_000_000_001_243_680_656_318_820_312_u128);
    world.chain.place(SUSDS, "StandInSusds", &(USDS, U256::from(rate), U256::from(growth)).abi_encode());
    world.chain.set_balance(USDS, SUSDS, U256::ONE << 120);
    world.place("StandInSavingsUsdc", &(USDC, USDS, PSM, SUSDS).abi_encode());
    world.chain.set_balance(USDS, PSM, U256::ONE << 100);
    world.fill(U256::from(300_000_000_000_000_u64));
    world.turns(84, |world, _| {
        // what the exchange has of either varies, and is little at times
        let (usds, usdc) = (world.random.log_uniform_between(70, 95), world.random.log_uniform_between(30, 55));
        world.chain.set_balance(USDS, PSM, usds);
        world.chain.set_balance(USDC, POCKET, usdc);
    });
    assert!(world.refused > trades(300) / 10, "{} refused", world.refused);
    assert!(world.cautious * 100 < world.paid, "{} refused here alone", world.cautious);
    world.chain.send(PSM, &setFeesCall { tin: U256::ONE, tout: U256::ZERO }).unwrap();
    assert!(world.is_odd(), "a fee of the exchange that is not modelled");
}

fn savings_of_aave(second: bool, seed: u64) {
    let mut world = World::new(seed, [GHO, SGHO]);
    world.place("StandInSavingsGho", &(GHO, second, U256::from(400_000_000_u64)).abi_encode());
    world.chain.send(SGHO, &setTargetRateCall { rate: 425, at: Default::default() }).unwrap();
    world.fill(whole(100_000_000));
    world.turns(90, |world, turn| {
        if turn % 25 == 0 {
            let (rate, later) = (world.random.below(5_001), world.now + world.random.below(30 * DAY));
            world.chain.send(SGHO, &setTargetRateCall { rate: rate as u16, at: later.try_into().unwrap() }).unwrap();
        }
        if turn % 10 == 0 {
            // around what is there, so that the cap bounds some deposits to the unit
            let most = 90_000_000 + world.random.below(300_000_000);
            world.chain.send(SGHO, &setCapCall { cap: U256::from(most) }).unwrap();
            let held = world.random.log_uniform_between(80, 90);
            world.chain.set_balance(GHO, SGHO, held);
        }
        world.around_limits();
    });
    assert!(world.refused > trades(300) / 10, "{} refused", world.refused);
    let accrual = state(&world.read()).accrual;
    assert_eq!(matches!(accrual, Accrual::Straight { .. }), second, "{accrual:?}");
    world.chain.send(SGHO, &setPausedCall { paused: true }).unwrap();
    let (closed, at) = (world.read(), world.pass(12));
    assert!(closed.swap(&at, 0, 1, whole(1)).is_err() && closed.swap(&at, 1, 0, whole(1)).is_err());
}

#[test]
fn the_first_release_of_aaves_savings_earns_on_what_it_earned() {
    savings_of_aave(false, 65);
}

#[test]
fn the_second_release_of_aaves_savings_earns_in_a_straight_line() {
    savings_of_aave(true, 66);
}

#[test]
fn frankencoins_savings_tick_after_their_delay() {
    let mut world = World::new(67, [ZCHF, SVZCHF]);
    world.chain.place(SAVINGS, "StandInFrankencoinSavings", &(ZCHF, U256::from(35_000)).abi_encode());
    world.chain.set_balance(ZCHF, SAVINGS, U256::ONE << 110);
    world.place("StandInSavingsZchf", &(ZCHF, SAVINGS).abi_encode());
    world.fill(whole(180_000));
    let mut waiting = 0;
    world.turns(80, |world, turn| {
        if turn % 15 == 0 {
            let rate = 1 + world.random.below(200_000) as u32;
            world.chain.send(SAVINGS, &setRateCall { rate: rate.try_into().unwrap() }).unwrap();
        }
        if turn % 40 == 0 {
            let referrer = if turn % 80 == 0 { USR } else { Address::ZERO };
            let call = setReferrerCall { account: SVZCHF, referrer, fee: 123_456 };
            world.chain.send(SAVINGS, &call).unwrap();
        }
        let Accrual::Ticking { ticks, mark, .. } = state(&world.read()).accrual else { panic!("ticks") };
        waiting += usize::from(mark > ticks);
    });
    assert!(waiting > 10 && waiting < trades(300), "interest waited {waiting} times");
    world.chain.send(SAVINGS, &proposeCall { rate: 0_u32.try_into().unwrap() }).unwrap();
    let (ending, at) = (world.read(), world.pass(12));
    assert!(matches!(ending.swap(&at, 0, 1, whole(1)), Err(SwapError::LimitExceeded { .. })));
}

#[test]
fn yearns_profit_unlocks_and_what_is_idle_is_paid() {
    let mut world = World::new(68, [USG, SUSG]);
    world.place("StandInYearnVault", &USG.abi_encode());
    world.fill(whole(3_000_000));
    world.turns(80, |world, turn| {
        if turn % 11 == 0 {
            let (gain, time) = (world.random.log_uniform_between(50, 75), world.random.log_uniform(21));
            world.chain.send(SUSG, &reportCall { gain, time }).unwrap();
        }
        if turn % 6 == 0 {
            let keep = world.random.log_uniform_between(70, 83);
            world.chain.send(SUSG, &lendCall { keep }).unwrap();
        }
    });
    assert!(world.cautious > 10, "{} had to be taken from the strategy", world.cautious);
    let none = Address::ZERO;
    let set = |allocates, deposits, withdrawals| setCall { allocates, deposits, withdrawals, limit: U256::MAX };
    world.chain.send(SUSG, &set(false, USR, USR)).unwrap();
    let (closed, at) = (world.read(), world.pass(12));
    assert!(closed.swap(&at, 0, 1, whole(1)).is_err() && closed.swap(&at, 1, 0, whole(1)).is_err());
    world.chain.send(SUSG, &set(true, none, none)).unwrap();
    assert!(world.is_odd(), "deposits that go on into a strategy");
}

#[test]
fn frankencoins_recorded_state_gives_its_recorded_price() {
    // the vault and its savings as L2BEAT's discovery recorded them, September 2026: packages/config/src/projects/frankencoin/discovered.json
    let number = |text: &str| text.parse::<U256>().unwrap();
    let recorded = erc4626::State {
        conversion: Conversion::Price {
            total_assets: number("180005190903269000447697"),
            total_shares: number("175903239194365716956083"),
        },
        accrual: Accrual::Ticking {
            ticks: 1_404_317_520_000,
            since: 1_789_471_883,
            per_second: 35_000,
            mark: 1_404_230_719_379,
            fee_millionths: 0,
        },
        max_deposit_assets: U256::MAX,
        max_redeem_shares: U256::MAX,
        max_withdraw_assets: U256::MAX,
        reserve: None,
        cap: None,
    };
    let at = ExecutionBlock { number: 0, timestamp: 1_789_471_883 };
    assert_eq!(recorded.preview_redeem(&at, erc4626::WAD), Ok(U256::from(1_023_322_180_872_362_003_u64)));
    let (_, after) = recorded.deposit(&at, whole(1)).unwrap();
    let Conversion::Price { total_assets, .. } = after.conversion else { panic!("a price") };
    assert_eq!(total_assets - whole(1), number("180005686354891071328600"), "with its interest");
}
