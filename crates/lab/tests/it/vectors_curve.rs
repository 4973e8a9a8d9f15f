//! Compares recorded rows of Curve, and of the other protocols that the common reader covers, with our models, to the
//! wei.

use braid_lab::vectors::{Report, check};

use crate::support::vectors;

/// Recomputes a file of vectors, if it is available.
fn report(family: &str) -> Option<Report> {
    let report = check(&vectors(family)?).unwrap();
    let (failed, skipped) = (report.failed.len(), report.skipped.len());
    println!("{family}: {} passed, {} of them read from the chain", report.passed, report.passed_on_chain);
    println!("{family}: {failed} failed, {skipped} skipped");
    Some(report)
}

/// Checks that every row of the file is equal to the wei, and that there are at least as many rows as when this was
/// written.
fn all_equal(family: &str, on_chain: usize, all: usize) {
    let Some(report) = report(family) else { return };
    let failed: Vec<String> =
        report.failed.iter().map(|d| format!("{}: expected {}, got {}", d.row, d.expected, d.got)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(report.skipped.is_empty(), "{:#?}", report.skipped);
    assert!(report.passed >= all, "{} rows, not {all}", report.passed);
    assert!(report.passed_on_chain >= on_chain, "{} rows from the chain, not {on_chain}", report.passed_on_chain);
}

#[test]
fn stableswap_and_lending_pools_pay_what_mainnet_paid() {
    all_equal("curve_stableswap", 85, 445);
}

/// The row without an amount out is a trade that the contract refuses.
#[test]
fn metapools_and_their_underlying_coins_pay_what_mainnet_paid() {
    all_equal("curve_meta", 242, 243);
}

#[test]
fn the_next_generation_of_stableswap_pays_what_mainnet_paid() {
    all_equal("curve_stableswap_ng", 17, 95);
}

#[test]
fn crypto_pools_of_every_kind_pay_what_mainnet_paid() {
    all_equal("curve_crypto", 147, 210);
}

/// Curve's pools on other chains run the same code. The file's rows of other protocols are not checked here.
#[test]
fn pools_of_other_chains_pay_what_was_recorded_there() {
    let Some(report) = report("other_chains_and_synthetic") else { return };
    let curve = |protocol: &str| protocol.starts_with("curve");
    assert!(report.failed.iter().all(|difference| !curve(&difference.row.protocol)), "{:#?}", report.failed);
    assert!(report.skipped.iter().all(|(row, _)| !curve(&row.protocol)), "{:#?}", report.skipped);
    assert!(report.failed.is_empty() && report.skipped.is_empty(), "{:#?}", report.failed);
    assert!(report.passed >= 43);
}

/// The state after a swap must be equal: balances, invariant, prices, profits, and the price scale where it moved. The
/// rows were recorded swap by swap on a local chain that ran the published sources of two-coin CryptoSwap in three
/// revisions, Tricrypto-NG and Twocrypto-NG.
#[test]
fn crypto_pools_are_left_as_their_contracts_leave_them() {
    let report = check(include_str!("../vectors/curve_after.json")).unwrap();
    assert!(report.failed.is_empty(), "{:#?}", report.failed);
    assert_eq!((report.passed, report.skipped.len()), (ROWS_AFTER, 0));
}

/// The number of rows in `vectors/curve_after.json`: eleven or twelve for each contract.
const ROWS_AFTER: usize = 54;

#[test]
fn pairs_go_through_the_same_runner() {
    all_equal("uniswap_v2", 127, 1_158);
}

/// One row of the file is undecided: for a trade through the whole range of a pool, our result is 11 wei from another
/// project's, and an independent computation on the same state agrees with ours. All rows that were read from the chain
/// are equal.
#[test]
fn concentrated_pools_go_through_the_same_runner() {
    let Some(report) = report("uniswap_v3") else { return };
    assert!(report.failed.is_empty(), "{:#?}", report.failed);
    let [(undecided, reason)] = &report.skipped[..] else { panic!("{:#?}", report.skipped) };
    assert!(!undecided.on_chain && reason.contains("11 wei off"), "{undecided}: {reason}");
    assert!(report.passed >= 391 && report.passed_on_chain >= 56);
}

/// Balancer V3 pools of the modelled kinds must be equal; Gyro and QuantAMM pools are skipped by name.
#[test]
fn pools_of_the_third_vault_pay_what_was_recorded() {
    let Some(report) = report("balancer_v3") else { return };
    assert!(report.failed.is_empty() && report.malformed.is_empty(), "{:#?}", report.failed);
    let ours = |protocol: &str| ["balancer_v3_weighted", "balancer_v3_stable"].contains(&protocol);
    assert!(report.skipped.iter().all(|(row, _)| !ours(&row.protocol)), "{:#?}", report.skipped);
    assert!(report.passed >= 18 && report.passed_on_chain >= 4);
}

/// Fluid's rows are other projects' computations. They must be equal with the contract's order of rounding or with
/// theirs.
#[test]
fn fluid_pools_pay_what_others_computed() {
    let Some(report) = report("fluid") else { return };
    assert!(report.failed.is_empty() && report.malformed.is_empty(), "{:#?}", report.failed);
    assert!(report.skipped.iter().all(|(row, _)| row.protocol == "fluid_dex_lite"), "{:#?}", report.skipped);
    assert!(report.passed >= 311 && report.explained.len() < report.passed / 2 + 1, "{}", report.explained.len());
}

/// A row that is one wei too high must be reported by name. Otherwise the other checks would prove nothing.
#[test]
fn a_row_that_is_one_wei_off_is_reported() {
    let pool = r#"{"address": "0x93054188d876f558f4a66b2ef1d97d16edf0895b", "balances": ["500000000", "700000000"],
        "rates": ["10000000000000000000000000000", "10000000000000000000000000000"], "A_precise": "200",
        "A_precision": "1", "fee": "4000000", "admin_fee": "5000000000"}"#;
    let row = |amount_out: u64| {
        format!(r#"{{"i": 0, "j": 1, "amount_in": "1000000", "amount_out": "{amount_out}", "fn": "exchange"}}"#)
    };
    let file = |rows: &str| {
        format!(r#"{{"entries": [{{"protocol": "curve_stableswap", "pool": {pool}, "swaps": [{rows}]}}]}}"#)
    };
    let refused = check(&file(&row(0))).unwrap();
    let paid: u64 = refused.failed[0].got.parse().unwrap();
    let report = check(&file(&format!("{}, {}", row(paid), row(paid + 1)))).unwrap();
    assert_eq!((report.passed, report.failed.len()), (1, 1));
    assert_eq!(report.failed[0].row.row, 1);
    assert!(report.failed[0].row.to_string().contains("0x93054188d876f558f4a66b2ef1d97d16edf0895b"));
}

/// A metapool of the NG generation over two coins, with trades of its own coin against the base pool's second coin.
#[test]
fn exchange_underlying_of_a_metapool_is_not_taken_for_exchange() {
    let wad = "1000000000000000000";
    let pool = |base: &str, refused: &str| {
        format!(
            r#"{{"balances": ["900000000000000000000", "800000000000000000000"], "rates": ["{wad}", "{wad}"],
            "rate_coin0": "{wad}", "A_precise": "20000", "fee": "4000000", "offpeg_fee_multiplier": "20000000000"{base},
            "must_fail": [{refused}]}}"#
        )
    };
    let base = format!(
        r#", "base_pool": {{"balances": ["700000000000000000000", "500000000000000000000"], "rates": ["{wad}", "{wad}"],
        "A_precise": "10000", "fee": "1000000", "offpeg_fee_multiplier": "20000000000", "total_supply": "1190000000000000000000"}}"#
    );
    let report = |protocol: &str, pool: &str, rows: &str| {
        check(&format!(r#"{{"entries": [{{"protocol": "{protocol}", "pool": {pool}, "swaps": [{rows}]}}]}}"#)).unwrap()
    };
    let row = |j: u8, what: &str, amount_out: &str| {
        format!(r#"{{"i": 0, "j": {j}, "amount_in": "50000000000000000000", "amount_out": "{amount_out}", {what}}}"#)
    };
    let paid = |what: &str| report("curve_meta_ng", &pool(&base, ""), &row(1, what, "1")).failed[0].got.clone();
    let (shares, coins) = (paid(r#""fn": "exchange""#), paid(r#""fn": "get_dy_underlying""#));
    assert_ne!(shares, coins);
    let named = [
        r#""fn": "exchange_underlying""#,
        r#""kind": "exchange_underlying""#,
        r#""fn": "exchange_underlying (executed)""#,
    ];
    let rows = named.map(|what| row(1, what, &coins)).join(", ");
    for protocol in ["curve_meta_ng", "curve_stableswap_ng"] {
        let report = report(protocol, &pool(&base, ""), &rows);
        assert_eq!((report.passed, report.failures(), report.skipped.len()), (3, 0, 0), "{protocol}: {report:#?}");
    }
    // `exchange` knows no coin 2. If the row were recomputed with it, a trade that the pool makes would seem to be
    // refused.
    let refused = report("curve_meta_ng", &pool(&base, &row(2, named[0], "0")), "");
    assert_eq!((refused.passed, refused.failed.len()), (0, 1), "{refused:#?}");
    let skipped = report("curve_stableswap_ng", &pool("", ""), &row(1, named[0], "1"));
    assert_eq!(skipped.skipped[0].1, "exchange_underlying of a pool that is no metapool is not modelled");
}

#[test]
fn files_that_are_none_are_refused_and_pools_that_are_none_are_skipped_with_a_reason() {
    assert!(check("not json").is_err());
    assert!(check("[]").is_err());
    let report = check(
        r#"{"entries": [
            {"protocol": "nonesuch", "pool": {}, "swaps": [{"i": 0, "j": 1}]},
            {"protocol": "curve_stableswap", "pool": {"balances": ["1"], "rates": []}, "swaps": [{"i": 0, "j": 1}]},
            {"protocol": "curve_tricrypto_ng", "pool": 7, "swaps": [{}]}
        ]}"#,
    )
    .unwrap();
    assert_eq!((report.passed, report.failed.len(), report.skipped.len()), (0, 0, 1));
    assert_eq!(report.skipped[0].1, "no model of \"nonesuch\"");
    let malformed: Vec<_> = report.malformed.iter().map(|entry| (entry.entry, entry.why.as_str())).collect();
    let lengths = "impossible pool: balances and rates of different length, or too many";
    assert_eq!(malformed, [(1, lengths), (2, "pool: expected an object")]);
    assert_eq!(report.failures(), 2);
}

/// Other projects' notation must be read: coins by address, numbers as JSON numbers, and a refusal with one `amount`.
#[test]
fn rows_may_name_coins_by_address_and_a_known_error_of_the_source_is_not_ours() {
    let report = check(
        r#"{"entries": [{"protocol": "uniswap_v2", "block": "7",
            "pool": {"reserves": [1000000, "1000000"], "fee_bps": 30, "tokens": ["0xAA", {"address": "0xbb"}],
                     "must_fail": [{"token_in": "0xaa", "token_out": "0xbb", "amount": 1}]},
            "swaps": [
                {"token_in": "0xbb", "token_out": "0xaa", "amount_in": 1000, "amount_out": 996},
                {"i": 0, "j": 1, "amount_in": "1000", "amount_out": "998", "recheck": "mismatch:±2"},
                {"i": 0, "j": 1, "amount_in": "1000", "amount_out": "999", "recheck": "mismatch:2"}
            ]}]}"#,
    )
    .unwrap();
    assert_eq!((report.passed, report.skipped.len(), report.failed.len()), (2, 1, 1), "{report:#?}");
    assert_eq!(report.failed[0].wei().unwrap(), "-3");
}

