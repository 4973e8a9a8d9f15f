//! Tests of Fluid on a local chain: pools with collateral and with debt, also with ether as a coin, and fTokens. At the
//! next timestamp the recipient must receive what was quoted for it, to the wei, also after a day of interest and while
//! a range shifts.

use std::sync::Arc;

use braid_devnet::{accounts::MAKER, accounts::OTHER, addresses as at, rpc::Tx, tokens};
use braid_execution::{Order, TokenAmount, encode_program, proxy};
use braid_market::Market;
use braid_primitives::{Address, Bytes, NATIVE_ETHER, U256};
use braid_protocols::{Pool, PoolState, Product, RouteState, SwapError, fluid::dex};
use braid_routing::{Prepared, Request, Route, Step, solve};
use serde_json::json;

use crate::chain::Chain;
use crate::vaults::{only, trade};

/// The tolerance of the modelled gas, relative to the receipt.
const TOLERANCE: f64 = 0.07;
const E18: u128 = 1_000_000_000_000_000_000;

alloy_sol_types::sol! {
    function shiftRange(uint256 upper, uint256 lower, uint256 duration) external;
    function writeToStorage(bytes32 slot, uint256 word) external;
}

/// The token sold, the token bought, the amount in atomic units, and the only products.
struct Case(&'static str, &'static str, u128, &'static [Product]);

const POOLS: &[Product] = &[Product::FluidDexT1];
const SHARES: &[Product] = &[Product::FluidFToken];

const CASES: [Case; 18] = [
    Case("USDC", "ETH", 123_456_789_012, POOLS),
    Case("ETH", "USDC", 41 * E18 + 987_654_321, POOLS),
    Case("wstETH", "ETH", 37 * E18 + 1_000_001, POOLS),
    Case("ETH", "wstETH", 29 * E18 + 13, POOLS),
    Case("USDC", "USDT", 76_543_210_987, POOLS),
    Case("USDT", "USDC", 65_432_109_876, POOLS),
    Case("USDC", "ETH", 1_000_003, POOLS),
    Case("USDC", "fUSDC", 1_234_567_890_123, SHARES),
    Case("fUSDC", "USDC", 765_432_109_876, SHARES),
    Case("USDT", "fUSDT", 234_567_890_123, SHARES),
    Case("fUSDT", "USDT", 65_432_109_876, SHARES),
    Case("WETH", "fWETH", 321 * E18 + 17, SHARES),
    Case("fWETH", "WETH", 123 * E18 + 19, SHARES),
    // Ether from one pool into another. It is wrapped after the first and unwrapped before the second.
    Case("USDT", "wstETH", 43_210_987_654, POOLS),
    Case("wstETH", "USDT", 11 * E18 + 7, POOLS),
    Case("wstETH", "WETH", 17 * E18 + 3, POOLS),
    Case("WETH", "wstETH", 13 * E18 + 5, POOLS),
    Case("fUSDC", "ETH", 54_321_098_765, &[Product::FluidDexT1, Product::FluidFToken]),
];

fn address(symbol: &str) -> Address {
    if symbol == "ETH" { NATIVE_ETHER } else { tokens::by_symbol(symbol).address }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fluid_pays_what_was_quoted_for_the_second() {
    let mut chain = Chain::start().await;
    chain.settle_in(OTHER).await;
    let mut off = Vec::new();
    for day in 0..2_u8 {
        for (place, Case(sold, bought, amount, products)) in (0_u8..).zip(&CASES) {
            let pair = [address(sold), address(bought)];
            let fresh = Address::repeat_byte(0x60 + 32 * day + place);
            trade(&mut chain, pair, U256::from(*amount), products, fresh).await;
            let (modelled, used) = trade(&mut chain, pair, U256::from(*amount), products, OTHER).await;
            let error = modelled as f64 / used as f64 - 1.0;
            let row = format!("{sold:>8} → {bought:<8} {modelled:>7} modelled {used:>7} used {:>6.1}%", error * 100.0);
            println!("{row}");
            if error.abs() > TOLERANCE {
                off.push(row);
            }
        }
        // The range widens over a week, of which a day passes.
        let call =
            shiftRangeCall { upper: U256::from(250_000), lower: U256::from(230_000), duration: U256::from(604_800) };
        chain.devnet.send(&Tx::call(MAKER, at::FLUID_DEX_USDC_ETH, &call)).await.unwrap();
        chain.rpc("evm_increaseTime", json!([86_400 + 77])).await;
        chain.rpc("evm_mine", json!([])).await;
    }
    assert!(off.is_empty(), "gas off by more than {TOLERANCE}: {off:#?}");
}

fn pool(chain: &Chain, address: Address) -> Pool {
    chain.market.pools().iter().find(|pool| pool.key.contract == address).map(|pool| (**pool).clone()).unwrap()
}

/// Writes a word of a contract through its keeper, and reads Fluid's pools again.
async fn write(chain: &mut Chain, contract: Address, slot: U256, word: U256) {
    let call = writeToStorageCall { slot: slot.into(), word };
    chain.devnet.send(&Tx::call(MAKER, contract, &call)).await.unwrap();
    chain.refresh_only(|pool| pool.product.family() == "fluid").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fluid_pool_that_is_paused_or_asked_for_too_much_says_so() {
    let mut chain = Chain::start().await;
    let next = chain.market.block().next();
    let usdc_eth = pool(&chain, at::FLUID_DEX_USDC_ETH);
    let million = U256::from(1_000_000_000_000_u64);
    let too_much = usdc_eth.swap(&next, 0, 1, million * U256::from(500));
    assert!(matches!(too_much, Err(SwapError::LimitExceeded { .. })), "{too_much:?}");
    let steep = usdc_eth.swap(&next, 0, 1, million * U256::from(30));
    assert!(steep.is_err(), "a trade that moves the price by more than a twentieth: {steep:?}");
    let share = pool(&chain, at::FLUID_FUSDC);
    let limited = share.swap(&next, 1, 0, million * U256::from(2_500));
    assert!(matches!(limited, Err(SwapError::LimitExceeded { .. })), "{limited:?}");
    // First the pool's own switch, then the layer's.
    let PoolState::FluidDexT1(dex::State::Storage(storage)) = &usdc_eth.state else { panic!("stored words") };
    let second = storage.variables2;
    write(&mut chain, at::FLUID_DEX_USDC_ETH, U256::ONE, second | (U256::ONE << 255_usize)).await;
    let next = chain.market.block().next();
    assert_eq!(pool(&chain, at::FLUID_DEX_USDC_ETH).swap(&next, 0, 1, million), Err(SwapError::Closed));
    write(&mut chain, at::FLUID_DEX_USDC_ETH, U256::ONE, second).await;
    assert!(pool(&chain, at::FLUID_DEX_USDC_ETH).swap(&next, 0, 1, million).is_ok());
    write(&mut chain, at::FLUID_LIQUIDITY, U256::ONE, U256::from(2)).await;
    for closed in [at::FLUID_DEX_USDC_ETH, at::FLUID_FUSDC] {
        assert_eq!(pool(&chain, closed).swap(&next, 0, 1, million), Err(SwapError::Closed));
    }
}

/// Returns the steps that redeem shares and sell ether to the pool, in this order, each priced alone.
fn redeem_and_swap(chain: &Chain, shares: U256, ether: U256) -> [Step; 2] {
    let next = chain.market.block().next();
    [(at::FLUID_FUSDC, shares), (at::FLUID_DEX_USDC_ETH, ether)].map(|(address, amount_in)| {
        let id = chain.market.pool_id(address).unwrap();
        let pool = chain.market.pool(id).unwrap();
        let swap = pool.swap(&next, 1, 0, amount_in).unwrap();
        let [token_out, token_in] = [0, 1].map(|coin: usize| pool.coins[coin]);
        let (amount_out, gas_units) = (swap.amount_out, swap.gas_units);
        Step { pool: id, coin_in: 1, coin_out: 0, token_in, token_out, share: 0, amount_in, amount_out, gas_units }
    })
}

/// Returns the calldata of an order that sells shares and ether for USDC.
fn sale(market: &Market, route: &Route, amounts: [U256; 2], minimum: U256, recipient: Address) -> Bytes {
    let inputs = [at::FLUID_FUSDC, NATIVE_ETHER].into_iter().zip(amounts);
    let order = Order {
        inputs: inputs.map(|(token, amount)| TokenAmount { token, amount }).collect(),
        outputs: vec![TokenAmount { token: address("USDC"), amount: minimum }],
        recipient,
        deadline: market.block().next().timestamp,
        partner_fee: None,
    };
    let program = encode_program(market, route, &order).unwrap();
    braid_execution::calldata(&order, &program)
}

/// A redemption leaves less USDC in the layer, so that more of it is lent than the pool accepts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_that_break_a_limit_of_the_layer_together_are_not_quoted() {
    let mut chain = Chain::start().await;
    let (shares, ether) = (U256::from(150_000_000_000_000_u64), U256::from(40 * E18 + 123));
    chain.afford(at::FLUID_FUSDC, shares).await;
    chain.afford(NATIVE_ETHER, ether).await;
    chain.approve(at::FLUID_FUSDC, proxy::address(), shares).await;
    // A pool with a limit of zero names the utilization after the swap.
    let mut strict = pool(&chain, at::FLUID_DEX_USDC_ETH);
    let PoolState::FluidDexT1(dex::State::Storage(storage)) = &mut strict.state else { panic!("stored words") };
    let unlimited = storage.variables2 & !(U256::from(0x3ff) << 228_usize);
    storage.variables2 = unlimited;
    let refused = strict.swap(&chain.market.block().next(), 1, 0, ether);
    let Err(SwapError::LimitExceeded { amount: utilization_bps, .. }) = refused else { panic!("{refused:?}") };
    // The pool accepts half a percent more.
    let limit = utilization_bps / U256::from(10) + U256::from(5);
    write(&mut chain, at::FLUID_DEX_USDC_ETH, U256::ONE, unlimited | (limit << 228_usize)).await;

    let next = chain.market.block().next();
    let (usdc_eth, share) = (pool(&chain, at::FLUID_DEX_USDC_ETH), pool(&chain, at::FLUID_FUSDC));
    let [redeem, swap] = redeem_and_swap(&chain, shares, ether);
    let mut route = RouteState::default();
    let redeemed = route.swap(&share, &next, 1, 0, shares).unwrap();
    route.record(&share, redeemed.after);
    let refused = route.swap(&usdc_eth, &next, 1, 0, ether);
    assert!(matches!(refused, Err(SwapError::LimitExceeded { .. })), "{refused:?}");
    let amounts_out = vec![redeem.amount_out + swap.amount_out];
    let wrong = Route { steps: vec![redeem.clone(), swap.clone()], amounts_out: amounts_out.clone() };
    let data = sale(&chain.market, &wrong, [shares, ether], U256::ONE, OTHER);
    let reason = chain.why(proxy::address(), data, ether).await;
    assert!(reason.contains("revert"), "{reason}");

    // In the other order both fit.
    let mut route = RouteState::default();
    let swapped = route.swap(&usdc_eth, &next, 1, 0, ether).unwrap();
    route.record(&usdc_eth, swapped.after);
    assert_eq!(route.swap(&share, &next, 1, 0, shares).unwrap().amount_out, redeem.amount_out);
    let right = Route { steps: vec![swap, redeem], amounts_out };
    let data = sale(&chain.market, &right, [shares, ether], U256::ONE, OTHER);
    let reason = chain.why(proxy::address(), data, ether).await;
    assert!(reason.starts_with("nothing"), "{reason}");

    let market = chain.refresh_only(|pool| pool.product.family() == "fluid").await;
    let id = |token| market.tokens().id(token).unwrap();
    let request = Request {
        inputs: vec![(id(at::FLUID_FUSDC), shares), (id(NATIVE_ETHER), ether)],
        outputs: vec![(id(address("USDC")), 10_000)],
        max_hops: 3,
        filter: only(&[Product::FluidDexT1, Product::FluidFToken]),
        gas_price_wei: 0,
        max_steps: 8,
        at: market.block().next(),
    };
    let Ok(solution) = solve(&Prepared::new(Arc::clone(&market)), &request) else { return };
    let (quoted, recipient) = (solution.route.amounts_out[0], Address::repeat_byte(0xb2));
    let data = sale(&market, &solution.route, [shares, ether], quoted, recipient);
    chain.rpc("evm_setNextBlockTimestamp", json!([U256::from(request.at.timestamp)])).await;
    let receipt = chain.send(proxy::address(), data, ether, 4_000_000).await;
    assert!(receipt.succeeded, "{:?}", solution.route);
    assert_eq!(chain.balances(recipient, &[address("USDC")]).await[0], quoted);
}
