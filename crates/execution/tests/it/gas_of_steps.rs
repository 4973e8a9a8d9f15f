//! Tests of the gas of steps, in an EVM in this process on the local chain's state: a single step for every pool and
//! every two of its coins, and steps that use accounts or storage that an earlier step of the transaction has made
//! warm.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use braid_devnet::accounts::TAKER;
use braid_devnet::addresses::STETH;
use braid_devnet::rpc::Tx;
use braid_execution::{Authorization, Order, TokenAmount, approvals, encode_program, gas, proxy};
use braid_market::Market;
use braid_primitives::{Address, NATIVE_ETHER, PoolId, TokenId, U256};
use braid_protocols::{Pool, PoolState, Product, continuous::PairCurve, curve};
use braid_routing::{Instruction, Machine, Route};
use braid_simulation::Fork;
use braid_simulation::evm::{Overlay, Transaction, run};
use braid_simulation::grant::{Grant, Granted, grant};

use crate::chain::{Chain, taking};
use crate::conformance::paying;
use crate::shared;

/// The tolerance of the modelled gas, relative to the EVM.
const TOLERANCE: f64 = 0.07;

/// A trade of all or half of the available balance of a coin.
#[derive(Clone, Copy)]
struct Leg {
    pool: PoolId,
    coins: [u8; 2],
    half: bool,
}

/// Converts the trades to a route for some inputs, with the pools' own arithmetic; `None` if a pool refuses. Checks
/// that the gas of each step is at least the minimum on which the certificate's bound relies.
fn route(market: &Market, legs: &[Leg], inputs: &[(TokenId, U256)], outputs: &[TokenId]) -> Option<Route> {
    let at = market.block().next();
    let mut machine = Machine::new(market, at, inputs);
    let mut steps = Vec::new();
    for leg in legs {
        let (pool, [coin_in, coin_out]) = (market.pool(leg.pool)?, leg.coins);
        let share = if leg.half { 1_u32 << 31 } else { 0 };
        let step = machine.run(Instruction { pool: leg.pool, coin_in, coin_out, share }).ok()?;
        if let Some(curve) = PairCurve::of(pool, [coin_in.min(coin_out), coin_in.max(coin_out)], &at) {
            assert!(step.gas_units as f64 >= curve.gas_units, "{}: less than the least", pool.product.id());
        }
        steps.push(step);
    }
    let amounts_out: Vec<U256> = outputs.iter().map(|token| machine.ledger().at_hand(*token)).collect();
    amounts_out.iter().all(|amount| *amount > U256::from(2)).then_some(Route { steps, amounts_out })
}

/// Returns the order of a route. `least` computes the minimum of each output from its amount.
fn order(
    market: &Market,
    route: &Route,
    inputs: &[(TokenId, U256)],
    outputs: &[TokenId],
    least: impl Fn(U256) -> U256,
) -> Order {
    let address = |id: TokenId| market.tokens().get(id).unwrap().address;
    let sold = inputs.iter().map(|(token, amount)| TokenAmount { token: address(*token), amount: *amount });
    let bought = outputs.iter().zip(&route.amounts_out);
    let bought = bought.map(|(token, amount)| TokenAmount { token: address(*token), amount: least(*amount) });
    let deadline = market.block().timestamp + 1_000_000;
    Order { inputs: sold.collect(), outputs: bought.collect(), recipient: TAKER, deadline, partner_fee: None }
}

