//! Compares Lido with its own code: the proxy, its kernel and the implementation as on mainnet in block 23,369,490,
//! which a crate contains among its tests. The wrapper of stETH is our stand-in, since no package contains wstETH's
//! code, or its own code if that is available.
//!
//! The implementation is the second version. The additions of the third, shares that vaults mint and a limit above its
//! maximum, are compared only with the stand-in and with recorded numbers (`vault_bytecode.rs`, `vectors.rs`).

use alloy_primitives::{Address, Bytes, U256, address, keccak256};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_primitives::{ExecutionBlock, NATIVE_ETHER, TokenId};
use braid_protocols::{
    After, Discovered, Pool, Product, SwapError,
    lido::{STETH, WSTETH},
};
use serde_json::Value;

use crate::support::{
    assets,
    chain::{Chain, OWNER, read_state},
    deployed,
    random::Random,
};

sol! {
    function submit(address referral) external payable returns (uint256);
    function getPooledEthByShares(uint256 shares) external view returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function transfer(address to, uint256 amount) external returns (bool);
    function approve(address spender, uint256 amount) external returns (bool);
    function wrap(uint256 amount) external returns (uint256);
    function unwrap(uint256 amount) external returns (uint256);
    function createPair(address a, address b) external returns (address pair);
    function sync() external;
    function swapPair(address pair, bool zeroForOne, uint256 amountIn, uint256 amountOut) external;
}

/// The contracts that stETH runs: itself, its implementation, the kernel that names it, and the kernel's
/// implementation.
const ACCOUNTS: [Address; 4] = [
    STETH,
    address!("17144556fd3424EDC8Fc8A4C940B2D04936d17eb"),
    address!("b8FFC3Cd6e7Cf5a098A1c92F48009765B24088Dc"),
    address!("2b33CF282f867A7FF693A66e11B0FcC5552e4425"),
];

/// Returns a chain with the crate's state of Lido; `None` if it is not available.
fn mainnet() -> Option<Chain> {
    let file = assets::of_crate("tycho-simulation", "0.315.0", "tests/assets/decoder/euler_hook_snapshot.json")?;
    let snapshot: Value = serde_json::from_slice(&file).unwrap();
    let accounts = &snapshot["state_msgs"]["uniswap_v4_hooks"]["snapshots"]["vm_storage"];
    let mut chain = Chain::new();
    for account in ACCOUNTS {
        let found = &accounts[account.to_string().to_lowercase()];
        chain.set_code(account, found["code"].as_str().unwrap().parse::<Bytes>().unwrap());
        for (slot, word) in found["slots"].as_object().unwrap() {
            chain.set_word(account, slot.parse().unwrap(), word.as_str().unwrap().parse().unwrap());
        }
    }
    Some(chain)
}

/// Writes one of the storage words that stETH stores under a name.
fn set(chain: &mut Chain, name: &str, word: U256) {
    chain.set_word(STETH, keccak256(name).into(), word);
}

/// Sets random totals and limits, and a staker without a balance.
fn words(random: &mut Random, chain: &mut Chain, number: u64, paused: bool) {
    chain.set_balance(STETH, OWNER, U256::ZERO);
    let mut ether = |bits| random.log_uniform_between(40, bits);
    set(chain, "lido.Lido.beaconBalance", ether(100));
    set(chain, "lido.Lido.bufferedEther", ether(90));
    // The ether of validators that the beacon chain does not show yet.
    let (deposited, seen) = (random.below(500_000), random.below(400_000));
    set(chain, "lido.Lido.depositedValidators", U256::from(deposited.max(seen)));
    set(chain, "lido.Lido.beaconValidators", U256::from(seen));
    set(chain, "lido.StETH.totalShares", random.log_uniform_between(40, 100));
    set(chain, "lido.Pausable.activeFlag", U256::from(u8::from(!paused)));
    // The last block and the limit then, the number of blocks in which it is restored, and the maximum, with 32, 96, 32
    // and 96 bits.
    let last = if paused || random.below(20) == 0 { 0 } else { number - random.below(number.min(9_000)) };
    let most = if random.below(20) == 0 { U256::ZERO } else { random.log_uniform_between(50, 90) };
    let then = random.up_to(most);
    let blocks = U256::from(random.below(10_000));
    set(chain, "lido.Lido.stakeLimit", U256::from(last) | (then << 32) | (blocks << 128) | (most << 160));
}

