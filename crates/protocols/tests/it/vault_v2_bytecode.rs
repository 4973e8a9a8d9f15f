//! Compares Vault V2 on Morpho Blue's own code in an EVM. The vault and MetaMorpho are our stand-ins, which implement
//! the same rules a second time, or Morpho's own code where it is available. Trades that follow each other are made in
//! one transaction, as in a route.

use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_primitives::ExecutionBlock;
use braid_protocols::{
    After, Discovered, Pool, PoolState, Product, ReadProgress, SwapError,
    continuous::PairCurve,
    morpho::{ADAPTIVE_CURVE_IRM, MORPHO_BLUE},
};

use crate::support::{
    bytecode,
    chain::{Chain, OWNER, read_state},
    deployed,
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
    interface Own {
        function setCurator(address curator) external;
        function submit(bytes data) external;
        function setIsAllocator(address account, bool allocates) external;
        function increaseAbsoluteCap(bytes idData, uint256 cap) external;
        function increaseRelativeCap(bytes idData, uint256 cap) external;
        function setMaxRate(uint256 rate) external;
        function setPerformanceFeeRecipient(address recipient) external;
        function setManagementFeeRecipient(address recipient) external;
        function setPerformanceFee(uint256 fee) external;
        function setManagementFee(uint256 fee) external;
        function setSupplyQueue(bytes32[] queue) external;
    }
}

/// Multicall3, which makes the trades of a transaction and holds the tokens for them.
const TRADER: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");
const ASSET: Address = Address::repeat_byte(0x11);
const VAULT: Address = Address::repeat_byte(0x22);
const MARKETS: Address = Address::repeat_byte(0x33);
const INNER: Address = Address::repeat_byte(0x44);
const METAMORPHO: Address = Address::repeat_byte(0x4d);
const START: u64 = 1_700_000_000;
const WAD: u128 = 1_000_000_000_000_000_000;

/// The number of worlds, with forty turns each: a few, or with `LONG=1` enough for more than twenty thousand turns.
fn worlds(short: u64) -> u64 {
    if std::env::var_os("LONG").is_some() { 600 } else { short }
}

/// The creation code of Morpho's own contracts.
struct Code {
    vault: Bytes,
    metamorpho: Bytes,
    markets: Bytes,
    inner: Bytes,
}

impl Code {
    /// Returns the code with this release of the markets adapter; `None` if it is not available.
    fn with(adapter: &str) -> Option<Self> {
        let names = ["VaultV2", "MetaMorphoV1_1", adapter, "MorphoVaultV1Adapter"];
        deployed::initcodes(names).map(|[vault, metamorpho, markets, inner]| Self { vault, metamorpho, markets, inner })
    }

    fn place(&self, chain: &mut Chain) {
        // The timelock is zero.
        let args = (OWNER, MORPHO_BLUE, U256::ZERO, ASSET, String::new(), String::new());
        chain.construct(METAMORPHO, &self.metamorpho, &args.abi_encode_params());
        chain.construct(VAULT, &self.vault, &(OWNER, ASSET).abi_encode());
        chain.send(VAULT, &Own::setCuratorCall { curator: OWNER }).unwrap();
        // The constructor of the first release reads only two of the three arguments.
        chain.construct(MARKETS, &self.markets, &(VAULT, MORPHO_BLUE, ADAPTIVE_CURVE_IRM).abi_encode());
        chain.construct(INNER, &self.inner, &(VAULT, METAMORPHO).abi_encode());
    }
}

fn place_stand_ins(chain: &mut Chain) {
    let args = (MORPHO_BLUE, ASSET, U256::ZERO, OWNER, String::new(), String::new());
    chain.place(METAMORPHO, "StandInMetaMorpho", &args.abi_encode_params());
    let args = (ASSET, OWNER, String::new(), String::new());
    chain.place(VAULT, "StandInVaultV2", &args.abi_encode_params());
    chain.place(MARKETS, "StandInMarketAdapter", &(VAULT, MORPHO_BLUE).abi_encode());
    chain.place(INNER, "StandInVaultAdapter", &(VAULT, METAMORPHO).abi_encode());
}

struct World {
    chain: Chain,
    random: Random,
    markets: Vec<MarketParams>,
    now: u64,
    /// Whether the contracts are Morpho's own.
    own: bool,
}

