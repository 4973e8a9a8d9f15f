//! Time of an exact quote of a vault, a stake, a wrap and a buffer, and of the curve that the optimiser is given once a
//! block. Allocations are counted: a quote makes none.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::{
    Pool, PoolState, Product,
    balancer::v3::buffer,
    continuous::PairCurve,
    erc4626::{self, Accrual, Conversion, RAY},
    lido::{self, StakeLimit},
    morpho::{Holding, Irm, Market, MetaMorpho},
    vault::Vault,
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

/// What is measured of a pool.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Quote,
    Curve,
}

const ASKS: [Ask; 2] = [Ask::Quote, Ask::Curve];

fn measure(bencher: Bencher<'_, '_>, ask: Ask, pool: &Pool, amount_in: u128) {
    let amount_in = U256::from(amount_in);
    pool.swap(&AT, 0, 1, amount_in).unwrap();
    PairCurve::of(pool, [0, 1], &AT).unwrap();
    match ask {
        Ask::Quote => bencher.bench(|| black_box(pool).swap(&AT, 0, 1, black_box(amount_in))),
        Ask::Curve => bencher.bench(|| PairCurve::of(black_box(pool), [0, 1], &AT)),
    }
}

/// Savings that compound by the second, stored a day ago.
fn savings() -> erc4626::State {
    erc4626::State {
        conversion: Conversion::Rate { rate: RAY + RAY / U256::from(10), one: RAY },
        accrual: Accrual::Compounding {
            per_second_ray: RAY + U256::from(1_500_000_000_000_000_000_u64),
            since: AT.timestamp - 86_400,
        },
        limits: erc4626::Limits::NONE,
        form: None,
    }
}

#[divan::bench(args = ASKS)]
fn erc4626(bencher: Bencher<'_, '_>, ask: Ask) {
    measure(bencher, ask, &pool(Product::Erc4626, PoolState::Erc4626(Box::new(savings()))), 1_000 * ETHER);
}

fn lido(product: Product) -> Pool {
    let state = lido::State {
        total_pooled_ether_wei: U256::from(9_000_000 * ETHER),
        total_shares: U256::from(7_500_000 * ETHER),
        stake_limit: StakeLimit::Unlimited,
        stopped: false,
    };
    pool(product, PoolState::Lido(state))
}

#[divan::bench(args = ASKS)]
fn lido_steth(bencher: Bencher<'_, '_>, ask: Ask) {
    measure(bencher, ask, &lido(Product::LidoSteth), 10 * ETHER);
}

#[divan::bench(args = ASKS)]
fn lido_wsteth(bencher: Bencher<'_, '_>, ask: Ask) {
    measure(bencher, ask, &lido(Product::LidoWsteth), 10 * ETHER);
}

/// A vault of ten markets, all touched an hour ago.
#[divan::bench(args = ASKS)]
fn metamorpho(bencher: Bencher<'_, '_>, ask: Ask) {
    let holding = |place: u8| Holding {
        id: B256::repeat_byte(place),
        market: Market {
            supply_assets: 1_000_000 * 10_u128.pow(12),
            supply_shares: 900_000 * 10_u128.pow(18),
            borrow_assets: 800_000 * 10_u128.pow(12),
            last_update: AT.timestamp - 3_600,
            fee_wad: 0,
            irm: Irm::AdaptiveCurve { rate_at_target_wad: 1_268_391_679 },
        },
        shares: 90_000 * 10_u128.pow(18),
        cap_assets: U256::from(10_u128.pow(24)),
    };
    let vault = MetaMorpho {
        total_shares: U256::from(10_u128.pow(30)),
        last_total_assets: U256::from(10_u128.pow(18)),
        lost_assets: Some(U256::ZERO),
        fee_wad: U256::from(ETHER / 10),
        virtual_shares: U256::from(10_u128.pow(12)),
        holdings: (0..10).map(holding).collect(),
        supply_queue: (0..10).collect(),
        morpho_balance_assets: U256::from(10_u128.pow(24)),
    };
    measure(bencher, ask, &pool(Product::Metamorpho, PoolState::Metamorpho(Arc::new(vault))), 10_u128.pow(11));
}

/// A buffer that holds enough, in front of savings.
#[divan::bench(args = ASKS)]
fn balancer_v3_buffer(bencher: Bencher<'_, '_>, ask: Ask) {
    let vault = Vault { product: Product::Erc4626, state: PoolState::Erc4626(Box::new(savings())) };
    let held = [U256::from(1_000_000 * ETHER); 2];
    let state = buffer::State { wrapped: Address::repeat_byte(1), held, paused: false, vault };
    let pool = pool(Product::BalancerV3Buffer, PoolState::BalancerV3Buffer(Arc::new(state)));
    measure(bencher, ask, &pool, 1_000 * ETHER);
}
