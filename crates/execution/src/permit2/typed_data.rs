//! The EIP-712 message that a wallet signs, as JSON and as a hash.

use std::borrow::Cow;

use alloy_sol_types::{Eip712Domain, SolStruct, eip712_domain, sol};
use braid_primitives::{Address, B256, Bytes, CHAIN_ID, U256};
use serde_json::{Value, json};

use super::permit::{ADDRESS, Permit, program_hash};
use crate::abi::{IExecutionProxy, Input, Output};
use crate::{Order, proxy};

sol! {
    #[derive(Debug)]
    struct TokenPermissions { address token; uint256 amount; }

    #[derive(Debug)]
    struct BraidOrder {
        Input[] inputs;
        Output[] outputs;
        address recipient;
        uint256 deadline;
        address partner;
        uint16 partnerFeeBps;
        bool partnerFeeOnOutput;
        address sender;
        bytes32 programHash;
    }

    #[derive(Debug)]
    struct PermitWitnessTransferFrom {
        TokenPermissions permitted;
        address spender;
        uint256 nonce;
        uint256 deadline;
        BraidOrder witness;
    }

    #[derive(Debug)]
    struct PermitBatchWitnessTransferFrom {
        TokenPermissions[] permitted;
        address spender;
        uint256 nonce;
        uint256 deadline;
        BraidOrder witness;
    }
}

/// A message for `eth_signTypedData_v4` and the hash that its signature signs.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedData {
    /// `types` (with `EIP712Domain`), `domain`, `primaryType`, `message`. 256-bit integers are decimal strings.
    pub eip712: Value,
    /// Keccak of `0x1901`, the domain's separator and the message's struct hash.
    pub hash: B256,
}

/// Returns the message that lets the proxy take an order's ERC-20 inputs from the permit's owner for this program only.
///
/// One ERC-20 input gives the single form, several the batch form, in the order of the inputs; `None` when there is
/// none: native ether needs no signature.
pub fn typed_data(order: &Order, program: &Bytes, permit: &Permit) -> Option<TypedData> {
    let mut permitted: Vec<TokenPermissions> =
        order.erc20_inputs().map(|input| TokenPermissions { token: input.token, amount: input.amount }).collect();
    let (spender, nonce, deadline) = (proxy::address(), permit.nonce, U256::from(permit.deadline));
    let witness = witness(order, program, permit.sender);
    let witness_json = witness_json(&witness);
    let permitted_json: Vec<Value> = permitted.iter().map(|p| amount_json(p.token, "amount", p.amount)).collect();
    let (primary, encoded, permitted_json, hash) = if permitted.len() > 1 {
        let message = PermitBatchWitnessTransferFrom { permitted, spender, nonce, deadline, witness };
        let (primary, encoded, hash) = of(&message);
        (primary, encoded, Value::Array(permitted_json), hash)
    } else {
        let message = PermitWitnessTransferFrom { permitted: permitted.pop()?, spender, nonce, deadline, witness };
        let (primary, encoded, hash) = of(&message);
        (primary, encoded, permitted_json.into_iter().next()?, hash)
    };
    let eip712 = json!({
        "types": types(&encoded),
        "domain": { "name": "Permit2", "chainId": CHAIN_ID, "verifyingContract": text(ADDRESS) },
        "primaryType": primary,
        "message": {
            "permitted": permitted_json,
            "spender": text(spender),
            "nonce": nonce.to_string(),
            "deadline": deadline.to_string(),
            "witness": witness_json,
        },
    });
    Some(TypedData { eip712, hash })
}

/// Returns a message's primary type, the encoding of its types, and its hash.
fn of<M: SolStruct>(message: &M) -> (&'static str, Cow<'static, str>, B256) {
    (M::NAME, M::eip712_encode_type(), message.eip712_signing_hash(&domain()))
}

/// Permit2's own domain: it has a name but no version.
fn domain() -> Eip712Domain {
    eip712_domain! { name: "Permit2", chain_id: CHAIN_ID, verifying_contract: ADDRESS, }
}

fn witness(order: &Order, program: &Bytes, sender: Address) -> BraidOrder {
    let order = IExecutionProxy::Order::from(order);
    BraidOrder {
        inputs: order.inputs,
        outputs: order.outputs,
        recipient: order.recipient,
        deadline: order.deadline,
        partner: order.partner,
        partnerFeeBps: order.partnerFeeBps,
        partnerFeeOnOutput: order.partnerFeeOnOutput,
        sender,
        programHash: program_hash(program),
    }
}

fn witness_json(witness: &BraidOrder) -> Value {
    let inputs: Vec<Value> = witness.inputs.iter().map(|i| amount_json(i.token, "amount", i.amount)).collect();
    let outputs: Vec<Value> = witness.outputs.iter().map(|o| amount_json(o.token, "minimum", o.minimum)).collect();
    json!({
        "inputs": inputs,
        "outputs": outputs,
        "recipient": text(witness.recipient),
        "deadline": witness.deadline.to_string(),
        "partner": text(witness.partner),
        "partnerFeeBps": witness.partnerFeeBps,
        "partnerFeeOnOutput": witness.partnerFeeOnOutput,
        "sender": text(witness.sender),
        "programHash": witness.programHash.to_string(),
    })
}

fn amount_json(token: Address, name: &str, amount: U256) -> Value {
    json!({ "token": text(token), name: amount.to_string() })
}

fn text(address: Address) -> String {
    address.to_checksum(None)
}

