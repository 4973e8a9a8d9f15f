//! Laws that every Curve pool obeys, whatever its numbers. They hold without recorded amounts.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;
use braid_protocols::SwapError;
use braid_protocols::curve::crypto::{self, AmpGamma, ClassicTwo, Kind, Repricing};
use braid_protocols::curve::stable::{
    Amplification, BasePool, CachedPrice, CompoundAccrual, CompoundRate, MetaGeneration, MetaState, ProductRule, Rate,
    Rates, Rules, State,
};
use proptest::prelude::*;

const NOW: ExecutionBlock = ExecutionBlock { number: 20_000_000, timestamp: 1_700_000_000 };

fn e(power: u64) -> U256 {
    U256::from(10).pow(U256::from(power))
}

fn u(value: u64) -> U256 {
    U256::from(value)
}

const HABITS: [Rules; 7] = [
    Rules::standard(ProductRule::TimesN),
    Rules::standard(ProductRule::Whole),
    Rules::THREE_POOL,
    Rules::COMPOUND,
    Rules::PAX,
    Rules::AAVE,
    Rules::ANKR,
];

prop_compose! {
    /// A pool of two to four coins with 6 or 18 decimals, from nearly empty to ten billion, within a factor of twenty
    /// of balance.
    fn stable_pool()(
        size in 1_u64..10_000_000_000,
        parts in prop::collection::vec((50_u64..1_000, prop::bool::ANY), 2..=4),
        amp in 1_u64..20_000,
        fee in 0_u64..100_000_000,
        offpeg in prop_oneof![Just(0), 10_000_000_000_u64..200_000_000_000],
        rules in prop::sample::select(&HABITS[..]),
    ) -> State {
        let decimals = |small: bool| if small { 6 } else { 18 };
        State {
            balances: parts.iter().map(|(part, small)| u(size) * u(*part) * e(decimals(*small)) / u(100)).collect(),
            rates: Rates::fixed(parts.iter().map(|(_, small)| e(36 - decimals(*small)))),
            amplification: Amplification::constant(u(amp * 100), 100),
            fee,
            offpeg_fee_multiplier: offpeg,
            admin_fee: 5_000_000_000,
            rules,
        }
    }
}

