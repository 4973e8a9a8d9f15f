//! Tests of Curve's pools on a local chain. At the next timestamp the recipient must receive what was quoted for it, to
//! the wei, also after a day and during a ramp. The modelled gas must be that of the receipts.

use braid_devnet::accounts::OTHER;
use braid_devnet::{addresses as at, tokens};
use braid_primitives::{Address, NATIVE_ETHER, U256};
use braid_protocols::{Discovered, Pool, Product};
use serde_json::json;

use crate::chain::Chain;
use crate::vaults::{trade, trade_by};

/// The tolerance of the modelled gas, relative to the receipt.
const TOLERANCE: f64 = 0.07;

const E18: u128 = 1_000_000_000_000_000_000;
const E6: u128 = 1_000_000;

/// The token sold, the token bought, the amount in atomic units, and the only product.
struct Case(&'static str, &'static str, u128, Product);

const CASES: &[Case] = &[
    Case("DAI", "USDC", 12_345 * E18 + 678, Product::CurveStableswap),
    Case("USDT", "DAI", 1_234_567 * E6 + 89, Product::CurveStableswap),
    Case("USDC", "USDT", 77_777 * E6 + 1, Product::CurveStableswap),
    Case("ETH", "stETH", 41 * E18 + 99, Product::CurveStableswap),
    Case("stETH", "ETH", 17 * E18 + 3, Product::CurveStableswap),
    Case("GUSD", "3Crv", 432_199, Product::CurveMetapool),
    Case("3Crv", "GUSD", 2_345 * E18 + 67, Product::CurveMetapool),
    Case("GUSD", "USDT", 987_654, Product::CurveMetapool),
    Case("DAI", "GUSD", 8_765 * E18 + 43, Product::CurveMetapool),
    Case("USDC", "USDT", 250_000 * E6 + 7, Product::CurveStableswapNg),
    Case("USDT", "USDC", 33_333 * E6 + 3, Product::CurveStableswapNg),
    Case("sDAI", "sUSDe", 54_321 * E18 + 5, Product::CurveStableswapNg),
    Case("sUSDe", "sDAI", 23_456 * E18 + 7, Product::CurveStableswapNg),
    Case("pufETH", "wstETH", 13 * E18 + 1, Product::CurveStableswapNg),
    Case("wstETH", "pufETH", 29 * E18 + 11, Product::CurveStableswapNg),
    Case("WETH", "CRV", 3 * E18 + 17, Product::CurveCryptoswap),
    Case("CRV", "WETH", 43_210 * E18 + 9, Product::CurveCryptoswap),
    Case("ETH", "rETH", 5 * E18 + 1, Product::CurveCryptoswap),
    Case("USDT", "WBTC", 123_456 * E6 + 7, Product::CurveTricrypto),
    Case("WBTC", "WETH", 1_2345_6789, Product::CurveTricrypto),
    Case("WETH", "USDT", 21 * E18 + 5, Product::CurveTricrypto),
    Case("USDC", "WBTC", 98_765 * E6 + 4, Product::CurveTricryptoNg),
    Case("WBTC", "WETH", 9876_5432, Product::CurveTricryptoNg),
    Case("WETH", "USDC", 19 * E18 + 3, Product::CurveTricryptoNg),
    Case("WETH", "INV", 2 * E18 + 19, Product::CurveTwocryptoNg),
    Case("INV", "ETH", 321 * E18 + 1, Product::CurveTwocryptoNg),
];

fn address(symbol: &str) -> Address {
    if symbol == "ETH" { NATIVE_ETHER } else { tokens::by_symbol(symbol).address }
}

