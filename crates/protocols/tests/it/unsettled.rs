//! Curves of stable pools whose balances are far apart. Their invariants need many iterations, each sample of a curve would
//! repeat these, in every block if the pool has rates, and anyone can create such pools.

use alloy_primitives::{Address, B256, U256};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::balancer::{
    Invariant, StablePool,
    v2::{Model as VaultModel, StableModel, State as VaultState},
    v3,
};
use braid_protocols::continuous::PairCurve;
use braid_protocols::curve::stable::{Amplification, ProductRule, Rates, Rules, State};
use braid_protocols::curve::{Model, State as CurveState};
use braid_protocols::{Pool, PoolState, Product};

const NOW: ExecutionBlock = ExecutionBlock { number: 20_000_000, timestamp: 1_700_000_000 };

/// One, with 18 decimals.
const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

fn curve(balances: [U256; 2]) -> PoolState {
    let pool = State {
        rates: Rates::fixed([WAD; 2]),
        balances: balances.into_iter().collect(),
        amplification: Amplification::constant(U256::from(100), 100),
        fee: 4_000_000,
        offpeg_fee_multiplier: 0,
        admin_fee: 5_000_000_000,
        rules: Rules::standard(ProductRule::Whole),
    };
    let model = Model::Stable(pool);
    PoolState::Curve(CurveState { model, ether_coin: None, base_pool: None, has_oracle: false, steth: None }.into())
}

fn balancer_v2(balances: [U256; 2]) -> PoolState {
    let pool = StablePool {
        scaling_factors: [WAD; 2].into_iter().collect(),
        balances: balances.into_iter().collect(),
        amp_times_1000: U256::from(1_000),
        fee_wad: WAD / U256::from(1_000),
        invariant: Invariant::Down,
    };
    let model = VaultModel::Stable(Box::new(StableModel { pool, own: None, rates: [].into_iter().collect() }));
    PoolState::BalancerV2(VaultState { pool_id: B256::ZERO, model }.into())
}

fn balancer_v3(balances: [U256; 2]) -> PoolState {
    let coin = |balance| v3::Coin { balance, last_live: balance, factor: U256::ONE, rate: WAD, pays_yield_fee: false };
    let amp = v3::Amplification { start_value: 1_000, end_value: 1_000, start_time: 0, end_time: 0 };
    let state = v3::State {
        pool: Address::repeat_byte(7),
        coins: balances.into_iter().map(coin).collect(),
        kind: v3::PoolKind::Stable(amp),
        generation: v3::Generation::First,
        fee: v3::Fee::StableSurge {
            static_wad: WAD / U256::from(1_000),
            most_wad: WAD / U256::from(10),
            threshold_wad: WAD / U256::from(3),
        },
        aggregate_swap_fee_wad: U256::ZERO,
        aggregate_yield_fee_wad: U256::ZERO,
        paused: false,
        recovery: false,
        rated: true,
        followed: std::sync::Arc::default(),
    };
    PoolState::BalancerV3(state.into())
}

fn has_a_curve(product: Product, state: PoolState) -> bool {
    let pool =
        Pool { key: Address::ZERO.into(), product, coins: [TokenId(0), TokenId(1)].into_iter().collect(), state };
    let curve = PairCurve::of(&pool, [0, 1], &NOW);
    curve.is_some_and(|curve| curve.directions.iter().any(Option::is_some))
}

#[test]
fn a_pool_whose_invariant_needs_many_iterations_has_no_curve() {
    // The invariant of the second balances converges, after more iterations than a sample may take.
    let (near, far) = ([U256::ONE << 85, U256::ONE << 84], [U256::ONE << 85, U256::ONE << 49]);
    for (product, of) in [
        (Product::CurveStableswap, curve as fn([U256; 2]) -> PoolState),
        (Product::BalancerV2Stable, balancer_v2),
        (Product::BalancerV3Stable, balancer_v3),
    ] {
        assert!(has_a_curve(product, of(near)), "{product:?}");
        assert!(!has_a_curve(product, of(far)), "{product:?}");
    }
}