/// Returns an amount of coin `i` as a part of the pool's balance.
fn part_of(pool: &State, i: u8, millionths: u64) -> U256 {
    (pool.balances[usize::from(i)] * u(millionths) / u(1_000_000)).max(U256::ONE)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// With a fixed fee, a larger input never pays less, and the output never exceeds the balance. A fee that grows
    /// away from balance can outgrow the output of an additional input. Then the largest output does not belong to the
    /// largest input.
    #[test]
    fn stable_pools_are_monotone_and_pay_what_they_hold(pool in stable_pool(), less in 1_u64..900_000, more in 1_u64..900_000) {
        let paid = |millionths| pool.swap(&NOW, 0, 1, part_of(&pool, 0, millionths)).map(|swap| swap.amount_out);
        if let (Ok(small), Ok(large)) = (paid(less), paid(less + more)) {
            // Each solved balance may be one unit off.
            let unit = e(18) / e(18).min(pool_rate(&pool, 1)) + U256::ONE;
            prop_assert!(small <= large + unit || pool.offpeg_fee_multiplier > 10_000_000_000);
            prop_assert!(large <= pool.balances[1]);
        }
    }

    /// A round trip never makes a profit, except for the unit that pools which do not keep one lose by rounding.
    #[test]
    fn a_round_trip_through_a_stable_pool_never_profits(pool in stable_pool(), part in 1_u64..900_000) {
        let amount = part_of(&pool, 0, part);
        if let Ok(there) = pool.swap(&NOW, 0, 1, amount) {
            let Some(balances) = there.balances else { return Ok(()) };
            let after = State { balances, ..pool.clone() };
            if let Ok(back) = after.swap(&NOW, 1, 0, there.amount_out) {
                let slack = if pool.rules.exchange_keeps_one { U256::ZERO } else { u(2) };
                prop_assert!(back.amount_out <= amount + slack, "{} > {amount}", back.amount_out);
            }
        }
    }

    /// Two swaps in a row must pay about as much as one of the whole amount, up to the fee. The pool's balance must
    /// grow by the input.
    #[test]
    fn two_swaps_in_a_row_meet_the_state_that_the_first_left(pool in stable_pool(), part in 1_000_u64..400_000) {
        let amount = part_of(&pool, 0, part);
        let whole = pool.swap(&NOW, 0, 1, amount * u(2));
        let Ok(first) = pool.swap(&NOW, 0, 1, amount) else { return Ok(()) };
        let Some(balances) = first.balances.clone() else { return Ok(()) };
        if pool.rules.balance_source == braid_protocols::curve::stable::BalanceSource::Stored {
            prop_assert_eq!(balances[0], pool.balances[0] + amount);
        }
        let after = State { balances, ..pool.clone() };
        if let (Ok(second), Ok(whole)) = (after.swap(&NOW, 0, 1, amount), whole) {
            let parts = first.amount_out + second.amount_out;
            let near = |a: U256, b: U256| a.abs_diff(b) <= b / u(20) + u(1_000);
            prop_assert!(near(parts, whole.amount_out), "{parts} and {}", whole.amount_out);
        }
    }

    /// For any numbers, a pool must return an amount or an error, and never panic.
    #[test]
    fn no_numbers_make_a_pool_panic(
        balances in prop::collection::vec(any::<[u64; 4]>().prop_map(U256::from_limbs), 2..=4),
        rate in any::<[u64; 4]>().prop_map(U256::from_limbs),
        amp in any::<[u64; 4]>().prop_map(U256::from_limbs),
        amount in any::<[u64; 4]>().prop_map(U256::from_limbs),
        shift in 0_usize..256,
        fee in any::<u64>(),
        times in any::<(u64, u64)>(),
    ) {
        let balances: Vec<U256> = balances.into_iter().map(|balance| balance >> shift).collect();
        let stable = State {
            rates: Rates::fixed(balances.iter().map(|_| rate >> shift)),
            balances: balances.iter().copied().collect(),
            amplification: Amplification {
                initial: amp, future: amp >> shift, initial_time: times.0, future_time: times.1, precision: 100,
            },
            fee,
            offpeg_fee_multiplier: fee,
            admin_fee: fee,
            rules: Rules::standard(ProductRule::Whole),
        };
        let _ = stable.swap(&NOW, 0, 1, amount >> shift);
        let base = BasePool { state: stable.clone(), total_supply: rate };
        let _ = (base.withdraw_view(&NOW, 1, amount >> shift), base.deposit_view(&NOW, 0, amount >> shift));
        let _ = stable.view_in(&NOW, 0, 1, amount >> shift);
        for kind in KINDS {
            let place = |k: usize| balances.get(k).copied().unwrap_or_default();
            let pool = crypto::State {
                kind,
                balances: [place(0), place(1), place(2)],
                precisions: [U256::ONE, rate >> 200, U256::ONE],
                price_scale: [rate >> shift, amp >> shift],
                d: amount,
                amp_gamma: AmpGamma {
                    initial: (amp, amp), future: (amp >> shift, rate), initial_time: times.0, future_time: times.1,
                },
                mid_fee: fee,
                out_fee: fee,
                fee_gamma: rate,
                repricing: None,
            };
            let _ = pool.swap(&NOW, 0, 1, amount >> shift);
        }
    }
}

/// Returns one unit of a coin in 18 decimals, or slightly less.
fn pool_rate(pool: &State, coin: usize) -> U256 {
    match &pool.rates.0[coin] {
        Rate::Fixed(rate) => e(36) / *rate,
        Rate::Compound(_) | Rate::Vault(_) => panic!("no coins that accrue here"),
    }
}

const KINDS: [Kind; 8] = [
    Kind::Cryptoswap(ClassicTwo::Early),
    Kind::Cryptoswap(ClassicTwo::Tenth),
    Kind::Cryptoswap(ClassicTwo::TenthLoose),
    Kind::Cryptoswap(ClassicTwo::Factory),
    Kind::Tricrypto,
    Kind::TricryptoNg,
    Kind::TwocryptoNg,
    Kind::TwocryptoStable,
];

