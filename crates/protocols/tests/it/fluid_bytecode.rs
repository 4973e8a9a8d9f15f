//! Compares Fluid's pools with our stand-ins in an EVM. No package contains the deployed code, so these implement the
//! same rules a second time, in the deployed storage layout.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::{SolValue, sol};
use braid_primitives::ExecutionBlock;
use braid_protocols::{After, Discovered, Pool, Product, continuous::PairCurve, fluid::LIQUIDITY};

use crate::support::{
    bytecode,
    chain::{Chain, OWNER, read_state},
    random::Random,
};

sol! {
    function approve(address spender, uint256 amount) external returns (bool);
    function list(address token, uint256 highestRate, uint256 feePercent) external;
    function allow(address user, address token, uint256 supply, uint256 loan) external;
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function redeem(uint256 shares, address receiver, address owner) external returns (uint256);
    function updateRates() external returns (uint256 tokenPrice, uint256 layerPrice);
    function borrow(address token, uint256 amount) external;
    interface IWrapped { function deposit() external payable; }
    function fill(uint256[2] deposits, uint256[2] loans) external payable;
    function set(uint256 price) external;
    function swapIn(bool zeroForOne, uint256 amountIn, uint256 least, address to) external payable returns (uint256);
}

const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");
pub const ETHER: Address = address!("EeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE");
pub const WETH: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
const FIRST: Address = Address::repeat_byte(0x11);
const SECOND: Address = Address::repeat_byte(0x22);
pub const POOL: Address = Address::repeat_byte(0x33);
pub const LENDERS: [Address; 2] = [Address::repeat_byte(0x44), Address::repeat_byte(0x55)];
pub const DEPLOYER: Address = Address::repeat_byte(0x66);
pub const START: u64 = 1_700_000_000;

/// The number of worlds, with forty turns each: a few, or with `LONG=1` enough for more than twenty thousand trades
/// that pay.
pub fn worlds(short: u64, long: u64) -> u64 {
    if std::env::var_os("LONG").is_some() { long } else { short }
}

/// Packs a value as a coefficient of this many bits above an exponent of eight bits.
pub fn pack(value: U256, coefficient_bits: usize) -> U256 {
    let exponent = value.bit_len().saturating_sub(coefficient_bits);
    ((value >> exponent) << 8) + U256::from(exponent)
}

pub fn word(fields: &[(usize, U256)]) -> U256 {
    fields.iter().fold(U256::ZERO, |word, (at, value)| word | (*value << *at))
}

/// Lets a pool of some kinds (1 for collateral, 2 for debt) use a token of the layer, with random limits.
pub fn allow(chain: &mut Chain, random: &mut Random, (pool, kinds): (Address, u64), token: Address, depth: U256) {
    let limits = |random: &mut Random| {
        let percent = U256::from(500 + random.below(4_500));
        let seconds = U256::from(3_600 + random.below(86_400));
        let base = pack(depth >> (random.below(6) as usize), 10);
        [(162, percent), (176, seconds), (200, base)]
    };
    let interest = |random: &mut Random| (0, U256::from(u64::from(!random.one_in(4))));
    let supply = word(&[&limits(random)[..], &[interest(random)]].concat());
    let most = (218, pack(depth << 2, 10));
    let mut loan_limits = limits(random);
    loan_limits[2].1 = pack(depth * U256::from(2), 10);
    let loan = word(&[&loan_limits[..], &[interest(random), most]].concat());
    let [supply, loan] = [(1, supply), (2, loan)].map(|(kind, word)| if kinds & kind == 0 { U256::ZERO } else { word });
    chain.send(LIQUIDITY, &allowCall { user: pool, token, supply, loan }).unwrap();
}

/// Returns `dexVariables2` of a pool with random fees, range, thresholds and utilization limits.
pub fn configuration(random: &mut Random, kinds: u64, centre: U256, told: bool) -> U256 {
    let thresholds = U256::from(if random.coin() { 100 + random.below(800) } else { 0 });
    let percent = |random: &mut Random| U256::from(1_000 + random.below(300_000));
    let utilization = |random: &mut Random| U256::from(if random.one_in(4) { 300 + random.below(600) } else { 1_000 });
    word(&[
        (0, U256::from(kinds)),
        (2, U256::from(random.below(10_000))),
        (19, U256::from(random.below(50))),
        (27, percent(random)),
        (47, percent(random)),
        (68, thresholds),
        (78, thresholds),
        (88, U256::from(60 + random.below(100_000))),
        (112, U256::from(u64::from(told))),
        (172, pack(centre * U256::from(3), 20)),
        (200, pack(centre / U256::from(3), 20)),
        (228, utilization(random)),
        (238, utilization(random)),
    ])
}

