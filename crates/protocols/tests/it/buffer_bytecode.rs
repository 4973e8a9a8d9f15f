//! Buffers of Balancer's third vault against its own code, compiled from its packages, in front of OpenZeppelin's and solmate's own vaults and
//! of our stand-ins of savings, MetaMorpho and Vault V2, which are a second writing of the same rules.

use alloy_primitives::{Address, Log, U256, address};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::{
    After, Discovered, Freshness, Pool, PoolState, Product, SwapError,
    balancer::v3::{VAULT, buffer::MINIMUM_WRAP},
    continuous::PairCurve,
    erc4626::MAKER_POT,
    morpho::{ADAPTIVE_CURVE_IRM, MORPHO_BLUE},
};

use crate::support::{
    balancer_v3::{AUTHORIZER, FILLER, place_vault},
    bytecode,
    chain::{Chain, OWNER, read_state},
    random::Random,
};

sol! {
    struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }
    function fillBuffer(address wrapped, address asset, uint256 assets, uint256 shares) external;
    function exchange(address wrapped, address asset, bool wraps, uint256 amount) external returns (uint256 amountOut);
    function approve(address spender, uint256 amount) external returns (bool);
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function createMarket(MarketParams params) external;
    function borrow(MarketParams params, uint256 assets, uint256 shares, address onBehalf, address receiver) external;
    function setCap(MarketParams params, uint184 cap) external;
    function setFee(uint96 fee) external;
    function setRates(uint64 maxRate, uint96 performanceFee, uint96 managementFee) external;
    function announce(address vault) external;
    function pauseVaultBuffers() external;
    function getActionId(bytes4 selector) external view returns (bytes32);
    function grantRole(bytes32 role, address account) external;
}

const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");
const WETH: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
/// Vaults of the list.
const PUFETH: Address = address!("D9A442856C234a39a81a089C06451EBAa4306a72");
const SDAI: Address = address!("83F20F44975D03b1b09e64809B757c47f942BEeA");
/// Vaults that are not.
const STRANGER: Address = Address::repeat_byte(0x57);
const METAMORPHO: Address = Address::repeat_byte(0x4d);
const VAULT_V2: Address = Address::repeat_byte(0x22);
const START: u64 = 1_700_000_000;

/// What stands behind a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    OpenZeppelin { offset: u8 },
    Solmate,
    Stranger,
    Savings,
    MetaMorpho,
    VaultV2,
}

impl Behind {
    const fn coins(self) -> [Address; 2] {
        match self {
            Self::OpenZeppelin { .. } | Self::Solmate => [WETH, PUFETH],
            Self::Stranger => [WETH, STRANGER],
            Self::Savings => [DAI, SDAI],
            Self::MetaMorpho => [DAI, METAMORPHO],
            Self::VaultV2 => [DAI, VAULT_V2],
        }
    }
}

struct World {
    chain: Chain,
    random: Random,
    behind: Behind,
    now: u64,
}

impl World {
    fn new(behind: Behind, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut chain = Chain::new();
        chain.set_block(1, START);
        chain.set_code(MULTICALL3, bytecode::runtime("Multicall3"));
        place_vault(&mut chain);
        let [asset, share] = behind.coins();
        chain.place(asset, "Asset", &[]);
        chain.set_balance(asset, OWNER, U256::ONE << 125);
        let much = U256::ONE << 110;
        match behind {
            Behind::OpenZeppelin { offset } => {
                chain.place(share, "OzVaultWithOffset", &(asset, U256::from(offset)).abi_encode());
                give_shares(&mut chain, share, [asset, OWNER], much, 0);
            }
            Behind::Stranger => {
                chain.place(share, "OzVaultWithOffset", &(asset, U256::ZERO).abi_encode());
                give_shares(&mut chain, share, [asset, OWNER], much, 0);
            }
            Behind::Solmate => {
                chain.place(share, "RariVault", &asset.abi_encode());
                give_shares(&mut chain, share, [asset, OWNER], much, 3);
            }
            Behind::Savings => {
                let rate = U256::from(1_000_000_003_022_265_980_097_387_650_u128);
                let chi = U256::from(1_098_765_432_109_876_543_210_987_654_u128);
                chain.place(MAKER_POT, "StandInPot", &(OWNER, chi, rate).abi_encode());
                chain.place(share, "StandInSavingsDai", &(asset, MAKER_POT, OWNER, U256::ONE << 120).abi_encode());
                chain.set_balance(asset, share, U256::ONE << 180);
            }
            Behind::MetaMorpho => metamorpho(&mut chain, asset, share),
            Behind::VaultV2 => {
                let args = (asset, OWNER, String::new(), String::new());
                chain.place(share, "StandInVaultV2", &args.abi_encode_params());
                chain.send(share, &depositCall { assets: much, receiver: OWNER }).unwrap();
                let call = setRatesCall {
                    maxRate: 1 + random.below(30_000_000_000),
                    performanceFee: alloy_primitives::aliases::U96::from(random.below(500_000_000_000_000_000)),
                    managementFee: alloy_primitives::aliases::U96::from(random.below(1_500_000_000)),
                };
                chain.send(share, &call).unwrap();
                let factory = Product::MorphoVaultV2.protocol().sources()[0].emitter;
                chain.place(factory, "StandInVaultV2Factory", &[]);
                chain.send(factory, &announceCall { vault: share }).unwrap();
            }
        }
        chain.send(share, &approveCall { spender: FILLER, amount: U256::MAX }).unwrap();
        Self { chain, random, behind, now: START }
    }

