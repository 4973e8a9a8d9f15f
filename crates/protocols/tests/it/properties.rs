//! Laws that every pool obeys in every state.

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, U256, U512};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::{
    After, Pool, PoolState, Product, Swap, SwapError, uniswap_v2,
    uniswap_v3::{self, Tick, tick_math},
};
use proptest::{prelude::*, test_runner::RngSeed};

const AT: ExecutionBlock = ExecutionBlock { number: 1, timestamp: 1_700_000_000 };

fn pool(product: Product, state: PoolState) -> Pool {
    Pool { key: Address::repeat_byte(1).into(), product, coins: [TokenId(2), TokenId(3)].into_iter().collect(), state }
}

fn swap(pool: &Pool, zero_for_one: bool, amount_in: U256) -> Result<Swap, SwapError> {
    let (coin_in, coin_out) = if zero_for_one { (0, 1) } else { (1, 0) };
    pool.swap(&AT, coin_in, coin_out, amount_in)
}

/// Returns the pool with a swap's state change applied.
fn settled(pool: &Pool, after: &After) -> Pool {
    let state = match (&pool.state, after) {
        (PoolState::UniswapV2(state), After::UniswapV2(after)) => PoolState::UniswapV2(state.with(after)),
        (PoolState::UniswapV3(state), After::UniswapV3(after)) => PoolState::UniswapV3(uniswap_v3::State {
            sqrt_price_x96: after.sqrt_price_x96,
            tick: after.tick,
            liquidity: after.liquidity,
            ..state.clone()
        }),
        (state, _) => state.clone(),
    };
    Pool { state, ..pool.clone() }
}

/// Generates an amount of up to this many bits, with every length equally likely.
fn amount(bits: u32) -> impl Strategy<Value = U256> {
    (1..=bits, any::<[u64; 4]>()).prop_map(|(length, limbs)| {
        let length = length as usize;
        (U256::from_limbs(limbs) >> (256 - length)) | (U256::ONE << (length - 1))
    })
}

fn pair() -> impl Strategy<Value = Pool> {
    let reserve = || amount(112).prop_map(|reserve| u128::try_from(reserve).unwrap());
    (reserve(), reserve(), prop_oneof![Just(30_u16), 0..10_000_u16]).prop_map(|(reserve0, reserve1, fee_bps)| {
        pool(Product::UniswapV2, PoolState::UniswapV2(uniswap_v2::State { reserve0, reserve1, fee_bps }))
    })
}

/// Generates a pool that positions could have created.
fn concentrated() -> impl Strategy<Value = Pool> {
    let tier = prop_oneof![Just((100, 1)), Just((500, 10)), Just((3_000, 60)), Just((10_000, 200)), Just((0, 5))];
    let position = (-40..40_i32, 1..40_i32, amount(90));
    (tier, -4_000..4_000_i32, prop::collection::vec(position, 1..12)).prop_map(
        |((fee_pips, spacing), start, positions)| {
            let centre = start / spacing;
            let positions = positions.into_iter().map(|(offset, width, liquidity)| {
                let lower = (centre + offset) * spacing;
                (lower, lower + width * spacing, u128::try_from(liquidity).unwrap())
            });
            pool(Product::UniswapV3, PoolState::UniswapV3(v3_state(fee_pips, spacing, start, positions)))
        },
    )
}

fn v3_state(
    fee_pips: u32,
    tick_spacing: i32,
    tick: i32,
    positions: impl Iterator<Item = (i32, i32, u128)>,
) -> uniswap_v3::State {
    let mut ticks = BTreeMap::<i32, (i128, u128)>::new();
    let mut in_range = 0;
    for (lower, upper, liquidity) in positions {
        for (index, net) in [(lower, liquidity.cast_signed()), (upper, -liquidity.cast_signed())] {
            let entry = ticks.entry(index).or_default();
            *entry = (entry.0 + net, entry.1 + liquidity);
        }
        if (lower..upper).contains(&tick) {
            in_range += liquidity;
        }
    }
    let ticks = ticks.into_iter().map(|(index, (net, gross))| Tick::new(index, net, gross).unwrap());
    uniswap_v3::State {
        sqrt_price_x96: tick_math::sqrt_price_at_tick(tick).unwrap(),
        tick,
        liquidity: in_range,
        fee_pips,
        fee_protocol: 0,
        tick_spacing,
        ticks: ticks.collect::<Arc<[_]>>(),
    }
}

