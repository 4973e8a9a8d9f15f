//! Laws that weighted and stable pools obey in every state.

use alloy_primitives::U256;
use braid_protocols::{
    SwapError,
    balancer::{Invariant, Power, StablePool, WeightedPool},
};
use proptest::{prelude::*, test_runner::RngSeed};

const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

fn amount(bits: usize) -> impl Strategy<Value = U256> {
    (1..=bits, any::<[u64; 4]>())
        .prop_map(|(length, limbs)| (U256::from_limbs(limbs) >> (256 - length)) | (U256::ONE << (length - 1)))
}

/// Generates the balance of a pool in use: 10⁶ to 10²⁷ atomic units with 18 decimals.
fn balance() -> impl Strategy<Value = U256> {
    (20..90_usize, any::<u64>()).prop_map(|(length, low)| (U256::ONE << length) + U256::from(low >> 44))
}

fn weighted() -> impl Strategy<Value = WeightedPool> {
    let weight = 1..99_u64;
    let power = prop_oneof![Just(Power::Logarithm), Just(Power::Shortcuts)];
    (balance(), balance(), weight, 1..100_u64, power).prop_map(|(first, second, percent, fee_permille, power)| {
        let percents = [percent, 100 - percent].map(|percent| U256::from(percent * 10_u64.pow(16)));
        WeightedPool {
            balances: [first, second].into_iter().collect(),
            scaling_factors: [WAD; 2].into_iter().collect(),
            weights: percents.into_iter().collect(),
            fee_wad: U256::from(fee_permille * 10_u64.pow(15)),
            power,
        }
    })
}

fn stable() -> impl Strategy<Value = StablePool> {
    let invariant = prop_oneof![Just(Invariant::Up), Just(Invariant::Down)];
    let tilt = 1..20_u64;
    (30..80_usize, prop::collection::vec(tilt, 2..5), 1..5_000_u64, 1..40_u64, invariant).prop_map(
        |(bits, tilts, amp, fee_bps, invariant)| {
            let unit = U256::ONE << bits;
            StablePool {
                scaling_factors: tilts.iter().map(|_| WAD).collect(),
                balances: tilts.into_iter().map(|tilt| unit * U256::from(tilt)).collect(),
                amp_times_1000: U256::from(amp * 1_000),
                fee_wad: U256::from(fee_bps * 10_u64.pow(14)),
                invariant,
            }
        },
    )
}

fn weighted_after(pool: &WeightedPool, coin_in: u8, amount_in: U256, amount_out: U256) -> WeightedPool {
    let mut after = pool.clone();
    after.balances[usize::from(coin_in)] += amount_in;
    after.balances[usize::from(1 - coin_in)] -= amount_out;
    after
}

fn stable_after(pool: &StablePool, amount_in: U256, amount_out: U256) -> StablePool {
    let mut after = pool.clone();
    after.balances[0] += amount_in;
    after.balances[1] -= amount_out;
    after
}

#[test]
fn a_weighted_pool_lets_three_tenths_through_and_no_more() {
    let pool = WeightedPool {
        balances: [WAD * U256::from(1_000), WAD * U256::from(1_000)].into_iter().collect(),
        scaling_factors: [WAD; 2].into_iter().collect(),
        weights: [WAD / U256::from(2); 2].into_iter().collect(),
        fee_wad: U256::ZERO,
        power: Power::Shortcuts,
    };
    let limit = WAD * U256::from(300);
    assert!(pool.swap(0, 1, limit).is_ok());
    let amount = limit + U256::ONE;
    assert_eq!(pool.swap(0, 1, amount), Err(SwapError::LimitExceeded { limit, amount }));
    assert!(pool.swap_exact_out(0, 1, limit).is_ok());
    assert_eq!(pool.swap_exact_out(0, 1, amount), Err(SwapError::LimitExceeded { limit, amount }));
}

