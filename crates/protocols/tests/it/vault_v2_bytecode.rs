//! Vault V2 against our stand-in in an EVM, a second writing of the same rules, on our stand-in of MetaMorpho and Morpho Blue's own code.
//! Trades that follow each other do so in one transaction, as in a route.

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_primitives::ExecutionBlock;
use braid_protocols::{
    After, Discovered, Pool, Product, SwapError,
    continuous::PairCurve,
    morpho::{ADAPTIVE_CURVE_IRM, MORPHO_BLUE},
};

use crate::support::{
    bytecode,
    chain::{Chain, OWNER, read_state},
    morpho::{self, MarketParams},
    random::Random,
};

sol! {
    struct Call3 { address target; bool allowFailure; bytes callData; }
    struct Answer { bool success; bytes returnData; }
    function aggregate3(Call3[] calldata calls) external payable returns (Answer[] memory returnData);
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function redeem(uint256 shares, address receiver, address owner) external returns (uint256);
    function addAdapter(address account) external;
    function setCaps(bytes idData, uint128 absolute, uint128 relative) external;
    function setLiquidityAdapterAndData(address adapter, bytes data) external;
    function setRates(uint64 maxRate, uint96 performanceFee, uint96 managementFee) external;
    function setSendAssetsGate(address gate) external;
    function allocate(address adapter, bytes data, uint256 assets) external;
    function transfer(address to, uint256 amount) external returns (bool);
}

/// Multicall3 makes the trades of a transaction, and holds what they need.
const TRADER: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");
const ASSET: Address = Address::repeat_byte(0x11);
const VAULT: Address = Address::repeat_byte(0x22);
const MARKETS: Address = Address::repeat_byte(0x33);
const INNER: Address = Address::repeat_byte(0x44);
const METAMORPHO: Address = Address::repeat_byte(0x4d);
const START: u64 = 1_700_000_000;
const WAD: u128 = 1_000_000_000_000_000_000;

/// Worlds of forty turns each: a few, or with `LONG=1` more than twenty thousand turns.
fn worlds(short: u64) -> u64 {
    if std::env::var_os("LONG").is_some() { 600 } else { short }
}