/// Returns the transaction's gas, modelled and as the EVM used it, after checking that it pays the computed amounts;
/// `None` if the taker cannot be given the input tokens.
fn measure(
    market: &Market,
    fork: &Fork,
    route: &Route,
    inputs: &[(TokenId, U256)],
    outputs: &[TokenId],
) -> Option<(u64, u64)> {
    let order = order(market, route, inputs, outputs, |amount| amount - U256::from(2));
    let mut overlay = Overlay::new(fork);
    for input in &order.inputs {
        let (token, owner) = (input.token, TAKER);
        let given =
            grant(&mut overlay, &Grant::Balance { token, owner, amount: input.amount * U256::from(2) }).unwrap();
        if given == Granted::NotFound {
            return None;
        }
        if token != NATIVE_ETHER {
            let allowance = Grant::Allowance { token, owner, spender: proxy::address(), amount: input.amount };
            grant(&mut overlay, &allowance).unwrap();
        }
    }
    for output in &order.outputs {
        grant(&mut overlay, &Grant::Balance { token: output.token, owner: TAKER, amount: U256::ONE }).unwrap();
    }
    let program = encode_program(market, route, &order).unwrap();
    let modelled =
        gas::estimate(market, route, &order, &program, TAKER, Authorization::Allowance).unwrap().total_gas_units;
    let data = braid_execution::calldata(&order, &program);
    let message =
        Transaction { from: TAKER, to: proxy::address(), data, value_wei: order.value_wei(), gas_limit: 16_000_000 };
    let result = run(&mut overlay, &message, true).unwrap();
    assert!(result.is_success(), "{result:?} for {order:?} {route:?}");
    let words = result.output().unwrap().chunks(32).skip(2).map(U256::from_be_slice);
    for ((output, quoted), received) in order.outputs.iter().zip(&route.amounts_out).zip(words) {
        // A transfer of stETH may move a wei or two more or less.
        let crumb = U256::from(if output.token == STETH { 2 } else { 0 });
        assert!(received.abs_diff(*quoted) <= crumb, "{received} for {quoted} of {order:?} {route:?}");
    }
    Some((modelled, result.tx_gas_used()))
}

/// Relative errors by trade.
#[derive(Default)]
struct Errors {
    by_what: BTreeMap<String, Vec<f64>>,
    off: Vec<String>,
}

impl Errors {
    fn note(&mut self, what: String, gas: (u64, u64), legs: &[Leg], market: &Market) {
        let error = gas.0 as f64 / gas.1 as f64 - 1.0;
        if error.abs() > TOLERANCE {
            let legs =
                legs.iter().map(|leg| format!("{:?} of {}", leg.coins, market.pool(leg.pool).unwrap().key.contract));
            let legs: Vec<String> = legs.collect();
            self.off.push(format!("{:.1}% {gas:?} {what}: {}", error * 100.0, legs.join(", ")));
        }
        self.by_what.entry(what).or_default().push(error);
    }

    fn print(&self) {
        println!("{:<60} times  mean error  worst error", "");
        for (what, errors) in &self.by_what {
            let worst = errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            println!("{what:<60} {:>5}  {:>9.1}%  {:>10.1}%", errors.len(), mean * 100.0, worst * 100.0);
        }
        assert!(self.off.is_empty(), "gas off by more than {TOLERANCE}: {:#?}", self.off);
    }
}

/// The gas limit of a trade of [`use_every_pool`], and the number of trades that fit into a block.
const TRADE_GAS: u64 = 3_000_000;
const TRADES_A_BLOCK: usize = 18;

