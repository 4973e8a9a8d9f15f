//! Tests Permit2's typed data as a wallet reads it: the node, a second implementation, hashes only the JSON, and signs
//! that hash.

use braid_devnet::{accounts::TAKER, tokens};
use braid_execution::{Order, PartnerFee, Permit, TokenAmount, permit2};
use braid_primitives::{Address, Bytes, NATIVE_ETHER, U256, WETH};

use crate::shared;

#[test]
fn the_json_hashes_to_the_hash_that_the_contract_computes() {
    let [usdc, usdt] = ["USDC", "USDT"].map(|symbol| tokens::by_symbol(symbol).address);
    let entry = |token: &Address| TokenAmount { token: *token, amount: U256::from(1_000_000_007_u64) };
    let permit = Permit { owner: TAKER, nonce: U256::MAX - U256::from(3), deadline: 1_700_000_000, sender: TAKER };
    let program = Bytes::from_static(&[0, 0x10, 1, 0, 1]);
    for inputs in [&[usdc][..], &[usdc, NATIVE_ETHER], &[usdc, usdt], &[NATIVE_ETHER, usdt, usdc]] {
        let order = Order {
            inputs: inputs.iter().map(entry).collect(),
            outputs: vec![TokenAmount { token: WETH, amount: U256::from(17) }],
            recipient: Address::repeat_byte(0xaa),
            deadline: 1_800_000_000,
            partner_fee: Some(PartnerFee { bps: 25, recipient: Address::repeat_byte(0xbb), on_output: true }),
        };
        let typed = permit2::typed_data(&order, &program, &permit).unwrap();
        let wallet = shared::unused();
        let signature = wallet.runtime.block_on(wallet.chain.sign(&typed));
        assert_eq!(permit2::recover_signer(typed.hash, &signature), Ok(TAKER), "{inputs:?}");
    }
}