/// Returns a pool in balance at its price scale, with each coin worth `size` of coin 0. Its invariant is the sum.
fn crypto_pool(kind: Kind, size: u64, tilt: [u64; 3]) -> crypto::State {
    let three = kind.coins() == 3;
    let prices = if three { [u(30_000) * e(18), u(2_000) * e(18)] } else { [u(2_000) * e(18), U256::ZERO] };
    let held = |k: usize| {
        let value = u(size) * e(18) * u(tilt[k]) / u(100);
        if k == 0 { value } else { value * e(18) / prices[k - 1] }
    };
    let (amp, gamma) = match kind {
        Kind::Tricrypto | Kind::TricryptoNg => (1_707_629, 11_809_167_828_997),
        Kind::TwocryptoStable => (500_000, 1_000_000_000_000_000),
        _ => (400_000, 145_000_000_000_000),
    };
    let mut pool = crypto::State {
        kind,
        balances: [held(0), held(1), if three { held(2) } else { U256::ZERO }],
        precisions: [U256::ONE; 3],
        price_scale: prices,
        d: U256::ZERO,
        amp_gamma: AmpGamma::constant(u(amp), u(gamma)),
        mid_fee: 3_000_000,
        out_fee: 30_000_000,
        fee_gamma: u(230_000_000_000_000),
        repricing: None,
    };
    pool.d = pool.invariant(&NOW).unwrap();
    // A share is worth slightly more than one.
    let supply = pool.virtual_price(e(18)).unwrap() * u(1_000) / u(1_010);
    pool.repricing = Some(Repricing {
        price_oracle: Some(prices),
        last_prices: prices,
        last_prices_timestamp: NOW.timestamp - 12,
        averaging_seconds: 866,
        total_supply: supply,
        xcp_profit: e(18) + e(16) * u(2),
        virtual_price: pool.virtual_price(supply).unwrap(),
        allowed_extra_profit: u(2_000_000_000_000),
        adjustment_step: u(146_000_000_000_000),
        not_adjusted: Some(false),
    });
    pool
}

fn crypto_kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(&KINDS[..])
}

fn coins_of(kind: Kind) -> impl Strategy<Value = (u8, u8)> {
    let n = u8::try_from(kind.coins()).unwrap();
    (0..n, 1..n).prop_map(move |(i, step)| (i, (i + step) % n))
}