fn pool(chain: &mut Chain, product: Product, address: Address, coins: [Address; 2]) -> Pool {
    let found = Discovered { key: address.into(), product, coins: coins.to_vec(), fee_pips: 0, tick_spacing: 0 };
    let state = read_state(chain, product, &found);
    Pool { key: address.into(), product, coins: [TokenId(0), TokenId(1)].into_iter().collect(), state }
}

/// Stakes. The model must return the value of the new shares as the contract does, or both must refuse. Returns the
/// state afterwards if the stake paid. The contract also accepts ether for no shares, and mints more shares than 128
/// bits hold, which the third version does not. The model refuses both, so the test makes no such stakes.
fn stake(chain: &mut Chain, pool: &Pool, before: &After, at: &ExecutionBlock, amount: U256) -> Option<After> {
    let model = pool.swap_after(at, before, 0, 1, amount);
    let says = match model {
        Ok(_) => "",
        Err(SwapError::LimitExceeded { .. }) => "STAKE_LIMIT",
        Err(SwapError::Closed) => "STAKING_PAUSED",
        Err(SwapError::ZeroOutput | SwapError::Overflow { .. }) => return None,
        Err(other) => panic!("{other:?}"),
    };
    let done = chain.send_ether(STETH, &submitCall { referral: Address::ZERO }, amount);
    assert_eq!(done.as_ref().map_or_else(String::as_str, |_| ""), says, "{amount}: {pool:?} {at:?}");
    let shares = U256::from_be_slice(&done.ok()?.output);
    let swap = model.ok()?;
    assert_eq!(swap.amount_out, chain.view(STETH, &getPooledEthBySharesCall { shares }), "{amount}: {pool:?}");
    Some(swap.after)
}

/// Wraps (coin 0 in) or unwraps. Checks that model and contract agree, and returns what was paid.
fn through_wrapper(
    chain: &mut Chain,
    pool: &Pool,
    before: &After,
    at: &ExecutionBlock,
    coin_in: u8,
    amount: U256,
) -> U256 {
    let call = if coin_in == 0 { wrapCall { amount }.abi_encode() } else { unwrapCall { amount }.abi_encode() };
    let paid = chain.send_data(WSTETH, call.into()).map(|done| U256::from_be_slice(&done.output)).unwrap_or_default();
    let model = pool.swap_after(at, before, coin_in, 1 - coin_in, amount);
    assert_eq!(model.as_ref().map_or(U256::ZERO, |swap| swap.amount_out), paid, "{coin_in} {amount}: {model:?}");
    paid
}

#[test]
fn lido_stakes_and_moves_as_its_own_code_does() {
    let Some(mut chain) = mainnet() else { return };
    chain.place(WSTETH, "StandInWstEth", &(STETH, OWNER, U256::ZERO).abi_encode());
    differential(chain);
}

#[test]
fn lidos_own_wrapper_pays_what_the_model_says() {
    let Some([wrapper]) = deployed::initcodes(["WstETH"]) else { return };
    let Some(mut chain) = mainnet() else { return };
    chain.construct(WSTETH, &wrapper, &STETH.abi_encode());
    differential(chain);
}

