//! Time of an exact quote, by product and by how far the swap walks. Allocations are counted: there are none.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::{
    Pool, PoolState, Product,
    balancer::{
        Invariant, Power, StablePool, WeightedPool,
        v2::{Minting, Model, OwnToken, Shares, StableModel, State as BalancerV2},
        v3::{Amplification, Coin, Fee, Generation, PoolKind, State as BalancerV3},
    },
    continuous::PairCurve,
    fluid::{dex, ftoken, layer::Token},
    morpho::{
        Holding, Irm, Market, VaultV2,
        vault_v2::{Adapter, Cap, Liquidity},
    },
    uniswap_v2,
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
    Pool { key: Address::ZERO.into(), product, coins: [TokenId(2), TokenId(3)].into_iter().collect(), state }
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
        fee_protocol: 0,
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

fn many(product: Product, state: PoolState, coins: u32) -> Pool {
    Pool { key: Address::ZERO.into(), product, coins: (0..coins).map(TokenId).collect(), state }
}

/// A weighted pool at 80 to 20, whose powers are by logarithm one way.
fn balancer_v2_weighted() -> Pool {
    let wad = U256::from(10).pow(U256::from(18));
    let pool = WeightedPool {
        balances: [U256::from(30_000 * ETHER), U256::from(500 * ETHER)].into_iter().collect(),
        scaling_factors: [wad; 2].into_iter().collect(),
        weights: [wad / U256::from(5) * U256::from(4), wad / U256::from(5)].into_iter().collect(),
        fee_wad: U256::from(3 * 10_u64.pow(15)),
        power: Power::Logarithm,
    };
    let state = BalancerV2 { pool_id: B256::ZERO, model: Model::Weighted(pool) };
    many(Product::BalancerV2Weighted, PoolState::BalancerV2(Arc::new(state)), 2)
}

/// A stable pool of four coins of 18 decimals.
fn balancer_v2_stable(invariant: Invariant) -> Pool {
    let wad = U256::from(10).pow(U256::from(18));
    let pool = StablePool {
        balances: [5_000_000_u128, 6_100_000, 4_300_000, 5_500_000]
            .map(|whole| U256::from(whole * ETHER))
            .into_iter()
            .collect(),
        scaling_factors: [wad; 4].into_iter().collect(),
        amp_times_1000: U256::from(500_000),
        fee_wad: U256::from(10_u64.pow(14)),
        invariant,
    };
    let own = (invariant == Invariant::Down).then(|| OwnToken {
        shares: Shares {
            held: U256::ONE << 111,
            circulating: U256::from(20_000_000 * ETHER),
            last_invariant: U256::from(20_800_000 * ETHER),
            last_amp_times_1000: U256::from(500_000),
        },
        fee_share_wad: wad / U256::from(2),
        yield_share_wad: wad / U256::from(2),
        earnings: Default::default(),
        minting: Minting::Once,
    });
    let model = Model::Stable(Box::new(StableModel { pool, own, rates: Default::default() }));
    let state = BalancerV2 { pool_id: B256::ZERO, model };
    let product = match invariant {
        Invariant::Up => Product::BalancerV2Stable,
        Invariant::Down => Product::BalancerV2ComposableStable,
    };
    let coins = u32::try_from(state.coins()).unwrap();
    many(product, PoolState::BalancerV2(Arc::new(state)), coins)
}

#[divan::bench]
fn balancer_v2_weighted_quote(bencher: Bencher<'_, '_>) {
    quote(bencher, &balancer_v2_weighted(), 77 * ETHER);
}

#[divan::bench]
fn balancer_v2_stable_quote(bencher: Bencher<'_, '_>) {
    quote(bencher, &balancer_v2_stable(Invariant::Up), 77_000 * ETHER);
}

#[divan::bench]
fn balancer_v2_composable_stable_quote(bencher: Bencher<'_, '_>) {
    quote(bencher, &balancer_v2_stable(Invariant::Down), 77_000 * ETHER);
}

/// A coin for the pool's own token.
#[divan::bench]
fn balancer_v2_composable_stable_join(bencher: Bencher<'_, '_>) {
    let (pool, amount) = (balancer_v2_stable(Invariant::Down), U256::from(77_000 * ETHER));
    pool.swap(&AT, 0, 4, amount).unwrap();
    bencher.bench(|| black_box(&pool).swap(&AT, 0, 4, black_box(amount)));
}

/// Making a pair's curves, once for each block in which the pool changed.
#[divan::bench]
fn balancer_v2_weighted_curves(bencher: Bencher<'_, '_>) {
    let pool = balancer_v2_weighted();
    bencher.bench(|| PairCurve::of(black_box(&pool), [0, 1], &AT));
}

#[divan::bench]
fn balancer_v2_composable_stable_curves(bencher: Bencher<'_, '_>) {
    let pool = balancer_v2_stable(Invariant::Down);
    bencher.bench(|| PairCurve::of(black_box(&pool), [0, 1], &AT));
}