    /// Makes the buffer with something of each coin, or of one; found as the follower finds it.
    fn fill(&mut self) -> Discovered {
        let [asset, wrapped] = self.behind.coins();
        let empty = self.random.below(8);
        let mut some = |side: u64| {
            let amount = self.random.log_uniform_between(20, 88);
            if side == empty { U256::ZERO } else { amount }
        };
        let call = fillBufferCall { wrapped, asset, assets: some(0), shares: some(1) };
        let done = self.chain.send(FILLER, &call).unwrap();
        let record = Product::BalancerV3Buffer.protocol();
        let source = record.sources()[0];
        let announced = done.logs.iter().find(|log| log.topics().first() == Some(&source.topic0)).unwrap();
        let mut found = record.discover(announced).unwrap();
        assert_eq!(found.coins, [wrapped], "the asset is not announced");
        let question = record.unnamed_coin(&found).unwrap();
        let answer = self.chain.try_data(question.to, question.data).unwrap();
        found.coins.insert(0, Address::abi_decode(&answer.output).unwrap());
        assert!(found.coins == [asset, wrapped] && record.unnamed_coin(&found).is_none());
        found
    }

    fn read(&mut self, found: &Discovered) -> Pool {
        let state = read_state(&mut self.chain, found.product.protocol(), found);
        Pool {
            address: found.address,
            product: found.product,
            coins: [TokenId(0), TokenId(1)].into_iter().collect(),
            state,
        }
    }

    /// What the vault pays for an amount, and the logs where the trade is kept.
    fn exchange(&mut self, coin_in: u8, amount: U256, keep: bool) -> Option<(U256, Vec<Log>)> {
        let [asset, wrapped] = self.behind.coins();
        let call = exchangeCall { wrapped, asset, wraps: coin_in == 0, amount };
        let done = if keep { self.chain.send(FILLER, &call) } else { self.chain.try_call(FILLER, &call) };
        done.ok().map(|done| (U256::from_be_slice(&done.output), done.logs))
    }

    /// What others do to the vault behind.
    fn live(&mut self) {
        let [asset, share] = self.behind.coins();
        match self.behind {
            Behind::OpenZeppelin { .. } | Behind::Solmate | Behind::Stranger | Behind::VaultV2 => {
                let held = self.chain.view(asset, &balanceOfCall { owner: share });
                let gift = self.random.up_to(held / U256::from(50));
                self.chain.set_balance(asset, share, held + gift);
            }
            Behind::MetaMorpho => {
                let params = market(asset, self.random.below(2) as u8);
                let assets = self.random.log_uniform(90);
                let call = borrowCall { params, assets, shares: U256::ZERO, onBehalf: OWNER, receiver: OWNER };
                drop(self.chain.send(MORPHO_BLUE, &call));
            }
            Behind::Savings => {}
        }
    }

    fn at(&mut self, now: u64) -> ExecutionBlock {
        self.now = now;
        self.chain.set_block(1, now);
        ExecutionBlock { number: 1, timestamp: now }
    }
}

