//! Tests of both releases of Aave's savings vault.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::{SolValue, sol};
use braid_protocols::erc4626::Accrual;

use super::{DAY, World, state, whole};
use crate::vault_bytecode::trades;

sol! {
    function setCap(uint256 cap) external;
    function setPaused(bool paused) external;
    function setTargetRate(uint16 rate, uint40 at) external;
    interface Gho { function initialize(address asset, uint256 cap) external; }
}

pub const SGHO: Address = address!("E1753F2e00940cC31213dd92013cF019DFE4ca1d");
pub const GHO: Address = address!("40D16FC0246aD3160Ccc09B8D0D3A2cD28aE6C2f");

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
            // Around the vault's balance, so that the cap limits some deposits to the unit.
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