/// The optimiser's oracle: the best trade at given prices.
#[divan::bench]
fn balancer_v2_weighted_best_trade(bencher: Bencher<'_, '_>) {
    let curve = PairCurve::of(&balancer_v2_weighted(), [0, 1], &AT).unwrap();
    let direction = curve.direction(0).unwrap().clone();
    let price = direction.spot() * 0.98;
    bencher.bench(|| black_box(&direction).best_trade(black_box(price), 1.0, f64::INFINITY, 0.0));
}

#[divan::bench]
fn balancer_v2_composable_stable_best_trade(bencher: Bencher<'_, '_>) {
    let curve = PairCurve::of(&balancer_v2_stable(Invariant::Down), [0, 1], &AT).unwrap();
    let direction = curve.direction(0).unwrap().clone();
    let price = direction.spot() * 0.999;
    bencher.bench(|| black_box(&direction).best_trade(black_box(price), 1.0, f64::INFINITY, 0.0));
}

fn balancer_v3(kind: PoolKind, product: Product, whole: &[u128]) -> Pool {
    let one = U256::from(10).pow(U256::from(18));
    let coin = |whole: &u128| {
        let balance = U256::from(*whole * ETHER);
        Coin { balance, last_live: balance, factor: U256::ONE, rate: one, pays_yield_fee: false }
    };
    let state = BalancerV3 {
        pool: Address::ZERO,
        coins: whole.iter().map(coin).collect(),
        kind,
        generation: Generation::Guarded,
        fee: Fee::Static(U256::from(10_u64.pow(14))),
        aggregate_swap_fee_wad: one / U256::from(2),
        aggregate_yield_fee_wad: one / U256::from(10),
        paused: false,
        recovery: false,
        rated: false,
        followed: std::sync::Arc::default(),
    };
    many(product, PoolState::BalancerV3(Arc::new(state)), u32::try_from(whole.len()).unwrap())
}

fn balancer_v3_weighted() -> Pool {
    let fifth = U256::from(2 * 10_u64.pow(17));
    let weights = [fifth * U256::from(4), fifth].into_iter().collect();
    let kind = PoolKind::Weighted { weights, least_balances: Default::default() };
    balancer_v3(kind, Product::BalancerV3Weighted, &[30_000, 500])
}

fn balancer_v3_stable() -> Pool {
    let ramp = Amplification { start_value: 500_000, end_value: 500_000, start_time: 0, end_time: 0 };
    let whole = [5_000_000, 6_100_000, 4_300_000, 5_500_000];
    balancer_v3(PoolKind::Stable(ramp), Product::BalancerV3Stable, &whole)
}

#[divan::bench]
fn balancer_v3_weighted_quote(bencher: Bencher<'_, '_>) {
    quote(bencher, &balancer_v3_weighted(), 77 * ETHER);
}

#[divan::bench]
fn balancer_v3_stable_quote(bencher: Bencher<'_, '_>) {
    quote(bencher, &balancer_v3_stable(), 77_000 * ETHER);
}

#[divan::bench]
fn balancer_v3_weighted_curves(bencher: Bencher<'_, '_>) {
    let pool = balancer_v3_weighted();
    bencher.bench(|| PairCurve::of(black_box(&pool), [0, 1], &AT));
}

#[divan::bench]
fn balancer_v3_stable_curves(bencher: Bencher<'_, '_>) {
    let pool = balancer_v3_stable();
    bencher.bench(|| PairCurve::of(black_box(&pool), [0, 1], &AT));
}

/// A token in Fluid's liquidity layer, a third of whose supply, with interest, is the protocol's.
fn layer_token(supplied: u128) -> Token {
    let price = 1_000_000_000_000_u128;
    let packed = |amount: u128| {
        let exponent = (128 - amount.leading_zeros()).saturating_sub(56);
        (U256::from(amount >> exponent) << 8) | U256::from(exponent)
    };
    let word = |fields: &[(usize, U256)]| fields.iter().fold(U256::ZERO, |word, (at, value)| word | (*value << *at));
    Token {
        exchange_prices: word(&[
            (0, U256::from(500)),
            (16, U256::from(1_000)),
            (30, U256::from(4_000)),
            (44, U256::from(50)),
            (58, U256::from(AT.timestamp - 600)),
            (91, U256::from(price + price / 10)),
            (155, U256::from(price + price / 8)),
        ]),
        total_amounts: word(&[(0, packed(3 * supplied)), (128, packed(supplied))]),
        max_utilization: 10_000,
        supply: word(&[
            (0, U256::ONE),
            (1, packed(supplied)),
            (162, U256::from(3_000)),
            (176, U256::from(43_200)),
            (200, packed(1)),
        ]),
        borrow: word(&[
            (0, U256::ONE),
            (1, packed(supplied / 2)),
            (162, U256::from(3_000)),
            (176, U256::from(43_200)),
            (200, U256::from(1_000 << 8 | 80)),
            (218, U256::from(1_000 << 8 | 90)),
        ]),
        held: U256::from(2 * supplied),
    }
}

