//! Small markets of random V2 and V3 pools, and exhaustive search over them.

use std::sync::Arc;

use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, PoolId, Token, TokenId, U256, WETH};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2, uniswap_v3};
use braid_routing::{Prepared, Request, Route};
use proptest::prelude::*;

/// A pool of a small market: its coins by number (0 is wrapped ether), its depth, and the factor by which its price is
/// off.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    pub(crate) coins: (usize, usize),
    pub(crate) depth: f64,
    pub(crate) tilt: f64,
    pub(crate) concentrated: bool,
    pub(crate) fee: u32,
}

/// The number of tokens of a random market.
pub(crate) const TOKENS: usize = 4;

/// Generates a random pool between two of them.
pub(crate) fn sketch() -> impl Strategy<Value = Sketch> {
    let one =
        (0..TOKENS, 1..TOKENS, 1.0_f64..4.0, -0.03_f64..0.03, any::<bool>(), prop_oneof![Just(500_u32), Just(3000)]);
    one.prop_map(|(a, step, magnitude, tilt, concentrated, fee)| Sketch {
        coins: (a, (a + step) % TOKENS),
        depth: 10_f64.powf(magnitude),
        tilt: tilt.exp(),
        concentrated,
        fee,
    })
}

pub(crate) fn block() -> Block {
    Block {
        number: 1,
        hash: B256::repeat_byte(1),
        parent_hash: B256::ZERO,
        timestamp: 1_700_000_000,
        base_fee_per_gas_wei: 1_000_000_000,
        gas_used: 15_000_000,
        gas_limit: 30_000_000,
    }
}

pub(crate) fn token(position: usize) -> TokenId {
    TokenId(u32::try_from(position).unwrap() + Tokens::WETH.0)
}

pub(crate) fn tokens(count: usize) -> Arc<Tokens> {
    let mut tokens = Tokens::new();
    for position in 1..count {
        let address = Address::left_padding_from(&u32::try_from(position).unwrap().to_be_bytes());
        tokens.insert(Token { address, symbol: format!("T{position}"), name: String::new(), decimals: 18 });
    }
    Arc::new(tokens)
}

pub(crate) fn market(count: usize, sketches: &[Sketch]) -> Arc<Market> {
    let tokens = tokens(count);
    let empty = Market::empty(block(), Arc::clone(&tokens));
    let mut pools = vec![wrapper()];
    pools.extend(sketches.iter().enumerate().map(|(at, sketch)| pool(at, sketch)));
    Arc::new(empty.next(block(), tokens, pools).unwrap())
}

