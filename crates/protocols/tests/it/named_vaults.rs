//! Tests of vaults that are on no list and at unknown addresses, whose rule is found by their own answers.

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_primitives::ExecutionBlock;
use braid_protocols::{PoolState, Product, ReadProgress, erc4626::Accrual};

use crate::{
    support::{
        chain::{Chain, OWNER, try_read_state},
        random::Random,
    },
    vault_bytecode::{START, amount_of, discovered, read, trades, vault_call, with_asset},
};

sol! {
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function setCooldownDuration(uint24 duration) external;
    function transferInRewards(uint256 amount) external;
    function report(uint256 gain, uint256 time) external;
    function visit() external;
    interface Staked { function initialize(address asset) external; }
    interface Resolv { function initialize(address asset, address staked) external; }
    interface Falcon { function initialize(address asset, uint32 period) external; }
    interface Spark { function initialize(address asset, uint192 chi, uint256 vsr, uint256 cap) external; }
}

const ASSET: Address = Address::repeat_byte(0x45);
const VAULT: Address = Address::repeat_byte(0x46);
/// A rate accumulator that has grown, and its growth per second.
const RATE_RAY: u128 = 1_090_658_613_438_076_468_123_456_789;
const GROWTH_RAY: u128 = 1_000_000_001_243_680_656_318_820_312;
const WEEK: u64 = 7 * 86_400;

/// Places the vault with this contract name on a chain, and makes a first deposit.
fn placed(name: &str, arguments: &[u8]) -> Chain {
    let mut chain = with_asset(ASSET);
    chain.place(VAULT, name, arguments);
    filled(chain)
}

/// Does the same for a vault that is initialised by a call, as behind a proxy.
fn told(name: &str, what: &impl SolCall) -> Chain {
    let mut chain = with_asset(ASSET);
    chain.place(VAULT, name, &[]);
    chain.send(VAULT, what).unwrap();
    filled(chain)
}

fn filled(mut chain: Chain) -> Chain {
    chain.send(VAULT, &depositCall { assets: whole(1_000_003), receiver: OWNER }).unwrap();
    chain
}

fn whole(units: u64) -> U256 {
    U256::from(units) * U256::from(10).pow(U256::from(18))
}

/// Reads the vault, lets time pass and trades both ways. Model and contract must agree.
fn pays_as_modelled(chain: &mut Chain, seed: u64, is_expected: impl Fn(&Accrual) -> bool) {
    let vault = discovered(Product::Erc4626, VAULT, [ASSET, VAULT]);
    let (mut random, mut now, mut paid) = (Random::new(seed), START, 0);
    for _ in 0..trades(60) / 10 {
        let pool = read(chain, &vault);
        let PoolState::Erc4626(state) = &pool.state else { panic!("a vault") };
        assert!(is_expected(&state.accrual), "{state:?}");
        now += random.below(WEEK / 4);
        chain.set_block(2, now);
        let at = ExecutionBlock { number: 2, timestamp: now };
        for predictions in Product::Erc4626.predictions(&pool, &at) {
            let answer = chain.answer(predictions.call).unwrap();
            assert_eq!(U256::from_be_slice(&answer), predictions.answer, "{pool:?}");
        }
        for coin_in in [0, 1] {
            let amount = random.log_uniform_between(40, 70);
            let swap = pool.swap(&at, coin_in, 1 - coin_in, amount).unwrap();
            let contract = amount_of(chain.try_data(VAULT, vault_call(coin_in, amount).into()));
            assert_eq!(Some(swap.amount_out), contract, "coin {coin_in} {amount}: {pool:?}");
            paid += 1;
        }
        chain.send_data(VAULT, vault_call(0, random.log_uniform_between(60, 80)).into()).unwrap();
    }
    assert_eq!(paid, trades(60) / 10 * 2);
}

#[test]
fn shares_of_what_lies_in_a_vault_are_told_whatever_the_library() {
    let offset = (ASSET, U256::from(6)).abi_encode();
    let libraries: [(&str, &[u8]); 3] =
        [("OzVaultWithOffset", &offset), ("SoladyVaultWithOffset", &offset), ("RariVault", &ASSET.abi_encode())];
    for (seed, (name, arguments)) in (91..).zip(libraries) {
        let mut chain = placed(name, arguments);
        chain.set_balance(ASSET, VAULT, whole(1_234_567));
        pays_as_modelled(&mut chain, seed, |accrual| *accrual == Accrual::None);
    }
}

/// The vault is read at the timestamp of the reward, when each share is worth one asset and the previews do not show
/// the virtual shares. The period of the reward must be found all the same.
#[test]
fn a_reward_that_vests_is_told_with_its_period() {
    let mut chain = told("StandInStakedUsdf", &Falcon::initializeCall { asset: ASSET, period: WEEK as u32 });
    chain.send(VAULT, &setCooldownDurationCall { duration: Default::default() }).unwrap();
    chain.send(VAULT, &transferInRewardsCall { amount: whole(54_321) }).unwrap();
    pays_as_modelled(&mut chain, 94, |accrual| matches!(accrual, Accrual::Vesting { duration_seconds: WEEK, .. }));
}

