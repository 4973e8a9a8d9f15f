//! Baskets in recorded markets whose best paths cross.

use std::sync::Arc;

use braid_market::Tokens;
use braid_primitives::{U256, address};
use braid_routing::{PoolFilter, Prepared, Request, solve};

use crate::support::recorded_market;

#[test]
#[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
fn two_inputs_that_pay_each_others_output_best_have_a_route() {
    const GAS_PRICE_WEI: u64 = 1_000_000_000;
    let Some(imported) = recorded_market("mainnet_24721394.json") else { return };
    let market = Arc::new(imported.market);
    let prepared = Prepared::new(Arc::clone(&market));
    let id = |token| market.tokens().id(token).unwrap();
    // HKDM leads to USDT, and FTRB to ether: each seems to be paid best by what lies beyond the other's end.
    let hkdm = id(address!("0071F94350573Cd411e40BB409E7ddD927224054"));
    let ftrb = id(address!("2596825a84888E8f24b747DF29e11b5dd03C81D7"));
    let usdt = id(address!("dAC17F958D2ee523a2206206994597C13D831ec7"));
    // A basket is worth what its shortest output says; what another has above its share does not count.
    let value = |max_hops| {
        let request = Request {
            inputs: vec![
                (hkdm, U256::from(1_183_217_499_u64)),
                (ftrb, U256::from(246_424) * U256::from(10_u64.pow(17))),
            ],
            outputs: vec![(usdt, 5_000), (Tokens::ETHER, 5_000)],
            max_hops,
            filter: PoolFilter::default(),
            gas_price_wei: GAS_PRICE_WEI,
            max_steps: 40,
            at: market.block().next(),
        };
        let route = solve(&prepared, &request).unwrap().route;
        let worth = |at: usize| prepared.value_wei(request.outputs[at].0, route.amounts_out[at]).unwrap() * 2.0;
        worth(0).min(worth(1)) - (route.gas_units() * GAS_PRICE_WEI) as f64
    };
    let values = [2, 3, 4, 5, 6].map(value);
    assert!(values.is_sorted(), "longer paths are never worth less: {values:?}");
}