sol! { function balanceOf(address owner) external view returns (uint256); }

/// Assets into a vault of a library, and the shares of them to their holder: the supply is at slot 2.
fn give_shares(chain: &mut Chain, share: Address, [asset, holder]: [Address; 2], amount: U256, balances: u64) {
    chain.set_balance(asset, share, amount + amount / U256::from(7));
    chain.set_storage(share, 2, amount);
    let slot = alloy_primitives::keccak256((holder, U256::from(balances)).abi_encode());
    chain.set_word(share, slot.into(), amount);
}

fn market(asset: Address, place: u8) -> MarketParams {
    let collateral = Address::repeat_byte(place);
    MarketParams {
        loanToken: asset,
        collateralToken: collateral,
        oracle: Address::ZERO,
        irm: ADAPTIVE_CURVE_IRM,
        lltv: U256::ZERO,
    }
}

fn metamorpho(chain: &mut Chain, asset: Address, share: Address) {
    chain.place(MORPHO_BLUE, "StandInMorpho", &[]);
    chain.place(ADAPTIVE_CURVE_IRM, "StandInAdaptiveCurveIrm", &[]);
    let args = (MORPHO_BLUE, asset, U256::ZERO, OWNER, String::new(), String::new());
    chain.place(share, "StandInMetaMorpho", &args.abi_encode_params());
    for (place, bits) in [(0, 88_u64), (1, 92)] {
        let params = market(asset, place);
        chain.send(MORPHO_BLUE, &createMarketCall { params: params.clone() }).unwrap();
        chain.send(share, &setCapCall { params, cap: (U256::ONE << bits).to() }).unwrap();
    }
    chain.send(share, &setFeeCall { fee: (U256::from(15) * U256::from(10).pow(U256::from(16))).to() }).unwrap();
    chain.send(share, &depositCall { assets: U256::ONE << 91, receiver: OWNER }).unwrap();
    let factory = Product::Metamorpho.protocol().sources()[1].emitter;
    chain.place(factory, "StandInMetaMorphoFactory", &[]);
    chain.send(factory, &announceCall { vault: share }).unwrap();
}

fn held(pool: &Pool) -> [U256; 2] {
    let PoolState::BalancerV3Buffer(state) = &pool.state else { panic!("a buffer") };
    state.held
}

/// Trades to compare: some hundreds of each kind, or more than twenty thousand in all with `LONG=1`.
fn trades() -> usize {
    if std::env::var_os("LONG").is_some() { 3_500 } else { 200 }
}

/// What was compared: paid out of the buffer, paid with the vault behind, and refused.
#[derive(Debug, Default)]
struct Tally {
    served: usize,
    beyond: usize,
    refused: usize,
}

/// Every trade pays what the model says, or neither pays; also the second of two in a row, and the logs of a trade that is kept say what
/// the buffer holds.
fn differential(behind: Behind, seed: u64) {
    let mut tally = Tally::default();
    let mut worlds = 0;
    while tally.served + tally.beyond + tally.refused < trades() {
        worlds += 1;
        let mut world = World::new(behind, seed * 1_000 + worlds);
        let found = world.fill();
        for _ in 0..25 {
            world.live();
            turn(&mut world, &found, &mut tally);
        }
    }
    println!("{behind:?}: {tally:?}");
    assert!(tally.served > trades() / 5 && tally.refused > 0, "{tally:?}");
    assert!((tally.beyond > trades() / 20) == (behind != Behind::Stranger), "{tally:?}");
}

