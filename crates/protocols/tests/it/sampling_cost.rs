//! Measures how long the curve of a pool takes whose balances are far apart: anyone can create such pools.

use std::time::{Duration, Instant};

use alloy_primitives::{Address, B256, U256};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::balancer::{
    Invariant, StablePool,
    v2::{Model as VaultModel, StableModel, State as VaultState},
    v3,
};
use braid_protocols::continuous::PairCurve;
use braid_protocols::curve::crypto::{self, AmpGamma, ClassicTwo, Kind};
use braid_protocols::curve::stable::{Amplification, ProductRule, Rates, Rules, State};
use braid_protocols::curve::{Model, State as CurveState};
use braid_protocols::{Pool, PoolState, Product};

use crate::support::random::Random;

const NOW: ExecutionBlock = ExecutionBlock { number: 20_000_000, timestamp: 1_700_000_000 };
const POOLS: u64 = 300;

fn wad() -> U256 {
    U256::from(10).pow(U256::from(18))
}

fn curve(product: Product, model: Model) -> (Product, PoolState) {
    let state = CurveState { model, ether_coin: None, base_pool: None, has_oracle: false, steth: None };
    (product, PoolState::Curve(state.into()))
}

/// Returns balances of up to eight coins, each of any order of magnitude, or of one for all.
fn balances(dice: &mut Random) -> Vec<U256> {
    let bits = 20 + dice.below(80);
    let apart = dice.below(60);
    (0..2 + dice.below(4)).map(|_| dice.log_uniform_between(bits.saturating_sub(apart), bits)).collect()
}

fn curve_stable(dice: &mut Random) -> (Product, PoolState) {
    let balances = balances(dice);
    let product = [ProductRule::TimesN, ProductRule::Whole][dice.below(2) as usize];
    let pool = State {
        rates: Rates::fixed(balances.iter().map(|_| wad())),
        balances: balances.into_iter().collect(),
        amplification: Amplification::constant(dice.log_uniform_between(6, 20), 100),
        fee: 4_000_000,
        offpeg_fee_multiplier: 0,
        admin_fee: 5_000_000_000,
        rules: Rules::standard(product),
    };
    curve(Product::CurveStableswap, Model::Stable(pool))
}

fn balancer_v2(dice: &mut Random) -> (Product, PoolState) {
    let balances = balances(dice);
    let pool = StablePool {
        scaling_factors: balances.iter().map(|_| wad()).collect(),
        balances: balances.into_iter().collect(),
        amp_times_1000: U256::from(1_000) + dice.log_uniform(22),
        fee_wad: wad() / U256::from(1_000),
        invariant: if dice.coin() { Invariant::Up } else { Invariant::Down },
    };
    let model = StableModel { pool, own: None, rates: [].into_iter().collect() };
    let state = VaultState { pool_id: B256::ZERO, model: VaultModel::Stable(Box::new(model)) };
    (Product::BalancerV2Stable, PoolState::BalancerV2(state.into()))
}

fn balancer_v3(dice: &mut Random) -> (Product, PoolState) {
    let coin =
        |balance: U256| v3::Coin { balance, last_live: balance, factor: U256::ONE, rate: wad(), pays_yield_fee: false };
    let amp = 1_000 + dice.below(1 << 22);
    let state = v3::State {
        pool: Address::repeat_byte(7),
        coins: balances(dice).into_iter().map(coin).collect(),
        kind: v3::PoolKind::Stable(v3::Amplification { start_value: amp, end_value: amp, start_time: 0, end_time: 0 }),
        generation: v3::Generation::First,
        fee: v3::Fee::StableSurge {
            static_wad: wad() / U256::from(1_000),
            most_wad: wad() / U256::from(10),
            threshold_wad: wad() / U256::from(3),
        },
        aggregate_swap_fee_wad: U256::ZERO,
        aggregate_yield_fee_wad: U256::ZERO,
        paused: false,
        recovery: false,
        rated: true,
        followed: std::sync::Arc::default(),
    };
    (Product::BalancerV3Stable, PoolState::BalancerV3(state.into()))
}

