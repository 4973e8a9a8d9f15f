//! Tests of partner fees in staked ether on a local chain. stETH counts shares, and the settlement pays out those of the
//! proxy before it pays the partner. The recipient must receive what was quoted for it, to the wei, and the partner the
//! shares of its fee.

use std::sync::Arc;

use braid_devnet::accounts::TAKER;
use braid_devnet::addresses::STETH;
use braid_devnet::tokens;
use braid_execution::{Authorization, Order, PartnerFee, Permit, TokenAmount, gas, permit2, proxy};
use braid_primitives::{Address, NATIVE_ETHER, U256};
use braid_protocols::Product;
use braid_routing::{Prepared, Request, arrives, solve};

use crate::chain::Chain;
use crate::vaults::only;

const E18: u128 = 1_000_000_000_000_000_000;

/// The token sold, the token bought, the amount in atomic units, the only product, the fee in basis points, whether it
/// is on the output, and whether a signature pays.
struct Case(&'static str, &'static str, u128, Product, u16, bool, bool);

const CASES: [Case; 8] = [
    Case("ETH", "stETH", 7 * E18 + 123_456_789, Product::LidoSteth, 137, true, false),
    Case("wstETH", "stETH", 3 * E18 + 13, Product::LidoWsteth, 1, true, false),
    Case("wstETH", "stETH", 5 * E18 + 7, Product::LidoWsteth, 300, true, true),
    Case("ETH", "stETH", 4 * E18 + 99, Product::CurveStableswap, 25, true, false),
    Case("stETH", "wstETH", 5 * E18 + 987_654_321, Product::LidoWsteth, 137, false, false),
    Case("stETH", "wstETH", 6 * E18 + 12_345, Product::LidoWsteth, 137, false, true),
    Case("stETH", "ETH", 2 * E18 + 3, Product::CurveStableswap, 300, false, false),
    Case("stETH", "ETH", 2 * E18 + 3, Product::CurveStableswap, 300, false, true),
];

fn address(symbol: &str) -> Address {
    if symbol == "ETH" { NATIVE_ETHER } else { tokens::by_symbol(symbol).address }
}

/// Makes a swap as a user does, and checks the gains of the recipient and of the partner, neither of which has anything
/// before.
async fn swap(chain: &mut Chain, case: &Case, nonce: u8) {
    let Case(sold, bought, amount, product, bps, on_output, signed) = *case;
    let (token_in, token_out, amount) = (address(sold), address(bought), U256::from(amount));
    let [recipient, partner] = [0x40, 0x80].map(|from| Address::repeat_byte(from + nonce));
    let fee = PartnerFee { bps, recipient: partner, on_output };
    chain.afford(token_in, amount).await;
    if token_in != NATIVE_ETHER {
        let spender = if signed { permit2::ADDRESS } else { proxy::address() };
        chain.approve(token_in, spender, amount).await;
    }
    let market = chain.refresh_only(|pool| pool.product.family() == "lido" || pool.product == product).await;
    let at = market.block().next();
    let id = |token| market.tokens().id(token).unwrap();
    let request = Request {
        inputs: vec![(id(token_in), fee.after_input(amount))],
        outputs: vec![(id(token_out), 10_000)],
        max_hops: 3,
        filter: only(&[product]),
        gas_price_wei: 0,
        max_steps: 8,
        at,
    };
    let solution = solve(&Prepared::new(Arc::clone(&market)), &request).unwrap();
    let route = &solution.route;
    let made = route.amounts_out[0];
    let quoted = arrives(&market, route, &at, id(token_out), (made, fee.after_output(made)));
    let order = Order {
        inputs: vec![TokenAmount { token: token_in, amount }],
        outputs: vec![TokenAmount { token: token_out, amount: quoted }],
        recipient,
        deadline: at.timestamp,
        partner_fee: Some(fee),
    };
    let program = braid_execution::encode_program(&market, route, &order).unwrap();
    let authorization = if signed { Authorization::Permit2 } else { Authorization::Allowance };
    let estimate = gas::estimate(&market, route, &order, &program, TAKER, authorization).unwrap();
    let data = if signed {
        let permit = Permit { owner: TAKER, nonce: U256::from(nonce), deadline: order.deadline, sender: TAKER };
        let typed = permit2::typed_data(&order, program.sent(), &permit).unwrap();
        braid_execution::calldata_with_permit2(&order, &program, &permit, &chain.sign(&typed).await)
    } else {
        braid_execution::calldata(&order, &program)
    };

    let receipt = chain.send(proxy::address(), data.clone(), order.value_wei(), estimate.gas_limit).await;
    if !receipt.succeeded {
        panic!("{sold} → {bought}: {}", chain.why(proxy::address(), data, order.value_wei()).await);
    }
    let gained = chain.balances(recipient, &[token_out]).await[0];
    assert_eq!(gained, quoted, "the recipient gets what was quoted: {route:?}");
    let owed = if on_output { made - fee.after_output(made) } else { amount - fee.after_input(amount) };
    let paid = chain.balances(partner, &[STETH]).await[0];
    // The fee is rounded down to shares, and these to an amount.
    assert!(paid <= owed && owed - paid <= U256::from(2), "the partner gets {paid} of {owed}");
    assert_eq!(chain.balances(proxy::address(), &[STETH]).await[0], U256::ZERO, "the proxy keeps nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partner_fees_in_staked_ether_are_paid() {
    let mut chain = Chain::start().await;
    for (nonce, case) in (0_u8..).zip(&CASES) {
        swap(&mut chain, case, nonce).await;
    }
}
