//! Tests of owners that are contracts, and of the nonces of signatures.

use braid_devnet::accounts;
use braid_primitives::{Address, U256};
use serde_json::{Value, json};

use crate::world::{World, decimal, token, units};

/// Returns the opcodes of a contract wallet that accepts what `owner` signs (EIP-1271). It recovers the signer of the
/// hash, and returns the magic value if that is the owner.
fn wallet_code(owner: Address) -> Vec<u8> {
    let mut code = vec![
        0x60, 0x04, 0x35, 0x5f, 0x52, // hash
        0x60, 0xa4, 0x35, 0x5f, 0x1a, 0x60, 0x20, 0x52, // v
        0x60, 0x64, 0x35, 0x60, 0x40, 0x52, // r
        0x60, 0x84, 0x35, 0x60, 0x60, 0x52, // s
        0x60, 0x20, 0x5f, 0x60, 0x80, 0x5f, 0x60, 0x01, 0x5a, 0xfa, 0x50, // ecrecover
        0x5f, 0x51, 0x73,
    ];
    code.extend(owner);
    code.extend([0x14, 0x63, 0x16, 0x26, 0xba, 0x7e, 0x60, 0xe0, 0x1b, 0x02, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]);
    code
}

impl World {
    /// Gives ether and USDC to an account without a key, and enables transactions from it.
    async fn endow(&mut self, account: Address, usdc: Address, amount: U256) {
        self.call("anvil_impersonateAccount", json!([account])).await;
        self.call("anvil_setBalance", json!([account, "0x8ac7230489e80000"])).await;
        let data = [&[0xa9, 0x05, 0x9c, 0xbb], account.into_word().as_slice(), &amount.to_be_bytes::<32>()].concat();
        self.send(&json!({"from": accounts::TAKER, "to": usdc, "data": hex(&data)})).await;
    }

    pub async fn quote_for(&self, taker: Address, from: Address, amount: U256, to: Address) -> Value {
        let body = json!({
            "inputs": [{"chain_id": 1, "address": from, "amount": amount.to_string()}],
            "outputs": [{"chain_id": 1, "address": to, "ratio_bps": 10000}],
            "taker": taker,
        });
        let (status, answer) = self.post("/v1/quote", &body).await;
        assert_eq!(status, 200, "{answer:#}");
        answer["data"].clone()
    }

    async fn signed(&self, owner: Address, quote: &Value) -> String {
        let signature = self.call("eth_signTypedData_v4", json!([owner, quote["permit2"]["eip712"]])).await;
        signature.as_str().unwrap().to_owned()
    }
}

pub fn hex(bytes: &[u8]) -> String {
    braid_primitives::Bytes::copy_from_slice(bytes).to_string()
}

fn unhex(text: &str) -> Vec<u8> {
    text.parse::<braid_primitives::Bytes>().unwrap().to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_wallet_signs_by_its_own_rule() {
    let mut world = World::start().await;
    let (usdc, weth) = (token("USDC"), token("WETH"));
    let wallet = Address::repeat_byte(0x77);
    world.call("anvil_setCode", json!([wallet, hex(&wallet_code(accounts::TAKER))])).await;
    world.endow(wallet, usdc, units("USDC", 500)).await;
    let quote = world.quote_for(wallet, usdc, units("USDC", 500), weth).await;
    for approval in quote["permit2"]["approvals"][0]["transactions"].as_array().unwrap() {
        world.send(&json!({"from": wallet, "to": approval["to"], "data": approval["data"]})).await;
    }
    let foreign = world.signed(accounts::OTHER, &quote).await;
    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": foreign});
    let (status, answer) = world.post("/v1/build", &body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("PERMIT2_SIGNATURE_INVALID")));

    let signature = world.signed(accounts::TAKER, &quote).await;
    let built = world.build(&json!({"quote_id": quote["quote_id"], "permit2_signature": signature})).await;
    let before = world.chain.balance_of(weth, wallet).await.unwrap();
    world.send(&built["rpc_transaction"]).await;
    let received = world.chain.balance_of(weth, wallet).await.unwrap() - before;
    assert_eq!(received, decimal(&quote["estimated_outputs"][0]["expected_amount"]));
}

/// When an account has code, Permit2 asks the code instead of checking the key, and the service must do the same.
#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_an_account_with_code_counts_for_nothing() {
    let world = World::start().await;
    let quote = world.quote(token("USDC"), units("USDC", 5), token("WETH")).await;
    let signature = world.signed(accounts::TAKER, &quote).await;
    // Code that returns nothing, like a careless delegation (EIP-7702).
    world.call("anvil_setCode", json!([accounts::TAKER, "0x00"])).await;
    world.call("anvil_mine", json!(["0x1"])).await;
    let mut world = world;
    world.follow().await;
    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": signature});
    let (status, answer) = world.post("/v1/build", &body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("PERMIT2_SIGNATURE_INVALID")), "{answer:#}");
}

