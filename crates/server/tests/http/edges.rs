//! Tests of limits: the last value that is accepted, and the first that is not.

use braid_primitives::{U256, WETH};
use serde_json::{Value, json};

use crate::support::{
    ISLAND, LONELY, Service, TAKER, USDC, data, market_with_island, problem, purchase, request, swap,
};

#[tokio::test]
async fn fields_of_a_quote_are_accepted_up_to_their_limits_and_no_further() {
    let service = Service::start().await;
    let names = |count: usize| json!((0..count).map(|n| format!("unknown_{n}")).collect::<Vec<_>>());
    let pools = |count: u64| json!((1..=count).map(|n| format!("0x{n:040x}")).map(Value::from).collect::<Vec<_>>());
    let rows: [(&str, &[Value], &[Value]); 7] = [
        ("slippage_tolerance_bps", &[json!(0), json!(5_000)], &[json!(5_001)]),
        ("max_hops", &[json!(1), json!(8)], &[json!(0), json!(9)]),
        ("ttl_s", &[json!(10), json!(900)], &[json!(9), json!(901)]),
        ("max_steps", &[json!(1), json!(40)], &[json!(0), json!(65)]),
        ("exclude_protocols", &[names(0), names(256)], &[names(257)]),
        // The pools of the test's market have the lowest addresses.
        ("exclude_pools", &[pools(0), json!([format!("0x{:040x}", 1 << 20)])], &[pools(257)]),
        ("simulate", &[json!(false)], &[json!(0)]),
    ];
    for (field, accepted, refused) in rows {
        for value in accepted {
            let mut body = request();
            body[field] = value.clone();
            service.quote(&body).await;
        }
        for value in refused {
            let mut body = request();
            body[field] = value.clone();
            let (status, answer) = service.refused_quote(&body).await;
            assert_eq!((status, answer["code"].as_str()), (422, Some("VALIDATION_FAILED")), "{field}: {answer}");
            assert_eq!(answer["errors"][0]["pointer"], format!("/{field}"), "{answer}");
        }
    }
}

#[tokio::test]
async fn amounts_end_where_the_proxy_cannot_encode_them() {
    let service = Service::start().await;
    let limit = U256::ONE << 128_usize;
    for (amount, code) in [
        (U256::ZERO, "VALIDATION_FAILED"),
        (limit - U256::ONE, "INSUFFICIENT_LIQUIDITY"),
        (limit, "INSUFFICIENT_LIQUIDITY"),
        (U256::MAX, "INSUFFICIENT_LIQUIDITY"),
    ] {
        for body in [
            swap(&USDC.to_string(), &amount.to_string(), &WETH.to_string()),
            purchase(&USDC.to_string(), &amount.to_string(), &WETH.to_string()),
        ] {
            let (status, answer) = service.refused_quote(&body).await;
            assert_eq!((status, answer["code"].as_str()), (422, Some(code)), "{amount}: {answer}");
        }
    }
}

#[tokio::test]
async fn lists_of_market_data_are_accepted_up_to_their_limits_and_no_further() {
    let service = Service::start().await;
    let addresses = |count: u64| (1..=count).map(|n| format!("0x{n:040x}")).collect::<Vec<_>>();
    for (path, is_accepted) in [
        (format!("/v1/prices?addresses={}", addresses(100).join(",")), true),
        (format!("/v1/prices?addresses={}", addresses(101).join(",")), false),
        ("/v1/tokens?limit=1".into(), true),
        ("/v1/tokens?limit=200".into(), true),
        ("/v1/tokens?limit=0".into(), false),
        ("/v1/tokens?limit=201".into(), false),
    ] {
        let answer = service.client.get(format!("{}{path}", service.base)).send().await.unwrap();
        if is_accepted {
            data(answer).await;
        } else {
            assert_eq!(problem(answer).await.0, 422, "{path}");
        }
    }
    let pairs =
        |count| addresses(count).iter().map(|token| json!({"token": token, "spender": TAKER})).collect::<Vec<_>>();
    for (path, field, list) in
        [("/v1/balances", "tokens", json!(addresses(101))), ("/v1/allowances", "allowances", json!(pairs(101)))]
    {
        let body = json!({"chain_id": 1, "owner": TAKER, field: list});
        let (status, answer) = problem(service.post(path, &body).send().await.unwrap()).await;
        assert_eq!((status, answer["errors"][0]["pointer"].as_str()), (422, Some(&*format!("/{field}"))), "{answer}");
    }
}

#[tokio::test]
async fn a_basket_with_an_output_that_has_no_price_names_the_output() {
    let service = Service::start().await;
    service.publish(market_with_island());
    let body = json!({
        "inputs": [
            {"chain_id": 1, "address": USDC, "amount": "1000000000"},
            {"chain_id": 1, "address": LONELY, "amount": "1000"},
        ],
        "outputs": [
            {"chain_id": 1, "address": WETH, "ratio_bps": 5000},
            {"chain_id": 1, "address": ISLAND, "ratio_bps": 5000},
        ],
        "taker": TAKER,
    });
    let (status, answer) = service.refused_quote(&body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("OUTPUT_PRICE_UNAVAILABLE")), "{answer}");
    assert_eq!(answer["errors"][0]["pointer"], "/outputs/1/address", "{answer}");
}
