//! Trades in recorded markets that are beyond what most paths take.

use std::sync::Arc;

use braid_primitives::{U256, address};
use braid_routing::{PoolFilter, Prepared, Request, Route, SimplePlan, solve};

use crate::support::recorded_market;

#[test]
fn no_simple_plan_pays_more_where_the_best_path_takes_a_part_only() {
    const GAS_PRICE_WEI: u64 = 1_000_000_000;
    let Some(imported) = recorded_market("mainnet_24721394.json") else { return };
    let market = Arc::new(imported.market);
    let prepared = Prepared::new(Arc::clone(&market));
    // EURQ for SPX: one path takes all, at a quarter of its value, and is worth taking for a third.
    let [from, to] =
        [address!("8dF723295214Ea6f21026eeEb4382d475f146F9f"), address!("E0f63A424a4439cBE457D80E4f4b51aD25b2c56C")]
            .map(|token| market.tokens().id(token).unwrap());
    for amount in [31_913_153_595_u64, 63_826_307_190, 95_739_460_785] {
        let request = Request {
            inputs: vec![(from, U256::from(amount))],
            outputs: vec![(to, 10_000)],
            max_hops: 4,
            filter: PoolFilter::default(),
            gas_price_wei: GAS_PRICE_WEI,
            max_steps: 40,
            at: market.block().next(),
        };
        #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
        let net = |route: &Route| {
            let gas = (route.gas_units() * GAS_PRICE_WEI) as f64;
            prepared.value_wei(to, route.amounts_out[0]).unwrap() - gas
        };
        let ours = net(&solve(&prepared, &request).unwrap().route);
        for plan in SimplePlan::ALL {
            let Some(route) = plan.route(&prepared, &request) else { continue };
            assert!(net(&route) <= ours * (1.0 + 1e-6), "{amount}: {plan:?} {}, ours {ours}", net(&route));
        }
    }
}
