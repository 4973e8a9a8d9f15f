//! Tests of what the service reads from the chain: the proxy, balances and allowances.

use braid_devnet::accounts;
use braid_primitives::{Address, NATIVE_ETHER};
use serde_json::json;

use crate::world::{World, token, units};

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_is_found_on_the_chain() {
    let world = World::start().await;
    let block = *world.feed.latest().unwrap().head.block();
    let node = world.app.accounts.node.clone().unwrap();
    let found = world.app.proxy.look(&node, block.hash).await.unwrap();
    assert_eq!(found, braid_quoting::proxy::ProxyState::Deployed);
    let empty = world.quote(token("USDC"), units("USDC", 1), token("WETH")).await;
    assert!(empty["warnings"].as_array().unwrap().is_empty());
}

/// Quotes must continue and builds must warn. The simulation of a quote must place the proxy's code by a state override
/// and state that it did. The simulation of a build must not: the transaction would succeed, swap nothing and leave its
/// ether at an address without code.
#[tokio::test(flavor = "multi_thread")]
async fn where_the_proxy_is_missing_simulations_place_it_and_answers_warn() {
    use braid_quoting::proxy::ProxyState;

    let mut world = World::start().await;
    let proxy = braid_execution::proxy::address();
    for (code, found, simulated) in [("0x", ProxyState::Missing, "success"), ("0xfe", ProxyState::Foreign, "reverted")]
    {
        world.chain.rpc().call("anvil_setCode", json!([proxy, code])).await.unwrap();
        world.chain.rpc().call("evm_mine", json!([])).await.unwrap();
        world.follow().await;
        let node = world.app.accounts.node.clone().unwrap();
        let block = *world.feed.latest().unwrap().head.block();
        assert_eq!(world.app.proxy.look(&node, block.hash).await.unwrap(), found);

        let body = json!({
            "inputs": [{"chain_id": 1, "address": token("ETH"), "amount": units("ETH", 1).to_string()}],
            "outputs": [{"chain_id": 1, "address": token("USDC"), "ratio_bps": 10000}],
            "taker": accounts::TAKER, "simulate": true,
        });
        let (status, answer) = world.post("/v1/quote", &body).await;
        assert_eq!(status, 200, "{answer:#}");
        let quote = &answer["data"];
        assert_eq!(quote["warnings"][0]["code"], "PROXY_NOT_DEPLOYED", "{quote:#}");
        assert_eq!(quote["simulation"]["status"], simulated, "{quote:#}");
        let placed = quote["simulation"]["overrides"].as_array().unwrap().contains(&json!("code"));
        assert_eq!(placed, found == ProxyState::Missing);
        let built = world.build(&json!({"quote_id": quote["quote_id"], "simulate": true})).await;
        assert_eq!(built["warnings"][0]["code"], "PROXY_NOT_DEPLOYED", "{built:#}");
        let seen = &built["simulation"];
        assert_eq!(
            (&seen["status"], &seen["outputs"], &seen["overrides"]),
            (&json!("reverted"), &json!([]), &json!([]))
        );
        assert_eq!((&seen["revert"]["name"], &seen["revert"]["step"]), (&json!("ProxyNotDeployed"), &json!(null)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn balances_and_allowances_are_read_from_the_chain() {
    let mut world = World::start().await;
    let (usdc, taker) = (token("USDC"), accounts::TAKER);
    let quote = world.quote(usdc, units("USDC", 5), token("WETH")).await;
    world.approve(&quote["approvals"]).await;
    let proxy = &quote["approvals"][0]["spender"];

    let no_contract = Address::with_last_byte(0xaa);
    let body = json!({"chain_id": 1, "owner": taker, "tokens": [NATIVE_ETHER, usdc, no_contract]});
    let (status, answer) = world.post("/v1/balances", &body).await;
    assert_eq!(status, 200, "{answer:#}");
    let balances = &answer["data"]["balances"];
    assert_eq!(balances[usdc.to_checksum(None)], world.holds(usdc).await.to_string());
    assert_eq!(balances[NATIVE_ETHER.to_checksum(None)], world.holds(NATIVE_ETHER).await.to_string());
    assert!(balances[no_contract.to_checksum(None)].is_null());

    let body = json!({"chain_id": 1, "owner": taker, "allowances": [{"token": usdc, "spender": proxy}]});
    let (_, answer) = world.post("/v1/allowances", &body).await;
    let key = format!("{}:{}", usdc.to_checksum(None), proxy.as_str().unwrap());
    assert_eq!(answer["data"]["allowances"][key], units("USDC", 5).to_string());
}