#[test]
fn a_cycle_of_rewards_is_told() {
    let mut chain = placed("StandInStakedFrax", &(ASSET, WEEK, U256::from(3_170_979_198_u64)).abi_encode());
    chain.set_balance(ASSET, VAULT, whole(1_034_567));
    chain.set_block(2, START + WEEK + 5);
    chain.send(VAULT, &visitCall {}).unwrap();
    let vault = discovered(Product::Erc4626, VAULT, [ASSET, VAULT]);
    chain.set_block(2, START + WEEK + 50);
    let pool = read(&mut chain, &vault);
    let PoolState::Erc4626(state) = &pool.state else { panic!("a vault") };
    assert!(matches!(state.accrual, Accrual::Distributing { .. }), "{state:?}");
}

#[test]
fn a_reward_that_streams_is_told() {
    let mut chain = placed("StandInSfrxEth", &(ASSET, WEEK).abi_encode());
    chain.set_balance(ASSET, VAULT, whole(1_012_345));
    pays_as_modelled(&mut chain, 97, |accrual| matches!(accrual, Accrual::Streaming { .. }));
}

/// Spark's preview reverts above the vault's balance, so another view, by which the vault pays, must be called.
#[test]
fn a_rate_that_compounds_is_told() {
    let (chi, vsr, cap) = (RATE_RAY.try_into().unwrap(), U256::from(GROWTH_RAY), whole(1 << 40));
    let mut chain = told("StandInSparkVault", &Spark::initializeCall { asset: ASSET, chi, vsr, cap });
    pays_as_modelled(&mut chain, 96, |accrual| matches!(accrual, Accrual::Compounding { .. }));
}

#[test]
fn a_profit_that_unlocks_is_told() {
    let mut chain = told("StandInYearnVault", &Staked::initializeCall { asset: ASSET });
    chain.send(VAULT, &reportCall { gain: whole(4_321), time: U256::from(WEEK) }).unwrap();
    pays_as_modelled(&mut chain, 95, |accrual| matches!(accrual, Accrual::Unlocking { .. }));
}

/// Ethena's vault has no view for the vesting period. The checks that replace it exist only for Ethena's address, so
/// the vault must be refused here.
#[test]
fn a_vault_that_does_not_tell_all_of_its_rule_is_left_out_with_the_question() {
    let mut chain = with_asset(ASSET);
    chain.place(VAULT, "StandInStakedUsde", &(ASSET, OWNER, whole(1_000)).abi_encode());
    chain.set_balance(ASSET, VAULT, whole(1_100));
    let vault = discovered(Product::Erc4626, VAULT, [ASSET, VAULT]);
    let refused = try_read_state(&mut chain, Product::Erc4626, &vault).unwrap_err().to_string();
    assert!(refused.contains("vestingPeriod"), "{refused}");
}

#[test]
fn assets_that_lie_elsewhere_are_no_rule() {
    let mut chain = with_asset(ASSET);
    let staked = Address::repeat_byte(0x47);
    chain.place(staked, "StandInStUsr", &[]);
    chain.send(staked, &Staked::initializeCall { asset: ASSET }).unwrap();
    chain.place(VAULT, "StandInWstUsr", &[]);
    chain.send(VAULT, &Resolv::initializeCall { asset: ASSET, staked }).unwrap();
    chain.send(VAULT, &depositCall { assets: whole(1_000), receiver: OWNER }).unwrap();
    let vault = discovered(Product::Erc4626, VAULT, [ASSET, VAULT]);
    let refused = try_read_state(&mut chain, Product::Erc4626, &vault).unwrap_err().to_string();
    assert!(refused.contains("assets held elsewhere"), "{refused}");
}

#[test]
fn a_named_vault_is_asked_for_its_asset_and_read_again_in_one_round() {
    let mut chain = told("StandInYearnVault", &Staked::initializeCall { asset: ASSET });
    let (record, named) = (Product::Erc4626, Product::Erc4626.named_pool(VAULT).unwrap());
    let answer = chain.answer(record.unnamed_coin(&named).unwrap()).unwrap();
    assert_eq!(Address::from_word(alloy_primitives::B256::from_slice(&answer)), ASSET);
    let vault = discovered(Product::Erc4626, VAULT, [ASSET, VAULT]);
    assert_eq!(record.unnamed_coin(&vault), None);

    let pool = read(&mut chain, &vault);
    assert_eq!(record.guessed_as(&pool), Some("unlocking"));
    let mut again = record.reader_again(&vault, &pool.state);
    let ReadProgress::Calls(calls) = again.start() else { panic!("a round") };
    let answers: Vec<_> = calls.into_iter().map(|call| chain.answer(call)).collect();
    let ReadProgress::Done(state) = again.feed(&answers).unwrap() else { panic!("one round") };
    assert_eq!(state, pool.state);
}
