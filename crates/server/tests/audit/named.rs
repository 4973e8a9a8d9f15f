//! Tests of vaults named by configuration: quoted once the EVM has confirmed them, and quarantined if it disagrees.

use std::sync::Arc;

use braid_audit::Verdict;
use braid_devnet::addresses::PUFETH;
use braid_devnet::{Devnet, Options, accounts};
use braid_ethereum::FollowerConfig;
use braid_primitives::{Address, B256, Bytes, U256, WETH};
use serde_json::json;

use crate::layer::{Layer, Selector, TRANSFER};
use crate::{World, token, units};

const APPROVE: Selector = [0x09, 0x5e, 0xa7, 0xb3];
const DEPOSIT: Selector = [0x6e, 0x55, 0x3f, 0x65];
const REDEEM: Selector = [0xba, 0x08, 0x76, 0x52];
const PREVIEW_DEPOSIT: Selector = [0xef, 0x8b, 0x30, 0xf7];
const PREVIEW_REDEEM: Selector = [0x4c, 0xda, 0xd5, 0x06];

/// An address that no list contains.
const NAMED: Address = Address::repeat_byte(0x76);

/// Starts a chain with OpenZeppelin's vault of wrapped ether at an address that is on no list, and a service whose
/// configuration names it.
async fn with_a_named_vault() -> World {
    let chain = Devnet::start(Options::default()).await.unwrap();
    let code: Bytes = chain.rpc().get("eth_getCode", json!([PUFETH, "latest"])).await.unwrap();
    chain.set_code(NAMED, &code).await.unwrap();
    chain.fund(WETH, accounts::TAKER, units("WETH", 100)).await.unwrap();
    let (vault, taker) = (NAMED.into_word(), accounts::TAKER.into_word());
    send(&chain, WETH, APPROVE, &[vault, units("WETH", 70).into()]).await;
    send(&chain, NAMED, DEPOSIT, &[units("WETH", 70).into(), taker]).await;
    send(&chain, WETH, TRANSFER, &[vault, units("WETH", 7).into()]).await;
    World::on(chain, FollowerConfig { vaults: [NAMED].into(), ..FollowerConfig::default() }).await
}

/// Sends a call by the taker, which is mined.
async fn send(chain: &Devnet, to: Address, selector: Selector, words: &[B256]) {
    let call = json!({"from": accounts::TAKER, "to": to, "data": calldata(selector, words)});
    let receipt = chain.rpc().call("eth_sendTransactionSync", json!([call])).await.unwrap();
    assert_eq!(receipt["status"], "0x1", "{receipt:#}");
}

fn calldata(selector: Selector, words: &[B256]) -> Bytes {
    [&selector[..], words.concat().as_slice()].concat().into()
}