impl World {
    fn new(seed: u64, code: Option<&Code>) -> Self {
        let mut random = Random::new(seed);
        let mut chain = Chain::new();
        chain.set_block(1, START);
        chain.set_code(TRADER, bytecode::runtime("Multicall3"));
        chain.place(ASSET, "Asset", &[]);
        for owner in [OWNER, TRADER] {
            chain.set_balance(ASSET, owner, U256::ONE << 120_usize);
        }
        morpho::place(&mut chain);
        match code {
            Some(code) => code.place(&mut chain),
            None => place_stand_ins(&mut chain),
        }
        let markets: Vec<MarketParams> =
            (0..4_u8).map(|n| morpho::market(&mut chain, ASSET, n, ADAPTIVE_CURVE_IRM)).collect();
        let mut world = Self { chain, random: random.clone(), markets, now: START, own: code.is_some() };
        if world.own {
            world.decide(Own::setIsAllocatorCall { account: OWNER, allocates: true });
        }
        let part = |random: &mut Random| u128::from(5 + random.below(95)) * (WAD / 100);
        for (place, params) in world.markets.clone().iter().enumerate() {
            if place > 1 {
                world.lend_on(params.clone(), U256::ONE << 88_usize);
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
        if world.own {
            let queue = world.markets.iter().skip(2).map(morpho::id).collect();
            world.chain.send(METAMORPHO, &Own::setSupplyQueueCall { queue }).unwrap();
        }
        world.chain.send(METAMORPHO, &depositCall { assets: U256::ONE << 80_usize, receiver: OWNER }).unwrap();
        for account in [MARKETS, INNER] {
            world.decide(addAdapterCall { account });
            world.cap(("this".to_owned(), account).abi_encode_params(), U256::ONE << 96_usize, WAD);
        }
        let assets = U256::ONE << 88_usize;
        world.chain.send(VAULT, &depositCall { assets, receiver: TRADER }).unwrap();
        let rate =
            if random.coin() { u64::try_from(WAD / 31_536_000).unwrap() } else { 1 + random.below(3_000_000_000) };
        let performance = U256::from(random.below(u64::try_from(WAD / 2).unwrap()));
        let management = U256::from(random.below(1_500_000_000));
        world.charge(rate, performance, management);
        world.choose();
        world
    }

    /// Makes a curator's change. Morpho's own vault requires that it is submitted first.
    fn decide<C: SolCall>(&mut self, call: C) {
        if self.own {
            self.chain.send(VAULT, &Own::submitCall { data: call.abi_encode().into() }).unwrap();
        }
        self.chain.send(VAULT, &call).unwrap();
    }

    /// Lets MetaMorpho lend on a market.
    fn lend_on(&mut self, params: MarketParams, cap: U256) {
        if self.own {
            self.chain.send(METAMORPHO, &morpho::Vault::submitCapCall { params: params.clone(), cap }).unwrap();
            self.chain.send(METAMORPHO, &morpho::Vault::acceptCapCall { params }).unwrap();
        } else {
            self.chain.send(METAMORPHO, &morpho::Vault::setCapCall { params, cap: cap.to() }).unwrap();
        }
    }

    fn cap(&mut self, id: Vec<u8>, absolute: U256, relative: u128) {
        let id: Bytes = id.into();
        if self.own {
            self.decide(Own::increaseAbsoluteCapCall { idData: id.clone(), cap: absolute });
            self.decide(Own::increaseRelativeCapCall { idData: id, cap: U256::from(relative) });
        } else {
            self.decide(setCapsCall { idData: id, absolute: absolute.to(), relative });
        }
    }

    /// Sets the maximum rate and both fees, which another account receives.
    fn charge(&mut self, rate: u64, performance: U256, management: U256) {
        if self.own {
            let recipient = Address::repeat_byte(0xfe);
            self.chain.send(VAULT, &Own::setMaxRateCall { rate: U256::from(rate) }).unwrap();
            self.decide(Own::setPerformanceFeeRecipientCall { recipient });
            self.decide(Own::setManagementFeeRecipientCall { recipient });
            self.decide(Own::setPerformanceFeeCall { fee: performance });
            self.decide(Own::setManagementFeeCall { fee: management });
        } else {
            let (performance, management) = (performance.to(), management.to());
            self.decide(setRatesCall { maxRate: rate, performanceFee: performance, managementFee: management });
        }
    }

    /// Sets the destination of new deposits: a market, the MetaMorpho vault, or none.
    fn choose(&mut self) {
        let (adapter, data) = match self.random.below(6) {
            0 => (Address::ZERO, Bytes::new()),
            1 | 2 => (INNER, Bytes::new()),
            n => (MARKETS, self.markets[n as usize - 3].abi_encode().into()),
        };
        self.chain.send(VAULT, &setLiquidityAdapterAndDataCall { adapter, data }).unwrap();
    }

    /// Makes changes of others: borrows, allocations, gifts to the vault, and settings.
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
            self.decide(setSendAssetsGateCall { gate });
        }
    }

