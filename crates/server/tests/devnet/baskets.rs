//! Tests of several inputs and outputs in one transaction.

use braid_devnet::accounts;
use serde_json::{Value, json};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn baskets_pay_every_output_in_one_transaction() {
    let mut world = World::start().await;
    let six_in = [("USDC", 5_000), ("USDT", 4_000), ("LINK", 100), ("UNI", 200), ("ETH", 1), ("DAI", 3_000)];
    let six_out =
        [("WBTC", 2_500), ("WETH", 2_500), ("AAVE", 2_000), ("CRV", 1_000), ("wstETH", 1_000), ("LDO", 1_000)];
    let partner = json!({"partner_fee_bps": 25, "partner_recipient": accounts::OTHER, "partner_fee_on_output": true});
    let on_input = json!({"partner_fee_bps": 30, "partner_recipient": accounts::OTHER});
    type Basket<'a> = (&'a [(&'a str, u64)], &'a [(&'a str, u16)], Value);
    let baskets: [Basket<'_>; 5] = [
        (&[("USDC", 5_000), ("LINK", 100)], &[("WBTC", 6_000), ("UNI", 4_000)], json!({})),
        (&[("USDT", 9_000), ("WETH", 2), ("WBTC", 1)], &[("ETH", 5_000), ("DAI", 3_333), ("LINK", 1_667)], json!({})),
        (&[("ETH", 3)], &[("WETH", 2_000), ("USDC", 8_000)], json!({"partner_fee": on_input})),
        (&[("USDC", 2_000), ("DAI", 2_000)], &[("ETH", 5_000), ("WETH", 5_000)], json!({"partner_fee": partner})),
        (&six_in, &six_out, json!({"simulate": true})),
    ];
    for (inputs, outputs, more) in baskets {
        let quote = world.basket(inputs, outputs, more).await;
        if !quote["simulation"].is_null() {
            assert_eq!(quote["simulation"]["status"], "success", "{:#}", quote["simulation"]);
        }
        world.approve(&quote["approvals"]).await;
        let simulates = !quote["simulation"].is_null();
        let built = world.build(&json!({"quote_id": quote["quote_id"], "simulate": simulates})).await;
        // Sent with the simulated gas limit where there is one.
        world.settles(&quote, &built).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_signature_pays_for_several_inputs() {
    let mut world = World::start().await;
    let inputs = [("USDT", 500), ("USDC", 700), ("LINK", 30)];
    let quote = world.basket(&inputs, &[("DAI", 7_000), ("WETH", 3_000)], json!({})).await;
    world.approve(&quote["permit2"]["approvals"]).await;
    let data = &quote["permit2"]["eip712"];
    assert_eq!(data["message"]["permitted"].as_array().unwrap().len(), 3, "the batch form");
    let signature = world.chain.rpc().call("eth_signTypedData_v4", json!([accounts::TAKER, data])).await.unwrap();
    let built = world.build(&json!({"quote_id": quote["quote_id"], "permit2_signature": signature})).await;
    assert_eq!(built["authorization"], "permit2");
    world.settles(&quote, &built).await;
}
