//! Fuzzes the readers of clients' input: requests, receipts to verify, and revert data of contracts.

use braid_quoting::receipt;
use braid_quoting::request::{AllowancesRequest, BalancesRequest, BuildRequest, QuoteRequest, Request as _};

pub(crate) fn request(data: &[u8]) {
    let Ok(tree) = braid_quoting::json::parse(data) else { return };
    let told = [
        QuoteRequest::parse(&tree).err(),
        BuildRequest::parse(&tree).err(),
        BalancesRequest::parse(&tree).err(),
        AllowancesRequest::parse(&tree).err(),
    ];
    for problem in told.into_iter().flatten() {
        assert!(!problem.errors.is_empty() || !problem.detail.is_empty(), "it says what is wrong: {problem:?}");
    }
}

pub(crate) fn request_seeds() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"inputs":[{"chain_id":1,"address":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","amount":"1000000000"}],"outputs":[{"chain_id":1,"address":"0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2","ratio_bps":10000}],"taker":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","slippage_tolerance_bps":50,"gas_priority":"fast","simulate":true,"max_hops":3,"exclude_protocols":["curve"]}"#,
        r#"{"inputs":[{"chain_id":1,"address":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"}],"outputs":[{"chain_id":1,"address":"0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2","amount":"5"}],"taker":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","partner_fee":{"recipient":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","partner_fee_bps":30}}"#,
        r#"{"quote_id":"0197f9c2-3b7e-7c21-9f4b-2a64d1f0c111","permit2_signature":"0x00","simulate":true,"ttl_s":60}"#,
        r#"{"chain_id":1,"account":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","tokens":["0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"]}"#,
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}

pub(crate) fn receipt(data: &[u8]) {
    let _ = receipt::verify(data, None);
    let _ = braid_execution::revert::decode(data);
}

pub(crate) fn receipt_seeds() -> Vec<Vec<u8>> {
    let text = r#"{"receipt":1,"braid":{"version":"0.1.0","commit":null},"quote":{},"request":{},"market":{"block":{"number":1}}}"#;
    // The revert data of Error("no").
    let mut revert = vec![0x08, 0xc3, 0x79, 0xa0];
    for (at, byte) in [(31, 32), (63, 2)] {
        revert.resize(4 + at, 0);
        revert.push(byte);
    }
    revert.extend(b"no");
    revert.resize(4 + 96, 0);
    vec![text.as_bytes().to_vec(), revert]
}
