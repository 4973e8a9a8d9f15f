//! Tests of Balancer's pools on a local chain. The recipient must receive what was quoted, to the wei, also after
//! cached rates have expired. The modelled gas must be that of the receipts.

use braid_devnet::{
    accounts::{MAKER, OTHER},
    addresses::STETH,
    rpc::Tx,
    tokens,
};
use braid_primitives::{Address, U256};
use braid_protocols::{Pool, Product};
use serde_json::json;

use crate::{chain::Chain, vaults::trade};

alloy_sol_types::sol! {
    function rebase(uint256 pooledEther) external;
}

/// The tolerance of the modelled gas, relative to the receipt.
const TOLERANCE: f64 = 0.07;

/// The token sold, the token bought, the amount in hundredths of a whole token, and the only product.
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

/// Returns the own token of a pool that is also a coin of another pool.
fn shares_traded(chain: &Chain) -> Address {
    let market = &chain.market;
    let own = |pool: &&std::sync::Arc<Pool>| {
        let id = market.tokens().id(pool.key.contract)?;
        (market.pools_of(id).len() > 1).then_some(pool.key.contract)
    };
    market
        .pools()
        .iter()
        .filter(|pool| pool.product == Product::BalancerV2ComposableStable)
        .find_map(|p| own(&p))
        .unwrap()
}

/// Returns the own token of the composable pool of two coins.
fn own_token_of(chain: &Chain, pair: [Address; 2]) -> Address {
    let market = &chain.market;
    let has = |pool: &Pool| {
        let coin = |address| market.tokens().id(address).is_some_and(|id| pool.coins.contains(&id));
        pool.product == Product::BalancerV2ComposableStable && pair.into_iter().all(coin)
    };
    market.pools().iter().find(|pool| has(pool)).unwrap().key.contract
}

/// A pool's own token must be bought and sold like any coin, also as an intermediate token. The pool of COMP has no
/// other coin, so every path there goes through the own token of the pool of dollars.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pools_own_token_is_a_coin_on_the_way() {
    let mut chain = Chain::start().await;
    chain.settle_in(OTHER).await;
    let share = shares_traded(&chain);
    let dollars = [Product::BalancerV2ComposableStable];
    let both = [Product::BalancerV2ComposableStable, Product::BalancerV2Weighted];
    let address = |symbol: &str| tokens::by_symbol(symbol).address;
    let units =
        |symbol: &str, hundredths: u64| tokens::by_symbol(symbol).units(hundredths) / U256::from(100) + U256::from(7);
    let wad = U256::from(10).pow(U256::from(18));
    let mut cases: Vec<(Address, Address, U256, &[Product])> = vec![
        (address("PYUSD"), share, units("PYUSD", 1_234_567), &dollars),
        (address("DAI"), share, units("DAI", 7_654_321), &dollars),
        (share, address("USDC"), wad * U256::from(4_321), &dollars),
        (share, address("DAI"), wad * U256::from(76_543) + U256::from(1), &dollars),
        (address("PYUSD"), address("COMP"), units("PYUSD", 987_654), &both),
        (address("COMP"), address("USDT"), units("COMP", 54_321), &both),
        // The pool that issued the token is in the market too, because it shows who may take the token without an
        // approval.
        (share, address("COMP"), wad * U256::from(999), &both),
        (address("USDC"), address("COMP"), U256::from(1_000_003), &both),
    ];
    // Pools of two coins, with and without a rate.
    for [sold, bought] in [["WBTC", "cbBTC"], ["wstETH", "WETH"], ["WETH", "wstETH"]] {
        let pair = [sold, bought].map(address);
        let own = own_token_of(&chain, pair);
        cases.push((pair[0], own, units(sold, 123), &dollars));
        cases.push((own, pair[1], wad / U256::from(7), &dollars));
    }
    let mut off = Vec::new();
    for (sold, bought, amount, products) in cases {
        // The first trade gives the recipient a balance, which the gas model assumes.
        trade(&mut chain, [sold, bought], amount, products, OTHER).await;
        let (modelled, used) = trade(&mut chain, [sold, bought], amount, products, OTHER).await;
        let error = modelled as f64 / used as f64 - 1.0;
        let row = format!("{sold} → {bought} {modelled:>7} modelled {used:>7} used {:>6.1}%", error * 100.0);
        println!("{row}");
        if error.abs() > TOLERANCE {
            off.push(row);
        }
    }
    assert!(off.is_empty(), "gas off by more than {TOLERANCE}: {off:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balancers_pools_pay_what_was_quoted() {
    let mut chain = Chain::start().await;
    chain.settle_in(OTHER).await;
    let mut off = Vec::new();
    for day in 0..2_u8 {
        for (place, case) in (0_u8..).zip(&CASES) {
            let fresh = Address::repeat_byte(0x30 + 20 * day + place);
            // The first trade may refresh cached rates. Its recipient has no balance yet, whereas the gas model assumes
            // one.
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
        // A day later the cached rates have expired, and a wrapped coin is worth more.
        let pooled = U256::from(12_000_000_u64) * U256::from(10).pow(U256::from(18));
        let rebase = rebaseCall { pooledEther: pooled * U256::from(1_201 + u64::from(day)) / U256::from(1_000) };
        chain.devnet.send(&Tx::call(MAKER, STETH, &rebase)).await.unwrap();
        chain.rpc("evm_increaseTime", json!([86_400 + 77])).await;
        chain.rpc("evm_mine", json!([])).await;
    }
    assert!(off.is_empty(), "gas off by more than {TOLERANCE}: {off:#?}");
}
