//! Compares vaults and staked ether with contracts in an EVM: OpenZeppelin's, solmate's and solady's own vaults, and
//! our stand-ins of vaults whose code no package contains. The stand-ins implement the same rules a second time;
//! MetaMorpho's uses Morpho Blue's own code.

use alloy_primitives::{Address, B256, U256, address, keccak256};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_primitives::ExecutionBlock;
use braid_protocols::{
    After, Discovered, Pool, PoolState, Product, SwapError,
    erc4626::{Conversion, MAKER_POT},
    lido::{STETH, WSTETH},
    morpho::{ADAPTIVE_CURVE_IRM, MORPHO_BLUE},
};

use crate::support::{
    bytecode,
    chain::{Chain, Done, OWNER, Reason, read_state},
    morpho::{self, MarketParams},
    random::Random,
};

sol! {
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function redeem(uint256 shares, address receiver, address owner) external returns (uint256);
    function submit(address referral) external payable returns (uint256);
    function getPooledEthByShares(uint256 shares) external view returns (uint256);
    function wrap(uint256 amount) external returns (uint256);
    function unwrap(uint256 amount) external returns (uint256);
    function approve(address spender, uint256 amount) external returns (bool);
    function rebase(uint256 pooledEther) external;
    function transferInRewards(uint256 amount) external;
    function setCooldownDuration(uint24 duration) external;
    function setFee(uint96 fee) external;
}

const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");
const WETH: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
const USDE: Address = address!("4c9EDD5852cd905f086C759E8383e09bff1E68B3");
/// Listed vaults, and a MetaMorpho vault.
const PUFETH: Address = address!("D9A442856C234a39a81a089C06451EBAa4306a72");
const SDAI: Address = address!("83F20F44975D03b1b09e64809B757c47f942BEeA");
const SUSDE: Address = address!("9D39A5DE30e57443BfF2A8307A4256c8797A3497");
const METAMORPHO: Address = Address::repeat_byte(0x4d);

pub const START: u64 = 1_700_000_000;

/// The number of turns: a few hundred, or with `LONG=1` thirty thousand, which give more than twenty thousand trades.
pub fn trades(short: usize) -> usize {
    if std::env::var_os("LONG").is_some() { 30_000 } else { short }
}

pub fn with_asset(asset: Address) -> Chain {
    let mut chain = Chain::new();
    chain.set_block(1, START);
    chain.set_code(MULTICALL3, bytecode::runtime("Multicall3"));
    chain.place(asset, "Asset", &[]);
    chain.set_balance(asset, OWNER, U256::ONE << 200);
    chain
}

pub fn discovered(product: Product, vault: Address, coins: [Address; 2]) -> Discovered {
    Discovered { key: vault.into(), product, coins: coins.to_vec(), fee_pips: 0, tick_spacing: 0 }
}

/// Reads a pool with its product's reader.
pub fn read(chain: &mut Chain, of: &Discovered) -> Pool {
    let state = read_state(chain, of.product, of);
    let coins = [braid_primitives::TokenId(0), braid_primitives::TokenId(1)].into_iter().collect();
    Pool { key: of.key, product: of.product, coins, state }
}

pub fn amount_of(done: Result<Done, Reason>) -> Option<U256> {
    done.ok().map(|done| U256::from_be_slice(&done.output)).filter(|amount| !amount.is_zero())
}

/// Returns the calldata of a deposit (coin 0 in) or of a redemption.
pub fn vault_call(coin_in: u8, amount: U256) -> Vec<u8> {
    if coin_in == 0 {
        depositCall { assets: amount, receiver: OWNER }.abi_encode()
    } else {
        redeemCall { shares: amount, receiver: OWNER, owner: OWNER }.abi_encode()
    }
}

/// Checks that model and contract agree on one trade, and returns whether it pays.
fn same(chain: &mut Chain, pool: &Pool, before: &After, at: &ExecutionBlock, coin_in: u8, amount: U256) -> bool {
    let contract = amount_of(chain.try_data(pool.key.contract, vault_call(coin_in, amount).into()));
    let model = pool.swap_after(at, before, coin_in, 1 - coin_in, amount);
    assert_eq!(
        model.as_ref().ok().map(|swap| swap.amount_out),
        contract,
        "coin {coin_in} {amount}: {model:?} {pool:?}"
    );
    contract.is_some()
}

