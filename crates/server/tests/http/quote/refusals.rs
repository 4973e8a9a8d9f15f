//! Tests of requests that no route can serve.

use braid_primitives::WETH;
use braid_protocols::lido::{STETH, WSTETH};
use serde_json::{Value, json};

use crate::support::{DAI, LONELY, Service, USDC, WBTC, market_with_wrapped_steth, purchase, swap};

#[tokio::test]
async fn what_cannot_be_routed_is_the_callers_problem_and_says_which() {
    let service = Service::start().await;
    let unknown = "0x00000000000000000000000000000000000000ff";
    let huge = (u128::MAX).to_string() + "0";
    let cases = [
        (swap(unknown, "1", &WETH.to_string()), "TOKEN_NOT_FOUND", Some("/inputs/0/address")),
        (swap(&USDC.to_string(), "1", unknown), "TOKEN_NOT_FOUND", Some("/outputs/0/address")),
        (swap(&USDC.to_string(), "1000000", &LONELY.to_string()), "NO_ROUTE_FOUND", Some("/outputs/0/address")),
        (swap(&USDC.to_string(), &huge, &WETH.to_string()), "INSUFFICIENT_LIQUIDITY", None),
        (swap(&USDC.to_string(), "1", &WBTC.to_string()), "AMOUNT_TOO_SMALL", None),
    ];
    for (body, code, pointer) in cases {
        let (status, answer) = service.refused_quote(&body).await;
        assert_eq!((status, answer["code"].as_str()), (422, Some(code)), "{body}");
        assert_eq!(answer["errors"][0]["pointer"].as_str(), pointer, "{answer:#}");
        assert_eq!(answer["retryable"], false);
    }
}

#[tokio::test]
async fn an_amount_that_is_too_large_is_never_called_too_small() {
    let service = Service::start().await;
    let ether = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE";
    let [usdc, weth, dai, wbtc] = [USDC, WETH, DAI, WBTC].map(|token| token.to_string());
    let pairs =
        [(&*usdc, &*weth), (&weth, &usdc), (ether, &weth), (ether, &usdc), (&dai, ether), (&dai, &wbtc), (&wbtc, &dai)];
    for (from, to) in pairs {
        for zeros in (24..=77).step_by(3) {
            let (status, answer) =
                refused_or_quoted(&service, &swap(from, &format!("1{}", "0".repeat(zeros)), to)).await;
            let code = answer["code"].as_str().unwrap_or("quoted");
            assert!(status == 200 || code == "INSUFFICIENT_LIQUIDITY", "10^{zeros} from {from} to {to}: {code}");
        }
    }
}

/// The route of an amount that a conversion raised to 2^128 was found, but could not be encoded: the answer was a 500.
#[tokio::test]
async fn an_amount_that_a_conversion_makes_too_large_is_refused() {
    let service = Service::start().await;
    service.publish(market_with_wrapped_steth());
    let [wsteth, steth] = [WSTETH, STETH].map(|token| token.to_string());
    let sold = |amount: u128| swap(&wsteth, &amount.to_string(), &steth);
    // 1.2 stETH for each
    let most = u128::MAX / 6 * 5;
    service.quote(&sold(most)).await;
    for amount in [most / 100 * 101, u128::MAX] {
        let (status, answer) = service.refused_quote(&sold(amount)).await;
        assert_eq!((status, answer["code"].as_str()), (422, Some("INSUFFICIENT_LIQUIDITY")), "{answer:#}");
    }
    for amount in [most, u128::MAX] {
        let body = purchase(&wsteth, &amount.to_string(), &steth);
        let (status, answer) = refused_or_quoted(&service, &body).await;
        let code = answer["code"].as_str().unwrap_or("quoted");
        assert!(status == 200 || code == "INSUFFICIENT_LIQUIDITY", "{amount} of stETH: {answer:#}");
    }
}

/// Asked for ether in one step, which would have to wrap it and trade it, the service once said that the amount was too
/// large.
#[tokio::test]
async fn where_max_steps_is_the_obstacle_the_refusal_names_it() {
    let service = Service::start().await;
    let mut body = swap("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "1000000000000000000", &USDC.to_string());
    body["max_steps"] = json!(1);
    let (status, answer) = service.refused_quote(&body).await;
    assert_eq!(status, 422);
    let detail = answer["detail"].as_str().unwrap();
    assert!(detail.contains("max_steps (1)") && detail.contains("allow more steps"), "{detail}");
    body["max_steps"] = json!(2);
    service.quote(&body).await;

    body["outputs"] = json!([
        {"chain_id": 1, "address": USDC, "ratio_bps": 3_000},
        {"chain_id": 1, "address": DAI, "ratio_bps": 3_000},
        {"chain_id": 1, "address": WBTC, "ratio_bps": 4_000},
    ]);
    let (status, answer) = service.refused_quote(&body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("NO_ROUTE_FOUND")));
    assert_eq!(answer["errors"][0]["pointer"], "/max_steps");
    assert!(answer["errors"][0]["detail"].as_str().unwrap().contains("at least 3 steps"), "{answer:#}");
}

/// 41 to 64 steps count as 40: "within max_steps (50): allow more steps" was wrong, and more would not have helped.
#[tokio::test]
async fn a_refusal_names_no_max_steps_that_the_service_does_not_go_up_to() {
    let service = Service::start().await;
    let mut body = swap(&USDC.to_string(), &format!("1{}", "0".repeat(36)), &WETH.to_string());
    for (max_steps, is_named) in [(39, true), (40, false), (41, false), (64, false)] {
        body["max_steps"] = json!(max_steps);
        let (status, answer) = service.refused_quote(&body).await;
        assert_eq!((status, answer["code"].as_str()), (422, Some("INSUFFICIENT_LIQUIDITY")));
        let detail = answer["detail"].as_str().unwrap();
        assert_eq!(detail.contains("max_steps"), is_named, "{detail}");
        assert_eq!(detail.contains("allow more steps"), is_named, "{detail}");
    }
}

/// Paths of a basket meet and may need more pools than each alone: "sell less" once was all that the service said.
#[tokio::test]
async fn a_refused_basket_names_the_limit_of_hops() {
    let service = Service::start().await;
    let huge = format!("1{}", "0".repeat(36));
    let mut body = swap(&USDC.to_string(), &huge, &WETH.to_string());
    let detail = async |body: &Value| {
        let (status, answer) = service.refused_quote(body).await;
        assert_eq!((status, answer["code"].as_str()), (422, Some("INSUFFICIENT_LIQUIDITY")), "{answer:#}");
        answer["detail"].as_str().unwrap().to_owned()
    };
    assert_eq!(detail(&body).await, "the market cannot take the whole amount: sell less");
    body["max_hops"] = json!(2);
    let within =
        "the market cannot take the whole amount along a route within max_hops (2): sell less, or allow more hops";
    assert_eq!(detail(&body).await, within);
    body["outputs"] = json!([
        {"chain_id": 1, "address": WETH, "ratio_bps": 5_000},
        {"chain_id": 1, "address": DAI, "ratio_bps": 5_000},
    ]);
    assert_eq!(detail(&body).await, format!("{within}, or ask for fewer tokens at once"));
}

async fn refused_or_quoted(service: &Service, body: &Value) -> (u16, Value) {
    let response = service.post("/v1/quote", body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}