#[test]
fn coins_that_a_pool_has_not_are_refused() {
    let pool = StablePool {
        balances: [WAD; 2].into_iter().collect(),
        scaling_factors: [WAD; 2].into_iter().collect(),
        amp_times_1000: U256::from(100_000),
        fee_wad: U256::ZERO,
        invariant: Invariant::Down,
    };
    for (coin_in, coin_out) in [(0, 0), (0, 2), (255, 0)] {
        assert_eq!(pool.swap(coin_in, coin_out, WAD), Err(SwapError::UnknownCoin { coin_in, coin_out }));
    }
    assert_eq!(pool.swap(0, 1, U256::ZERO), Err(SwapError::ZeroAmount));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, rng_seed: RngSeed::Fixed(10), ..ProptestConfig::default() })]

    #[test]
    fn a_weighted_pool_never_loses_to_a_round_trip(pool in weighted(), coin_in in 0..2_u8, amount_in in amount(88)) {
        if let Ok(out) = pool.swap(coin_in, 1 - coin_in, amount_in) {
            prop_assert!(out < pool.balances[usize::from(1 - coin_in)]);
            let after = weighted_after(&pool, coin_in, amount_in, out);
            if let Ok(back) = after.swap(1 - coin_in, coin_in, out) {
                prop_assert!(back <= amount_in);
            }
        }
    }

    #[test]
    fn a_stable_pool_never_loses_to_a_round_trip(pool in stable(), amount_in in amount(80)) {
        if let Ok(out) = pool.swap(0, 1, amount_in) {
            prop_assert!(out < pool.balances[1]);
            let after = stable_after(&pool, amount_in, out);
            if let Ok(back) = after.swap(1, 0, out) {
                prop_assert!(back <= amount_in);
            }
        }
    }

    #[test]
    fn more_into_a_stable_pool_never_pays_less(pool in stable(), a in amount(80), b in amount(80)) {
        if let (Ok(less), Ok(more)) = (pool.swap(0, 1, a.min(b)), pool.swap(0, 1, a.max(b))) {
            // The balance is found to within one unit.
            prop_assert!(less <= more + U256::from(2));
        }
    }

    #[test]
    fn no_balancer_pool_panics(
        numbers in prop::collection::vec(amount(256), 12), coins in (0..3_u8, 0..3_u8), amount_in in amount(256),
        shortcuts: bool, older: bool, zero_at in 0..12_usize,
    ) {
        let mut numbers = numbers;
        numbers[zero_at] = U256::ZERO;
        let list = |from: usize| numbers[from..from + 3].iter().copied().collect();
        let power = if shortcuts { Power::Shortcuts } else { Power::Logarithm };
        let pool = WeightedPool {
            balances: list(0), scaling_factors: list(3), weights: list(6), fee_wad: numbers[9], power,
        };
        drop((pool.swap(coins.0, coins.1, amount_in), pool.swap_exact_out(coins.0, coins.1, amount_in)));
        let invariant = if older { Invariant::Up } else { Invariant::Down };
        let pool = StablePool {
            balances: list(0), scaling_factors: list(3), amp_times_1000: numbers[10], fee_wad: numbers[9], invariant,
        };
        drop((pool.swap(coins.0, coins.1, amount_in), pool.swap_exact_out(coins.0, coins.1, amount_in)));
    }

    #[test]
    fn no_power_panics(base in amount(256), weights in (amount(70), amount(70)), balance in amount(100), amount_in in amount(100)) {
        let pool = WeightedPool {
            balances: [balance, base].into_iter().collect(),
            scaling_factors: [WAD; 2].into_iter().collect(),
            weights: [weights.0, weights.1].into_iter().collect(),
            fee_wad: U256::ZERO,
            power: Power::Logarithm,
        };
        drop((pool.swap(0, 1, amount_in), pool.swap(1, 0, amount_in), pool.swap_exact_out(0, 1, amount_in)));
    }
}