/// Returns our results for a pool of 2021 and amounts of many sizes. The rows' outputs are wrong on purpose, so that
/// the report contains the computed values.
fn answers_of_2021(address: &str, variant: &str) -> Vec<String> {
    let rows = (0..400_u64).map(|k| {
        format!(
            r#"{{"i": 0, "j": 1, "amount_in": "{}", "amount_out": "0", "fn": "get_dy"}}"#,
            10_u64.pow(18) + k * 7_919
        )
    });
    let rows: Vec<String> = rows.collect();
    let pool = format!(
        r#"{{"address": "{address}", {variant} "balances": ["1065979364206706307602259", "468720194342738951476"],
        "precisions": ["1", "1"], "price_scale": ["2000000000000000000000"], "D": "2000293009246416731760264", "A": "400000",
        "gamma": "145000000000000", "mid_fee": "26000000", "out_fee": "45000000", "fee_gamma": "230000000000000"}}"#
    );
    let file = format!(
        r#"{{"entries": [{{"protocol": "curve_cryptoswap2", "pool": {pool}, "swaps": [{}]}}]}}"#,
        rows.join(", ")
    );
    check(&file).unwrap().failed.into_iter().map(|difference| difference.got).collect()
}

/// EUROC's pool rounds the slope in Newton's method differently. The file's format cannot state this, so the pool must
/// be recognised by its address.
#[test]
fn a_pool_of_2021_is_known_by_its_address() {
    let by_address = answers_of_2021("0xE84f5b1582BA325fDf9cE6B0c1F087ccfC924e54", "");
    assert_eq!(by_address, answers_of_2021("?", r#""variant": "tenth_loose","#));
    assert_ne!(by_address, answers_of_2021("?", r#""variant": "factory","#));
    assert_eq!(answers_of_2021("?", ""), answers_of_2021("?", r#""variant": "factory","#));
}

/// A router requests one unit more than the quotient even if the division has no remainder, and then a smaller input
/// would pay as much.
#[test]
fn a_pair_asks_for_one_more_where_it_divides_evenly() {
    let report = check(
        r#"{"entries": [{"protocol": "uniswap_v2", "pool": {"reserves": ["997000", "2000000"], "fee_bps": 30,
             "must_fail": [{"i": 0, "j": 1, "amount_in": "1", "amount_out": "2000000", "kind": "exact_out"}]},
            "swaps": [
                {"i": 0, "j": 1, "amount_in": "1000001", "amount_out": "1000000", "kind": "exact_out"},
                {"i": 0, "j": 1, "amount_in": "1000000", "amount_out": "1000000", "kind": "exact_in"},
                {"i": 0, "j": 1, "amount_in": "1000000", "amount_out": "1000000", "kind": "exact_out"}
            ]}]}"#,
    )
    .unwrap();
    assert_eq!((report.passed, report.failed.len(), report.failed[0].row.row), (3, 1, 2), "{report:#?}");
}

/// An ERC-4626 vault must be read by how it converts, whatever its protocol's name.
#[test]
fn a_vault_of_any_name_is_read_by_its_kind() {
    let report = check(
        r#"{"entries": [{"protocol": "erc4626_of_tomorrow", "pool": {"kind": "oz_virtual",
            "params": {"total_assets": "2000", "total_supply": "1000", "decimals_offset": "0"}},
            "swaps": [{"i": 0, "j": 1, "amount_in": "100", "amount_out": "50", "fn": "deposit"}]},
            {"protocol": "erc4626_of_tomorrow", "pool": {"kind": "by_magic", "params": {}},
            "swaps": [{"i": 0, "j": 1, "amount_in": "100", "amount_out": "50"}]}]}"#,
    )
    .unwrap();
    assert_eq!((report.passed, report.failed.len(), report.skipped.len()), (1, 0, 1), "{report:#?}");
    assert!(report.skipped[0].1.contains("by_magic"));
}