/// Deposits and borrows for a pool.
pub fn fill(
    chain: &mut Chain,
    random: &mut Random,
    (pool, kinds): (Address, u64),
    tokens: [Address; 2],
    depth: [U256; 2],
) {
    let part = |amount: U256, random: &mut Random| amount * U256::from(80 + random.below(20)) / U256::from(100);
    let deposits = depth.map(|depth| if kinds & 1 == 0 { U256::ZERO } else { part(depth, random) });
    let loans = depth.map(|depth| if kinds & 2 == 0 { U256::ZERO } else { part(depth, random) / U256::from(2) });
    let value = if tokens[1] == ETHER { deposits[1] } else { U256::ZERO };
    chain.send_ether(pool, &fillCall { deposits, loans }, value).unwrap();
}

/// A pool with random parameters, its tokens, and the contract that supplies its centre price, if any.
pub struct World {
    pub chain: Chain,
    pub random: Random,
    pub pool: Discovered,
    pub tokens: [Address; 2],
    pub centre: U256,
    told: Option<Address>,
    /// The approximate reserves of the pool, in atomic units.
    pub depth: [U256; 2],
    pub now: u64,
    /// Whether the contracts are Fluid's own.
    pub deployed: bool,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut chain = Chain::new();
        chain.set_block(1, START);
        chain.set_code(MULTICALL3, bytecode::runtime("Multicall3"));
        chain.place(LIQUIDITY, "StandInFluidLiquidity", &OWNER.abi_encode());
        let ether = random.one_in(3);
        let tokens = [FIRST, if ether { ETHER } else { SECOND }];
        let decimals =
            [[6_u8, 8, 18][random.below(3) as usize], if ether { 18 } else { [6, 18][random.below(2) as usize] }];
        let kinds = if ether { 1 + 2 * random.below(2) } else { 1 + random.below(3) };
        // Token 1 per token 0, both with twelve decimals.
        let centre = U256::from(10).pow(U256::from(27)) * U256::from(1 + random.below(2_000))
            / U256::from(1 + random.below(2_000));
        let whole = U256::from(1_000 + random.below(10_000_000));
        let other = whole * centre / U256::from(10).pow(U256::from(27)) + U256::ONE;
        // The layer accepts at most 2^80 of a token of which it holds nothing.
        let depth = [whole * ten(decimals[0]), other * ten(decimals[1])];
        let excess = depth[0].max(depth[1]).bit_len().saturating_sub(78);
        let depth = depth.map(|depth| depth >> excess);
        let told = random.one_in(3).then(|| DEPLOYER.create(1));
        for (token, decimals) in tokens.iter().zip(decimals).filter(|(token, _)| **token != ETHER) {
            let args = (String::new(), String::new(), U256::from(decimals), OWNER, U256::ONE << 120_usize);
            chain.place(*token, "TokenAtSlot0", &args.abi_encode_params());
            for spender in [POOL, LENDERS[0], LENDERS[1]] {
                chain.send(*token, &approveCall { spender, amount: U256::MAX }).unwrap();
            }
        }
        for (k, token) in tokens.iter().enumerate() {
            let (rate, fee) = (U256::from(random.below(30_000)), U256::from(random.below(30)));
            chain.send(LIQUIDITY, &listCall { token: *token, highestRate: rate, feePercent: fee }).unwrap();
            allow(&mut chain, &mut random, (POOL, kinds), *token, depth[k]);
            if *token != ETHER {
                let args = (LIQUIDITY, *token, *token, String::new(), String::new());
                chain.place(LENDERS[k], "StandInFluidFToken", &args.abi_encode_params());
                let supply = word(&[(0, U256::ONE), (162, U256::from(2_000)), (176, U256::from(9_999))]);
                chain
                    .send(LIQUIDITY, &allowCall { user: LENDERS[k], token: *token, supply, loan: U256::ZERO })
                    .unwrap();
                chain.send(LENDERS[k], &depositCall { assets: depth[k] * U256::from(2), receiver: OWNER }).unwrap();
            }
        }
        let variables2 = configuration(&mut random, kinds, centre, told.is_some());
        if let Some(told) = told {
            chain.place(told, "StandInFluidCentrePrice", &(OWNER, centre).abi_encode());
        }
        chain.place(POOL, "StandInFluidDexT1", &(LIQUIDITY, OWNER, DEPLOYER, tokens, variables2, centre).abi_encode());
        fill(&mut chain, &mut random, (POOL, kinds), tokens, depth);
        let pool = Discovered {
            key: POOL.into(),
            product: Product::FluidDexT1,
            coins: tokens.to_vec(),
            fee_pips: 0,
            tick_spacing: 0,
        };
        Self { chain, random, pool, tokens, centre, told, depth, now: START, deployed: false }
    }

    fn read(&mut self) -> Pool {
        let state = read_state(&mut self.chain, Product::FluidDexT1, &self.pool);
        let coins = [braid_primitives::TokenId(0), braid_primitives::TokenId(1)].into_iter().collect();
        Pool { key: POOL.into(), product: Product::FluidDexT1, coins, state }
    }

    /// Lets time pass, and sometimes lets the pool's keeper make changes.
    fn live(&mut self) {
        if let Some(told) = self.told.filter(|_| self.random.one_in(5)) {
            let price = self.centre * U256::from(995 + self.random.below(11)) / U256::from(1_000);
            self.chain.send(told, &setCall { price }).unwrap();
        }
        if self.random.one_in(10) {
            let [upper, lower, duration] =
                [300_000, 300_000, 20_000].map(|most| U256::from(1_000 + self.random.below(most)));
            let second = self.chain.word(POOL, U256::ONE);
            let last = (second >> 27) & ((U256::ONE << 40) - U256::ONE);
            let shift = word(&[(0, last), (40, duration), (60, U256::from(self.now))]);
            self.put(1, 26, 41, word(&[(0, U256::ONE), (1, upper), (21, lower)]));
            self.put(7, 0, 128, shift);
        }
        if self.deployed {
            self.live_further();
        }
    }

    /// Starts shifts of the thresholds and of the centre price, which the stand-ins do not implement.
    fn live_further(&mut self) {
        if self.random.one_in(10) {
            let second = self.chain.word(POOL, U256::ONE);
            let last = |at: usize, bits: usize| (second >> at) & ((U256::ONE << bits) - U256::ONE);
            let [upper, lower] = [900, 900].map(|most| U256::from(1 + self.random.below(most)));
            let [duration, time] = [20_000, 100_000].map(|most| U256::from(60 + self.random.below(most)));
            let start = (60, U256::from(self.now));
            let shift = [(0, last(68, 10)), (20, last(78, 10)), (40, duration), start, (93, last(88, 24))];
            self.put(7, 128, 128, word(&shift));
            self.put(1, 67, 45, word(&[(0, U256::ONE), (1, upper), (11, lower), (21, time)]));
        }
        if self.told.is_some() && self.random.one_in(10) {
            let [percent, time] = [100_000, 100_000].map(|most| U256::from(1 + self.random.below(most)));
            self.chain.set_storage(POOL, 8, word(&[(0, U256::from(self.now)), (33, percent), (53, time)]));
            self.put(1, 248, 1, U256::ONE);
        }
    }

    /// Writes some bits of one of the pool's words.
    pub fn put(&mut self, slot: u64, at: usize, bits: usize, value: U256) {
        let mask = ((U256::ONE << bits) - U256::ONE) << at;
        let old = self.chain.word(POOL, U256::from(slot));
        self.chain.set_storage(POOL, slot, (old & !mask) | (value << at));
    }

    pub fn pass(&mut self) {
        self.now += 1 + if self.random.one_in(6) { self.random.below(200_000) } else { self.random.below(30) };
        self.chain.set_block(1, self.now);
    }

    fn amount(&mut self, coin_in: u8) -> U256 {
        let length = self.depth[usize::from(coin_in)].bit_len() as u64;
        self.random.log_uniform_between(length.saturating_sub(40), length)
    }

    pub fn value(&self, coin_in: u8, amount: U256) -> U256 {
        if self.tokens[usize::from(coin_in)] == ETHER { amount } else { U256::ZERO }
    }

    /// Makes forty turns. Each reads the pool, lets time pass and makes a trade, often followed by another.
    pub fn trade(&mut self, all: &mut Turns) {
        for turn in 0..40 {
            self.live();
            let pool = self.read();
            self.pass();
            let coin_in = u8::from(self.random.coin());
            let amount = self.amount(coin_in);
            let Some(_) = self.same(&pool, &After::Unchanged, coin_in, amount) else {
                all.refused += 1;
                continue;
            };
            all.paid += 1;
            if turn % 2 == 0 {
                let at = ExecutionBlock { number: 1, timestamp: self.now };
                let swap = pool.swap(&at, coin_in, 1 - coin_in, amount).unwrap();
                let value = self.value(coin_in, amount);
                self.chain.send_ether(POOL, &swap_in(coin_in, amount), value).unwrap();
                let next = u8::from(self.random.coin());
                let amount = self.amount(next);
                all.second += usize::from(self.same(&pool, &swap.after, next, amount).is_some());
            }
        }
    }

    /// Checks that model and contract agree on one trade, and returns what it pays.
    fn same(&mut self, pool: &Pool, before: &After, coin_in: u8, amount: U256) -> Option<U256> {
        let call = swap_in(coin_in, amount);
        let contract = self.chain.try_ether(POOL, &call, self.value(coin_in, amount)).ok();
        let contract = contract.map(|done| U256::from_be_slice(&done.output)).filter(|out| !out.is_zero());
        let at = ExecutionBlock { number: 1, timestamp: self.now };
        let model = pool.swap_after(&at, before, coin_in, 1 - coin_in, amount);
        let got = model.as_ref().ok().map(|swap| swap.amount_out);
        assert_eq!(got, contract, "coin {coin_in} {amount}: {model:?} {pool:?}");
        contract
    }
}