/// The storage locations of the supply and of an owner's balance in a library.
struct Words {
    supply: U256,
    balance: fn(Address) -> B256,
}

fn in_mapping(owner: Address, slot: u64) -> B256 {
    keccak256((owner, U256::from(slot)).abi_encode())
}

const OPENZEPPELIN: Words = Words { supply: U256::from_limbs([2, 0, 0, 0]), balance: |owner| in_mapping(owner, 0) };
const SOLMATE: Words = Words { supply: U256::from_limbs([2, 0, 0, 0]), balance: |owner| in_mapping(owner, 3) };
/// Solady's. Source: `_TOTAL_SUPPLY_SLOT` and `_BALANCE_SLOT_SEED` of its `ERC20`.
const SOLADY: Words = Words {
    supply: U256::from_limbs([0x345c_df77_eb68_f44c, 0x05, 0, 0]),
    balance: |owner| keccak256([owner.as_slice(), &[0; 8], &[0x87, 0xa2, 0x11, 0xa2]].concat()),
};

fn code_differential(name: &str, words: &Words, offset: Option<u8>, virtual_shares: u64, seed: u64) {
    let mut random = Random::new(seed);
    let mut chain = with_asset(WETH);
    let arguments = offset.map_or_else(|| WETH.abi_encode(), |offset| (WETH, U256::from(offset)).abi_encode());
    chain.place(PUFETH, name, &arguments);
    let vault = discovered(Product::Erc4626, PUFETH, [WETH, PUFETH]);
    let (mut paid, mut refused) = (0, 0);
    for _ in 0..trades(600) / 3 {
        let (assets, shares) = (random.log_uniform(110), random.log_uniform(110));
        chain.set_balance(WETH, PUFETH, assets);
        chain.set_word(PUFETH, words.supply, shares);
        chain.set_word(PUFETH, (words.balance)(OWNER).into(), shares);
        let pool = read(&mut chain, &vault);
        let PoolState::Erc4626(state) = &pool.state else { panic!("a vault") };
        let Conversion::Ratio { virtual_shares: found, .. } = state.conversion else { panic!("a ratio") };
        if found != U256::from(virtual_shares) {
            // In this state two rules give the same answers to the reader's test amounts. Either is right until the
            // next reading.
            continue;
        }
        let at = ExecutionBlock { number: 2, timestamp: START };
        for coin_in in [0, 1] {
            let ok = same(&mut chain, &pool, &After::Unchanged, &at, coin_in, random.log_uniform(115));
            if ok { paid += 1 } else { refused += 1 }
        }
        // A second trade after a first.
        let first = random.log_uniform(100);
        let Ok(swap) = pool.swap(&at, 0, 1, first) else { continue };
        chain.send(PUFETH, &depositCall { assets: first, receiver: OWNER }).unwrap();
        paid += usize::from(same(&mut chain, &pool, &swap.after, &at, 1, random.log_uniform(110)));
    }
    println!("{name} {offset:?}: {paid} paid, {refused} refused");
    assert!(paid > trades(600) / 2 && refused > 0);
}

#[test]
fn openzeppelins_vault_pays_what_the_model_says() {
    code_differential("OzVaultWithOffset", &OPENZEPPELIN, Some(0), 1, 41);
}

#[test]
fn openzeppelins_vault_with_an_offset_pays_what_the_model_says() {
    code_differential("OzVaultWithOffset", &OPENZEPPELIN, Some(6), 1_000_000, 42);
}

#[test]
fn solmates_vault_pays_what_the_model_says() {
    code_differential("RariVault", &SOLMATE, None, 0, 43);
}

#[test]
fn soladys_vault_pays_what_the_model_says() {
    code_differential("SoladyVaultWithOffset", &SOLADY, Some(0), 1, 46);
}

#[test]
fn soladys_vault_with_an_offset_pays_what_the_model_says() {
    code_differential("SoladyVaultWithOffset", &SOLADY, Some(6), 1_000_000, 47);
}

#[test]
fn savings_follow_the_pot_through_time() {
    (0..trades(300) / 300).for_each(|world| savings(44 + world as u64));
}