/// Another project's rounding can explain a difference, but not a swap that the pool would refuse.
#[test]
fn a_refused_swap_of_fluids_is_not_explained_by_rounding() {
    let pool = |limit: u64| {
        let side = r#"{"token0_real": "1000000000000000", "token1_real": "1000000000000000",
            "token0_imaginary": "1000000000000000", "token1_imaginary": "1000000000000000"}"#;
        let limits = format!(r#"{{"available": "{limit}", "expands_to": "{limit}", "expand_duration": "0"}}"#);
        format!(
            r#"{{"tokens": [{{"decimals": 6}}, {{"decimals": 6}}], "center_price_1e27": "1000000000000000000000000000", "fee_1e6": "100",
            "collateral_reserves": {side}, "dex_limits": {{"withdrawable_token0": {limits}, "withdrawable_token1": {limits},
            "borrowable_token0": {limits}, "borrowable_token1": {limits}}}}}"#
        )
    };
    let file = |limit: u64| {
        let row = r#"{"i": 0, "j": 1, "amount_in": "1000000", "amount_out": "998901", "kind": "exact_in"}"#;
        format!(r#"{{"entries": [{{"protocol": "fluid_dex_t1", "pool": {}, "swaps": [{row}]}}]}}"#, pool(limit))
    };
    let report = check(&file(1_000_000_000)).unwrap();
    assert_eq!((report.passed, report.failed.len()), (1, 0), "{report:#?}");
    let report = check(&file(1_000)).unwrap();
    assert_eq!((report.passed, report.failed.len()), (0, 1), "{report:#?}");
}
