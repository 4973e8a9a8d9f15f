//! Tests the limits of the models. For every pool and every two of its coins, the smallest and the largest amount that
//! pay, amounts between them, and the amounts one unit beyond are run by the proxy in an EVM on the local chain's
//! state. The chain must pay what the model pays and refuse what the model refuses.

use std::collections::BTreeMap;

use braid_devnet::{accounts::TAKER, tokens};
use braid_execution::{Order, TokenAmount, encode_program, proxy};
use braid_market::Market;
use braid_primitives::{Address, ExecutionBlock, NATIVE_ETHER, PoolId, U256};
use braid_protocols::{Pool, PoolState, Product, SwapError};
use braid_routing::{Route, Step};
use braid_simulation::Fork;
use braid_simulation::evm::{Overlay, Transaction, run};
use braid_simulation::grant::{Grant, Granted, grant};

use crate::chain::Chain;
use crate::shared::{self, SharedChain};

alloy_sol_types::sol! {
    function totalSupply() external view returns (uint256);
}

/// The model's result for an amount: the output, or the reason for a refusal.
type Says = Result<U256, SwapError>;

/// Returns the amounts to try in a direction, with the model's result for each.
fn amounts(most: U256, says: impl Fn(U256) -> Says) -> Vec<(U256, Says)> {
    let ladder: Vec<U256> = (0..37_u64)
        .map(|k| U256::from(997) * U256::from(10).pow(U256::from(k)))
        .filter(|amount| *amount <= most)
        .collect();
    let pays: Vec<usize> = ladder.iter().enumerate().filter(|(_, at)| says(**at).is_ok()).map(|(k, _)| k).collect();
    let (Some(first), Some(last)) = (pays.first(), pays.last()) else { return Vec::new() };
    // Searches between an amount that pays and one that does not for the neighbouring amounts where that changes.
    let edge = |mut good: U256, mut bad: U256| {
        while good.abs_diff(bad) > U256::ONE {
            let middle = (good + bad) >> 1_usize;
            if says(middle).is_ok() { good = middle } else { bad = middle }
        }
        [good, bad]
    };
    let below = first.checked_sub(1).map_or(U256::ZERO, |k| ladder[k]);
    let above = ladder.get(last + 1).copied().unwrap_or(most + U256::ONE);
    let mut tried: Vec<U256> = edge(ladder[*first], below).into();
    tried.extend(edge(ladder[*last], above));
    let between = if std::env::var_os("LONG").is_some() { 3 } else { 6 };
    tried.extend(pays.iter().step_by(between).map(|k| ladder[*k]));
    tried.extend(ladder.get(last + 1).copied());
    tried.retain(|amount| !amount.is_zero() && *amount <= most);
    tried.sort();
    tried.dedup();
    tried.into_iter().map(|amount| (amount, says(amount))).collect()
}

/// Returns whether the chain pays at least this output for an amount; `None` if the input token cannot be given to an
/// account.
fn chain_pays(
    market: &Market,
    fork: &Fork,
    (place, coins): (PoolId, [u8; 2]),
    amount_in: U256,
    least: U256,
) -> Option<Result<(), String>> {
    let pool = market.pool(place).unwrap();
    let [token_in, token_out] = coins.map(|coin| pool.coins[usize::from(coin)]);
    let [sold, bought] = [token_in, token_out].map(|token| market.tokens().get(token).unwrap().address);
    let [coin_in, coin_out] = coins;
    let step = Step {
        pool: place,
        coin_in,
        coin_out,
        token_in,
        token_out,
        share: 0,
        amount_in,
        amount_out: least,
        gas_units: 1,
    };
    let route = Route { steps: vec![step], amounts_out: vec![least] };
    let order = Order {
        inputs: vec![TokenAmount { token: sold, amount: amount_in }],
        outputs: vec![TokenAmount { token: bought, amount: least }],
        recipient: TAKER,
        deadline: market.block().timestamp + 1_000_000,
        partner_fee: None,
    };
    let mut overlay = Overlay::new(fork);
    // Two units more than is sold, because a transfer of stETH may move less than the amount.
    let wanted = Grant::Balance { token: sold, owner: TAKER, amount: amount_in + U256::from(2) };
    if grant(&mut overlay, &wanted).unwrap() == Granted::NotFound {
        return None;
    }
    if sold != NATIVE_ETHER {
        let allowance = Grant::Allowance { token: sold, owner: TAKER, spender: proxy::address(), amount: amount_in };
        grant(&mut overlay, &allowance).unwrap();
    }
    let program = encode_program(market, &route, &order).unwrap();
    let data = braid_execution::calldata(&order, &program);
    let message =
        Transaction { from: TAKER, to: proxy::address(), data, value_wei: order.value_wei(), gas_limit: 16_000_000 };
    let result = run(&mut overlay, &message, true).unwrap();
    Some(if result.is_success() { Ok(()) } else { Err(format!("{result:?}")) })
}