/// Trades with a savings vault for some decades.
fn savings(seed: u64) {
    let mut random = Random::new(seed);
    let mut chain = with_asset(DAI);
    let rate = U256::from(1_000_000_003_022_265_980_097_387_650_u128);
    chain.place(
        MAKER_POT,
        "StandInPot",
        &(OWNER, U256::from(1_098_765_432_109_876_543_210_987_654_u128), rate).abi_encode(),
    );
    chain.place(SDAI, "StandInSavingsDai", &(DAI, MAKER_POT, OWNER, U256::ONE << 120).abi_encode());
    chain.set_balance(DAI, SDAI, U256::ONE << 180);
    let vault = discovered(Product::Erc4626, SDAI, [DAI, SDAI]);
    let mut now = START;
    for turn in 0..300 {
        let pool = read(&mut chain, &vault);
        now += random.below(if turn % 9 == 0 { 10_000_000 } else { 100 });
        chain.set_block(1, now);
        let at = ExecutionBlock { number: 1, timestamp: now };
        let (coin_in, amount) = (u8::from(random.coin()), random.log_uniform(95));
        if same(&mut chain, &pool, &After::Unchanged, &at, coin_in, amount) {
            // The trade is kept, and writes the pot's rate.
            chain.send_data(SDAI, vault_call(coin_in, amount).into()).unwrap();
            let swap = pool.swap(&at, coin_in, 1 - coin_in, amount).unwrap();
            same(&mut chain, &pool, &swap.after, &at, 1 - coin_in, random.log_uniform(90));
        }
    }
}

#[test]
fn a_reward_vests_and_a_cooldown_shuts_the_way_out() {
    let mut random = Random::new(45);
    let mut chain = with_asset(USDE);
    chain.place(SUSDE, "StandInStakedUsde", &(USDE, OWNER, U256::ONE << 110).abi_encode());
    chain.set_balance(USDE, SUSDE, (U256::ONE << 110) + (U256::ONE << 108));
    let vault = discovered(Product::Erc4626, SUSDE, [USDE, SUSDE]);
    let waiting = read(&mut chain, &vault);
    let at = ExecutionBlock { number: 1, timestamp: START };
    let refused = waiting.swap(&at, 1, 0, U256::from(1_000));
    assert!(matches!(refused, Err(SwapError::LimitExceeded { limit: U256::ZERO, .. })), "{refused:?}");
    chain.send(SUSDE, &setCooldownDurationCall { duration: Default::default() }).unwrap();
    let mut now = START;
    for turn in 0..trades(400) {
        if turn % 20 == 0 {
            chain.send(SUSDE, &transferInRewardsCall { amount: random.log_uniform(100) }).unwrap();
        }
        let pool = read(&mut chain, &vault);
        now += random.below(4_000);
        chain.set_block(1, now);
        let at = ExecutionBlock { number: 1, timestamp: now };
        same(&mut chain, &pool, &After::Unchanged, &at, u8::from(random.coin()), random.log_uniform(105));
    }
}

#[test]
fn lido_stakes_wraps_and_unwraps_as_the_model_says() {
    let mut random = Random::new(46);
    let mut chain = Chain::new();
    chain.set_block(1, START);
    let ether = |whole: u64| U256::from(whole) * U256::from(10).pow(U256::from(18));
    let limits = (ether(150_000), U256::from(6_400));
    chain.place(STETH, "StandInLido", &(OWNER, ether(8_000_000), ether(9_400_000), limits.0, limits.1).abi_encode());
    chain.place(WSTETH, "StandInWstEth", &(STETH, OWNER, U256::ZERO).abi_encode());
    chain.send(STETH, &approveCall { spender: WSTETH, amount: U256::MAX }).unwrap();
    chain.send(WSTETH, &wrapCall { amount: ether(1_000_000) }).unwrap();
    let native = braid_primitives::NATIVE_ETHER;
    let staking = discovered(Product::LidoSteth, STETH, [native, STETH]);
    let wrapping = discovered(Product::LidoWsteth, WSTETH, [STETH, WSTETH]);
    let (mut number, mut limited) = (1, 0);
    for turn in 0..trades(400) {
        let (stake, wrap) = (read(&mut chain, &staking), read(&mut chain, &wrapping));
        number += random.below(5);
        let at = ExecutionBlock { number, timestamp: START + 12 * number };
        chain.set_block(number, at.timestamp);
        // Staking pays the value of the shares, as the proxy requests it.
        let amount = random.log_uniform(if turn % 4 == 0 { 78 } else { 68 });
        let model = stake.swap(&at, 0, 1, amount);
        match chain.send_ether(STETH, &submitCall { referral: Address::ZERO }, amount) {
            Ok(done) => {
                let shares = U256::from_be_slice(&done.output);
                let worth = chain.view(STETH, &getPooledEthBySharesCall { shares });
                assert_eq!(model.as_ref().map(|swap| swap.amount_out).unwrap_or_default(), worth, "{amount}");
                // Then wraps in the same transaction, at the rate after the stake.
                let before = model.map_or(After::Unchanged, |swap| swap.after);
                for coin_in in [0, 1] {
                    let amount = random.log_uniform(75);
                    let call = if coin_in == 0 {
                        wrapCall { amount }.abi_encode()
                    } else {
                        unwrapCall { amount }.abi_encode()
                    };
                    let contract = amount_of(chain.try_data(WSTETH, call.into()));
                    let model = wrap.swap_after(&at, &before, coin_in, 1 - coin_in, amount).ok();
                    assert_eq!(model.map(|swap| swap.amount_out), contract, "{coin_in} {amount}");
                }
            }
            Err(reason) => {
                limited += 1;
                assert_eq!(reason, "STAKE_LIMIT");
                assert!(matches!(model, Err(SwapError::LimitExceeded { .. })), "{model:?}");
            }
        }
        if turn % 10 == 0 {
            chain.send(STETH, &rebaseCall { pooledEther: ether(9_400_000 + random.below(3_000_000)) }).unwrap();
        }
    }
    assert!(limited > 0, "the limit was never met");
}

