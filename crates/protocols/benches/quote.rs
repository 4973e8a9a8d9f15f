//! Time of an exact quote, by product and by how far the swap walks. Allocations are counted: there are none.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::{
    Pool, PoolState, Product, uniswap_v2,
    uniswap_v3::{self, Tick, tick_math},
};
use divan::{AllocProfiler, Bencher, black_box};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const AT: ExecutionBlock = ExecutionBlock { number: 1, timestamp: 1_700_000_000 };
const ETHER: u128 = 10_u128.pow(18);

fn main() {
    divan::main();
}

fn pool(product: Product, state: PoolState) -> Pool {
    Pool { address: Address::ZERO, product, coins: [TokenId(2), TokenId(3)].into_iter().collect(), state }
}

fn quote(bencher: Bencher<'_, '_>, pool: &Pool, amount_in: u128) {
    let amount_in = U256::from(amount_in);
    pool.swap(&AT, 0, 1, amount_in).unwrap();
    bencher.bench(|| black_box(pool).swap(&AT, 0, 1, black_box(amount_in)));
}

#[divan::bench]
fn uniswap_v2(bencher: Bencher<'_, '_>) {
    let state = uniswap_v2::State { reserve0: 25_000_000 * 10_u128.pow(6), reserve1: 10_000 * ETHER, fee_bps: 30 };
    quote(bencher, &pool(Product::UniswapV2, PoolState::UniswapV2(state)), 1_000 * 10_u128.pow(6));
}

/// Positions of one tick spacing each, a hundred on either side of the price, and one over the full range.
fn ladder() -> Pool {
    let ends = (-100..=100).map(|step| {
        let liquidity = |step: i128| 1_000 * ETHER.cast_signed() + step * 1_000_000_000;
        let (first, last) = (step == -100, step == 100);
        let added = if last { 0 } else { liquidity(i128::from(step)) };
        let removed = if first { 0 } else { liquidity(i128::from(step) - 1) };
        (step * 10, added - removed, (added + removed).unsigned_abs())
    });
    let whole = 1_000_000 * ETHER.cast_signed();
    let ticks = [(-887_270, whole, whole.unsigned_abs())]
        .into_iter()
        .chain(ends)
        .chain([(887_270, -whole, whole.unsigned_abs())])
        .map(|(index, net, gross)| Tick::new(index, net, gross).unwrap());
    let state = uniswap_v3::State {
        sqrt_price_x96: tick_math::sqrt_price_at_tick(3).unwrap(),
        tick: 3,
        liquidity: (1_001_000 * ETHER),
        fee_pips: 500,
        tick_spacing: 10,
        ticks: ticks.collect::<Arc<[_]>>(),
    };
    pool(Product::UniswapV3, PoolState::UniswapV3(state))
}

/// The amount that crosses so many ticks, about.
#[divan::bench(args = [0, 1, 10, 100])]
fn uniswap_v3_ticks_crossed(bencher: Bencher<'_, '_>, ticks: u128) {
    quote(bencher, &ladder(), ETHER + ticks * 501 * ETHER);
}

#[divan::bench]
fn price_of_a_tick(bencher: Bencher<'_, '_>) {
    bencher.bench(|| tick_math::sqrt_price_at_tick(black_box(200_701)));
}

#[divan::bench]
fn tick_of_a_price(bencher: Bencher<'_, '_>) {
    let price = tick_math::sqrt_price_at_tick(200_701).unwrap() + U256::from(12_345);
    bencher.bench(|| tick_math::tick_at_sqrt_price(black_box(price)));
}
