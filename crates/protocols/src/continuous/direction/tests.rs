//! Compares each closed form with a plain search over amounts.

use proptest::prelude::*;

use super::*;

fn arb_direction() -> impl Strategy<Value = Direction> {
    arb_chain(1..6)
}

fn arb_chain(stretches: std::ops::Range<usize>) -> impl Strategy<Value = Direction> {
    let ratio = prop_oneof![1 => Just(1.0), 5 => 0.9_f64..0.9999];
    let stretch = (ratio, prop_oneof![1 => Just(0.0), 5 => 1.0e3_f64..1.0e6]);
    (prop::collection::vec(stretch, stretches), 0.1_f64..10.0, 0.99_f64..1.0).prop_filter_map(
        "pays something",
        |(raw, start, gamma)| {
            let mut root = start;
            let stretches: Vec<Stretch> = raw
                .into_iter()
                .map(|(ratio, liquidity)| {
                    root *= ratio;
                    Stretch { end: root, liquidity, gas_units: 1.0 }
                })
                .collect();
            Direction::new(gamma, start, &stretches)
        },
    )
}

/// Returns a geometric grid of amounts up to a cap.
fn grid(cap: f64) -> impl Iterator<Item = f64> {
    (0..600).map(move |k| cap * (-0.03 * f64::from(k)).exp())
}

#[test]
fn the_first_range_is_the_first_that_takes_something() {
    // The price is on a tick, at which the liquidity triples.
    let stretches = [(2.0, 1e6), (1.0, 3e6), (0.5, 2e6)];
    let stretches = stretches.map(|(end, liquidity)| Stretch { end, liquidity, gas_units: 1.0 });
    let direction = Direction::new(1.0, 2.0, &stretches).unwrap();
    assert_eq!(direction.first_range(), (6e6, 1.5e6));
    assert_eq!(direction.spot(), 4.0);
}

proptest! {
    #[test]
    fn the_end_of_a_long_chain_is_found_by_halving_as_step_by_step(d in arb_chain(FEW_KNOTS..60), tilt in 0.0_f64..1.1) {
        // If gas matters, even if it is almost zero, every segment is examined.
        let [halved, stepped] = [0.0, f64::MIN_POSITIVE].map(|gas| d.best_trade(d.spot() * tilt, 1.0, f64::INFINITY, gas));
        let amounts = |trade: Option<Trade>| trade.map(|trade| (trade.amount_in, trade.amount_out));
        prop_assert_eq!(amounts(halved), amounts(stepped));
    }

    #[test]
    fn the_best_trade_beats_every_amount_of_a_grid(d in arb_direction(), tilt in 0.5_f64..1.2, share in 0.01_f64..2.0) {
        let (price_in, price_out) = (d.spot() * tilt, 1.0);
        let cap = d.capacity_in() * share;
        let found = d.best_trade(price_in, price_out, cap, 0.0).map_or(0.0, |t| price_out * t.amount_out - price_in * t.amount_in);
        for x in grid(cap) {
            let earned = price_out * d.quote(x).0 - price_in * x;
            prop_assert!(earned <= found + 1e-9 * price_out * d.capacity_out(), "at {x}: {earned} > {found}");
        }
    }

    #[test]
    fn each_stop_before_gas_passes_less(d in arb_direction(), share in 0.0_f64..1.2) {
        let amount_in = d.capacity_in() * share;
        let passed = |amount_in: f64| d.quote(amount_in).1;
        let mut from = amount_in;
        for stop in d.stops_before_gas(amount_in) {
            prop_assert!(stop <= from * (1.0 + 1e-12));
            prop_assert!(passed(stop * (1.0 - 1e-9)) < passed(from));
            let beyond = (stop * (1.0 + 1e-9)).min(from);
            prop_assert_eq!(passed(beyond.max(stop)), passed(from), "all of the gas is that of the last stretches passed");
            from = stop * (1.0 - 1e-9);
        }
        prop_assert_eq!(passed(from), passed(0.0), "no smaller amount passes less");
    }

    #[test]
    fn an_amount_ends_at_the_last_knot_that_it_reaches(d in arb_chain(2..60), share in 0.0_f64..1.2) {
        let net = d.capacity_in() * share * d.gamma;
        let expected = d.knots.iter().rposition(|knot| knot.taken <= net).unwrap_or(0);
        prop_assert_eq!(d.knot_at(net), expected);
    }

    #[test]
    fn the_most_earned_covers_every_amount_with_its_gas(
        d in arb_direction(), tilt in 0.5_f64..1.2, share in 0.01_f64..2.0, gas in 0.0_f64..0.02, tick in 0.0_f64..0.02,
    ) {
        let (price_in, scale) = (d.spot() * tilt, d.capacity_out());
        let cap = d.capacity_in() * share;
        let (gas, tick) = (gas * scale, tick * scale);
        let bound = d.most_earned(price_in, 1.0, cap, gas, tick);
        let mut best = 0.0_f64;
        for x in grid(cap) {
            let (out, passed) = d.quote(x);
            best = best.max(out - price_in * x - gas - passed * tick);
        }
        prop_assert!(best <= bound + 1e-9 * scale);
        prop_assert!(bound <= best + 0.05 * scale, "the bound {bound} is far above what the grid reaches, {best}");
    }

    #[test]
    fn a_rejected_pool_earns_nothing(d in arb_direction(), tilt in 0.5_f64..1.2, gas in 1e-6_f64..0.05) {
        let (price_in, gas) = (d.spot() * tilt, gas * d.capacity_out());
        if d.cannot_earn(price_in, 1.0, gas.sqrt()) {
            prop_assert!(d.most_earned(price_in, 1.0, f64::INFINITY, gas, 0.0) <= 1e-9 * d.capacity_out());
        }
        let dearest = price_in / d.spot() * (1.0 + d.reject_out() * (gas / price_in).sqrt()).powi(2);
        prop_assert!(d.most_earned(price_in, dearest, f64::INFINITY, gas, 0.0) <= 1e-9 * dearest * d.capacity_out());
    }

    #[test]
    fn averages_are_the_extremes_of_a_grid(d in arb_direction(), share in 0.01_f64..2.0, gas in 1e-6_f64..0.5) {
        let cap = d.capacity_in() * share;
        let gas = gas * d.capacity_out();
        let (rate, cost) = (d.average_rate(1.0, cap, gas), d.average_cost(1.0, cap, gas));
        let (mut best, mut cheapest) = (f64::NEG_INFINITY, f64::INFINITY);
        for x in grid(cap) {
            let out = d.quote(x).0;
            best = best.max((out - gas) / x);
            cheapest = cheapest.min((x + gas) / out);
        }
        prop_assert!(rate >= best - 1e-9 * best.abs() && rate <= best + 0.02 * (best.abs() + gas / cap), "{rate} {best}");
        prop_assert!(cost <= cheapest * (1.0 + 1e-9) && cost >= cheapest * 0.98, "{cost} {cheapest}");
    }

    #[test]
    fn output_is_concave_and_its_slope_is_the_marginal_rate(d in arb_direction(), share in 0.0_f64..0.99) {
        let x = d.capacity_in() * share;
        let h = d.capacity_in() * 1e-6;
        let (left, here, right) = (d.quote((x - h).max(0.0)).0, d.quote(x).0, d.quote(x + h).0);
        prop_assert!(left <= here && here <= right);
        let slope = (right - here) / h;
        prop_assert!(slope <= d.marginal(x) * (1.0 + 1e-6), "{slope} {}", d.marginal(x));
        prop_assert!(slope >= d.marginal(x + h) * (1.0 - 1e-6));
    }
}