fn curve_crypto(dice: &mut Random) -> (Product, PoolState) {
    let kinds = [
        (Product::CurveCryptoswap, Kind::Cryptoswap(ClassicTwo::Factory)),
        (Product::CurveTricrypto, Kind::Tricrypto),
        (Product::CurveTricryptoNg, Kind::TricryptoNg),
        (Product::CurveTwocryptoNg, Kind::TwocryptoNg),
        (Product::CurveTwocryptoNg, Kind::TwocryptoStable),
    ];
    let (product, kind) = kinds[dice.below(5) as usize];
    let bits = 60 + dice.below(40);
    let mut held = || dice.log_uniform_between(bits - 8, bits);
    let balances = [held(), held(), held()];
    let d = balances.iter().take(kind.coins()).copied().fold(U256::ZERO, |sum, held| sum + held);
    let (amp, gamma) = (dice.log_uniform_between(15, 30), dice.log_uniform_between(34, 56));
    let late = dice.coin();
    let mut pool = crypto::State {
        kind,
        balances,
        precisions: [U256::ONE; 3],
        price_scale: [wad(), wad()],
        d,
        amp_gamma: AmpGamma::constant(amp, gamma),
        mid_fee: 3_000_000,
        out_fee: 30_000_000,
        fee_gamma: U256::from(10).pow(U256::from(15)),
        repricing: None,
    };
    if late {
        pool.amp_gamma.future_time = u64::MAX;
    } else if let Ok(d) = pool.invariant(&NOW) {
        pool.d = d;
    }
    curve(product, Model::Crypto(pool))
}

/// Returns a pool's time for a curve of its first two coins, and whether it has one.
fn cost(product: Product, state: PoolState) -> (Duration, bool) {
    let coins = match &state {
        PoolState::Curve(state) => state.coins(),
        PoolState::BalancerV2(state) => state.coins(),
        PoolState::BalancerV3(state) => state.coins.len(),
        _ => unreachable!("none is rolled"),
    };
    let coins = (0..coins as u32).map(TokenId).collect();
    let pool = Pool { key: Address::ZERO.into(), product, coins, state };
    let started = Instant::now();
    let curve = PairCurve::of(&pool, [0, 1], &NOW);
    let has_one = curve.is_some_and(|curve| curve.directions.iter().any(Option::is_some));
    (started.elapsed(), has_one)
}

type Roll = fn(&mut Random) -> (Product, PoolState);

#[test]
#[ignore = "a measurement: cargo test -p braid-protocols --test it sampling_cost -- --ignored --nocapture"]
fn a_curve_of_a_pool_far_out_of_balance_takes_few_times_a_usual_one() {
    let kinds: [(&str, Roll); 4] = [
        ("Curve stable", curve_stable),
        ("Curve crypto", curve_crypto),
        ("Balancer V2 stable", balancer_v2),
        ("Balancer V3 stable", balancer_v3),
    ];
    for (name, roll) in kinds {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for seed in 0..POOLS {
            let (product, state) = roll(&mut Random::new(seed));
            let (took, has_one) = cost(product, state);
            if has_one { with.push(took) } else { without.push(took) }
        }
        for (which, list) in [("with a curve", &mut with), ("without", &mut without)] {
            list.sort_unstable();
            let at = |share: usize| list.get((list.len() * share / 100).min(list.len().saturating_sub(1)));
            println!("{name} {which}: {} pools, median {:?}, 95% {:?}, most {:?}", list.len(), at(50), at(95), at(100));
        }
    }
}

/// Each sample of such a curve would repeat the iterations, in every block if the pool has rates.
#[test]
fn a_pool_whose_invariant_needs_many_iterations_has_no_curve() {
    let far_apart = || [U256::ONE << 85, U256::ONE << 6].into_iter();
    for (name, roll) in [("Curve", curve_stable as Roll), ("V2", balancer_v2), ("V3", balancer_v3)] {
        let (product, mut state) = roll(&mut Random::new(1));
        match &mut state {
            PoolState::Curve(state) => {
                let Model::Stable(pool) = &mut std::sync::Arc::make_mut(state).model else { unreachable!() };
                (pool.balances, pool.rates) = (far_apart().collect(), Rates::fixed([wad(); 2]));
                pool.amplification = Amplification::constant(U256::from(100), 100);
            }
            PoolState::BalancerV2(state) => {
                let VaultModel::Stable(model) = &mut std::sync::Arc::make_mut(state).model else { unreachable!() };
                (model.pool.balances, model.pool.scaling_factors) =
                    (far_apart().collect(), [wad(); 2].into_iter().collect());
                model.pool.amp_times_1000 = U256::from(1_000);
            }
            PoolState::BalancerV3(state) => {
                let state = std::sync::Arc::make_mut(state);
                state.coins.truncate(2);
                for (coin, balance) in state.coins.iter_mut().zip(far_apart()) {
                    (coin.balance, coin.last_live) = (balance, balance);
                }
                let amp = v3::Amplification { start_value: 1_000, end_value: 1_000, start_time: 0, end_time: 0 };
                state.kind = v3::PoolKind::Stable(amp);
            }
            _ => unreachable!("none is rolled"),
        }
        let (_, has_one) = cost(product, state);
        assert!(!has_one, "{name}");
    }
}