#[test]
fn a_metamorpho_vault_accrues_supplies_and_withdraws_as_the_model_says() {
    let (mut paid, mut refused) = (0, 0);
    for world in 0..trades(300) / 300 {
        let (some, others) = metamorpho(47 + world as u64);
        (paid, refused) = (paid + some, refused + others);
    }
    println!("MetaMorpho: {paid} paid, {refused} refused");
    assert!(paid > trades(300) / 3 && refused > 0);
}

/// Trades with a vault for some years, and returns how many trades were paid and how many refused.
fn metamorpho(seed: u64) -> (usize, usize) {
    let mut random = Random::new(seed);
    let mut chain = with_asset(DAI);
    morpho::place(&mut chain);
    let name = (MORPHO_BLUE, DAI, U256::ZERO, OWNER, String::new(), String::new());
    chain.place(METAMORPHO, "StandInMetaMorpho", &name.abi_encode_params());
    let markets: Vec<MarketParams> = (0..4_u8)
        .map(|n| morpho::market(&mut chain, DAI, n, if n == 3 { Address::ZERO } else { ADAPTIVE_CURVE_IRM }))
        .collect();
    for (params, bits) in markets.iter().zip([88_u64, 90, 92, 86]) {
        let cap = (U256::ONE << bits).to();
        chain.send(METAMORPHO, &morpho::Vault::setCapCall { params: params.clone(), cap }).unwrap();
    }
    chain.send(METAMORPHO, &setFeeCall { fee: (U256::from(15) * U256::from(10).pow(U256::from(16))).to() }).unwrap();
    chain.send(METAMORPHO, &depositCall { assets: U256::ONE << 91, receiver: OWNER }).unwrap();
    let vault = discovered(Product::Metamorpho, METAMORPHO, [DAI, METAMORPHO]);
    let (mut now, mut paid, mut refused) = (START, 0, 0);
    for turn in 0..300 {
        if turn % 3 == 0 {
            morpho::borrow(&mut chain, &markets[random.below(3) as usize], random.log_uniform(90));
        }
        let pool = read(&mut chain, &vault);
        now += random.below(if turn % 7 == 0 { 3_000_000 } else { 60 });
        chain.set_block(1, now);
        let at = ExecutionBlock { number: 1, timestamp: now };
        let (coin_in, amount) = (u8::from(random.coin()), random.log_uniform_between(30, 93));
        if same(&mut chain, &pool, &After::Unchanged, &at, coin_in, amount) {
            paid += 1;
            if turn % 2 == 0 {
                chain.send_data(METAMORPHO, vault_call(coin_in, amount).into()).unwrap();
                let swap = pool.swap(&at, coin_in, 1 - coin_in, amount).unwrap();
                let (next, amount) = (u8::from(random.coin()), random.log_uniform_between(30, 90));
                same(&mut chain, &pool, &swap.after, &at, next, amount);
            }
        } else {
            refused += 1;
        }
    }
    (paid, refused)
}