#[test]
fn the_charge_for_gas_on_the_way_moves_the_trade_without_a_jump() {
    for spread in [GasSpread::Whole, GasSpread::Near] {
        let stretches = [0.99, 0.98, 0.97, 0.90, 0.02].map(|end| Stretch { end, liquidity: 1e6, gas_units: 1.0 });
        let d = Direction::new(0.997, 1.0, &stretches).unwrap();
        let mut before: Option<Trade> = None;
        for k in 0..4000 {
            let price_in = d.spot() * (1.0 - 1e-4 * f64::from(k) / 2.0);
            let trade = d.best_trade_spread(price_in, 1.0, f64::INFINITY, 50.0, spread);
            if let (Some(a), Some(b)) = (before, trade) {
                assert!(b.amount_in >= a.amount_in - 1e-6);
                assert!(b.amount_in - a.amount_in < 60.0, "{spread:?}: a jump at {price_in}: {a:?} {b:?}");
            }
            before = trade.or(before);
        }
    }
}

#[test]
fn the_gas_of_near_ends_is_not_spread_over_the_way_to_zero() {
    // Twenty narrow ranges, and then little liquidity down to almost nothing.
    let near = (1..=20).map(|at| Stretch { end: 1.0 - 1e-3 * f64::from(at), liquidity: 1e6, gas_units: 1.0 });
    let stretches: Vec<Stretch> = near.chain([Stretch { end: 1e-9, liquidity: 1e4, gas_units: 0.0 }]).collect();
    let d = Direction::new(0.997, 1.0, &stretches).unwrap();
    for passed in [5.0_f64, 10.0, 20.0] {
        let price_in = d.spot() * (1.0 - 1e-3 * passed).powi(2);
        let gas_units = |spread: GasSpread| {
            d.best_trade_spread(price_in, 1.0, f64::INFINITY, f64::MIN_POSITIVE, spread).unwrap().gas_units
        };
        let near = gas_units(GasSpread::Near);
        assert!((near - passed).abs() < 1.0, "{near} units of gas for {passed} ends");
        assert!(gas_units(GasSpread::Whole) < 0.01 * passed, "the whole curve's hull hides them");
    }
}

