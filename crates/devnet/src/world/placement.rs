//! Places contracts at given addresses.
//!
//! A constructor runs **in place**. First the creation code is set as the code of the target address. Then a call
//! returns the runtime code with its immutables, and a transaction lets the constructor write its storage. Finally the
//! runtime code replaces the creation code. So `address(this)`, immutables and storage are as if the contract had been
//! deployed there.

use alloy::primitives::{Address, Bytes, U256};
use serde_json::json;

use super::Batch;
use crate::{
    DevnetError,
    accounts::MAKER,
    kit::{Bundle, Code},
    rpc::{Rpc, Tx},
};

/// A contract to place: its name in the bundle, its address, and its constructor arguments.
pub(super) type Placement = (&'static str, Address, Vec<u8>);

/// Places contracts, each with the code and the storage that its constructor makes there.
pub(super) async fn place(rpc: &Rpc, bundle: &Bundle, placements: &[Placement]) -> Result<(), DevnetError> {
    let mut runtimes = Vec::with_capacity(placements.len());
    let mut constructions = Batch::new(rpc);
    for (name, address, args) in placements {
        let code: Bytes = [initcode(bundle, name)?.as_ref(), args].concat().into();
        set_code(rpc, *address, &code).await?;
        // A contract starts with nonce 1, and the addresses of contracts that its constructor deploys depend on the
        // nonce.
        rpc.call("anvil_setNonce", json!([address, "0x1"])).await?;
        let call = json!({"from": MAKER, "to": address, "gas": U256::from(15_000_000)});
        let runtime: Bytes = rpc.get("eth_call", json!([call, "latest"])).await?;
        runtimes.push((*address, runtime));
        let run =
            Tx { from: MAKER, to: *address, data: Bytes::new(), value_wei: U256::ZERO, gas_units: Some(15_000_000) };
        constructions.send(&format!("constructor of {name}"), run).await?;
    }
    constructions.mine().await?;
    for (address, runtime) in runtimes {
        set_code(rpc, address, &runtime).await?;
    }
    Ok(())
}

/// Sets the code at an address.
pub(super) async fn set_code(rpc: &Rpc, address: Address, code: &Bytes) -> Result<(), DevnetError> {
    rpc.call("anvil_setCode", json!([address, code])).await.map(|_| ())
}

/// Returns the creation code of a contract of the bundle.
pub(super) fn initcode<'a>(bundle: &'a Bundle, name: &str) -> Result<&'a Bytes, DevnetError> {
    match bundle.get(name) {
        Some(Code::Initcode(code)) => Ok(code),
        _ => Err(mismatch(&format!("creation code of {name}"), "nothing", "bytes in the bundle")),
    }
}

/// Returns the error that something is not as expected.
pub(super) fn mismatch(what: &str, got: &str, expected: &str) -> DevnetError {
    DevnetError::Mismatch { what: what.to_owned(), got: got.to_owned(), expected: expected.to_owned() }
}