prop_compose! {
    fn crypto_trade()(kind in crypto_kind())(
        pool in (1_000_u64..100_000_000, [70_u64..140, 70..140, 70..140]).prop_map(move |(size, tilt)| crypto_pool(kind, size, tilt)),
        coins in coins_of(kind),
        part in 1_000_u64..200_000,
    ) -> (crypto::State, u8, u8, U256) {
        let amount = pool.balances[usize::from(coins.0)] * u(part) / u(1_000_000);
        (pool, coins.0, coins.1, amount)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn crypto_pools_are_monotone_and_pay_what_they_hold((pool, i, j, amount) in crypto_trade(), more in 2_u64..5) {
        let paid = |amount| pool.swap(&NOW, i, j, amount).map(|swap| swap.amount_out);
        if let (Ok(small), Ok(large)) = (paid(amount), paid(amount * u(more))) {
            prop_assert!(small < large && large < pool.balances[usize::from(j)]);
        }
    }

    /// The function that computes only the amount must pay and refuse the same as the complete swap, from one wei to a
    /// fifth of the pool.
    #[test]
    fn the_quick_amount_is_that_of_the_whole_swap((pool, i, j, amount) in crypto_trade(), smaller in 0_usize..90, higher in 0_u64..1_000) {
        let mut pool = pool;
        if let Some(repricing) = &mut pool.repricing {
            repricing.virtual_price += u(higher);
        }
        let amount = (amount >> smaller).max(U256::ONE);
        prop_assert_eq!(pool.amount_out(&NOW, i, j, amount), pool.swap(&NOW, i, j, amount).map(|swap| swap.amount_out));
    }

    #[test]
    fn a_round_trip_through_a_crypto_pool_never_profits((pool, i, j, amount) in crypto_trade()) {
        let Ok(there) = pool.swap(&NOW, i, j, amount) else { return Ok(()) };
        let Some(after) = there.after else { return Ok(()) };
        let after = pool.with(&after);
        if let Ok(back) = after.swap(&NOW, j, i, there.amount_out) {
            prop_assert!(back.amount_out < amount);
        }
    }

    /// The state after a swap must include the input and exclude the output, and fees must have raised the share price.
    #[test]
    fn a_crypto_pool_keeps_its_balances((pool, i, j, amount) in crypto_trade()) {
        let Ok(swap) = pool.swap(&NOW, i, j, amount) else { return Ok(()) };
        let after = swap.after;
        let Some(after) = after else {
            // Kinds that collect fees at the end of an adjustment, and kinds whose price scale is not modelled.
            prop_assert!(matches!(pool.kind, Kind::TwocryptoStable | Kind::Cryptoswap(_)));
            return Ok(());
        };
        prop_assert_eq!(after.balances[usize::from(i)], pool.balances[usize::from(i)] + amount);
        prop_assert_eq!(after.balances[usize::from(j)], pool.balances[usize::from(j)] - swap.amount_out);
        let before = pool.repricing.unwrap();
        prop_assert!(after.repricing.virtual_price >= before.virtual_price);
        prop_assert_eq!(after.repricing.last_prices_timestamp, NOW.timestamp);
    }
}

fn plain(balances: [u64; 2]) -> State {
    State {
        balances: balances.iter().map(|balance| u(*balance) * e(18)).collect(),
        rates: Rates::fixed([e(18), e(18)]),
        amplification: Amplification::constant(u(10_000), 100),
        fee: 4_000_000,
        offpeg_fee_multiplier: 0,
        admin_fee: 5_000_000_000,
        rules: Rules::standard(ProductRule::TimesN),
    }
}

/// While the amplification rises, the same trade must pay more in each later block. After the end of the ramp it must
/// not change any more.
#[test]
fn a_ramp_moves_the_price_with_the_clock_and_then_stops() {
    let mut pool = plain([1_000_000, 3_000_000]);
    let start = NOW.timestamp;
    pool.amplification = Amplification {
        initial: u(1_000),
        future: u(50_000),
        initial_time: start,
        future_time: start + 1_000,
        precision: 100,
    };
    let paid = |seconds: u64| {
        let at = ExecutionBlock { number: NOW.number, timestamp: start + seconds };
        pool.swap(&at, 1, 0, e(23)).unwrap().amount_out
    };
    let series: Vec<U256> = [0, 250, 500, 999, 1_000].into_iter().map(paid).collect();
    assert!(series.is_sorted_by(|a, b| a < b), "{series:?}");
    assert_eq!(paid(1_000), paid(5_000));
    pool.amplification = Amplification::constant(u(50_000), 100);
    assert_eq!(pool.swap(&NOW, 1, 0, e(23)).unwrap().amount_out, series[4]);
}

/// During a ramp of a CryptoSwap pool, the invariant must be computed again for the current amplification and gamma.
#[test]
fn a_ramp_of_a_crypto_pool_moves_the_price_with_the_clock() {
    for kind in [Kind::TricryptoNg, Kind::TwocryptoNg, Kind::TwocryptoStable, Kind::Cryptoswap(ClassicTwo::Factory)] {
        let mut pool = crypto_pool(kind, 1_000_000, [100, 120, 90]);
        let (amp, gamma) = pool.amp_gamma.future;
        let start = NOW.timestamp;
        pool.amp_gamma = AmpGamma {
            initial: (amp, gamma),
            future: (amp * u(3), gamma * u(2)),
            initial_time: start,
            future_time: start + 1_000,
        };
        pool.repricing = None;
        let paid = |seconds: u64| {
            let at = ExecutionBlock { number: NOW.number, timestamp: start + seconds };
            pool.swap(&at, 0, 1, pool.balances[0] / u(10)).unwrap().amount_out
        };
        assert!(paid(500) != paid(0) && paid(999) != paid(500), "{kind:?}");
    }
}

/// The rate of a lending coin must grow with each block. The swap accrues interest as the market does; the view
/// projects the rate.
#[test]
fn a_lending_coin_is_worth_more_in_a_later_block() {
    let market = CompoundRate {
        multiplier: U256::ONE,
        exchange_rate_stored: u(2) * e(26),
        supply_rate_per_block: u(10_000_000_000),
        accrual_block: NOW.number - 10,
        accrual: Some(CompoundAccrual {
            cash: u(400) * e(24),
            borrows: u(600) * e(24),
            reserves: U256::ZERO,
            reserve_factor: e(17),
            borrow_rate_per_block: u(20_000_000_000),
            shares: u(5) * e(18),
        }),
    };
    let mut pool = plain([0, 1_000_000]);
    pool.rules = Rules::COMPOUND;
    pool.balances[0] = u(5) * e(15);
    pool.rates.0[0] = Rate::Compound(Box::new(market));
    let later = ExecutionBlock { number: NOW.number + 100_000, timestamp: NOW.timestamp };
    let amount = u(1_000) * e(8);
    let (now, then) = (pool.swap(&NOW, 0, 1, amount).unwrap(), pool.swap(&later, 0, 1, amount).unwrap());
    assert!(now.amount_out < then.amount_out);
    // 10⁵ blocks at 2·10⁻⁸ on 60% of the market's assets, less a tenth for the reserves: 0.108%.
    let growth = (then.amount_out - now.amount_out) * u(1_000_000) / now.amount_out;
    assert!((u(1_060)..=u(1_100)).contains(&growth), "{growth}");
    assert!(pool.view(&NOW, 0, 1, amount).unwrap() != now.amount_out);
}

fn metapool(cached: Option<CachedPrice>) -> MetaState {
    let base = BasePool { state: plain([6_000_000, 4_000_000]), total_supply: u(9_000_000) * e(18) };
    MetaState { pool: plain([1_000_000, 900_000]), base, cached_price: cached, generation: MetaGeneration::Classic }
}

/// A classic metapool must use its cached price for ten minutes, exact to the second.
#[test]
fn a_metapool_forgets_its_cached_price_after_ten_minutes() {
    let cached = CachedPrice { value: e(18) * u(11) / u(10), updated: NOW.timestamp };
    let pool = metapool(Some(cached));
    let at = |seconds| ExecutionBlock { number: NOW.number, timestamp: NOW.timestamp + seconds };
    let paid = |pool: &MetaState, seconds| pool.swap(&at(seconds), 0, 1, e(21)).unwrap().amount_out;
    assert_eq!(paid(&pool, 0), paid(&pool, 600));
    assert!(paid(&pool, 600) != paid(&pool, 601));
    assert_eq!(paid(&pool, 601), paid(&metapool(None), 601));
    let after = pool.swap(&at(601), 0, 1, e(21)).unwrap().after.unwrap();
    assert_eq!(after.cached_price.unwrap().updated, NOW.timestamp + 601);
}

/// A trade through the base pool and back must lose the fees of four steps and never gain. The base pool must keep its
/// balances.
#[test]
fn underlying_trades_leave_both_pools_as_their_steps_would() {
    let pool = metapool(None);
    let amount = u(10_000) * e(18);
    let there = pool.swap_underlying(&NOW, 0, 2, amount).unwrap();
    let after = there.after.unwrap();
    assert!(after.base.total_supply < pool.base.total_supply);
    assert!(
        after.base.balances[1] < pool.base.state.balances[1] && after.base.balances[0] == pool.base.state.balances[0]
    );
    let back = pool.with(&after).swap_underlying(&NOW, 2, 0, there.amount_out).unwrap();
    assert!(back.amount_out < amount);
    assert!(back.amount_out > amount * u(99) / u(100));
    // A trade between two coins of the base pool equals a swap of the base pool.
    let inside = pool.swap_underlying(&NOW, 1, 2, amount).unwrap();
    assert_eq!(inside.amount_out, pool.base.state.swap(&NOW, 0, 1, amount).unwrap().amount_out);
}

#[test]
fn refusals_say_why() {
    let pool = plain([1_000, 1_000]);
    let unknown = |i, j| SwapError::UnknownCoin { coin_in: i, coin_out: j };
    assert_eq!(pool.swap(&NOW, 0, 0, e(18)).unwrap_err(), unknown(0, 0));
    assert_eq!(pool.swap(&NOW, 0, 2, e(18)).unwrap_err(), unknown(0, 2));
    assert_eq!(pool.swap(&NOW, 0, 1, U256::ZERO).unwrap_err(), SwapError::ZeroAmount);
    assert_eq!(pool.swap(&NOW, 0, 1, U256::ONE).unwrap_err(), SwapError::ZeroOutput);
    assert_eq!(pool.swap(&NOW, 0, 1, U256::MAX).unwrap_err(), SwapError::Overflow { amount_in: U256::MAX });
    let broken = State { rates: Rates::fixed([e(18)]), ..pool };
    assert_eq!(broken.swap(&NOW, 0, 1, e(18)).unwrap_err(), SwapError::Closed);
    let crypto = crypto_pool(Kind::TricryptoNg, 1_000_000, [100, 100, 100]);
    assert_eq!(crypto.swap(&NOW, 0, 3, e(18)).unwrap_err(), unknown(0, 3));
    // A thousand times the pool's balance is beyond what the contract can compute.
    let far = crypto.balances[0] * u(1_000);
    assert!(matches!(crypto.swap(&NOW, 0, 1, far).unwrap_err(), SwapError::InsufficientLiquidity { .. }));
    // The contract treats a swap that does not raise the share price as a loss and refuses it, although the swap would
    // pay.
    let mut watched = crypto.clone();
    let unwatched = crypto::State { repricing: None, ..crypto };
    if let Some(repricing) = &mut watched.repricing {
        repricing.virtual_price += u(1_000_000);
    }
    assert_eq!(watched.swap(&NOW, 0, 1, e(10)).unwrap_err(), SwapError::ZeroOutput);
    assert!(unwatched.swap(&NOW, 0, 1, e(10)).is_ok() && watched.swap(&NOW, 0, 1, e(22)).is_ok());
}