#[test]
fn a_fixed_rate_holds_to_nine_digits_up_to_its_capacity() {
    let d = Direction::linear(1.25, 1e6).unwrap();
    for x in [1.0, 1e3, 9.9e5] {
        assert!((d.quote(x).0 / (1.25 * x) - 1.0).abs() < 1e-9);
    }
    assert!((d.capacity_in() / 1e6 - 1.0).abs() < 1e-6);
}

#[test]
fn a_bound_continues_a_curve_beyond_an_assumed_capacity() {
    let limited = Direction::new(0.997, 2.0, &[Stretch { end: 1.0, liquidity: 1e6, gas_units: 0.0 }]).unwrap();
    let (capacity, last_rate) = (limited.capacity_in(), 0.997);
    let continued = limited.clone().continued_at(last_rate);
    for times in [0.5, 1.0, 3.0] {
        // At this price the whole capacity is sold, and more would earn a tenth of what it pays.
        let (cap, price_in) = (times * capacity, 0.9 * last_rate);
        let more = (cap - capacity).max(0.0) * (last_rate - price_in);
        let [without, with] = [&limited, &continued].map(|d| d.most_earned(price_in, 1.0, cap, 0.0, 0.0));
        assert!((with - without - more).abs() <= 1e-9 * with, "{with} is not {without} and {more} more");
    }
    // Nothing more is sold where the last rate does not pay, and plans keep to the capacity.
    let price_in = 1.1 * last_rate;
    let earned = [&limited, &continued].map(|d| d.most_earned(price_in, 1.0, f64::INFINITY, 0.0, 0.0));
    assert_eq!(earned[0], earned[1]);
    assert_eq!(continued.best_trade(0.0, 1.0, f64::INFINITY, 0.0), limited.best_trade(0.0, 1.0, f64::INFINITY, 0.0));
}

#[test]
fn an_average_rate_counts_what_a_curve_pays_beyond_an_assumed_capacity() {
    let limited = Direction::linear(1.25, 1e6).unwrap();
    let continued = limited.clone().continued_at(1.25);
    // Gas weighs less on more: five times the capacity has a fifth of its share.
    let (gas, near) = (1e3, |rate: f64, exact: f64| (rate - exact).abs() < 1e-9 * exact);
    assert!(near(limited.average_rate(1.0, 5e6, gas), 1.25 - 1e-3));
    assert!(near(continued.average_rate(1.0, 5e6, gas), 1.25 - 2e-4));
    assert!(near(continued.average_rate(1.0, f64::INFINITY, gas), 1.25));
    assert!(near(continued.average_rate(1.0, 1e5, gas), limited.average_rate(1.0, 1e5, gas)));
    assert!(limited.is_plain() && !continued.is_plain(), "a plain direction ends at its capacity");
}

#[test]
fn a_side_that_pays_nothing_is_no_direction() {
    assert!(Direction::new(0.997, 1.0, &[]).is_none());
    assert!(Direction::new(0.997, 1.0, &[Stretch { end: 0.5, liquidity: 0.0, gas_units: 0.0 }]).is_none());
    assert!(Direction::new(0.997, f64::NAN, &[Stretch { end: 0.5, liquidity: 1.0, gas_units: 0.0 }]).is_none());
}

#[test]
fn where_gas_is_lost_beside_the_price_the_average_is_the_marginal_rate() {
    let stretches = [0.9, 0.5].map(|end| Stretch { end, liquidity: 1e20, gas_units: 1.0 });
    let d = Direction::new(0.997, 1.0, &stretches).unwrap();
    for price in [1e10, 1e20, 1e40] {
        let (rate, cost) = (d.average_rate(price, 1e12, 1e3) / price, d.average_cost(price, 1e12, 1e3) / price);
        assert!((rate / d.spot() - 1.0).abs() < 1e-6, "at {price} not {rate}");
        assert!((cost * d.spot() - 1.0).abs() < 1e-6, "at {price} not {cost}");
    }
}

#[test]
fn a_range_end_between_equal_liquidities_changes_no_quote() {
    let stretch = |end: f64| Stretch { end, liquidity: 3.3e22, gas_units: 0.0 };
    let whole = Direction::new(0.9995, 1.0, &[stretch(0.99)]).unwrap();
    // The end is one tick away.
    let halved = Direction::new(0.9995, 1.0, &[stretch(0.999_950_003_749_687_7), stretch(0.99)]).unwrap();
    for amount_in in [1.0e18, 1.7e18, 2.5e18, 1.0e20] {
        let [one, other] = [&whole, &halved].map(|direction| direction.quote(amount_in).0);
        assert!((one / other - 1.0).abs() < 1e-14, "{one} {other}");
    }
}