impl World {
    fn is_in_the_market(&self, pool: Address) -> bool {
        self.feed.latest().unwrap().head.market.pool_id(pool).is_some()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_vault_is_quoted_once_the_evm_paid_what_its_model_says() {
    let world = with_a_named_vault().await;
    assert!(world.is_in_the_market(NAMED));
    let sell = units("WETH", 3);
    let (status, problem) = world.quote(WETH, sell, NAMED).await;
    assert_eq!((status, problem["code"].as_str()), (422, Some("NO_ROUTE_FOUND")), "{problem:#}");
    assert!(problem["detail"].as_str().unwrap().contains(&NAMED.to_checksum(None)), "{problem:#}");

    let (probe, verdict) = world.turn().await.unwrap();
    assert_eq!((probe.pool.contract, verdict), (NAMED, Verdict::Agrees), "a named vault comes first");
    let call = json!({"to": NAMED, "data": calldata(PREVIEW_DEPOSIT, &[sell.into()])});
    let preview: U256 = world.chain.rpc().get("eth_call", json!([call, "latest"])).await.unwrap();
    let (status, quote) = world.quote(WETH, sell, NAMED).await;
    assert_eq!(status, 200, "{quote:#}");
    assert_eq!(quote["data"]["estimated_outputs"][0]["expected_amount"], preview.to_string(), "{quote:#}");
    let again = world.turn_of(NAMED, 12).await;
    assert_eq!(again, Some(Verdict::Agrees), "as any pool that a quote used");
    assert!(world.get("/metrics").await.contains("braid_audit_proven_vaults 1\n"));
}

/// In the block in which it is read, such a vault answers like a plain one, and in the next block it answers less.
#[tokio::test(flavor = "multi_thread")]
async fn a_named_vault_whose_price_moves_in_a_way_of_its_own_is_set_aside() {
    let mut world = with_a_named_vault().await;
    world.next_block().await;
    let now = world.feed.latest().unwrap().head.block().timestamp;
    for preview in [PREVIEW_DEPOSIT, PREVIEW_REDEEM] {
        let honest = world.code(NAMED).await;
        let moves = Layer { tells_less_since: vec![(preview, 0, now)], ..Layer::default() };
        world.put_over(NAMED, moves).await;
        assert!(world.is_in_the_market(NAMED));
        let (probe, verdict) = world.turn().await.unwrap();
        let Verdict::Differs(difference) = verdict else { panic!("{verdict:?}") };
        assert_eq!(probe.pool.contract, NAMED);
        assert!(difference.why.contains("a preview in 12 s would be"), "{}", difference.why);
        assert_eq!(world.held(), [NAMED]);
        let (status, problem) = world.quote(WETH, units("WETH", 3), NAMED).await;
        assert_eq!((status, problem["code"].as_str()), (422, Some("NO_ROUTE_FOUND")), "{problem:#}");

        world.chain.set_code(NAMED, &honest).await.unwrap();
        world.app.audit.quarantine.release(NAMED.into());
    }
}

/// Deposits succeed and previews agree with the model. A successful deposit must not prove redemptions, neither now nor
/// when the vault is tried again.
#[tokio::test(flavor = "multi_thread")]
async fn a_named_vault_that_gives_nothing_back_is_set_aside_and_stays_there() {
    let mut world = with_a_named_vault().await;
    let honest = world.put_over(NAMED, Layer { refuses: vec![REDEEM], ..Layer::default() }).await;
    world.next_block().await;
    for _ in 0..3 {
        let Some(Verdict::Differs(difference)) = world.turn_of(NAMED, 12).await else { panic!("it is tried again") };
        assert!(difference.why.contains("reverts"), "{}", difference.why);
        assert_eq!(world.held(), [NAMED]);
        let (status, _) = world.quote(WETH, units("WETH", 3), NAMED).await;
        assert_eq!(status, 422);
        while world.app.audit.quarantine.due(world.feed.latest().unwrap().head.block().number).is_none() {
            world.next_block().await;
        }
    }
    world.chain.set_code(NAMED, &honest).await.unwrap();
    world.next_block().await;
    world.audit_until(0).await;
    let (status, quote) = world.quote(WETH, units("WETH", 3), NAMED).await;
    assert_eq!(status, 200, "{quote:#}");
}

/// Deposits and redemptions move no shares by `transfer`, so that they say nothing of the tax that it takes.
#[tokio::test(flavor = "multi_thread")]
async fn a_named_vault_whose_shares_are_taxed_stays_aside_though_its_swaps_succeed() {
    let mut world = with_a_named_vault().await;
    world.put_over(NAMED, Layer { told_less: vec![(TRANSFER, 36)], ..Layer::default() }).await;
    world.next_block().await;
    let market = Arc::clone(&world.feed.latest().unwrap().head.market);
    while world.held().is_empty() {
        world.app.audit.turn_of_token(u32::MAX, &market).await.unwrap();
    }
    assert_eq!(world.held(), [NAMED]);
    world.next_block().await;
    let Some(Verdict::Differs(difference)) = world.turn_of(NAMED, 12).await else { panic!("it is tried again") };
    assert_eq!(difference.token.unwrap().token, NAMED);
    assert_eq!(world.held(), [NAMED]);
    assert!(!world.app.audit.tokens.is_sound(NAMED));
}

/// Small redemptions succeed, and no preview shows a limit.
#[tokio::test(flavor = "multi_thread")]
async fn a_named_vault_that_gives_back_little_at_once_is_set_aside() {
    let mut world = with_a_named_vault().await;
    let most = units("WETH", 1).to::<u128>();
    world.put_over(NAMED, Layer { refuses_above: vec![(REDEEM, 4, most)], ..Layer::default() }).await;
    world.next_block().await;
    let (_, verdict) = world.turn().await.unwrap();
    let Verdict::Differs(difference) = verdict else { panic!("{verdict:?}") };
    assert!(difference.why.contains("reverts"), "{}", difference.why);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_contract_that_is_no_vault_is_left_out_and_everything_else_goes_on() {
    let chain = Devnet::start(Options::default()).await.unwrap();
    let nobody = Address::repeat_byte(0x77);
    let config = FollowerConfig { vaults: [token("LINK"), nobody].into(), ..FollowerConfig::default() };
    let world = World::on(chain, config).await;
    assert!(![token("LINK"), nobody].into_iter().any(|named| world.is_in_the_market(named)));
    let (status, quote) = world.quote(token("LINK"), units("LINK", 20), token("USDC")).await;
    assert_eq!(status, 200, "{quote:#}");
}