/// Swaps to an account without a balance, and then to one with a balance. Each swap begins with the state after the
/// previous one. Returns the gas of the second, modelled and used.
async fn twice(chain: &mut Chain, case: &Case, fresh: Address) -> (u64, u64) {
    let Case(sold, bought, amount, product) = *case;
    let (pair, amount) = ([address(sold), address(bought)], U256::from(amount));
    let (modelled, used) = trade(chain, pair, amount, &[product], fresh).await;
    println!("{:<20} {sold:>6} → {bought:<6} {modelled:>7} modelled {used:>7} used by the trade before", product.id());
    trade(chain, pair, amount, &[product], OTHER).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn curve_pools_pay_what_was_quoted_for_the_second() {
    let mut chain = Chain::start().await;
    chain.settle_in(OTHER).await;
    let mut off = Vec::new();
    for day in 0..2_u8 {
        for (place, case) in (0_u8..).zip(CASES) {
            let (modelled, used) = twice(&mut chain, case, Address::left_padding_from(&[0xc7, day, place])).await;
            let error = (modelled as f64 / used as f64 - 1.0) * 100.0;
            let row = format!(
                "{:<20} {:>6} → {:<6} {modelled:>7} modelled {used:>7} used {error:>6.1}%",
                case.3.id(),
                case.0,
                case.1
            );
            println!("{row}");
            if error.abs() > TOLERANCE * 100.0 {
                off.push(row);
            }
        }
        chain.rpc("evm_increaseTime", json!([86_400 + 77])).await;
        chain.rpc("evm_mine", json!([])).await;
    }
    assert!(off.is_empty(), "gas off by more than {TOLERANCE}: {off:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ramp_is_priced_for_the_second() {
    alloy_sol_types::sol! {
        function ramp_A(uint256 future, uint256 time) external;
        function ramp_A_gamma(uint256 amp, uint256 width, uint256 time) external;
    }
    use alloy_sol_types::SolCall;
    let mut chain = Chain::start().await;
    let end = U256::from(chain.market.block().timestamp + 2 * 86_400);
    let ramps = [
        (at::CURVE_3POOL, ramp_ACall { future: U256::from(1_000), time: end }.abi_encode()),
        (at::CURVE_NG_DOLLARS, ramp_ACall { future: U256::from(40_000), time: end }.abi_encode()),
        (
            at::CURVE_TRICRYPTO2,
            ramp_A_gammaCall { amp: U256::from(2_700_000), width: U256::from(21_000_000_000_000_u64), time: end }
                .abi_encode(),
        ),
        (
            at::CURVE_TRICRYPTO_USDC,
            ramp_A_gammaCall { amp: U256::from(1_000_000), width: U256::from(20_000_000_000_000_u64), time: end }
                .abi_encode(),
        ),
    ];
    for (pool, call) in ramps {
        assert!(chain.send(pool, call.into(), U256::ZERO, 500_000).await.succeeded);
    }
    let cases = CASES.iter().filter(|case| {
        matches!(
            case.3,
            Product::CurveStableswap
                | Product::CurveStableswapNg
                | Product::CurveTricrypto
                | Product::CurveTricryptoNg
                | Product::CurveMetapool
        )
    });
    let cases: Vec<&Case> = cases.collect();
    for quarter in 0..5_u8 {
        for (place, case) in (0_u8..).zip(&cases) {
            twice(&mut chain, case, Address::left_padding_from(&[0xc8, quarter, place])).await;
        }
        chain.rpc("evm_increaseTime", json!([43_200 + 1_001])).await;
        chain.rpc("evm_mine", json!([])).await;
    }
}

/// Returns pools that only a list names, with their coins.
fn listed() -> [Discovered; 5] {
    let pool = |address: Address, product, coins| Discovered {
        key: address.into(),
        product,
        coins,
        fee_pips: 0,
        tick_spacing: 0,
    };
    let coins = |symbols: &[&str]| symbols.iter().map(|symbol| address(symbol)).collect::<Vec<_>>();
    let meta = |own, share, base: &[&str]| [vec![address(own), share], coins(base)].concat();
    [
        pool(at::CURVE_LISTED_NEXT_META, Product::CurveMetapool, meta("FRAX", at::CURVE_NG_DOLLARS, &["USDC", "USDT"])),
        pool(
            at::CURVE_LISTED_NEXT_META_ON_3POOL,
            Product::CurveMetapool,
            meta("USDe", at::CURVE_3CRV, &["DAI", "USDC", "USDT"]),
        ),
        pool(at::CURVE_TBTC, Product::CurveMetapool, meta("tBTC", at::CURVE_SBTC_SHARE, &["renBTC", "WBTC", "sBTC"])),
        pool(
            at::CURVE_LISTED_META_ON_REN,
            Product::CurveMetapool,
            meta("cbBTC", at::CURVE_REN_SHARE, &["renBTC", "WBTC"]),
        ),
        pool(at::CURVE_LISTED_HELD, Product::CurveStableswap, coins(&["FRAX", "LUSD"])),
    ]
}

/// Trades both ways between the first coin and every other in StableSwap-NG metapools on base pools of either
/// generation, in two metapools on pools of bitcoin, and in a pool that reads its balances from its coins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_of_lists_pay_what_was_quoted_for_the_second() {
    let mut chain = Chain::start().await;
    chain.settle_in(OTHER).await;
    let pools = listed();
    chain.know(&pools).await;
    let bitcoin = [at::CURVE_TBTC, at::CURVE_LISTED_META_ON_REN];
    let mut off = Vec::new();
    for day in 0..2 {
        for pool in &pools {
            for other in 1..pool.coins.len() {
                for pair in [[0, other], [other, 0]] {
                    let pair = pair.map(|coin| pool.coins[coin]);
                    let decimals =
                        tokens::TOKENS.iter().find(|token| token.address == pair[0]).map_or(18, |token| token.decimals);
                    // Thousands of dollars, or tenths of a bitcoin.
                    let [whole, parts] = if bitcoin.contains(&pool.key.contract) { [3, 10] } else { [4_321, 1] };
                    let unit = U256::from(10).pow(U256::from(decimals)) / U256::from(parts);
                    let amount = U256::from(whole) * unit + U256::from(77 + day);
                    let what = format!("{} {pair:?}", pool.key.contract);
                    let by = |own: &Pool| own.key == pool.key;
                    trade_by(&mut chain, pair, amount, (&what, by), OTHER, 0).await;
                    let (modelled, used) = trade_by(&mut chain, pair, amount, (&what, by), OTHER, 0).await;
                    let error = (modelled as f64 / used as f64 - 1.0) * 100.0;
                    let row = format!("{what}: {modelled} modelled {used} used {error:.1}%");
                    println!("{row}");
                    if error.abs() > TOLERANCE * 100.0 {
                        off.push(row);
                    }
                }
            }
        }
        chain.rpc("evm_increaseTime", json!([86_400 + 77])).await;
        chain.rpc("evm_mine", json!([])).await;
    }
    assert!(off.is_empty(), "gas off by more than {TOLERANCE}: {off:#?}");
}