fn turn(world: &mut World, found: &Discovered, tally: &mut Tally) {
    let mut pool = world.read(found);
    let now = world.now + world.random.below(40_000);
    let at = world.at(now);
    let mut before = After::Unchanged;
    // a Vault V2 takes note of interest once in a transaction, and these are two
    let in_a_row = if world.behind == Behind::VaultV2 { 1 } else { 2 };
    for _ in 0..in_a_row {
        let coin_in = u8::from(world.random.coin());
        let bits = held(&pool)[usize::from(1 - coin_in)].bit_len() as u64 + 6;
        let amount = world.random.log_uniform_between(12, bits.clamp(20, 95));
        let keep = world.random.coin();
        let contract = world.exchange(coin_in, amount, false).map(|(out, _)| out);
        let model = pool.swap_after(&at, &before, coin_in, 1 - coin_in, amount);
        let said = model.as_ref().ok().map(|swap| swap.amount_out);
        let within = said.or(contract).is_none_or(|out| out <= held(&pool)[usize::from(1 - coin_in)]);
        let closed = matches!(model, Err(SwapError::LimitExceeded { .. })) && world.behind == Behind::Stranger;
        let context = || format!("{:?} {coin_in} {amount} at {now}: {model:?} {pool:?} after {before:?}", world.behind);
        if !closed {
            assert_eq!(said, contract, "{}", context());
        }
        match (said, before == After::Unchanged && !within) {
            (None, _) => tally.refused += 1,
            (Some(_), true) => tally.beyond += 1,
            (Some(_), false) => tally.served += 1,
        }
        if let (Ok(swap), true) = (model, keep) {
            let (_, logs) = world.exchange(coin_in, amount, true).unwrap();
            followed(&mut pool, &logs);
            let After::BalancerV3Buffer(after) = &swap.after else { panic!("a buffer") };
            assert_eq!(after.held, held(&pool), "the model holds what the logs say");
            before = swap.after;
        }
    }
    if before != After::Unchanged {
        let [after, read] = [held(&pool), held(&world.read(found))];
        assert_eq!(after, read, "what the logs say is what the vault says");
    }
}

/// Applies the vault's logs, as the follower does.
fn followed(pool: &mut Pool, logs: &[Log]) {
    let record = Product::BalancerV3Buffer.protocol();
    let listens = record.listens_to(&pool.state);
    let mut next = pool.clone();
    for log in logs.iter().filter(|log| listens.contains(&log.address)) {
        let known = log.topics().first().is_some_and(|topic| record.freshness_topics().contains(topic));
        let what = record.apply(&mut next.state, log).unwrap();
        assert!(log.address != VAULT || !known || what == Freshness::Applied, "{log:?}");
    }
    let PoolState::BalancerV3Buffer(next) = next.state else { panic!("a buffer") };
    let PoolState::BalancerV3Buffer(state) = &mut pool.state else { panic!("a buffer") };
    std::sync::Arc::make_mut(state).held = next.held;
}

#[test]
fn buffers_of_openzeppelins_vault_pay_what_the_model_says() {
    differential(Behind::OpenZeppelin { offset: 0 }, 81);
    differential(Behind::OpenZeppelin { offset: 6 }, 82);
}

#[test]
fn buffers_of_solmates_vault_pay_what_the_model_says() {
    differential(Behind::Solmate, 83);
}

/// A vault that no list and no factory knows serves as far as the buffer goes.
#[test]
fn buffers_of_a_stranger_pay_what_they_hold() {
    differential(Behind::Stranger, 84);
}

#[test]
fn buffers_of_savings_follow_the_pot_through_time() {
    differential(Behind::Savings, 85);
}

#[test]
fn buffers_of_a_metamorpho_vault_pay_what_the_model_says() {
    differential(Behind::MetaMorpho, 86);
}

#[test]
fn buffers_of_a_vault_v2_pay_what_the_model_says() {
    differential(Behind::VaultV2, 87);
}

#[test]
fn paused_buffers_pay_nothing_and_say_so() {
    let mut world = World::new(Behind::Savings, 88);
    let found = world.fill();
    let mut pool = world.read(&found);
    let at = world.at(START);
    let amount = U256::from(MINIMUM_WRAP) * U256::from(2);
    assert!(pool.swap(&at, 0, 1, amount).is_ok() && world.exchange(0, amount, false).is_some());
    let selector = pauseVaultBuffersCall::SELECTOR.into();
    let role = world.chain.view(VAULT, &getActionIdCall { selector });
    world.chain.send(AUTHORIZER, &grantRoleCall { role, account: OWNER }).unwrap();
    let done = world.chain.send(VAULT, &pauseVaultBuffersCall {}).unwrap();
    assert!(world.exchange(0, amount, false).is_none());
    let what = Product::BalancerV3Buffer.protocol().apply(&mut pool.state, &done.logs[0]).unwrap();
    assert_eq!((what, pool.swap(&at, 0, 1, amount)), (Freshness::Applied, Err(SwapError::Closed)));
    assert!(PairCurve::of(&pool, [0, 1], &at).is_none());
    assert_eq!(pool.state, world.read(&found).state);
}
