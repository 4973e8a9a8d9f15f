//! Tests of orders in which stETH comes from several sources: from the payer, from an unwrapping and from a pool. stETH
//! moves whole shares, so the sum of amounts may need one share more than arrived. No order may revert, and the
//! recipient, who has nothing before, must receive what was quoted, to the wei.

use std::sync::Arc;

use braid_devnet::accounts::TAKER;
use braid_devnet::addresses::STETH;
use braid_devnet::tokens;
use braid_execution::{Order, TokenAmount, encode_program, permit2, proxy};
use braid_market::Market;
use braid_primitives::{Address, NATIVE_ETHER, U256};
use braid_protocols::Product;
use braid_routing::{PoolFilter, Prepared, Request, Route, arrives, solve};
use braid_simulation::Fork;
use braid_simulation::evm::{Overlay, Transaction, run};
use braid_simulation::grant::{Grant, grant};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::baskets::{balance, calldata};
use crate::shared;
use crate::vaults::only;

const ORDERS: u64 = 60;
const RECIPIENT: Address = Address::repeat_byte(0x77);

/// Tokens sold, the token bought, the only products (all if there are none), and whether a signature pays.
struct Case(&'static [&'static str], &'static str, &'static [Product], bool);

const LIDO: [Product; 3] = [Product::LidoSteth, Product::LidoWsteth, Product::CurveStableswap];

fn address(symbol: &str) -> Address {
    if symbol == "ETH" { NATIVE_ETHER } else { tokens::by_symbol(symbol).address }
}

/// Counts the steps of a route that pay stETH.
fn payers_of_steth(market: &Market, route: &Route) -> usize {
    let steth = market.tokens().id(STETH).unwrap();
    route.steps.iter().filter(|step| step.token_out == steth).count()
}

/// Quotes and runs an order on a copy of the chain. Returns its route.
fn order(market: &Arc<Market>, prepared: &Prepared, fork: &Fork, case: &Case, number: u64, dice: &mut StdRng) -> Route {
    let Case(sold, bought, products, signed) = *case;
    let at = market.block().next();
    let id = |symbol: &str| market.tokens().id(address(symbol)).unwrap();
    let random = |_: &&str| U256::from(10_f64.powf(dice.random_range(15.0..20.5)) as u128);
    let amounts: Vec<U256> = sold.iter().map(random).collect();
    let request = Request {
        inputs: sold.iter().map(|symbol| id(symbol)).zip(amounts.iter().copied()).collect(),
        outputs: vec![(id(bought), 10_000)],
        max_hops: 3,
        filter: if products.is_empty() { PoolFilter::default() } else { only(products) },
        gas_price_wei: 0,
        max_steps: 12,
        at,
    };
    let mut route = solve(prepared, &request).unwrap_or_else(|error| panic!("{sold:?} → {bought}: {error}")).route;
    // Two steps that both pay the output may stand in any order.
    if number.is_multiple_of(2) && route.steps.len() == 2 && payers_of_steth(market, &route) == 2 {
        route.steps.reverse();
    }
    let made = route.amounts_out[0];
    let quoted = arrives(market, &route, &at, id(bought), (made, made));
    let inputs = sold.iter().zip(amounts).map(|(symbol, amount)| TokenAmount { token: address(symbol), amount });
    let order = Order {
        inputs: inputs.collect(),
        outputs: vec![TokenAmount { token: address(bought), amount: quoted }],
        recipient: RECIPIENT,
        deadline: at.timestamp + 600,
        partner_fee: None,
    };
    let program = encode_program(market, &route, &order).unwrap();
    let signed = signed && permit2::applies_to(&order);
    let spender = if signed { permit2::ADDRESS } else { proxy::address() };
    let mut overlay = Overlay::new(fork);
    for input in &order.inputs {
        let (token, owner) = (input.token, TAKER);
        // An account with a balance of exactly this may have a share less than the amount needs.
        let amount = input.amount + U256::from(2);
        grant(&mut overlay, &Grant::Balance { token, owner, amount }).unwrap();
        if token != NATIVE_ETHER {
            grant(&mut overlay, &Grant::Allowance { token, owner, spender, amount: input.amount }).unwrap();
        }
    }
    let data = calldata(&order, &program, signed, number);
    let value_wei = order.value_wei();
    let message = Transaction { from: TAKER, to: proxy::address(), data, value_wei, gas_limit: 16_000_000 };
    let result = run(&mut overlay, &message, true).unwrap();
    assert!(result.is_success(), "{result:?} for {order:?} {route:?}");
    assert_eq!(balance(&mut overlay, address(bought), RECIPIENT), quoted, "{route:?}");
    assert!(balance(&mut overlay, STETH, proxy::address()).is_zero(), "the proxy keeps nothing");
    route
}

/// Runs random orders of one case. Returns how many of them have stETH from more than one step.
fn orders(case: &Case) -> usize {
    let shared = shared::unused();
    let (market, fork) = (&shared.chain.market, &shared.fork());
    let prepared = Prepared::new(Arc::clone(market));
    let mut dice = StdRng::seed_from_u64(11);
    let route = |number| order(market, &prepared, fork, case, number, &mut dice);
    (0..ORDERS).map(route).filter(|route| payers_of_steth(market, route) > 1).count()
}

#[test]
fn steth_of_an_unwrapping_and_of_a_pool_is_paid_out_together() {
    let unwrapped_or_bought = &[Product::LidoWsteth, Product::CurveStableswap];
    for signed in [false, true] {
        let merged = orders(&Case(&["wstETH", "ETH"], "stETH", unwrapped_or_bought, signed));
        assert_eq!(merged, ORDERS as usize, "an unwrapping and a pool");
    }
    orders(&Case(&["wstETH", "ETH"], "stETH", &LIDO, false));
}

#[test]
fn steth_of_the_payer_is_sold_beside_wsteth() {
    for signed in [false, true] {
        orders(&Case(&["stETH", "wstETH"], "ETH", &[], signed));
        orders(&Case(&["stETH", "wstETH"], "USDC", &[], signed));
    }
}

#[test]
fn steth_of_the_payer_is_wrapped_beside_ether() {
    for signed in [false, true] {
        orders(&Case(&["stETH", "ETH"], "wstETH", &LIDO, signed));
        orders(&Case(&["stETH", "ETH"], "wstETH", &[], signed));
    }
}

#[test]
fn ether_becomes_wsteth_by_staking_and_by_a_pool() {
    orders(&Case(&["ETH"], "wstETH", &LIDO, false));
    orders(&Case(&["wstETH"], "stETH", &[], false));
}
