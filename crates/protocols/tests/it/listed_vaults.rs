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
    function rely(address account) external;
    function suck(address debtor, address to, uint256 rad) external;
    function setDepositCap(uint256 cap) external;
    function take(uint256 amount) external;
    function syncRewards() external;
    function initialize() external;
    interface Staked { function initialize(address asset) external; }
    interface Resolv { function initialize(address asset, address staked) external; }
    interface Falcon { function initialize(address asset, uint32 period) external; }
    interface Gho { function initialize(address asset, uint256 cap) external; }
    interface Sky { function initialize(uint192 chi, uint256 ssr) external; }
    interface Spark { function initialize(address asset, uint192 chi, uint256 vsr, uint256 cap) external; }
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
pub const SPUSDC: Address = address!("28B3a8fb53B741A8Fd78c0fb9A6B2393d896a43d");
pub const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
pub const VAT: Address = address!("35D1b3F3D7966A1DFe207aa4514C12a259A0492B");
pub const VOW: Address = address!("A950524441892A31ebddF91d3cEEFa04Bf454466");
pub const DAI_JOIN: Address = address!("9759A6Ac90977b93B58547b4A71c78317f391A28");
pub const USDS_JOIN: Address = address!("3C0f895007CA717Aa01c8693e59DF1e8C3777FEB");
pub const LITE_PSM: Address = address!("f6e72Db5454dd049d0788e411b06CfAF16853042");
pub const PSM: Address = address!("A188EEC8F81263234dA3622A406892F3D630f98c");
pub const POCKET: Address = address!("37305B1cD40574E4C5Ce33f8e8306Be057fD7341");
pub const SGHO: Address = address!("E1753F2e00940cC31213dd92013cF019DFE4ca1d");
pub const GHO: Address = address!("40D16FC0246aD3160Ccc09B8D0D3A2cD28aE6C2f");
pub const SVZCHF: Address = address!("E5F130253fF137f9917C0107659A4c5262abf6b0");
pub const ZCHF: Address = address!("B58E61C3098d85632Df34EecfB899A1Ed80921cB");
pub const SAVINGS: Address = address!("27d9AD987BdE08a0d083ef7e0e4043C857A17B38");
pub const SUSG: Address = address!("F17D6f98A5C6EAA99d149079984119e0A4EF6900");
pub const RESERVE: Address = address!("1bA26788dfDe592fec8bcB0Eaff472a42BE341B2");
pub const FRXETH: Address = address!("5E8422345238F34275888049021821E8E08CAa1f");
pub const SFRXETH: Address = address!("aC3E018457B222d93114458476f3E3416Abbe38F");
pub const USG: Address = address!("B1c2Db5d6cA03FCe73dBd304d320bF76C55Ae1B1");

pub const DAY: u64 = 86_400;