/// Fluid's pool of USDC and ether: collateral and debt, a range of a fifth around a centre.
fn fluid_pool() -> Pool {
    let centre = U256::from(333_333_333_333_333_333_333_333_u128);
    let exponent = centre.bit_len() - 32;
    let price = ((centre >> exponent) << 8) | U256::from(exponent);
    let bound = |centre: U256| ((centre >> (centre.bit_len() - 20)) << 8) | U256::from(centre.bit_len() - 20);
    let fields = [
        (0_usize, U256::from(3)),
        (2, U256::from(1_000)),
        (19, U256::from(10)),
        (27, U256::from(200_000)),
        (47, U256::from(200_000)),
        (172, bound(centre << 1_usize)),
        (200, bound(centre >> 1_usize)),
        (228, U256::from(1_000)),
        (238, U256::from(1_000)),
    ];
    let storage = dex::Storage {
        addresses: [Address::repeat_byte(1), Address::repeat_byte(2)],
        decimals: [6, 18],
        variables: (price << 41_usize) | (price << 81_usize) | (U256::from(AT.timestamp - 60) << 121_usize),
        variables2: fields.iter().fold(U256::ZERO, |word, (at, value)| word | (*value << *at)),
        shifts: U256::ZERO,
        centre_shift: U256::ZERO,
        external_centre: None,
        centre_told_by: None,
        tokens: [layer_token(15_000_000 * 10_u128.pow(6)), layer_token(5_000 * ETHER)],
        layer_paused: false,
    };
    pool(Product::FluidDexT1, PoolState::FluidDexT1(dex::State::Storage(Box::new(storage))))
}

#[divan::bench]
fn fluid_dex_t1(bencher: Bencher<'_, '_>) {
    quote(bencher, &fluid_pool(), 100_000 * 10_u128.pow(6));
}

#[divan::bench]
fn fluid_dex_t1_curve(bencher: Bencher<'_, '_>) {
    let pool = fluid_pool();
    PairCurve::of(&pool, [0, 1], &AT).unwrap();
    bencher.bench(|| PairCurve::of(black_box(&pool), [0, 1], &AT));
}

#[divan::bench]
fn fluid_ftoken(bencher: Bencher<'_, '_>) {
    let state = ftoken::State {
        stored: Address::repeat_byte(1),
        layer: layer_token(1_000_000_000 * 10_u128.pow(6)),
        layer_paused: false,
        token_price: 1_050_000_000_000,
        layer_price: 1_040_000_000_000,
        total_shares: U256::from(900_000_000 * 10_u128.pow(6)),
    };
    quote(bencher, &pool(Product::FluidFToken, PoolState::FluidFToken(Box::new(state))), 100_000 * 10_u128.pow(6));
}

/// A vault of so many markets, the last of which takes deposits.
#[divan::bench(args = [1, 5, 20])]
fn morpho_vault_v2(bencher: Bencher<'_, '_>, markets: u8) {
    let holding = |place: u8| Holding {
        id: alloy_primitives::B256::repeat_byte(place),
        market: Market {
            supply_assets: 1_000_000 * 10_u128.pow(12),
            supply_shares: 900_000 * 10_u128.pow(18),
            borrow_assets: 800_000 * 10_u128.pow(12),
            last_update: AT.timestamp - 3_600,
            fee_wad: 0,
            irm: Irm::AdaptiveCurve { rate_at_target_wad: 1_268_391_679 },
        },
        shares: 90_000 * 10_u128.pow(18),
        cap_assets: U256::MAX,
    };
    let whole = U256::from(1_000_000_000_000_000_000_u64);
    let cap = Cap {
        allocation: U256::from(10_u128.pow(17)),
        absolute_assets: U256::from(10_u128.pow(24)),
        relative_wad: whole,
    };
    let vault = VaultV2 {
        total_shares: U256::from(10_u128.pow(30)),
        virtual_shares: U256::from(10_u128.pow(12)),
        total_assets: U256::from(u128::from(markets) * 10_u128.pow(17)),
        last_update: AT.timestamp - 3_600,
        max_rate_wad: 3_000_000_000,
        performance_fee_wad: whole / U256::from(10),
        management_fee_wad: U256::ZERO,
        idle_assets: U256::from(10_u128.pow(15)),
        adapters: Arc::new([Adapter::Markets((0..markets).map(holding).collect())]),
        liquidity: Some(Liquidity { adapter: 0, market: markets - 1, caps: [cap; 3].into_iter().collect() }),
        morpho_balance_assets: U256::from(10_u128.pow(24)),
        deposits_gated: false,
        redemptions_gated: false,
    };
    quote(bencher, &pool(Product::MorphoVaultV2, PoolState::VaultV2(Arc::new(vault))), 10_u128.pow(11));
}
