//! Tests of a vault of Yearn's.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::sol;
use braid_protocols::{After, erc4626::Accrual};

use super::{Staked, USR, World, state, whole};

sol! {
    function set(bool allocates, address deposits, address withdrawals, uint256 limit) external;
    function lend(uint256 keep) external;
    function report(uint256 gain, uint256 time) external;
}

pub const SUSG: Address = address!("F17D6f98A5C6EAA99d149079984119e0A4EF6900");
pub const USG: Address = address!("B1c2Db5d6cA03FCe73dBd304d320bF76C55Ae1B1");

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
    // At the second in which everything is unlocked, and one second before. A share that rounding kept back shows in a
    // deposit of many times all assets.
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
    assert!(world.is_odd(), "deposits that are forwarded to a strategy");
}
