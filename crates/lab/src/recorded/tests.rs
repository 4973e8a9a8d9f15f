use braid_primitives::{Address, B256, PoolKey, U256};
use braid_protocols::{PoolState, fluid::dex};

use super::*;

const SAMPLE: &str = r#"{
    "block": 7, "chain": 1,
    "tokens": [
        {"address": "0x0000000000000000000000000000000000000000", "symbol": "ETH", "decimals": 18},
        {"address": "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "symbol": "USDC", "decimals": 6},
        {"address": "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2", "symbol": "WETH", "decimals": 18}],
    "pools": [
        {"kind": "uniswap_v2", "dex": "sushiswap_v2", "address": "0x0000000000000000000000000000000000000011",
         "tokens": ["0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"],
         "reserves": ["3000000000000", "1000000000000000000000"], "fee_bps": 30},
        {"kind": "uniswap_v3", "dex": "uniswap_v3", "address": "0x0000000000000000000000000000000000000012",
         "tokens": ["0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"],
         "fee_pips": 3000, "tick_spacing": 60, "sqrt_price_x96": "79228162514264337593543950336", "tick": 0,
         "liquidity": "170141183460469231731687303715884105727",
         "ticks": [[60, "-170141183460469231731687303715884105727"], [-60, "170141183460469231731687303715884105727"]]},
        {"kind": "fluid_t1", "dex": "fluid_t1", "address": "0x0000000000000000000000000000000000000013",
         "tokens": ["0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "0x0000000000000000000000000000000000000000"],
         "collateral_reserves": {"token0_real": "2295042598570000000", "token1_real": "1244915690476092",
                                 "token0_imaginary": "23405089809239810283", "token1_imaginary": "11014459496827715"},
         "debt_reserves": {"token0_real": "0", "token1_real": "0", "token0_imaginary": "0", "token1_imaginary": "0"},
         "center_price_1e27": "462791187004722992119808", "fee_1e6": 1000,
         "dex_limits": {
             "borrowable_token0": {"available": "0", "expands_to": "0", "expand_duration": "0"},
             "borrowable_token1": {"available": "0", "expands_to": "0", "expand_duration": "0"},
             "withdrawable_token0": {"available": "1000000", "expands_to": "2295042598570", "expand_duration": "600"},
             "withdrawable_token1": {"available": "7", "expands_to": "1244915690476092769722", "expand_duration": "0"}},
         "sync_time": 1774283111},
        {"kind": "fluid_t1", "dex": "fluid_t1", "address": "0x0000000000000000000000000000000000000015", "tokens": []},
        {"kind": "order_book", "dex": "order_book", "address": "0x0000000000000000000000000000000000000016", "tokens": []},
        {"kind": "uniswap_v2", "dex": "uniswap_v2", "address": "0x0000000000000000000000000000000000000014",
         "tokens": ["0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "0xdac17f958d2ee523a2206206994597c13d831ec7"],
         "reserves": ["1", "1"], "fee_bps": 30}],
    "updates": [{"block": 8, "changed": [
        {"kind": "uniswap_v2", "address": "0x0000000000000000000000000000000000000011", "reserves": ["3000000000001", "2"]},
        {"kind": "fluid_t1", "address": "0x0000000000000000000000000000000000000013",
         "collateral_reserves": {"token0_real": "2295042598570000000", "token1_real": "1244915690476092",
                                 "token0_imaginary": "23405089809239810283", "token1_imaginary": "11014459496827715"},
         "debt_reserves": {"token0_real": "0", "token1_real": "0", "token0_imaginary": "0", "token1_imaginary": "0"},
         "center_price_1e27": "462791187004722992119808", "fee_1e6": 500,
         "dex_limits": {
             "borrowable_token0": {"available": "0", "expands_to": "0", "expand_duration": "0"},
             "borrowable_token1": {"available": "0", "expands_to": "0", "expand_duration": "0"},
             "withdrawable_token0": {"available": "1000000", "expands_to": "2295042598570", "expand_duration": "600"},
             "withdrawable_token1": {"available": "7", "expands_to": "1244915690476092769722", "expand_duration": "0"}},
         "sync_time": 1774283111},
        {"kind": "fluid_t1", "address": "0x0000000000000000000000000000000000000015"}]}]
}"#;

#[test]
fn a_recorded_market_keeps_what_we_cover_and_counts_the_rest() {
    let imported = import(SAMPLE.as_bytes()).unwrap();
    let market = &imported.market;
    assert_eq!((market.block().number, market.block().hash), (7, B256::ZERO));
    assert_eq!(market.tokens().len(), 3, "the zero address is ether, WETH is known");
    let products: Vec<_> = market.pools().iter().map(|pool| pool.product.id()).collect();
    assert_eq!(products, ["wrapped_ether", "sushiswap_v2", "uniswap_v3", "fluid_dex_t1"]);
    let PoolState::UniswapV3(state) = &market.pools()[2].state else { panic!("a V3 pool") };
    assert_eq!(state.ticks.iter().map(|tick| tick.index).collect::<Vec<_>>(), [-60, 60], "sorted");
    let PoolState::FluidDexT1(dex::State::Snapshot(fluid)) = &market.pools()[3].state else { panic!("a Fluid pool") };
    assert_eq!(
        (fluid.decimals, fluid.reserves.debt),
        ([6, 18], None),
        "a side of which nothing is there does not trade"
    );
    let [usdc, ether] = fluid.withdrawable.unwrap();
    assert_eq!((usdc.available, usdc.after(600)), (U256::from(1_000_000), U256::from(2_295_042_598_570_u64)));
    assert_eq!(ether.after(0), ether.expands_to, "without a time to expand in, it has expanded");
    let skipped: Vec<_> = imported.skipped.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    let expected = [
        ("fluid_t1: 0 coins", 1),
        ("order_book: kind not covered", 1),
        ("uniswap_v2: a coin that is no listed token", 1),
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn updates_give_the_new_states_of_the_pools_we_cover() {
    let updates = import(SAMPLE.as_bytes()).unwrap().updates;
    assert_eq!(updates.len(), 1);
    let [pool, fluid] = updates[0].changed.as_slice() else { panic!("two pools") };
    assert_eq!(pool.key.contract, Address::with_last_byte(0x11));
    let PoolState::UniswapV2(state) = &pool.state else { panic!("a pair") };
    assert_eq!((state.reserve0, state.reserve1, state.fee_bps), (3_000_000_000_001, 2, 30));
    assert_eq!((fluid.key.contract, fluid.fee_pips()), (Address::with_last_byte(0x13), Some(500)));
}

#[test]
fn text_that_is_no_market_is_refused() {
    for text in ["{}", "{", r#"{"tokens": 1, "pools": []}"#] {
        assert!(matches!(import(text.as_bytes()), Err(FileError::Body { .. })), "{text}");
    }
}

#[test]
fn a_generated_stable_pool_is_one_of_curves() {
    let pool = r#"{"tokens": [
        {"address": "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "symbol": "USDC", "decimals": 6},
        {"address": "0x6b175474e89094c44da98b954eedeac495271d0f", "symbol": "DAI", "decimals": 18}],
      "pools": [{"kind": "curve_stable", "address": "0x0000000000000000000000000000000000000017",
        "tokens": ["0x6b175474e89094c44da98b954eedeac495271d0f", "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"],
        "balances": ["1000000000000000000000000", "1000000000000"],
        "rates": ["1000000000000000000", "1000000000000000000000000000000"],
        "a": "200000", "a_precision": 100, "fee": "1000000"}]}"#;
    let imported = import(pool.as_bytes()).unwrap();
    assert!(imported.skipped.is_empty(), "{:?}", imported.skipped);
    let market = imported.market;
    let pool = market.pools().iter().find(|pool| pool.product == braid_protocols::Product::CurveStableswap).unwrap();
    // A trade of a thousand in a deep pool near its centre: a fee of 0.01%, and slippage of five in ten million.
    let swap = pool.swap(&market.block().next(), 0, 1, U256::from(10).pow(U256::from(21))).unwrap();
    assert_eq!(swap.amount_out, U256::from(999_899_500));
}

#[test]
fn recorded_pools_that_share_a_contract_are_told_apart_by_their_ids() {
    let [one, two] = [1, 2].map(|id| PoolKey::with_id(Address::with_last_byte(0x11), B256::with_last_byte(id)));
    let name = |text: &str, key: PoolKey| text.replace(&key.contract.to_string(), &key.to_string());
    let entry = |key| {
        let coins = ["0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"];
        let kind = "uniswap_v2";
        serde_json::json!({"kind": kind, "address": key, "tokens": coins, "reserves": ["5", "6"], "fee_bps": 30})
    };
    let mut document: serde_json::Value = serde_json::from_str(&name(SAMPLE, two)).unwrap();
    document["pools"].as_array_mut().unwrap().push(entry(one));
    let imported = import(document.to_string().as_bytes()).unwrap();
    let keys: Vec<PoolKey> = imported.market.pools().iter().map(|pool| pool.key).collect();
    assert_eq!((keys[1], keys[4]), (two, one));
    assert_eq!(imported.updates[0].changed[0].key, two);
    let again = import(export(&imported.market).document.to_string().as_bytes()).unwrap();
    assert_eq!(again.market.pool_id(one), imported.market.pool_id(one).map(|id| braid_primitives::PoolId(id.0 - 1)));
}