/// A rate that has grown, and what it grows by in a second: four percent a year.
const RATE_RAY: u128 = 1_090_658_613_438_076_468_123_456_789;
const GROWTH_RAY: u128 = 1_000_000_001_243_680_656_318_820_312;

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

    fn wrap_resolvs(&mut self) {
        self.chain.place(STUSR, "StandInStUsr", &[]);
        self.chain.send(STUSR, &Staked::initializeCall { asset: USR }).unwrap();
        self.place("StandInWstUsr", &[]);
        self.chain.send(WSTUSR, &Resolv::initializeCall { asset: USR, staked: STUSR }).unwrap();
    }

    /// MakerDAO's books with what makes of them USDS and DAI, and sUSDS, whose rate has grown.
    fn save_at_sky(&mut self) {
        self.chain.place(VAT, "StandInVat", &[]);
        let rad = U256::ONE << 200;
        for (join, token) in [(USDS_JOIN, USDS), (DAI_JOIN, DAI)] {
            self.chain.place(join, "StandInSkyJoin", &(VAT, token).abi_encode());
            self.chain.send(VAT, &relyCall { account: OWNER }).unwrap();
            self.chain.send(VAT, &suckCall { debtor: VOW, to: join, rad }).unwrap();
            self.chain.set_balance(token, join, U256::ONE << 110);
        }
        self.chain.place(SUSDS, "StandInSusds", &(USDS, VAT, USDS_JOIN, VOW).abi_encode());
        self.chain.send(VAT, &relyCall { account: SUSDS }).unwrap();
        let chi = RATE_RAY.try_into().unwrap();
        self.chain.send(SUSDS, &Sky::initializeCall { chi, ssr: U256::from(GROWTH_RAY) }).unwrap();
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
        self.around(&[0, 1]);
    }

    /// The same of deposits alone, where redemptions have no limit but what is there.
    fn around_deposits(&mut self) {
        self.around(&[0]);
    }

    fn around(&mut self, doors: &[u8]) {
        let (pool, at) = (self.read(), self.pass(12));
        for coin_in in doors.iter().copied() {
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
    world.chain.place(DAI, "Asset", &[]);
    world.save_at_sky();
    world.chain.place(LITE_PSM, "StandInLitePsm", &(USDC, DAI, POCKET).abi_encode());
    world.chain.place(PSM, "StandInUsdsPsm", &(LITE_PSM, DAI_JOIN, USDS_JOIN, USDS, VAT).abi_encode());
    world.place("StandInSavingsUsdc", &(USDC, DAI, LITE_PSM, PSM, SUSDS).abi_encode());
    world.chain.send(SUSDC, &initializeCall {}).unwrap();
    world.chain.set_balance(DAI, LITE_PSM, U256::ONE << 100);
    world.fill(U256::from(300_000_000_000_000_u64));
    world.turns(84, |world, _| {
        // what the exchange has of either varies, and is little at times
        let (dai, usdc) = (world.random.log_uniform_between(70, 95), world.random.log_uniform_between(30, 55));
        world.chain.set_balance(DAI, LITE_PSM, dai);
        world.chain.set_balance(USDC, POCKET, usdc);
    });
    assert!(world.refused > trades(300) / 10, "{} refused", world.refused);
    assert!(world.cautious * 100 < world.paid, "{} refused here alone", world.cautious);
    world.chain.send(LITE_PSM, &setFeesCall { tin: U256::ONE, tout: U256::ZERO }).unwrap();
    assert!(world.is_odd(), "a fee of the exchange that is not modelled");
}

#[test]
fn skys_savings_take_everybodys_interest_first() {
    let mut world = World::new(69, [USDS, SUSDS]);
    world.chain.place(DAI, "Asset", &[]);
    world.save_at_sky();
    world.fill(whole(2_000_000_000));
    world.turns(95, |_, _| {});
}

#[test]
fn sparks_savings_are_capped_with_their_interest_and_pay_what_lies_there() {
    let mut world = World::new(70, [USDC, SPUSDC]);
    world.place("StandInSparkVault", &[]);
    let (chi, vsr) = (RATE_RAY.try_into().unwrap(), U256::from(GROWTH_RAY));
    let cap = U256::from(700_000_000_000_000_u64);
    world.chain.send(SPUSDC, &Spark::initializeCall { asset: USDC, chi, vsr, cap }).unwrap();
    world.fill(U256::from(300_000_000_000_000_u64));
    world.turns(50, |world, turn| {
        if turn % 10 == 0 {
            // around what is there, so that the cap bounds some deposits to the unit, and below it
            let cap = U256::from(250_000_000_000_000_u64 + world.random.below(800_000_000_000_000));
            world.chain.send(SPUSDC, &setDepositCapCall { cap }).unwrap();
            let held = world.random.log_uniform_between(40, 49);
            world.chain.set_balance(USDC, SPUSDC, held);
        }
        world.around_deposits();
    });
    assert!(world.refused > trades(300) / 10, "{} refused", world.refused);
}

#[test]
fn a_cycle_of_sfrxeth_streams_and_the_next_begins_with_a_deposit() {
    let mut world = World::new(71, [FRXETH, SFRXETH]);
    world.place("StandInSfrxEth", &(FRXETH, 7 * DAY).abi_encode());
    world.fill(whole(100_000));
    let mut streamed = 0;
    world.turns(80, |world, turn| {
        if turn % 4 == 0 {
            let gain = world.random.log_uniform_between(60, 75);
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
}

fn savings_of_aave(second: bool, seed: u64) {
    let mut world = World::new(seed, [GHO, SGHO]);
    world.place("StandInSavingsGho", &second.abi_encode());
    let cap = U256::from(400_000_000_u64);
    world.chain.send(SGHO, &Gho::initializeCall { asset: GHO, cap }).unwrap();
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
    world.chain.place(SAVINGS, "StandInFrankencoinSavings", &(ZCHF, RESERVE, U256::from(35_000)).abi_encode());
    world.chain.set_balance(ZCHF, RESERVE, U256::ONE << 110);
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
    world.place("StandInYearnVault", &[]);
    world.chain.send(SUSG, &Staked::initializeCall { asset: USG }).unwrap();
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
    // in the second in which all is unlocked, and in the one before: a share that rounding kept back shows in a deposit of many times all assets
    let time = 997_u64;
    for before in [1, 0] {
        world.chain.send(SUSG, &reportCall { gain: whole(1_000_003), time: U256::from(time) }).unwrap();
        let (pool, at) = (world.read(), world.pass(time - before));
        let Accrual::Unlocking { per_second, until, held, .. } = state(&pool).accrual else { panic!("shares that go") };
        let kept_back = held - per_second * U256::from(time) / U256::from(1_000_000_000_000_u64);
        assert!(until == at.timestamp + before && !kept_back.is_zero(), "{kept_back}");
        assert!(world.try_trade(&pool, &After::Unchanged, &at, 0, whole(10_000_000_000)));
        assert!(world.try_trade(&pool, &After::Unchanged, &at, 1, U256::from(987_654_321)));
    }
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
        form: None,
    };
    let at = ExecutionBlock { number: 0, timestamp: 1_789_471_883 };
    assert_eq!(recorded.preview_redeem(&at, erc4626::WAD), Ok(U256::from(1_023_322_180_872_362_003_u64)));
    let (_, after) = recorded.deposit(&at, whole(1)).unwrap();
    let Conversion::Price { total_assets, .. } = after.conversion else { panic!("a price") };
    assert_eq!(total_assets - whole(1), number("180005686354891071328600"), "with its interest");
}
