//! Tests of Frankencoin's savings vault.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::{SolValue, sol};
use braid_primitives::ExecutionBlock;
use braid_protocols::{
    SwapError,
    erc4626::{self, Accrual, Conversion},
};

use super::{USR, World, state, whole};
use crate::vault_bytecode::trades;

sol! {
    function setRate(uint24 rate) external;
    function propose(uint24 rate) external;
    function setReferrer(address account, address referrer, uint32 fee) external;
}

pub const SVZCHF: Address = address!("E5F130253fF137f9917C0107659A4c5262abf6b0");
pub const ZCHF: Address = address!("B58E61C3098d85632Df34EecfB899A1Ed80921cB");
pub const SAVINGS: Address = address!("27d9AD987BdE08a0d083ef7e0e4043C857A17B38");
pub const RESERVE: Address = address!("1bA26788dfDe592fec8bcB0Eaff472a42BE341B2");

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
fn frankencoins_recorded_state_gives_its_recorded_price() {
    // The vault and its savings as L2BEAT's discovery recorded them in September 2026:
    // packages/config/src/projects/frankencoin/discovered.json.
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
        limits: erc4626::Limits::NONE,
        form: None,
    };
    let at = ExecutionBlock { number: 0, timestamp: 1_789_471_883 };
    assert_eq!(recorded.preview_redeem(&at, erc4626::WAD), Ok(U256::from(1_023_322_180_872_362_003_u64)));
    let (_, after) = recorded.deposit(&at, whole(1)).unwrap();
    let Conversion::Price { total_assets, .. } = after.conversion else { panic!("a price") };
    assert_eq!(total_assets - whole(1), number("180005686354891071328600"), "with its interest");
}
