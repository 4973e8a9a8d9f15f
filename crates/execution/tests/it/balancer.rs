//! Pools of Balancer's vaults on a local chain: what was quoted is what the recipient gets, to the wei, also when remembered rates have
//! run out; and the modelled gas is that of the receipts.

use braid_devnet::{
    accounts::{MAKER, OTHER},
    addresses::STETH,
    rpc::Tx,
    tokens,
};
use braid_primitives::{Address, U256};
use braid_protocols::Product;
use serde_json::json;

use crate::{chain::Chain, vaults::trade};

alloy_sol_types::sol! {
    function rebase(uint256 pooledEther) external;
}

/// How far the model of gas may be from the receipt.
const TOLERANCE: f64 = 0.07;

/// What is sold for what, in hundredths of a whole token, through which product alone.
struct Case(&'static str, &'static str, u64, Product);

const CASES: [Case; 21] = [
    Case("AAVE", "WETH", 12_345, Product::BalancerV2Weighted),
    Case("WETH", "AAVE", 345, Product::BalancerV2Weighted),
    Case("WBTC", "USDC", 123, Product::BalancerV2Weighted),
    Case("LINK", "WETH", 98_765, Product::BalancerV2Weighted),
    Case("UNI", "WETH", 54_321, Product::BalancerV2Weighted),
    Case("LDO", "CRV", 77_777, Product::BalancerV2Weighted),
    Case("DAI", "USDT", 1_234_567, Product::BalancerV2Stable),
    Case("wstETH", "WETH", 4_321, Product::BalancerV2Stable),
    Case("WETH", "wstETH", 1_111, Product::BalancerV2Stable),
    Case("WBTC", "cbBTC", 321, Product::BalancerV2ComposableStable),
    Case("WETH", "wstETH", 5_555, Product::BalancerV2ComposableStable),
    Case("wstETH", "WETH", 2_222, Product::BalancerV2ComposableStable),
    Case("PYUSD", "DAI", 7_654_321, Product::BalancerV2ComposableStable),
    Case("AAVE", "wstETH", 9_876, Product::BalancerV3Weighted),
    Case("wstETH", "AAVE", 234, Product::BalancerV3Weighted),
    Case("WBTC", "WETH", 99, Product::BalancerV3Weighted),
    Case("LDO", "COMP", 45_678, Product::BalancerV3Weighted),
    Case("USDC", "USDT", 3_456_789, Product::BalancerV3Stable),
    Case("wstETH", "WETH", 3_333, Product::BalancerV3Stable),
    Case("WETH", "wstETH", 4_444, Product::BalancerV3Stable),
    Case("USDe", "PYUSD", 1_212_121, Product::BalancerV3Stable),
];

async fn swap(chain: &mut Chain, case: &Case, recipient: Address) -> (u64, u64) {
    let (sold, bought) = (tokens::by_symbol(case.0), tokens::by_symbol(case.1));
    let amount = sold.units(case.2) / U256::from(100) + U256::from(13);
    trade(chain, [sold.address, bought.address], amount, &[case.3], recipient).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balancers_pools_pay_what_was_quoted() {
    let mut chain = Chain::start().await;
    chain.settle_in(OTHER).await;
    let mut off = Vec::new();
    for day in 0..2_u8 {
        for (place, case) in (0_u8..).zip(&CASES) {
            let fresh = Address::repeat_byte(0x30 + 20 * day + place);
            // the first may ask for rates anew; its recipient has nothing yet, which the model of gas counts as something
            let (first_modelled, first_used) = swap(&mut chain, case, fresh).await;
            println!(
                "{:>8} → {:<8} {first_modelled:>7} modelled {first_used:>7} used, to a new holder",
                case.0, case.1
            );
            let (modelled, used) = swap(&mut chain, case, OTHER).await;
            let error = modelled as f64 / used as f64 - 1.0;
            let row =
                format!("{:>8} → {:<8} {modelled:>7} modelled {used:>7} used {:>6.1}%", case.0, case.1, error * 100.0);
            println!("{row}");
            if error.abs() > TOLERANCE {
                off.push(row);
            }
        }
        // a day later the rates that pools remember have run out, and a wrapped coin is worth more
        let pooled = U256::from(12_000_000_u64) * U256::from(10).pow(U256::from(18));
        let rebase = rebaseCall { pooledEther: pooled * U256::from(1_201 + u64::from(day)) / U256::from(1_000) };
        chain.devnet.send(&Tx::call(MAKER, STETH, &rebase)).await.unwrap();
        chain.rpc("evm_increaseTime", json!([86_400 + 77])).await;
        chain.rpc("evm_mine", json!([])).await;
    }
    assert!(off.is_empty(), "gas off by more than {TOLERANCE}: {off:#?}");
}
