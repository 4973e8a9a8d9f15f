//! Tests of Balancer V3's buffers on a local chain. At the next timestamp the recipient must receive what was quoted
//! for it, to the wei, within a buffer's balance and beyond it, also after a day of interest. The modelled gas must be
//! that of the receipts.

use braid_devnet::{
    accounts::OTHER,
    tokens::{self, Kind},
};
use braid_market::Market;
use braid_primitives::{Address, PoolKey, U256};
use braid_protocols::{Pool, PoolState, Product, balancer::v3::buffer};
use serde_json::json;

use crate::chain::Chain;
use crate::vaults::{trade, trade_by};

/// The tolerance of the modelled gas, relative to the receipt.
const TOLERANCE: f64 = 0.07;

/// The token sold, the token bought, the amount in hundredths of a whole token, and whether the buffer's initial
/// balance covers it.
struct Case(&'static str, &'static str, u64, bool);

const CASES: [Case; 18] = [
    Case("WETH", "pufETH", 1_900, true),
    Case("pufETH", "WETH", 2_300, true),
    Case("WETH", "pufETH", 300_000, false),
    Case("pufETH", "WETH", 500_000, false),
    Case("DAI", "sDAI", 100_000, true),
    Case("sDAI", "DAI", 432_100, true),
    Case("DAI", "sDAI", 12_345_678, false),
    Case("USDC", "gtUSDCp", 5_432_100, true),
    Case("gtUSDCp", "USDC", 123_400, true),
    Case("USDC", "gtUSDCp", 300_000_000, false),
    Case("USDC", "v2USDC", 543_200, true),
    Case("v2USDC", "USDC", 234_500_000, false),
    Case("USDC", "waEthUSDC", 12_345_600, true),
    Case("waEthUSDC", "USDC", 7_654_300, true),
    Case("USDC", "waEthUSDC", 400_000_000, false),
    Case("waEthUSDT", "USDT", 300_000_000, false),
    Case("USDT", "fUSDT", 4_321_000, true),
    Case("fUSDT", "USDT", 200_000_000, false),
];

/// Returns the buffer's balance of the token that is bought.
fn held(chain: &Chain, sold: Address, bought: Address) -> U256 {
    let id = |token| chain.market.tokens().id(token).unwrap();
    let mut pools = chain.market.pools().iter().filter(|pool| pool.product == Product::BalancerV3Buffer);
    let pool = pools.find(|pool| pool.coins.contains(&id(sold)) && pool.coins.contains(&id(bought))).unwrap();
    let PoolState::BalancerV3Buffer(state) = &pool.state else { panic!("a buffer") };
    state.held[usize::from(pool.coin_index(id(bought)).unwrap())]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buffers_pay_what_was_quoted_for_the_second() {
    let mut chain = Chain::start().await;
    chain.settle_in(OTHER).await;
    let mut off = Vec::new();
    for day in 0..2_u8 {
        for (place, Case(sold, bought, hundredths, holds)) in (0_u8..).zip(CASES) {
            let (sold, bought) = (tokens::by_symbol(sold), tokens::by_symbol(bought));
            let amount = sold.units(hundredths) / U256::from(100) + U256::from(13);
            let pair = [sold.address, bought.address];
            let before = held(&chain, pair[0], pair[1]);
            let fresh = Address::left_padding_from(&[0xbf, day, place]);
            trade(&mut chain, pair, amount, &[Product::BalancerV3Buffer], fresh).await;
            if day == 0 {
                let paid = chain.balances(fresh, &[bought.address]).await[0];
                assert_eq!(paid <= before, holds, "{} → {}: {before} held, {paid} paid", sold.symbol, bought.symbol);
            }
            let (modelled, used) = trade(&mut chain, pair, amount, &[Product::BalancerV3Buffer], OTHER).await;
            let error = modelled as f64 / used as f64 - 1.0;
            let row = format!(
                "{:>8} → {:<8} {modelled:>7} modelled {used:>7} used {:>6.1}%",
                sold.symbol,
                bought.symbol,
                error * 100.0
            );
            println!("{row}");
            if error.abs() > TOLERANCE {
                off.push(row);
            }
            chain.refresh_only(|pool| pool.product == Product::BalancerV3Buffer).await;
        }
        chain.rpc("evm_increaseTime", json!([86_400 + 77])).await;
        chain.rpc("evm_mine", json!([])).await;
    }
    assert!(off.is_empty(), "gas off by more than {TOLERANCE}: {off:#?}");
}

/// Trades between the assets of two vaults: a buffer wraps, the pool of their shares swaps, and a buffer unwraps. All
/// three must use the rates at the timestamp at which the transaction is mined, also a day after the pool's last
/// change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boosted_pools_between_two_buffers_pay_what_was_quoted_for_the_second() {
    let mut chain = Chain::start().await;
    chain.settle_in(OTHER).await;
    let mut off = Vec::new();
    for day in 0..2_u8 {
        for (share, at) in [("waEthUSDC", 0xb0), ("gtUSDCp", 0xb1), ("v2USDC", 0xb2)] {
            let shares = [share, "waEthUSDT"].map(|symbol| tokens::by_symbol(symbol).address);
            // From asset to asset, and from share to share in the pool alone.
            for sides in [["USDC", "USDT"], ["USDT", "USDC"], [share, "waEthUSDT"], ["waEthUSDT", share]] {
                let [sold, bought] = sides.map(tokens::by_symbol);
                let mut pools: Vec<PoolKey> = vec![boosted(&chain.market, shares).into()];
                if sold.kind != Kind::Vault && bought.kind != Kind::Vault && sold.kind != Kind::Wrapped {
                    pools.extend(shares.map(buffer::key_of));
                }
                let by = |pool: &Pool| pools.contains(&pool.key);
                let amount = sold.units(12_345_678 / (1 + u64::from(day) * 77)) / U256::from(100) + U256::from(7);
                let fresh =
                    Address::left_padding_from(&[at, day, sold.symbol.as_bytes()[0], bought.symbol.as_bytes()[0]]);
                let pair = [sold.address, bought.address];
                trade_by(&mut chain, pair, amount, (share, by), fresh, 0).await;
                let (modelled, used) = trade_by(&mut chain, pair, amount, (share, by), OTHER, 0).await;
                let error = modelled as f64 / used as f64 - 1.0;
                let row = format!(
                    "{share:>9}: {:>9} → {:<9} {modelled:>7} modelled {used:>7} used {:>6.1}%",
                    sold.symbol,
                    bought.symbol,
                    error * 100.0
                );
                println!("{row}");
                if error.abs() > TOLERANCE {
                    off.push(row);
                }
            }
        }
        chain.rpc("evm_increaseTime", json!([86_400 + 77])).await;
        chain.rpc("evm_mine", json!([])).await;
    }
    assert!(off.is_empty(), "gas off by more than {TOLERANCE}: {off:#?}");
}

/// Returns the pool of two vaults' shares, whose rates both follow from the vaults.
fn boosted(market: &Market, shares: [Address; 2]) -> Address {
    let ids = shares.map(|share| market.tokens().id(share).unwrap());
    let mut pools = market.pools().iter().filter(|pool| pool.product == Product::BalancerV3Stable);
    let pool = pools.find(|pool| ids.iter().all(|id| pool.coins.contains(id))).unwrap();
    let PoolState::BalancerV3(state) = &pool.state else { panic!("a pool of the vault") };
    assert_eq!(state.followed.len(), 2, "both rates follow from their vaults");
    pool.key.contract
}