fn any_pool() -> impl Strategy<Value = Pool> {
    prop_oneof![pair(), concentrated()]
}

/// Returns the maximum that the pool can hold of a coin: a reserve, or the value of its liquidity on one side of the
/// price, rounded up.
fn holdings(pool: &Pool, coin: usize) -> U256 {
    match &pool.state {
        PoolState::UniswapV2(state) => U256::from([state.reserve0, state.reserve1][coin]),
        PoolState::UniswapV3(state) => v3_holdings(state, coin),
        _ => U256::MAX,
    }
}

fn v3_holdings(state: &uniswap_v3::State, coin: usize) -> U256 {
    let mut total = U512::ZERO;
    let mut liquidity = 0_i128;
    for pair in state.ticks.windows(2) {
        liquidity += pair[0].liquidity_net;
        let (low, high) = (pair[0].sqrt_price_x96, pair[1].sqrt_price_x96);
        let (low, high) =
            if coin == 1 { (low, high.min(state.sqrt_price_x96)) } else { (low.max(state.sqrt_price_x96), high) };
        if low < high {
            let width = U512::from(high - low) * U512::from(liquidity);
            total += if coin == 1 { width >> 96 } else { (width << 96) / U512::from(low) / U512::from(high) };
            total += U512::from(1);
        }
    }
    U256::from(total)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, rng_seed: RngSeed::Fixed(8), ..ProptestConfig::default() })]

    #[test]
    fn more_in_never_pays_less(pool in any_pool(), zero_for_one: bool, a in amount(110), b in amount(110)) {
        if let (Ok(less), Ok(more)) = (swap(&pool, zero_for_one, a.min(b)), swap(&pool, zero_for_one, a.max(b))) {
            prop_assert!(less.amount_out <= more.amount_out);
            prop_assert!(less.gas_units <= more.gas_units);
        }
    }

    #[test]
    fn what_an_amount_asks_pays_it_and_what_a_sale_pays_asks_no_more(
        pool in any_pool(), zero_for_one: bool, amount_out in amount(90), amount_in in amount(110),
    ) {
        let asked = |amount_out| match zero_for_one {
            true => pool.amount_in_for(0, 1, amount_out),
            false => pool.amount_in_for(1, 0, amount_out),
        };
        if let Ok(asked) = asked(amount_out) {
            let paid = swap(&pool, zero_for_one, asked);
            prop_assert!(paid.as_ref().is_ok_and(|paid| paid.amount_out >= amount_out), "{asked}: {paid:?}");
        }
        if let Ok(paid) = swap(&pool, zero_for_one, amount_in) {
            // A pair requests one unit more than the quotient, even if the division has no remainder.
            prop_assert!(asked(paid.amount_out).unwrap() <= amount_in + U256::ONE);
        }
    }

    #[test]
    fn there_and_back_never_profits(pool in any_pool(), zero_for_one: bool, amount_in in amount(110)) {
        if let Ok(there) = swap(&pool, zero_for_one, amount_in)
            && let Ok(back) = swap(&settled(&pool, &there.after), !zero_for_one, there.amount_out)
        {
            prop_assert!(back.amount_out <= amount_in);
        }
    }

    #[test]
    fn a_second_swap_sees_what_the_first_left(
        pool in any_pool(), directions: (bool, bool), first in amount(100), second in amount(100),
    ) {
        if let Ok(swapped) = swap(&pool, directions.0, first) {
            let (coin_in, coin_out) = if directions.1 { (0, 1) } else { (1, 0) };
            let in_sequence = pool.swap_after(&AT, &swapped.after, coin_in, coin_out, second);
            prop_assert_eq!(in_sequence, swap(&settled(&pool, &swapped.after), directions.1, second));
        }
    }

    #[test]
    fn in_two_parts_pays_no_more_than_at_once(pool in any_pool(), zero_for_one: bool, a in amount(100), b in amount(100)) {
        if let (Ok(first), Ok(both)) = (swap(&pool, zero_for_one, a), swap(&pool, zero_for_one, a + b))
            && let Ok(second) = swap(&settled(&pool, &first.after), zero_for_one, b)
        {
            prop_assert!(first.amount_out + second.amount_out <= both.amount_out);
        }
    }

    #[test]
    fn a_pool_never_pays_more_than_it_holds(pool in any_pool(), zero_for_one: bool, amount_in in amount(255)) {
        if let Ok(swapped) = swap(&pool, zero_for_one, amount_in) {
            prop_assert!(swapped.amount_out <= holdings(&pool, usize::from(zero_for_one)));
        }
    }

    #[test]
    fn a_curve_charges_no_more_gas_than_the_swap_and_hardly_less(
        positions in prop::collection::vec((-1_500..0_i32, 1..1_500_i32, amount(90)), 1..12),
        spacing in prop_oneof![Just(1), Just(10), Just(60)],
        start in -4_000..4_000_i32, zero_for_one: bool, share in 0.0..1.0_f64,
    ) {
        // Positions that are thousands of words wide, and end where a word does.
        let word = (start / spacing).div_euclid(256);
        let last = 887_220 / spacing * spacing;
        let positions = positions.into_iter().map(|(below, above, liquidity)| {
            let lower = ((word + below) * 256 * spacing).max(-last);
            let upper = (((word + above) * 256 + 255) * spacing).min(last);
            (lower, upper, u128::try_from(liquidity).unwrap())
        });
        let state = v3_state(500, spacing, start, positions);
        let pool = pool(Product::UniswapV3, PoolState::UniswapV3(state));
        let curve = pool.product.curve(&pool.state, [0, 1], &AT).unwrap();
        let direction = curve.direction(u8::from(!zero_for_one)).unwrap();
        let amount_in = direction.capacity_in().powf(share);
        if amount_in > 1e9
            && let Ok(swapped) = swap(&pool, zero_for_one, U256::from(amount_in))
        {
            // Leaves out what rounding moves over the edge of a word.
            let charged = |amount_in: f64| curve.gas_units + direction.quote(amount_in).1;
            let gas_units = swapped.gas_units as f64;
            prop_assert!(charged(amount_in * (1.0 - 1e-6)) <= gas_units, "{} of {gas_units}", charged(amount_in));
            prop_assert!(charged(amount_in * (1.0 + 1e-6)) >= 0.65 * gas_units, "{} of {gas_units}", charged(amount_in));
        }
    }

    #[test]
    fn what_liquidity_ends_after_is_what_the_pool_takes(pool in concentrated(), zero_for_one: bool, amount_in in amount(255)) {
        if let Err(SwapError::InsufficientLiquidity { consumed, .. }) = swap(&pool, zero_for_one, amount_in)
            && !consumed.is_zero()
        {
            prop_assert!(consumed < amount_in);
            let all = swap(&pool, zero_for_one, consumed);
            prop_assert!(matches!(all, Ok(_) | Err(SwapError::ZeroOutput)), "{:?}", all);
            let more = swap(&pool, zero_for_one, consumed + U256::ONE);
            prop_assert!(matches!(more, Err(SwapError::InsufficientLiquidity { .. })), "{:?}", more);
        }
    }

    #[test]
    fn no_state_of_a_pair_makes_it_panic(reserve0: u128, reserve1: u128, fee_bps: u16, zero_for_one: bool, amount_in in amount(256)) {
        let state = uniswap_v2::State { reserve0, reserve1, fee_bps };
        drop(state.swap(zero_for_one, amount_in));
    }

    #[test]
    fn no_state_of_a_pool_makes_it_panic(
        price in amount(168),
        parameters in (any::<i32>(), any::<u32>(), any::<i32>(), any::<u128>()),
        likely in (-887_272..=887_272_i32, 0..1_000_000_u32, 1..20_000_i32, any::<[bool; 4]>()),
        ticks in prop::collection::vec((-887_272..=887_272_i32, any::<i128>(), any::<u128>()), 0..8),
        zero_for_one: bool,
        amount_in in amount(256),
    ) {
        // Each parameter is either from its own range or any value.
        let (tick, fee_pips, tick_spacing, at_price) = (
            if likely.3[0] { likely.0 } else { parameters.0 },
            if likely.3[1] { likely.1 } else { parameters.1 },
            if likely.3[2] { likely.2 } else { parameters.2 },
            likely.3[3],
        );
        let sqrt_price_x96 = tick_math::sqrt_price_at_tick(tick).filter(|_| at_price).unwrap_or(price);
        let ticks: Arc<[Tick]> = ticks.into_iter().filter_map(|(index, net, gross)| Tick::new(index, net, gross)).collect();
        let state =
            uniswap_v3::State { sqrt_price_x96, tick, liquidity: parameters.3, fee_pips, fee_protocol: 0, tick_spacing, ticks };
        let _ = state.validate();
        drop(state.swap(zero_for_one, amount_in));
    }

    #[test]
    fn a_tick_is_that_of_its_price(tick in -887_272..887_272_i32) {
        let low = tick_math::sqrt_price_at_tick(tick).unwrap();
        let high = tick_math::sqrt_price_at_tick(tick + 1).unwrap();
        prop_assert_eq!(tick_math::tick_at_sqrt_price(low), Some(tick));
        prop_assert_eq!(tick_math::tick_at_sqrt_price(high - U256::ONE), Some(tick));
    }

    #[test]
    fn a_state_survives_a_file(pool in any_pool()) {
        let text = serde_json::to_string(&pool).unwrap();
        prop_assert_eq!(serde_json::from_str::<Pool>(&text).unwrap(), pool);
    }
}