struct World {
    chain: Chain,
    random: Random,
    markets: Vec<MarketParams>,
    now: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut chain = Chain::new();
        chain.set_block(1, START);
        chain.set_code(TRADER, bytecode::runtime("Multicall3"));
        chain.place(ASSET, "Asset", &[]);
        for owner in [OWNER, TRADER] {
            chain.set_balance(ASSET, owner, U256::ONE << 120_usize);
        }
        morpho::place(&mut chain);
        let args = (MORPHO_BLUE, ASSET, U256::ZERO, OWNER, String::new(), String::new());
        chain.place(METAMORPHO, "StandInMetaMorpho", &args.abi_encode_params());
        let args = (ASSET, OWNER, String::new(), String::new());
        chain.place(VAULT, "StandInVaultV2", &args.abi_encode_params());
        chain.place(MARKETS, "StandInMarketAdapter", &(VAULT, MORPHO_BLUE).abi_encode());
        chain.place(INNER, "StandInVaultAdapter", &(VAULT, METAMORPHO).abi_encode());
        let markets: Vec<MarketParams> =
            (0..4_u8).map(|n| morpho::market(&mut chain, ASSET, n, ADAPTIVE_CURVE_IRM)).collect();
        let mut world = Self { chain, random: random.clone(), markets, now: START };
        let part = |random: &mut Random| u128::from(5 + random.below(95)) * (WAD / 100);
        for (place, params) in world.markets.clone().iter().enumerate() {
            if place > 1 {
                let cap = (U256::ONE << 88_usize).to();
                world.chain.send(METAMORPHO, &morpho::Vault::setCapCall { params: params.clone(), cap }).unwrap();
            }
            let ids = [
                ("collateralToken".to_owned(), params.collateralToken).abi_encode_params(),
                ("this/marketParams".to_owned(), MARKETS, params.clone()).abi_encode_params(),
            ];
            for id in ids {
                let relative = if random.one_in(3) { part(&mut random) } else { WAD };
                world.cap(id, random.log_uniform_between(86, 96), relative);
            }
        }
        world.chain.send(METAMORPHO, &depositCall { assets: U256::ONE << 80_usize, receiver: OWNER }).unwrap();
        for account in [MARKETS, INNER] {
            world.chain.send(VAULT, &addAdapterCall { account }).unwrap();
            world.cap(("this".to_owned(), account).abi_encode_params(), U256::ONE << 96_usize, WAD);
        }
        let assets = U256::ONE << 88_usize;
        world.chain.send(VAULT, &depositCall { assets, receiver: TRADER }).unwrap();
        let rate =
            if random.coin() { u64::try_from(WAD / 31_536_000).unwrap() } else { 1 + random.below(3_000_000_000) };
        let performance = alloy_primitives::aliases::U96::from(random.below(u64::try_from(WAD / 2).unwrap()));
        let management = alloy_primitives::aliases::U96::from(random.below(1_500_000_000));
        let call = setRatesCall { maxRate: rate, performanceFee: performance, managementFee: management };
        world.chain.send(VAULT, &call).unwrap();
        world.choose();
        world
    }

    fn cap(&mut self, id: Vec<u8>, absolute: U256, relative: u128) {
        let call = setCapsCall { idData: id.into(), absolute: absolute.to(), relative };
        self.chain.send(VAULT, &call).unwrap();
    }

    /// Where deposits go from now on: a market, the MetaMorpho vault, or nowhere.
    fn choose(&mut self) {
        let (adapter, data) = match self.random.below(6) {
            0 => (Address::ZERO, Bytes::new()),
            1 | 2 => (INNER, Bytes::new()),
            n => (MARKETS, self.markets[n as usize - 3].abi_encode().into()),
        };
        self.chain.send(VAULT, &setLiquidityAdapterAndDataCall { adapter, data }).unwrap();
    }

    /// What others do: borrow, allocate, give.
    fn live(&mut self) {
        if self.random.one_in(3) {
            let params = self.markets[self.random.below(4) as usize].clone();
            morpho::borrow(&mut self.chain, &params, self.random.log_uniform_between(70, 88));
        }
        if self.random.one_in(3) {
            let place = self.random.below(5) as usize;
            let (adapter, data) = match self.markets.get(place) {
                Some(market) => (MARKETS, market.abi_encode().into()),
                None => (INNER, Bytes::new()),
            };
            let call = allocateCall { adapter, data, assets: self.random.log_uniform_between(70, 87) };
            drop(self.chain.send(VAULT, &call));
        }
        if self.random.one_in(12) {
            self.chain
                .send(ASSET, &transferCall { to: VAULT, amount: self.random.log_uniform_between(40, 80) })
                .unwrap();
        }
        if self.random.one_in(8) {
            self.choose();
        }
        if self.random.one_in(20) {
            let gate = if self.random.coin() { ASSET } else { Address::ZERO };
            self.chain.send(VAULT, &setSendAssetsGateCall { gate }).unwrap();
        }
    }

    fn read(&mut self) -> Pool {
        let product = Product::MorphoVaultV2;
        let coins = vec![ASSET, VAULT];
        let found = Discovered { address: VAULT, product, coins, fee_pips: 0, tick_spacing: 0 };
        let state = read_state(&mut self.chain, product.protocol(), &found);
        let coins = [braid_primitives::TokenId(0), braid_primitives::TokenId(1)].into_iter().collect();
        Pool { address: VAULT, product, coins, state }
    }

    /// What trades pay that are made in one transaction; `None` from the first on that is refused.
    fn together(&mut self, trades: &[(u8, U256)], keep: bool) -> Vec<Option<U256>> {
        let call = |(coin_in, amount): &(u8, U256)| {
            let data = if *coin_in == 0 {
                depositCall { assets: *amount, receiver: TRADER }.abi_encode()
            } else {
                redeemCall { shares: *amount, receiver: TRADER, owner: TRADER }.abi_encode()
            };
            Call3 { target: VAULT, allowFailure: true, callData: data.into() }
        };
        let call = aggregate3Call { calls: trades.iter().map(call).collect() };
        let done = if keep { self.chain.send(TRADER, &call) } else { self.chain.try_call(TRADER, &call) };
        let answers = aggregate3Call::abi_decode_returns(&done.unwrap().output).unwrap();
        let paid = |answer: &Answer| answer.success.then(|| U256::from_be_slice(&answer.returnData));
        answers.iter().map(|answer| paid(answer).filter(|amount| !amount.is_zero())).collect()
    }

    fn roll(&mut self) -> (u8, U256) {
        (u8::from(self.random.coin()), self.random.log_uniform_between(8, 90))
    }
}