/// Trades in both directions between every two coins of every pool, as others have done on mainnet, and reads the
/// market again. A block takes the node much longer than a trade, so each block holds many trades, but no two in one
/// pool: each trade writes the pool's oracles and accumulators.
pub async fn use_every_pool(chain: &mut Chain) {
    let market = Arc::clone(&chain.market);
    let mut trades: Vec<Vec<(TokenAmount, Tx)>> = Vec::new();
    for (place, pool) in (0_u32..).zip(market.pools()) {
        for (nth, (coin_in, coin_out, amount, _)) in paying(pool, &market.block().next()).into_iter().enumerate() {
            let leg = Leg { pool: PoolId(place), coins: [coin_in, coin_out], half: false };
            let [sold, bought] = leg.coins.map(|coin| pool.coins[usize::from(coin)]);
            let Some(route) = route(&market, &[leg], &[(sold, amount)], &[bought]) else { continue };
            let order = order(&market, &route, &[(sold, amount)], &[bought], |_| U256::ONE);
            let program = encode_program(&market, &route, &order).unwrap();
            let data = braid_execution::calldata(&order, &program);
            let tx = taking(proxy::address(), data, order.value_wei(), TRADE_GAS);
            trades.resize(trades.len().max(nth + 1), Vec::new());
            trades[nth].push((order.inputs[0], tx));
        }
    }
    let sold: BTreeSet<Address> = trades.iter().flatten().map(|(input, _)| input.token).collect();
    let approve = |allowance: U256| -> Vec<Tx> {
        let tokens = sold.iter().filter(|token| **token != NATIVE_ETHER);
        let steps =
            tokens.flat_map(|token| approvals::approval_transactions(*token, proxy::address(), allowance, None));
        steps.map(|step| taking(step.to, step.data, U256::ZERO, 200_000)).collect()
    };
    // Some tokens keep allowances in 96 bits.
    chain.send_together(&approve(U256::ONE << 95_usize)).await;
    for block in trades.iter().flat_map(|trades| trades.chunks(TRADES_A_BLOCK)) {
        let mut needed = BTreeMap::<Address, U256>::new();
        for (input, _) in block {
            *needed.entry(input.token).or_default() += input.amount;
        }
        for (token, amount) in needed {
            chain.afford(token, amount).await;
        }
        let trades: Vec<Tx> = block.iter().map(|(_, tx)| tx.clone()).collect();
        chain.send_together(&trades).await;
    }
    // A step that uses up its allowance gets a refund: none may be left over.
    chain.send_together(&approve(U256::ZERO)).await;
    chain.market = Arc::new(chain.read_everything().await);
}

#[test]
fn each_step_costs_what_the_model_says() {
    let (market, fork) = (shared::used().market(), &shared::used().fork());
    let mut errors = Errors::default();
    for (place, pool) in (0_u32..).zip(market.pools()) {
        for (coin_in, coin_out, amount, _) in paying(pool, &market.block().next()) {
            let leg = Leg { pool: PoolId(place), coins: [coin_in, coin_out], half: false };
            let [sold, bought] = leg.coins.map(|coin| pool.coins[usize::from(coin)]);
            let Some(route) = route(market, &[leg], &[(sold, amount)], &[bought]) else { continue };
            let Some(gas) = measure(market, fork, &route, &[(sold, amount)], &[bought]) else { continue };
            errors.note(pool.product.id().to_owned(), gas, &[leg], market);
        }
    }
    errors.print();
    for product in Product::ALL {
        assert!(errors.by_what.contains_key(product.id()), "{}: no trade", product.id());
    }
}

/// The trade sizes, as parts of a billion of a CryptoSwap pool's balance.
const SHARES: [u64; 10] = [1, 37, 1_400, 23_000, 310_000, 2_900_000, 17_000_000, 61_000_000, 143_000_000, 390_000_000];

#[test]
fn a_step_through_cryptoswap_costs_what_the_model_says_whatever_its_size() {
    let mut errors = Errors::default();
    // Before the first trade there are no profits that could move a price scale.
    for chain in [shared::unused(), shared::used()] {
        let (market, fork) = (chain.market(), &chain.fork());
        for (place, pool) in (0_u32..).zip(market.pools()) {
            let PoolState::Curve(state) = &pool.state else { continue };
            let curve::Model::Crypto(own) = &state.model else { continue };
            for coins in pairs(pool.coins.len()) {
                let held = own.balances[usize::from(coins[0])];
                for share in SHARES {
                    let amount = held * U256::from(share) / U256::from(1_000_000_000_u64);
                    let leg = Leg { pool: PoolId(place), coins, half: false };
                    let [sold, bought] = coins.map(|coin| pool.coins[usize::from(coin)]);
                    let Some(route) = route(market, &[leg], &[(sold, amount)], &[bought]) else { continue };
                    let Some(gas) = measure(market, fork, &route, &[(sold, amount)], &[bought]) else { continue };
                    errors.note(pool.product.id().to_owned(), gas, &[leg], market);
                }
            }
        }
    }
    errors.print();
}

