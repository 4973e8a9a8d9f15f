//! Compares wrapped ether with its own code as deployed on mainnet.

use alloy_primitives::U256;
use alloy_sol_types::sol;
use braid_primitives::{ExecutionBlock, TokenId, WETH};
use braid_protocols::{After, Pool, PoolState, Product};

use crate::support::{
    chain::{Chain, OWNER},
    random::Random,
};

sol! {
    function deposit() external payable;
    function withdraw(uint256 amount) external;
    function balanceOf(address owner) external view returns (uint256);
    function totalSupply() external view returns (uint256);
}

/// The number of turns: some hundreds of trades each way, or with `LONG=1` more than twenty thousand.
fn turns() -> usize {
    if std::env::var_os("LONG").is_some() { 20_100 } else { 300 }
}

#[test]
fn wrapped_ether_pays_what_the_model_says() {
    let mut random = Random::new(91);
    let mut chain = Chain::new();
    chain.place(WETH, "WETH9", &[]);
    let coins = [TokenId(0), TokenId(1)].into_iter().collect();
    let pool = Pool {
        key: WETH.into(),
        product: Product::WrappedEther,
        coins,
        state: PoolState::WrappedEther(braid_protocols::wrapped_ether::State),
    };
    let at = ExecutionBlock { number: 2, timestamp: 1_700_000_000 };
    let mut held = U256::ZERO;
    let (mut wrapped, mut unwrapped, mut refused) = (0, 0, 0);
    for turn in 0..turns() {
        // The state after one trade is that before the next.
        let amount = random.log_uniform(84).max(U256::ONE);
        let swap = pool.swap(&at, 0, 1, amount).unwrap();
        chain.send_ether(WETH, &depositCall {}, amount).unwrap();
        held += swap.amount_out;
        assert_eq!(chain.view(WETH, &balanceOfCall { owner: OWNER }), held, "turn {turn}: {amount}");
        wrapped += 1;
        let amount = random.up_to(held + held / U256::from(8)).max(U256::ONE);
        let swap = pool.swap_after(&at, &After::Unchanged, 1, 0, amount).unwrap();
        match chain.send(WETH, &withdrawCall { amount }) {
            Ok(_) => {
                held -= swap.amount_out;
                // Its supply equals the ether that it holds.
                assert_eq!(chain.view(WETH, &totalSupplyCall {}), held, "turn {turn}: {amount}");
                assert_eq!(chain.view(WETH, &balanceOfCall { owner: OWNER }), held, "turn {turn}: {amount}");
                unwrapped += 1;
            }
            // The amount exceeds the supply.
            Err(_) => {
                assert!(amount > held, "turn {turn}: {amount} of {held}");
                refused += 1;
            }
        }
    }
    println!("WETH9: {wrapped} wrapped, {unwrapped} unwrapped, {refused} of more than there was");
    assert!(unwrapped > turns() / 2 && refused > 0);
}