fn differential(mut chain: Chain) {
    let mut random = Random::new(81);
    chain.send(STETH, &approveCall { spender: WSTETH, amount: U256::MAX }).unwrap();
    let turns: u64 = if std::env::var_os("LONG").is_some() { 45_000 } else { 500 };
    let (mut staked, mut refused, mut moved) = (0, 0, 0);
    for turn in 0..turns {
        let (number, paused) = (23_369_491 + random.below(1_000_000), random.below(30) == 0);
        words(&mut random, &mut chain, number, paused);
        let at = ExecutionBlock { number, timestamp: 1_757_951_543 };
        chain.set_block(number, at.timestamp);
        let staking = pool(&mut chain, Product::LidoSteth, STETH, [NATIVE_ETHER, STETH]);
        let wrapping = pool(&mut chain, Product::LidoWsteth, WSTETH, [STETH, WSTETH]);
        let first = stake(&mut chain, &staking, &After::Unchanged, &at, random.log_uniform_between(1, 92));
        let Some(left) = first else {
            refused += 1;
            continue;
        };
        let second = stake(&mut chain, &staking, &left, &at, random.log_uniform_between(1, 90));
        let left = second.unwrap_or(left);
        staked += 1;
        let After::Lido(state) = &left else { panic!("{left:?}") };
        let held = chain.view(STETH, &balanceOfCall { owner: OWNER });
        if held < U256::from(2) {
            continue;
        }
        // A transfer to an account without a balance.
        let amount = random.up_to(held);
        let to = Address::left_padding_from(&(0xf000_0000_u64 + turn).to_be_bytes());
        chain.send(STETH, &transferCall { to, amount }).unwrap();
        assert_eq!(state.arrives(amount), Ok(chain.view(STETH, &balanceOfCall { owner: to })), "{amount}");
        // Wraps and unwraps.
        let amount = random.up_to(held - amount);
        let wrapped = through_wrapper(&mut chain, &wrapping, &left, &at, 0, amount);
        let some = random.up_to(wrapped);
        let unwrapped = through_wrapper(&mut chain, &wrapping, &left, &at, 1, some);
        moved += u64::from(!wrapped.is_zero()) + u64::from(!unwrapped.is_zero());
    }
    println!("Lido's own code: {staked} stakes in a row, {refused} refused, {moved} wrapped or unwrapped");
    assert!(staked > turns / 2 && refused > 0 && moved > turns / 4);
}

#[test]
fn a_pair_reverts_on_most_sales_of_steth_that_its_formula_pays_and_is_excluded() {
    const SALES: usize = 200;
    let Some(mut chain) = mainnet() else { return };
    let at = ExecutionBlock { number: 23_369_491, timestamp: 1_757_951_543 };
    chain.set_block(at.number, at.timestamp);
    set(&mut chain, "lido.Pausable.activeFlag", U256::ONE);
    set(&mut chain, "lido.Lido.stakeLimit", U256::from(at.number - 1));
    let ether = |amount: u64| U256::from(amount) * U256::from(10_u64.pow(18));
    chain.send_ether(STETH, &submitCall { referral: Address::ZERO }, ether(10_000)).unwrap();
    let coin = chain.deploy("Coin", &(OWNER, ether(10_000)));
    let mut coins = [STETH, coin];
    coins.sort_unstable();
    let sells_first = coins[0] == STETH;
    let harness = chain.deploy("Harness", &(coins[0], coins[1]));
    let factory = chain.deploy("UniswapV2Factory", &(OWNER,));
    let made = chain.send(factory, &createPairCall { a: coins[0], b: coins[1] }).unwrap();
    let found = Product::UniswapV2.discover(made.logs.last().unwrap()).unwrap();
    let pair = found.key.contract;
    for (token, to, amount) in [(STETH, harness, 5_000), (STETH, pair, 270), (coin, pair, 271)] {
        chain.send(token, &transferCall { to, amount: ether(amount) }).unwrap();
    }
    chain.send(pair, &syncCall {}).unwrap();
    let state = read_state(&mut chain, Product::UniswapV2, &found);
    let coins_of_pair = [TokenId(0), TokenId(1)].into_iter().collect();
    let pool = Pool { key: found.key, product: Product::UniswapV2, coins: coins_of_pair, state };
    let mut random = Random::new(7);
    let sale_reverts = |_: &usize| {
        let amount_in = random.log_uniform_between(55, 64);
        let swap = pool.swap(&at, u8::from(!sells_first), u8::from(sells_first), amount_in).unwrap();
        let call = swapPairCall { pair, zeroForOne: sells_first, amountIn: amount_in, amountOut: swap.amount_out };
        chain.try_call(harness, &call).is_err()
    };
    let reverted = (0..SALES).filter(sale_reverts).count();
    println!("{reverted} of {SALES} sales reverted");
    assert!((SALES / 2..SALES).contains(&reverted), "{reverted}");
    assert_eq!(Product::UniswapV2.refused_share_token(&found.coins), Some(STETH));
    assert_eq!(Product::CurveStableswap.refused_share_token(&[NATIVE_ETHER, STETH]), None);
    assert_eq!(Product::LidoWsteth.refused_share_token(&[STETH, WSTETH]), None);
}
