//! The curves of recorded Curve, Balancer and Fluid pools against the pools themselves.

use braid_lab::recorded::Imported;
use braid_primitives::{ExecutionBlock, U256};
use braid_protocols::{After, Pool, Product, continuous::PairCurve};

use crate::support::recorded_market;

/// Such pools of all recordings, each with the block that it is quoted for.
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

/// Every ordered pair of a pool's coins that trades.
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

/// No exact quote is more than a hair above the curve (what a bound rests on), and where the pool's own rounding does not
/// matter the curve is close.
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
                // a formula from above is above; a crumb of Curve's is rounded by up to a unit; other samples may miss
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

/// A second trade meets what the first left: as much as asking for both at once, but for the fee on the way and rounding.
#[test]
fn a_second_trade_in_a_route_meets_the_first() {
    let mut seen = 0;
    for (pool, at) in pools() {
        for (i, j) in pairs(&pool).into_iter().take(4) {
            let Some(curve) = PairCurve::of(&pool, [i.min(j), i.max(j)], &at) else { continue };
            let Some(direction) = curve.direction(u8::from(i > j)) else { continue };
            let amount = U256::from(direction.to_share_of_spot(0.999).0);
            // of a coin with few decimals, the fee's rounding to a whole unit is what would be compared
            if amount < U256::from(10_000) {
                continue;
            }
            let Ok(first) = pool.swap(&at, i, j, amount) else { continue };
            let Ok(second) = pool.swap_after(&at, &first.after, i, j, amount) else { continue };
            assert_ne!(first.after, After::Unchanged);
            let Ok(both) = pool.swap(&at, i, j, amount + amount) else { continue };
            // the powers of weighted pools are good to 10⁻¹⁴ of what they hold, and no better
            let rounding = direction.capacity_out() * 1e-10;
            let (parts, whole) = (f64::from(first.amount_out + second.amount_out), f64::from(both.amount_out));
            assert!(
                (parts / whole - 1.0).abs() < 2e-3 || whole < 1e4 || whole < rounding,
                "{} {i}→{j}: {parts:e} and {whole:e}",
                pool.key.contract
            );
            // back again is never a profit
            if let Ok(back) = pool.swap_after(&at, &first.after, j, i, first.amount_out) {
                assert!(back.amount_out <= amount + U256::from(2), "{} {i}→{j}→{i}", pool.key.contract);
            }
            seen += 1;
        }
    }
    eprintln!("{seen} pairs traded twice");
}