/// Returns the fields of each type, from the type's encoding (EIP-712, `encodeType`), and of the domain.
fn types(encoded: &str) -> Value {
    let fields = |list: &str| -> Value {
        let fields = list.split(',').filter_map(|field| field.split_once(' '));
        fields.map(|(kind, name)| json!({ "name": name, "type": kind })).collect()
    };
    let domain = "EIP712Domain(string name,uint256 chainId,address verifyingContract)";
    let types = domain.split_terminator(')').chain(encoded.split_terminator(')'));
    types.filter_map(|of| of.split_once('(')).map(|(name, list)| (name.to_owned(), fields(list))).collect()
}

#[cfg(test)]
mod tests {
    use braid_primitives::{NATIVE_ETHER, WETH, address};

    use super::*;
    use crate::{PartnerFee, TokenAmount};

    const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
    const USDT: Address = address!("dAC17F958D2ee523a2206206994597C13D831ec7");

    fn order(inputs: &[Address]) -> Order {
        let entry = |token: &Address| TokenAmount { token: *token, amount: U256::from(1_000_000_007u64) };
        Order {
            inputs: inputs.iter().map(entry).collect(),
            outputs: vec![TokenAmount { token: WETH, amount: U256::from(17) }],
            recipient: Address::repeat_byte(0xaa),
            deadline: 1_800_000_000,
            partner_fee: Some(PartnerFee { bps: 25, recipient: Address::repeat_byte(0xbb), on_output: true }),
        }
    }

    fn permit() -> Permit {
        Permit {
            owner: Address::repeat_byte(0xcc),
            nonce: U256::MAX - U256::from(3),
            deadline: 1_700_000_000,
            sender: Address::repeat_byte(0xdd),
        }
    }

    fn program() -> Bytes {
        Bytes::from_static(&[0, 0x10, 1, 0, 1])
    }

    #[test]
    fn the_type_string_is_the_one_of_the_specification() {
        const WITNESS: &str = concat!(
            "BraidOrder witness)",
            "BraidOrder(Input[] inputs,Output[] outputs,address recipient,uint256 deadline,address partner,",
            "uint16 partnerFeeBps,bool partnerFeeOnOutput,address sender,bytes32 programHash)",
            "Input(address token,uint256 amount)Output(address token,uint256 minimum)",
            "TokenPermissions(address token,uint256 amount)"
        );
        let single =
            "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,";
        let batch = "PermitBatchWitnessTransferFrom(TokenPermissions[] permitted,address spender,uint256 nonce,uint256 deadline,";
        assert_eq!(PermitWitnessTransferFrom::eip712_encode_type(), format!("{single}{WITNESS}"));
        assert_eq!(PermitBatchWitnessTransferFrom::eip712_encode_type(), format!("{batch}{WITNESS}"));
    }

    #[test]
    fn several_tokens_take_the_batch_form_and_ether_is_never_permitted() {
        let single = typed_data(&order(&[NATIVE_ETHER, USDC]), &program(), &permit()).unwrap().eip712;
        assert_eq!(single["primaryType"], "PermitWitnessTransferFrom");
        assert_eq!(single["message"]["permitted"]["token"], USDC.to_checksum(None));
        let batch = typed_data(&order(&[USDT, USDC]), &program(), &permit()).unwrap().eip712;
        assert_eq!(batch["primaryType"], "PermitBatchWitnessTransferFrom");
        assert_eq!(batch["message"]["permitted"][1]["token"], USDC.to_checksum(None));
        assert_eq!(typed_data(&order(&[NATIVE_ETHER]), &program(), &permit()), None);
    }

    #[test]
    fn every_field_is_bound() {
        let base = order(&[USDC]);
        let hash = |order: &Order, program: Bytes, permit: Permit| typed_data(order, &program, &permit).unwrap().hash;
        let fee = |bps, recipient, on_output| Some(PartnerFee { bps, recipient, on_output });
        let partner = Address::repeat_byte(0xbb);
        let changed = [
            hash(&order(&[USDT]), program(), permit()),
            hash(
                &Order { inputs: vec![TokenAmount { token: USDC, amount: U256::ONE }], ..base.clone() },
                program(),
                permit(),
            ),
            hash(
                &Order { outputs: vec![TokenAmount { token: WETH, amount: U256::from(16) }], ..base.clone() },
                program(),
                permit(),
            ),
            hash(
                &Order { outputs: vec![TokenAmount { token: USDT, amount: U256::from(17) }], ..base.clone() },
                program(),
                permit(),
            ),
            hash(&Order { recipient: Address::repeat_byte(1), ..base.clone() }, program(), permit()),
            hash(&Order { deadline: 1, ..base.clone() }, program(), permit()),
            hash(&Order { partner_fee: fee(24, partner, true), ..base.clone() }, program(), permit()),
            hash(&Order { partner_fee: fee(25, Address::repeat_byte(1), true), ..base.clone() }, program(), permit()),
            hash(&Order { partner_fee: fee(25, partner, false), ..base.clone() }, program(), permit()),
            hash(&base, Bytes::from_static(&[0]), permit()),
            hash(&base, program(), Permit { nonce: U256::ONE, ..permit() }),
            hash(&base, program(), Permit { deadline: 1, ..permit() }),
            hash(&base, program(), Permit { sender: Address::ZERO, ..permit() }),
        ];
        let original = hash(&base, program(), permit());
        for (index, other) in changed.iter().enumerate() {
            assert_ne!(*other, original, "change {index} is not bound");
            assert!(!changed[..index].contains(other));
        }
    }
}