#[test]
fn ether_wraps_one_to_one() {
    let weth = Pool {
        coins: [TokenId(0), TokenId(1)].into_iter().collect(),
        ..pool(Product::WrappedEther, PoolState::WrappedEther(braid_protocols::wrapped_ether::State))
    };
    for zero_for_one in [true, false] {
        let swapped = swap(&weth, zero_for_one, U256::from(7)).unwrap();
        assert_eq!((swapped.amount_out, swapped.after), (U256::from(7), After::Unchanged));
    }
    assert_eq!(swap(&weth, true, U256::ZERO), Err(SwapError::ZeroAmount));
    assert_eq!(weth.swap(&AT, 0, 2, U256::ONE), Err(SwapError::UnknownCoin { coin_in: 0, coin_out: 2 }));
    assert_eq!(weth.swap(&AT, 1, 1, U256::ONE), Err(SwapError::UnknownCoin { coin_in: 1, coin_out: 1 }));
}

#[test]
fn prices_end_where_the_contract_ends_them() {
    let lowest = tick_math::sqrt_price_at_tick(tick_math::MIN_TICK);
    let highest = tick_math::sqrt_price_at_tick(tick_math::MAX_TICK);
    assert_eq!((lowest, highest), (Some(tick_math::MIN_SQRT_PRICE_X96), Some(tick_math::MAX_SQRT_PRICE_X96)));
    assert_eq!(tick_math::MAX_SQRT_PRICE_X96.to_string(), "1461446703485210103287273052203988822378723970342");
    assert_eq!(tick_math::sqrt_price_at_tick(0), Some(U256::ONE << 96));
    for beyond in [tick_math::MIN_TICK - 1, tick_math::MAX_TICK + 1, i32::MIN, i32::MAX] {
        assert_eq!(tick_math::sqrt_price_at_tick(beyond), None);
    }
    for beyond in [tick_math::MIN_SQRT_PRICE_X96 - U256::ONE, tick_math::MAX_SQRT_PRICE_X96, U256::ZERO, U256::MAX] {
        assert_eq!(tick_math::tick_at_sqrt_price(beyond), None);
    }
}
