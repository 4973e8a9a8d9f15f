//! Compares the curves of recorded Curve, Balancer and Fluid pools with the pools' exact quotes.

use braid_lab::recorded::Imported;
use braid_primitives::{ExecutionBlock, U256};
use braid_protocols::{After, Pool, Product, continuous::PairCurve};

use crate::support::recorded_market;

/// Returns such pools of all recordings, each with the block that it is quoted for.
fn pools() -> Vec<(Pool, ExecutionBlock)> {
    let mut pools = Vec::new();
    for name in ["mainnet_2023_09.json", "mainnet_curve_26132000.json", "mainnet_24721394.json"] {
        let Some(imported) = recorded_market(name) else { continue };
        let at = ExecutionBlock { timestamp: 1_791_273_587, ..imported.market.block().next() };
        let sampled = |pool: &&std::sync::Arc<Pool>| ["curve", "balancer", "fluid"].contains(&pool.product.family());
        pools.extend(imported.market.pools().iter().filter(sampled).map(|pool| ((**pool).clone(), at)));
    }
    pools
}

/// Returns every ordered pair of a pool's coins.
fn pairs(pool: &Pool) -> Vec<(u8, u8)> {
    let coins = u8::try_from(pool.coins.len()).unwrap();
    (0..coins).flat_map(|i| (0..coins).map(move |j| (i, j))).filter(|(i, j)| i != j).collect()
}

#[test]
fn recordings_give_most_of_their_pools() {
    let Some(Imported { market, skipped, .. }) = recorded_market("mainnet_2023_09.json") else { return };
    let balancer = market.pools().iter().filter(|pool| pool.product.family() == "balancer").count();
    assert_eq!(balancer, 199, "left out: {skipped:?}");
    let Some(Imported { market, skipped, .. }) = recorded_market("mainnet_curve_26132000.json") else { return };
    let curve = market.pools().iter().filter(|pool| pool.product.family() == "curve").count();
    eprintln!("{curve} Curve pools; left out: {skipped:?}");
    assert!(curve >= 30, "{curve}, left out: {skipped:?}");
}

/// No exact quote may exceed the curve by more than a tiny tolerance, because the upper bound relies on it. Where the
/// pool's rounding does not matter, the curve must be close.
#[test]
fn no_recorded_pool_pays_more_than_its_curve() {
    let (mut seen, mut worst_below, mut far, mut sum) = (0_u32, 0.0_f64, 0_u32, 0.0_f64);
    for (pool, at) in pools() {
        for (i, j) in pairs(&pool) {
            let Some(curve) = PairCurve::of(&pool, [i.min(j), i.max(j)], &at) else { continue };
            let Some(direction) = curve.direction(u8::from(i > j)) else { continue };
            for step in 1..24 {
                let amount = (direction.capacity_in() * 10_f64.powf(-0.35 * f64::from(step))).floor();
                if amount < 1e4 {
                    break;
                }
                let Ok(swap) = pool.swap(&at, i, j, U256::from(amount)) else { continue };
                let paid = f64::from(swap.amount_out);
                let above = direction.quote(amount).0 / paid - 1.0;
                // A formula that bounds from above must be above. Small Curve trades may be rounded up by one unit.
                // Samples of other pools may deviate more.
                let least = match pool.product.family() {
                    _ if pool.product == Product::BalancerV2Weighted => -1e-12,
                    "curve" => -1.0 / paid,
                    _ => -3e-4,
                };
                assert!(above > least, "{} {i}→{j}: {amount:e} pays {paid:e}, {above:e}", pool.key.contract);
                if paid > 1e6 {
                    worst_below = worst_below.min(above);
                }
                if paid > 1e8 && paid < direction.capacity_out() * 0.6 {
                    seen += 1;
                    sum += above;
                    far += u32::from(above > 5e-5);
                }
            }
        }
    }
    if seen > 0 {
        let mean = sum / f64::from(seen);
        eprintln!("{seen} quotes: mean {mean:e} above, {far} more than 5·10⁻⁵ above, at worst {worst_below:e} below");
        assert!(f64::from(far) < 0.05 * f64::from(seen), "{far} of {seen} are far above");
    }
}

/// A second trade in a route must use the state after the first. Both together must pay as much as one trade of both
/// amounts, apart from fees that stay in the pool and rounding.
#[test]
fn a_second_trade_in_a_route_meets_the_first() {
    let mut seen = 0;
    for (pool, at) in pools() {
        for (i, j) in pairs(&pool).into_iter().take(4) {
            let Some(curve) = PairCurve::of(&pool, [i.min(j), i.max(j)], &at) else { continue };
            let Some(direction) = curve.direction(u8::from(i > j)) else { continue };
            let amount = U256::from(direction.to_share_of_spot(0.999).0);
            // With so few atomic units, the comparison would only show how the fee is rounded to a whole unit.
            if amount < U256::from(10_000) {
                continue;
            }
            let Ok(first) = pool.swap(&at, i, j, amount) else { continue };
            let Ok(second) = pool.swap_after(&at, &first.after, i, j, amount) else { continue };
            assert_ne!(first.after, After::Unchanged);
            let Ok(both) = pool.swap(&at, i, j, amount + amount) else { continue };
            // The powers in weighted pools are accurate only to 10⁻¹⁴ of the balances.
            let rounding = direction.capacity_out() * 1e-10;
            let (parts, whole) = (f64::from(first.amount_out + second.amount_out), f64::from(both.amount_out));
            assert!(
                (parts / whole - 1.0).abs() < 2e-3 || whole < 1e4 || whole < rounding,
                "{} {i}→{j}: {parts:e} and {whole:e}",
                pool.key.contract
            );
            // Trading back must not make a profit.
            if let Ok(back) = pool.swap_after(&at, &first.after, j, i, first.amount_out) {
                assert!(back.amount_out <= amount + U256::from(2), "{} {i}→{j}→{i}", pool.key.contract);
            }
            seen += 1;
        }
    }
    eprintln!("{seen} pairs traded twice");
}