pub(crate) fn wrapper() -> Pool {
    let coins = [Tokens::ETHER, Tokens::WETH].into_iter().collect();
    Pool {
        key: WETH.into(),
        product: Product::WrappedEther,
        coins,
        state: PoolState::WrappedEther(braid_protocols::wrapped_ether::State),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn pool(at: usize, sketch: &Sketch) -> Pool {
    let mut word = [0_u8; 20];
    word[0] = 0xAA;
    word[16..].copy_from_slice(&u32::try_from(at).unwrap().to_be_bytes());
    let coins = [token(sketch.coins.0), token(sketch.coins.1)].into_iter().collect();
    let (product, state) = if sketch.concentrated {
        (Product::UniswapV3, PoolState::UniswapV3(concentrated(sketch)))
    } else {
        let (reserve0, reserve1) = ((sketch.depth * 1e18) as u128, (sketch.depth * sketch.tilt * 1e18) as u128);
        let state = uniswap_v2::State { reserve0, reserve1, fee_bps: 30 };
        (Product::UniswapV2, PoolState::UniswapV2(state))
    };
    Pool { key: Address::from(word).into(), product, coins, state }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn concentrated(sketch: &Sketch) -> uniswap_v3::State {
    let spacing = 60;
    let tick = (sketch.tilt.ln() / 1.0001_f64.ln()) as i32;
    let base = tick.div_euclid(spacing) * spacing;
    let liquidity = (sketch.depth * 1e18) as i128;
    // A wide position, and a narrow one around the price.
    let wide = (base - 40 * spacing, base + 40 * spacing);
    let narrow = (base - 2 * spacing, base + 3 * spacing);
    let mut ticks: Vec<(i32, i128)> =
        vec![(wide.0, liquidity), (narrow.0, 3 * liquidity), (narrow.1, -3 * liquidity), (wide.1, -liquidity)];
    ticks.sort_unstable();
    let ticks: Vec<_> =
        ticks.into_iter().map(|(i, net)| uniswap_v3::Tick::new(i, net, net.unsigned_abs()).unwrap()).collect();
    uniswap_v3::State {
        sqrt_price_x96: uniswap_v3::tick_math::sqrt_price_at_tick(tick).unwrap() + U256::from(12_345),
        tick,
        liquidity: 4 * liquidity as u128,
        fee_pips: sketch.fee,
        fee_protocol: 0,
        tick_spacing: spacing,
        ticks: ticks.into(),
    }
}

pub(crate) fn request(input: TokenId, amount: U256, output: TokenId, gas_price_wei: u64) -> Request {
    Request {
        inputs: vec![(input, amount)],
        outputs: vec![(output, 10_000)],
        max_hops: 4,
        filter: braid_routing::PoolFilter::default(),
        gas_price_wei,
        max_steps: 40,
        at: block().next(),
    }
}

/// Returns the value of a route net of gas, and gross, in wei.
pub(crate) fn worth(prepared: &Prepared, request: &Request, route: &Route) -> (f64, f64) {
    let gross = prepared.value_wei(request.outputs[0].0, route.amounts_out[0]).unwrap();
    (gross - route.gas_units() as f64 * request.gas_price_wei as f64, gross)
}

/// Returns every path of at most `hops` pools without a repeated token, as (pool, coin in, coin out).
pub(crate) fn paths(market: &Market, from: TokenId, to: TokenId, hops: usize) -> Vec<Vec<(PoolId, u8, u8)>> {
    let mut found = Vec::new();
    extend(market, to, hops, &mut vec![from], &mut Vec::new(), &mut found);
    found
}

fn extend(
    market: &Market,
    to: TokenId,
    hops: usize,
    visited: &mut Vec<TokenId>,
    path: &mut Vec<(PoolId, u8, u8)>,
    found: &mut Vec<Vec<(PoolId, u8, u8)>>,
) {
    let at = *visited.last().unwrap();
    if at == to {
        found.push(path.clone());
        return;
    }
    if path.len() == hops {
        return;
    }
    for id in market.pools_of(at) {
        let pool = market.pool(*id).unwrap();
        if pool.product == Product::WrappedEther {
            continue;
        }
        let next = pool.coins[usize::from(1 - pool.coin_index(at).unwrap())];
        if visited.contains(&next) {
            continue;
        }
        let coin = pool.coin_index(at).unwrap();
        visited.push(next);
        path.push((*id, coin, 1 - coin));
        extend(market, to, hops, visited, path, found);
        path.pop();
        visited.pop();
    }
}

/// Returns the exact output and gas of a path; `None` if a pool refuses.
pub(crate) fn run_path(market: &Market, path: &[(PoolId, u8, u8)], amount: U256) -> Option<(U256, u64)> {
    let mut state = (amount, 0);
    for (id, coin_in, coin_out) in path {
        let swap = market.pool(*id)?.swap(&block().next(), *coin_in, *coin_out, state.0).ok()?;
        state = (swap.amount_out, state.1 + swap.gas_units);
    }
    Some(state)
}

/// Runs a route as the proxy does, only from balances and shares. Returns the remaining balance of every token.
pub(crate) fn run_route(market: &Market, request: &Request, route: &Route) -> Vec<(TokenId, U256)> {
    let mut balances: Vec<(TokenId, U256)> = request.inputs.clone();
    for step in &route.steps {
        let held = balances.iter_mut().find(|(token, _)| *token == step.token_in).unwrap();
        let taken = if step.share == 0 { held.1 } else { (held.1 * U256::from(step.share)) >> 32 };
        assert_eq!(taken, step.amount_in, "the share takes another amount than the step says");
        held.1 -= taken;
        let swap = market.pool(step.pool).unwrap().swap(&request.at, step.coin_in, step.coin_out, taken).unwrap();
        assert_eq!((swap.amount_out, swap.gas_units), (step.amount_out, step.gas_units));
        match balances.iter_mut().find(|(token, _)| *token == step.token_out) {
            Some((_, held)) => *held += swap.amount_out,
            None => balances.push((step.token_out, swap.amount_out)),
        }
    }
    balances
}