#[test]
fn a_second_step_through_a_pool_of_cryptoswap_costs_what_is_left() {
    let mut errors = Errors::default();
    for (chain, used) in [(shared::unused(), "unused"), (shared::used(), "used")] {
        let (market, fork) = (chain.market(), &chain.fork());
        for (place, pool) in (0_u32..).zip(market.pools()) {
            let PoolState::Curve(state) = &pool.state else { continue };
            let curve::Model::Crypto(own) = &state.model else { continue };
            for [first, second] in pairs(pool.coins.len()).flat_map(|a| pairs(pool.coins.len()).map(move |b| [a, b])) {
                let coin = |place: u8| pool.coins[usize::from(place)];
                let (sold, bought) = match (first, second) {
                    ([i, j], [k, l]) if i == k && j != l => (vec![i], vec![j, l]),
                    ([i, j], [k, l]) if i != k && j == l => (vec![i, k], vec![j]),
                    ([i, j], [k, l]) if i == k && j == l => (vec![i], vec![j]),
                    ([i, j], [k, l]) if j == k && i != l => (vec![i], vec![l]),
                    _ => continue,
                };
                for share in [37_u64, 23_000, 2_900_000, 61_000_000] {
                    let input = |place: &u8| {
                        let held = own.balances[usize::from(*place)];
                        (coin(*place), held * U256::from(share) / U256::from(1_000_000_000_u64))
                    };
                    let inputs: Vec<_> = sold.iter().map(input).collect();
                    let outputs: Vec<_> = bought.iter().map(|place| coin(*place)).collect();
                    let leg = |coins, half| Leg { pool: PoolId(place), coins, half };
                    let legs = [leg(first, first[0] == second[0]), leg(second, false)];
                    let Some(route) = route(market, &legs, &inputs, &outputs) else { continue };
                    let Some(gas) = measure(market, fork, &route, &inputs, &outputs) else { continue };
                    errors.note(format!("{} {used}", pool.product.id()), gas, &legs, market);
                }
            }
        }
    }
    errors.print();
}

fn pairs(coins: usize) -> impl Iterator<Item = [u8; 2]> {
    let coins = u8::try_from(coins).unwrap();
    (0..coins).flat_map(move |i| (0..coins).filter(move |j| *j != i).map(move |j| [i, j]))
}

/// Returns whether two pools use a common contract: a vault, a base pool, or the markets of Morpho Blue.
fn meet(first: &Pool, second: &Pool) -> bool {
    let both = |is: fn(&Pool) -> bool| is(first) && is(second);
    first.holder() == second.holder() || both(lends) || share_a_base(first, second) || is_asked(first, second)
}

fn share_a_base(first: &Pool, second: &Pool) -> bool {
    let curve = |pool: &Pool| matches!(pool.state, PoolState::Curve(_));
    curve(first) && curve(second) && first.shares_state_at() == second.shares_state_at()
}

/// Returns whether the first pool is a vault, or a buffer over one, whose share is a coin of the second. The second may
/// read the vault's rate.
fn is_asked(first: &Pool, second: &Pool) -> bool {
    let is_vault = matches!(
        first.product,
        Product::Erc4626
            | Product::Metamorpho
            | Product::FluidFToken
            | Product::MorphoVaultV2
            | Product::BalancerV3Buffer
    );
    is_vault && second.coins.contains(&first.coins[1])
}