    fn read(&mut self) -> Pool {
        let product = Product::MorphoVaultV2;
        let coins = vec![ASSET, VAULT];
        let found = Discovered { key: VAULT.into(), product, coins, fee_pips: 0, tick_spacing: 0 };
        let state = read_state(&mut self.chain, product, &found);
        let coins = [braid_primitives::TokenId(0), braid_primitives::TokenId(1)].into_iter().collect();
        Pool { key: VAULT.into(), product, coins, state }
    }

    /// Reads the vault as the follower does at a block without logs that concern it; returns also the number of rounds.
    fn each_block(&mut self, was: &Pool) -> (PoolState, usize) {
        let found = Discovered {
            key: VAULT.into(),
            product: was.product,
            coins: vec![ASSET, VAULT],
            fee_pips: 0,
            tick_spacing: 0,
        };
        let mut reader = was.product.reader_each_block(&found, &was.state);
        let (mut progress, mut rounds) = (reader.start(), 0);
        loop {
            match progress {
                ReadProgress::Done(state) => return (state, rounds),
                ReadProgress::Calls(calls) => {
                    let answers: Vec<_> = calls.into_iter().map(|call| self.chain.answer(call)).collect();
                    (progress, rounds) = (reader.feed(&answers).unwrap(), rounds + 1);
                }
            }
        }
    }

    /// Returns what trades pay in one transaction; `None` for those that are refused.
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

fn differential(what: &str, code: Option<&Code>) {
    let (mut paid, mut refused, mut second) = (0, 0, 0);
    for seed in 0..worlds(12) {
        let mut world = World::new(seed, code);
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
                // The contract accepts a tiny deposit that pays no share. The model does not quote it, nor any trade
                // after it.
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
    println!("{what}: {paid} paid, {second} of them after another, {refused} refused");
    assert!(paid > refused && refused > 0 && second > 0);
}

#[test]
fn a_vault_v2_accrues_allocates_and_pays_as_the_model_says() {
    differential("Vault V2", None);
}

#[test]
fn morphos_own_vault_v2_pays_what_the_model_says() {
    for adapter in ["MorphoMarketV1Adapter", "MorphoMarketV1AdapterV2"] {
        let Some(code) = Code::with(adapter) else { return };
        differential(&format!("Vault V2's own code with {adapter}"), Some(&code));
    }
}

/// Gifts to a vault, and shares of a market that its adapter drops, change no log. They were noticed at the next trade.
#[test]
fn what_no_log_of_a_vault_v2_shows_is_read_each_block() {
    let mut world = World::new(7, None);
    let mapped = |id: B256| -> U256 { keccak256((id, U256::ONE).abi_encode()).into() };
    let lent = loop {
        world.live();
        let ids: Vec<B256> = world.markets.iter().map(morpho::id).collect();
        let lent = ids.into_iter().find(|id| !world.chain.word(MARKETS, mapped(*id)).is_zero());
        if let Some(id) = lent {
            break mapped(id);
        }
    };
    let mut was = world.read();
    assert!(was.product.reads_each_block(&was.state));
    for change in 0..3 {
        world.now += 1_000;
        world.chain.set_block(1, world.now);
        match change {
            0 => {}
            1 => drop(world.chain.send(ASSET, &transferCall { to: VAULT, amount: U256::ONE << 60_usize }).unwrap()),
            _ => world.chain.set_word(MARKETS, lent, U256::ZERO),
        }
        let (state, rounds) = world.each_block(&was);
        assert_eq!(state, world.read().state, "change {change}");
        assert_eq!((state == was.state, rounds == 1), (change == 0, change == 0), "change {change}");
        was.state = state;
    }
}

/// The curve must end where the vault refuses.
#[test]
fn a_vault_v2s_curve_ends_where_the_vault_refuses() {
    let mut checked = 0;
    for seed in 100..100 + worlds(8) {
        let mut world = World::new(seed, None);
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
            // Above that size the curve of every vault ends.
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