#[test]
fn a_vault_v2_accrues_allocates_and_pays_as_the_model_says() {
    let (mut paid, mut refused, mut second) = (0, 0, 0);
    for seed in 0..worlds(12) {
        let mut world = World::new(seed);
        for turn in 0..40 {
            world.live();
            let pool = world.read();
            let most = if world.random.one_in(4) { 3_000_000 } else { 60 };
            world.now += world.random.below(most);
            world.chain.set_block(1, world.now);
            let at = ExecutionBlock { number: 1, timestamp: world.now };
            let trades = [world.roll(), world.roll()];
            let mut before = After::Unchanged;
            let contract = world.together(&trades, false);
            for (place, ((coin_in, amount), contract)) in trades.iter().zip(contract).enumerate() {
                let model = pool.swap_after(&at, &before, *coin_in, 1 - *coin_in, *amount);
                let got = model.as_ref().ok().map(|swap| swap.amount_out);
                // a deposit of crumbs pays no share and is kept by the contract: nobody is quoted that, nor anything after it
                if model == Err(SwapError::ZeroOutput) {
                    assert!(contract.is_none());
                    break;
                }
                assert_eq!(
                    got, contract,
                    "seed {seed} turn {turn} trade {place}: coin {coin_in} {amount}: {model:?} {pool:?}"
                );
                match model {
                    Ok(swap) => {
                        before = swap.after;
                        paid += 1;
                        second += place;
                    }
                    Err(_) => {
                        refused += 1;
                        break;
                    }
                }
            }
            if turn % 2 == 0 {
                world.together(&trades[..1], true);
            }
        }
    }
    println!("Vault V2: {paid} paid, {second} of them after another, {refused} refused");
    assert!(paid > refused && refused > 0 && second > 0);
}

/// What the curve says can be traded is what the vault trades.
#[test]
fn a_vault_v2s_curve_ends_where_the_vault_refuses() {
    let mut checked = 0;
    for seed in 100..100 + worlds(8) {
        let mut world = World::new(seed);
        for _ in 0..6 {
            world.live();
        }
        let pool = world.read();
        let at = ExecutionBlock { number: 1, timestamp: world.now + 12 };
        let Some(curve) = PairCurve::of(&pool, [0, 1], &at) else { continue };
        for coin_in in [0_u8, 1] {
            let Some(direction) = curve.direction(coin_in) else {
                assert!(pool.swap(&at, coin_in, 1 - coin_in, U256::ONE << 40_usize).is_err());
                continue;
            };
            let most = direction.capacity_in();
            let amount = |share: f64| U256::from((most * share) as u128);
            // above that the curve ends for every vault
            if most < 1e28 {
                assert!(pool.swap(&at, coin_in, 1 - coin_in, amount(1.001)).is_err(), "seed {seed} coin {coin_in}");
            }
            let near = pool.swap(&at, coin_in, 1 - coin_in, amount(0.999));
            assert!(near.is_ok(), "seed {seed} coin {coin_in} {most}: {near:?}");
            checked += 1;
        }
    }
    assert!(checked > 4, "{checked}");
}