/// Returns `abi.encode(factory, calldata, signature)` with the suffix of ERC-6492.
pub fn wrap_erc6492(factory: Address, calldata: &[u8], signature: &[u8]) -> String {
    let word = |number: usize| U256::from(number).to_be_bytes::<32>().to_vec();
    let padded = |bytes: &[u8]| [bytes, &vec![0; bytes.len().next_multiple_of(32) - bytes.len()]].concat();
    let data = padded(calldata);
    let parts = [
        factory.into_word().to_vec(),
        word(96),
        word(128 + data.len()),
        word(calldata.len()),
        data,
        word(signature.len()),
        padded(signature),
        [0x64, 0x92].repeat(16),
    ];
    hex(&parts.concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_is_not_deployed_yet_signs_as_erc_6492_says() {
    let mut world = World::start().await;
    let (usdc, weth) = (token("USDC"), token("WETH"));
    let code = wallet_code(accounts::TAKER);
    let length = u8::try_from(code.len()).unwrap();
    let init = [&[0x60, length, 0x80, 0x60, 0x09, 0x5f, 0x39, 0x5f, 0xf3], code.as_slice()].concat();
    let factory = braid_execution::proxy::CREATE2_DEPLOYER;
    let wallet = factory.create2_from_code([0; 32], &init);
    let calldata = [[0; 32].as_slice(), &init].concat();
    world.endow(wallet, usdc, units("USDC", 500)).await;
    let quote = world.quote_for(wallet, usdc, units("USDC", 500), weth).await;

    let wrap = |signature: &str| wrap_erc6492(factory, &calldata, &unhex(signature));
    let wrapped = wrap(&world.signed(accounts::TAKER, &quote).await);
    let foreign = wrap(&world.signed(accounts::OTHER, &quote).await);
    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": foreign});
    let (status, answer) = world.post("/v1/build", &body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("PERMIT2_SIGNATURE_INVALID")));

    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": wrapped});
    let early = world.build(&body).await;
    assert_eq!(early["warnings"][0]["code"], "ACCOUNT_NOT_DEPLOYED");

    world.send(&json!({"from": accounts::TAKER, "to": factory, "data": hex(&calldata)})).await;
    for approval in quote["permit2"]["approvals"][0]["transactions"].as_array().unwrap() {
        world.send(&json!({"from": wallet, "to": approval["to"], "data": approval["data"]})).await;
    }
    let built = world.build(&body).await;
    assert_eq!(built["warnings"], json!([]));
    let before = world.chain.balance_of(weth, wallet).await.unwrap();
    world.send(&built["rpc_transaction"]).await;
    let received = world.chain.balance_of(weth, wallet).await.unwrap() - before;
    assert_eq!(received, decimal(&quote["estimated_outputs"][0]["expected_amount"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_is_unused_at_the_quotes_block_and_its_use_is_told() {
    let mut world = World::start().await;
    let (usdc, weth) = (token("USDC"), token("WETH"));
    let quote = world.quote(usdc, units("USDC", 7), weth).await;
    world.approve(&quote["permit2"]["approvals"]).await;
    let nonce_of = |quote: &Value| -> U256 {
        let nonce = &quote["permit2"]["eip712"]["message"]["nonce"];
        nonce.as_str().map_or_else(|| U256::from(nonce.as_u64().unwrap()), |text| text.parse().unwrap())
    };
    let nonce = nonce_of(&quote);
    let beside = nonce_of(&world.quote(usdc, units("USDC", 7), weth).await);
    assert!(beside != nonce && beside >> 8 == nonce >> 8, "another nonce, in a word that both share");
    let used = async |world: &World| {
        let data = braid_execution::permit2::nonce_bitmap_calldata(accounts::TAKER, nonce);
        let asked = json!([{"to": braid_execution::permit2::ADDRESS, "data": data}, "latest"]);
        let word: U256 = world.call("eth_call", asked).await.as_str().unwrap().parse().unwrap();
        braid_execution::permit2::nonce_is_used(word, nonce)
    };
    assert!(!used(&world).await);
    let signature = world.signed(accounts::TAKER, &quote).await;
    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": signature});
    let built = world.build(&body).await;
    world.settles(&quote, &built).await;
    assert!(used(&world).await);
    let later = nonce_of(&world.quote(usdc, units("USDC", 7), weth).await);
    assert!(later != nonce && later >> 8 == nonce >> 8, "the word is in use now, which makes it the cheaper one");
    let again = world.build(&body).await;
    assert_eq!(again["warnings"][0]["code"], "PERMIT2_NONCE_USED");
}