/// The results of the turns.
#[derive(Default)]
pub struct Turns {
    paid: usize,
    refused: usize,
    second: usize,
}

impl Turns {
    pub fn check(&self, what: &str) {
        let Self { paid, refused, second } = *self;
        println!("{what}: {paid} paid, {refused} refused, {second} paid after another");
        // Worlds begin away from their centre and with tight limits, so model and contract both refuse most trades.
        assert!(paid > refused / 4 && refused > 0 && second > 0);
    }
}

pub fn swap_in(coin_in: u8, amount: U256) -> swapInCall {
    swapInCall { zeroForOne: coin_in == 0, amountIn: amount, least: U256::ZERO, to: OWNER }
}

fn ten(power: u8) -> U256 {
    U256::from(10).pow(U256::from(power))
}

/// Worlds in which the layer refuses small amounts, because rounding credits too little of what the pool pays in.
const REFUSED_DUST: [u64; 2] = [23, 43];

#[test]
fn a_fluid_pool_pays_what_the_model_says() {
    let mut all = Turns::default();
    for seed in (0..worlds(12, 1_600)).chain(REFUSED_DUST) {
        World::new(seed).trade(&mut all);
    }
    all.check("Fluid DEX T1");
}

/// The curve must be above what is paid, by at most a thousandth, and must end where the pool does.
#[test]
fn a_fluid_pools_curve_is_above_what_it_pays() {
    let mut checked = 0;
    for seed in 100..100 + worlds(40, 600) {
        let mut world = World::new(seed);
        let pool = world.read();
        world.pass();
        let at = ExecutionBlock { number: 1, timestamp: world.now };
        let curve = PairCurve::of(&pool, [0, 1], &at);
        for coin_in in [0, 1] {
            for _ in 0..60 {
                let amount = world.amount(coin_in);
                let Ok(swap) = pool.swap(&at, coin_in, 1 - coin_in, amount) else { continue };
                let direction = curve.as_ref().and_then(|curve| curve.direction(coin_in));
                let direction = direction
                    .unwrap_or_else(|| panic!("seed {seed}: {amount} of coin {coin_in} trades, and has no curve"));
                let (out, exact) = (direction.quote(f64::from(amount)).0, f64::from(swap.amount_out));
                assert!(out >= exact * (1.0 - 1e-9), "{amount}: {exact} paid, {out} by the curve");
                // Twelve decimals truncate small amounts.
                assert!(
                    out <= exact * 1.001 + 1e-3 * f64::from(world.depth[usize::from(1 - coin_in)]) * 1e-3,
                    "{amount}: {exact} paid, {out} by the curve"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked}");
}

/// Trades with an fToken for some years, and returns how many trades paid and how many were refused. `replace` can put
/// other code under the filled contracts; it gets the asset and the token that the layer stores.
pub fn share(seed: u64, replace: impl FnOnce(&mut Chain, Address, Address, u64)) -> (usize, usize) {
    let mut random = Random::new(seed);
    let mut chain = Chain::new();
    chain.set_block(1, START);
    chain.set_code(MULTICALL3, bytecode::runtime("Multicall3"));
    chain.place(LIQUIDITY, "StandInFluidLiquidity", &OWNER.abi_encode());
    let wrapped = seed.is_multiple_of(3);
    let (asset, stored) = if wrapped { (WETH, ETHER) } else { (FIRST, FIRST) };
    if wrapped {
        chain.place(WETH, "WETH9", &[]);
        chain.send_ether(WETH, &IWrapped::depositCall {}, U256::ONE << 100_usize).unwrap();
    } else {
        let args = (String::new(), String::new(), U256::from(6), OWNER, U256::ONE << 100_usize);
        chain.place(FIRST, "TokenAtSlot0", &args.abi_encode_params());
    }
    chain.send(asset, &approveCall { spender: POOL, amount: U256::MAX }).unwrap();
    let (rate, fee) = (U256::from(1 + random.below(40_000)), U256::from(random.below(30)));
    chain.send(LIQUIDITY, &listCall { token: stored, highestRate: rate, feePercent: fee }).unwrap();
    let deep = U256::ONE << 78_usize;
    let supply = word(&[
        (0, U256::ONE),
        (162, U256::from(500 + random.below(5_000))),
        (176, U256::from(1_000 + random.below(100_000))),
        (200, pack(deep >> (random.below(8) as usize), 10)),
    ]);
    let loan = word(&[
        (0, U256::ONE),
        (162, U256::from(9_000)),
        (176, U256::ONE),
        (200, pack(deep, 10)),
        (218, pack(deep, 10)),
    ]);
    chain.send(LIQUIDITY, &allowCall { user: POOL, token: stored, supply, loan: U256::ZERO }).unwrap();
    chain.send(LIQUIDITY, &allowCall { user: SECOND, token: stored, supply: U256::ZERO, loan }).unwrap();
    let args = (LIQUIDITY, asset, stored, String::new(), String::new());
    chain.place(POOL, "StandInFluidFToken", &args.abi_encode_params());
    chain.place(SECOND, "StandInFluidBorrower", &(LIQUIDITY, OWNER).abi_encode());
    chain.send(POOL, &depositCall { assets: deep, receiver: OWNER }).unwrap();
    replace(&mut chain, asset, stored, rate.to());
    let found = Discovered {
        key: POOL.into(),
        product: Product::FluidFToken,
        coins: vec![asset, POOL],
        fee_pips: 0,
        tick_spacing: 0,
    };
    let (mut now, mut paid, mut refused) = (START, 0, 0);
    for turn in 0..40 {
        if turn == 0 || random.one_in(8) {
            drop(chain.send(SECOND, &borrowCall { token: stored, amount: random.log_uniform_between(60, 78) }));
        }
        if random.one_in(8) {
            chain.send(POOL, &updateRatesCall {}).unwrap();
        }
        let state = read_state(&mut chain, Product::FluidFToken, &found);
        let coins = [braid_primitives::TokenId(0), braid_primitives::TokenId(1)].into_iter().collect();
        let pool = Pool { key: POOL.into(), product: Product::FluidFToken, coins, state };
        let most = if random.one_in(4) { 3_000_000 } else { 60 };
        now += 1 + random.below(most);
        chain.set_block(1, now);
        let at = ExecutionBlock { number: 1, timestamp: now };
        let mut before = After::Unchanged;
        for _ in 0..2 {
            let (coin_in, amount) = (u8::from(random.coin()), random.log_uniform_between(5, 80));
            let done = trade_share(&mut chain, coin_in, amount);
            let model = pool.swap_after(&at, &before, coin_in, 1 - coin_in, amount);
            let got = model.as_ref().ok().map(|swap| swap.amount_out);
            assert_eq!(got, done, "coin {coin_in} {amount}: {model:?} {pool:?}");
            match model {
                Ok(swap) => {
                    before = swap.after;
                    paid += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    (paid, refused)
}

/// Makes a deposit or a redemption that is kept, and returns what it paid.
fn trade_share(chain: &mut Chain, coin_in: u8, amount: U256) -> Option<U256> {
    let done = if coin_in == 0 {
        chain.send(POOL, &depositCall { assets: amount, receiver: OWNER })
    } else {
        chain.send(POOL, &redeemCall { shares: amount, receiver: OWNER, owner: OWNER })
    };
    done.ok().map(|done| U256::from_be_slice(&done.output))
}

#[test]
fn a_fluid_share_pays_what_the_model_says() {
    let (mut paid, mut refused) = (0, 0);
    for seed in 0..worlds(12, 600) {
        let (some, others) = share(seed, |_, _, _, _| {});
        (paid, refused) = (paid + some, refused + others);
    }
    println!("fTokens: {paid} paid, {refused} refused");
    assert!(paid > refused && refused > 0);
}