/// Returns the largest amount of a coin to try: the supply for shares and pools' own tokens, and far more than can
/// exist for others.
async fn most(chain: &Chain, token: Address) -> U256 {
    let listed = tokens::TOKENS.iter().find(|listed| listed.address == token);
    let plenty = U256::ONE << if listed.is_some_and(|token| token.decimals < 9) { 79_usize } else { 120 };
    if chain.market.pools().iter().all(|pool| pool.key.contract != token) {
        return plenty;
    }
    let ask =
        braid_protocols::Call { to: token, data: alloy_sol_types::SolCall::abi_encode(&totalSupplyCall {}).into() };
    let answers = chain.node.read(chain.market.block().hash, vec![ask]).await.unwrap();
    answers[0].as_ref().map_or(plenty, |word| U256::from_be_slice(word))
}

/// Returns whether the model refuses on purpose what the contract would accept.
fn is_ours(pool: &Pool, [_, coin_out]: [u8; 2], error: &SwapError) -> bool {
    let own_token = usize::from(coin_out) + 1 == pool.coins.len();
    match (&pool.state, error) {
        // A concentrated pool takes what it can and leaves the rest, but a step must spend its whole input.
        (PoolState::UniswapV3(_), SwapError::InsufficientLiquidity { .. }) => true,
        // A join with many times the pool's balance pays hardly more.
        (PoolState::BalancerV2(_), SwapError::LimitExceeded { .. }) => own_token,
        // The last units below the cap of Aave's reserves, because Aave's releases round the treasury's share
        // differently.
        (PoolState::Erc4626(_) | PoolState::BalancerV3Buffer(_), SwapError::LimitExceeded { limit, amount }) => {
            amount.saturating_sub(*limit) <= U256::from(8)
        }
        _ => false,
    }
}

#[derive(Default)]
struct Tally {
    paid: usize,
    refused: usize,
    not_granted: usize,
}

#[test]
fn what_a_model_pays_the_chain_pays_and_what_it_refuses_the_chain_refuses() {
    let shared = shared::unused();
    let (SharedChain { chain, runtime, .. }, fork) = (shared, &shared.fork());
    let market = &chain.market;
    let at: ExecutionBlock = market.block().next();
    let steth = tokens::TOKENS.iter().find(|token| token.symbol == "stETH").unwrap().address;
    let (mut tallies, mut wrong) = (BTreeMap::<&str, Tally>::new(), Vec::new());
    for (place, pool) in (0_u32..).zip(market.pools()) {
        let count = u8::try_from(pool.coins.len()).unwrap();
        for coins in (0..count).flat_map(|i| (0..count).map(move |j| [i, j])).filter(|[i, j]| i != j) {
            let address = |coin: u8| market.tokens().get(pool.coins[usize::from(coin)]).unwrap().address;
            let most = runtime.block_on(most(chain, address(coins[0])));
            let says = |amount| pool.swap(&at, coins[0], coins[1], amount).map(|swap| swap.amount_out);
            // A recipient of stETH may receive a unit or two less than is paid.
            let crumbs = if coins.iter().any(|coin| address(*coin) == steth) { U256::from(2) } else { U256::ZERO };
            for (amount, said) in amounts(most, says) {
                if said.as_ref().is_ok_and(|out| *out <= crumbs) {
                    continue;
                }
                let least = said.as_ref().map_or(U256::ONE, |out| out - crumbs);
                let tally = tallies.entry(pool.product.id()).or_default();
                let story =
                    || format!("{} {} {coins:?} of {amount}: {said:?} here", pool.product.id(), pool.key.contract);
                let chain_pays = |least| chain_pays(market, fork, (PoolId(place), coins), amount, least);
                match (&said, chain_pays(least)) {
                    (_, None) => tally.not_granted += 1,
                    (Ok(out), Some(Ok(()))) => match chain_pays(*out + crumbs + U256::ONE) {
                        Some(Ok(())) => wrong.push(format!("{}, more there", story())),
                        _ => tally.paid += 1,
                    },
                    (Err(_), Some(Err(_))) => tally.refused += 1,
                    (Err(error), Some(Ok(()))) if is_ours(pool, coins, error) => tally.refused += 1,
                    (_, Some(there)) => wrong.push(format!("{}, {there:?} there", story())),
                }
            }
        }
    }
    for (product, Tally { paid, refused, not_granted }) in &tallies {
        println!("{product:<32} {paid:>5} paid, {refused:>5} refused by both, {not_granted:>4} not to be had");
    }
    assert!(wrong.is_empty(), "{} differ: {:#?}", wrong.len(), wrong.iter().take(40).collect::<Vec<_>>());
    for product in Product::ALL {
        let tally = tallies.get(product.id()).unwrap_or_else(|| panic!("{}: no trade", product.id()));
        assert!(tally.paid > 0, "{}: nothing paid", product.id());
    }
}
