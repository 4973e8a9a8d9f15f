//! Tests of explanations and pictures of routes.

use braid_primitives::WETH;
use serde_json::{Value, json};

use super::text;
use crate::support::{Service, USDC, WBTC, problem, swap};

#[tokio::test]
async fn a_route_is_explained_in_words_and_numbers() {
    let service = Service::start().await;
    let mut asked = swap(&USDC.to_string(), "600000000000", &WETH.to_string());
    asked["explain"] = json!(true);
    let quote = service.quote(&asked).await;
    let why = &quote["explanation"];
    assert!(why["splitting"]["bps"].as_f64().unwrap() > 100.0, "{why:#}");
    assert!(
        text(&why["best_single_route"]["expected_amount"]) < text(&quote["estimated_outputs"][0]["expected_amount"])
    );
    assert!(why["exclusions"].is_null());
    let share = text(&why["gas"]["cost_wei"]) as f64 / text(&why["output_value_wei"]) as f64 * 1e4;
    assert!((share - why["gas"]["share_bps"].as_f64().unwrap()).abs() < 0.01);
    // Where branches trade the same two tokens, the marginal price must be the same in each.
    let prices = why["step_prices"].as_array().unwrap();
    let direct = quote["path"]["steps"].as_array().unwrap().iter().zip(prices);
    let direct: Vec<f64> = direct
        .filter(|(step, _)| step["token_in"] == json!(USDC.to_checksum(None)))
        .filter(|(step, _)| step["token_out"] == json!(WETH.to_checksum(None)))
        .map(|(_, price)| price["marginal"].as_f64().unwrap())
        .collect();
    assert_eq!(direct.len(), 2, "{why:#}");
    assert!((direct[0] / direct[1] - 1.0).abs() < 0.002, "{direct:?}");
    // After the sale, the marginal price is lower than the reference price.
    let next = &why["marginal_prices"][0];
    let price = |key: &str| next[key].as_str().unwrap().parse::<f64>().unwrap();
    assert!(price("value") < price("reference"), "{next}");
    let words: Vec<&str> = why["words"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(words.iter().any(|line| line.contains("that is what splitting added")), "{words:?}");

    // Excluding a protocol costs something, and the explanation states how much.
    asked["exclude_protocols"] = json!(["sushiswap"]);
    let poorer = service.quote(&asked).await;
    let exclusions = &poorer["explanation"]["exclusions"];
    let lost = text(&quote["explanation"]["output_value_wei"]) - text(&poorer["explanation"]["output_value_wei"]);
    let cost = text(&exclusions["cost"]["value_wei"]);
    assert!(cost.abs_diff(lost) < lost / 5, "{cost} is told, {lost} is lost");
    let own = json!({"protocol": "sushiswap_v2", "pools": 2, "cost": exclusions["cost"]});
    assert_eq!((&exclusions["protocols"], &exclusions["pools"]), (&json!([own]), &json!(0)));
    assert!(exclusions["pools_cost"].is_null());
}

/// Each part of a request's exclusions has its own cost: the gain of the route if only that part were allowed again.
#[tokio::test]
async fn every_exclusion_is_told_with_what_it_cost() {
    let service = Service::start().await;
    let explained = async |protocols: Value, pools: Value| {
        let mut body = swap(&USDC.to_string(), "600000000000", &WETH.to_string());
        body["explain"] = json!(true);
        body["exclude_protocols"] = protocols;
        body["exclude_pools"] = pools;
        service.quote(&body).await["explanation"].clone()
    };
    let worth = |why: &Value| text(&why["output_value_wei"]) - text(&why["gas"]["cost_wei"]);
    let pool = json!(["0x0000000000000000000000000000000000000001"]);
    let both = explained(json!(["sushiswap_v2"]), pool.clone()).await;
    let without_sushi = explained(json!(["sushiswap_v2"]), json!([])).await;
    let without_pool = explained(json!([]), pool).await;
    let nothing = explained(json!([]), json!([])).await;
    let exclusions = &both["exclusions"];
    let [sushi] = exclusions["protocols"].as_array().unwrap().as_slice() else { panic!("{exclusions:#}") };
    assert_eq!(
        (&sushi["protocol"], &sushi["pools"], &exclusions["pools"]),
        (&json!("sushiswap_v2"), &json!(2), &json!(1))
    );
    // The gas outside of the steps is the same for all, and the modelled gas differs little.
    let near = |told: &Value, freer: &Value| {
        let (told, gained) = (text(&told["value_wei"]), worth(freer) - worth(&both));
        assert!(told > 0 && told.abs_diff(gained) < gained / 20, "{told} is told, {gained} is gained");
    };
    near(&sushi["cost"], &without_pool);
    near(&exclusions["pools_cost"], &without_sushi);
    near(&exclusions["cost"], &nothing);
    let words: Vec<&str> = both["words"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for part in
        ["Excluding sushiswap_v2, 2 pools, cost", "Excluding 1 single pool cost", "All exclusions together cost"]
    {
        assert!(words.iter().any(|line| line.contains(part)), "{part}: {words:?}");
    }
}

#[tokio::test]
async fn a_route_is_drawn_and_alike_each_time() {
    let service = Service::start().await;
    let quote = service.quote(&swap(&USDC.to_string(), "400000000000", &WBTC.to_string())).await;
    let path = format!("/v1/quote/{}/route.svg", quote["quote_id"].as_str().unwrap());
    let answer = service.get(&path).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "image/svg+xml");
    assert_eq!(answer.headers()["content-security-policy"], "default-src 'none'");
    let picture = answer.text().await.unwrap();
    assert_eq!(picture, service.get(&path).send().await.unwrap().text().await.unwrap());
    let steps = quote["path"]["steps"].as_array().unwrap();
    assert_eq!(picture.matches("<path ").count(), steps.len(), "a ribbon for each step");
    for text in ["400,000 USDC →", "WBTC", "Uniswap V2", "better exists in"] {
        assert!(picture.contains(text), "{text} is not in {picture}");
    }
    let missing = service.get("/v1/quote/0190163d-8694-739b-aea5-966c26f8ad91/route.svg").send().await.unwrap();
    assert_eq!(problem(missing).await.0, 404);
    service.clock.advance_ms(120_000);
    assert_eq!(problem(service.get(&path).send().await.unwrap()).await.0, 410);
}