/// Returns whether the pool is a vault of Morpho's or has one behind it.
fn lends(pool: &Pool) -> bool {
    let of_morpho = |product| matches!(product, Product::Metamorpho | Product::MorphoVaultV2);
    match &pool.state {
        PoolState::BalancerV3Buffer(buffer) => of_morpho(buffer.vault.product),
        PoolState::BalancerV3(pool) => pool.followed.iter().any(|followed| of_morpho(followed.vault.product)),
        _ => of_morpho(pool.product),
    }
}

#[test]
fn a_step_through_what_is_warm_costs_what_is_left() {
    let (market, fork) = (shared::used().market(), &shared::used().fork());
    let trades: Vec<_> = market.pools().iter().map(|pool| paying(pool, &market.block().next())).collect();
    let mut errors = Errors::default();
    let mut note = |what: String, legs: &[Leg], inputs: &[(TokenId, U256)], outputs: &[TokenId]| {
        let route = route(market, legs, inputs, outputs);
        let gas = route.and_then(|route| measure(market, fork, &route, inputs, outputs));
        gas.into_iter().for_each(|gas| errors.note(what.clone(), gas, legs, market));
    };
    for (first, (pool, here)) in (0_u32..).zip(market.pools().iter().zip(&trades)) {
        let leg = |coins, half| Leg { pool: PoolId(first), coins, half };
        let coin = |place: u8| pool.coins[usize::from(place)];
        let id = pool.product.id();
        for (i, j, amount, _) in here {
            for (k, l, other, _) in here {
                if i < k && j == l {
                    let legs = [leg([*i, *j], false), leg([*k, *l], false)];
                    note(
                        format!("{id} twice into a coin"),
                        &legs,
                        &[(coin(*i), *amount), (coin(*k), *other)],
                        &[coin(*j)],
                    );
                }
                if i == k && j < l {
                    let legs = [leg([*i, *j], true), leg([*k, *l], false)];
                    note(format!("{id} twice out of a coin"), &legs, &[(coin(*i), *amount)], &[coin(*j), coin(*l)]);
                }
            }
        }
        for (second, (next, there)) in (0_u32..).zip(market.pools().iter().zip(&trades)) {
            if first == second || !meet(pool, next) {
                continue;
            }
            for (i, j, amount, _) in here {
                let leads_on =
                    |k: u8, l: u8| next.coins[usize::from(k)] == coin(*j) && next.coins[usize::from(l)] != coin(*i);
                let Some((k, l, ..)) = there.iter().find(|(k, l, ..)| leads_on(*k, *l)) else { continue };
                let legs = [leg([*i, *j], false), Leg { pool: PoolId(second), coins: [*k, *l], half: false }];
                let what = format!("{id}, {}", next.product.id());
                note(what, &legs, &[(coin(*i), *amount)], &[next.coins[usize::from(*l)]]);
            }
            // Side by side: each pair once, and only vaults of Morpho and pools on one base pool, where it matters.
            if first > second || !((lends(pool) && lends(next)) || share_a_base(pool, next)) {
                continue;
            }
            let other = |place: u8| next.coins[usize::from(place)];
            for (i, j, amount, _) in here {
                for (k, l, more, _) in there {
                    let onward = |half| Leg { pool: PoolId(second), coins: [*k, *l], half };
                    if coin(*i) == other(*k) && coin(*j) != other(*l) {
                        let legs = [leg([*i, *j], true), onward(false)];
                        let what = format!("{id} and {} out of a coin", next.product.id());
                        note(what, &legs, &[(coin(*i), *amount.max(more))], &[coin(*j), other(*l)]);
                    }
                    if coin(*j) == other(*l) && coin(*i) != other(*k) {
                        let what = format!("{id} and {} into a coin", next.product.id());
                        let inputs = [(coin(*i), *amount), (other(*k), *more)];
                        note(what, &[leg([*i, *j], false), onward(false)], &inputs, &[coin(*j)]);
                    }
                }
            }
        }
    }
    errors.print();
    assert!(errors.by_what.len() > 20, "few pools meet");
}
