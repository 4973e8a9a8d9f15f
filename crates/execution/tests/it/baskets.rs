//! Runs random baskets through the real pools in an EVM in this process: several inputs and outputs, splits and merges
//! of any acyclic shape, ether anywhere, fees on either side, allowances, and Permit2 signatures (single and batch).
//!
//! The solver takes no part, because its routes would have less varied shapes. Amounts come from the pools' own
//! arithmetic and the proxy's rule of shares. Every minimum is the full computed amount, so that one wei less reverts.
use alloy::primitives::{Address, keccak256};
use alloy::signers::{SignerSync, local::PrivateKeySigner};
use alloy::sol_types::SolValue;
use braid_devnet::accounts::{TAKER, TAKER_KEY};
use braid_execution::{Authorization, Order, Permit, Program, encode_program, gas, permit2, proxy};
use braid_primitives::{Bytes, NATIVE_ETHER, U256};
use braid_simulation::Fork;
use braid_simulation::evm::{Overlay, Transaction, run, view};
use braid_simulation::grant::{Grant, grant};
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::basket::{Basket, PARTNER};
use crate::gas_table::{Measured, Table};
use crate::shared;

const SEED: u64 = 7;

/// Returns the calldata of a basket, with the taker's signature if it pays by signature.
pub fn calldata(order: &Order, program: &Program, by_signature: bool, number: u64) -> Bytes {
    if !by_signature {
        return braid_execution::calldata(order, program);
    }
    let permit = Permit { owner: TAKER, nonce: U256::from(number), deadline: order.deadline, sender: TAKER };
    let typed = permit2::typed_data(order, program.sent(), &permit).unwrap();
    let signer = PrivateKeySigner::from_bytes(&TAKER_KEY).unwrap();
    let signature = signer.sign_hash_sync(&typed.hash).unwrap().as_bytes();
    braid_execution::calldata_with_permit2(order, program, &permit, &Bytes::from(signature))
}

/// Marks another nonce of the same word as used, as for owners who have signed before.
fn sign_before(overlay: &mut Overlay<'_>, number: u64) {
    // `nonceBitmap` is at slot 0.
    let of_owner = keccak256((TAKER, U256::ZERO).abi_encode());
    let word = keccak256((U256::from(number >> 8), of_owner).abi_encode());
    let other = U256::ONE << ((number + 1) % 256);
    overlay.insert_account_storage(permit2::ADDRESS, word.into(), other).unwrap();
}

/// Gives the taker twice what the basket needs, so that a rest remains.
fn endow(overlay: &mut Overlay<'_>, order: &Order, spender: Address) {
    for input in &order.inputs {
        let (token, owner) = (input.token, TAKER);
        let amount = input.amount * U256::from(2);
        grant(overlay, &Grant::Balance { token, owner, amount }).unwrap();
        if token != NATIVE_ETHER {
            grant(overlay, &Grant::Allowance { token, owner, spender, amount: input.amount }).unwrap();
        }
    }
    for output in order.outputs.iter().filter(|output| output.token != NATIVE_ETHER) {
        for owner in [order.recipient, PARTNER] {
            grant(overlay, &Grant::Balance { token: output.token, owner, amount: U256::ONE }).unwrap();
        }
    }
    for owner in [order.recipient, PARTNER] {
        grant(overlay, &Grant::Balance { token: NATIVE_ETHER, owner, amount: U256::ONE }).unwrap();
    }
    for input in order.inputs.iter().filter(|input| input.token != NATIVE_ETHER) {
        grant(overlay, &Grant::Balance { token: input.token, owner: PARTNER, amount: U256::ONE }).unwrap();
    }
}

pub fn balance(overlay: &mut Overlay<'_>, token: Address, owner: Address) -> U256 {
    use revm::database_interface::Database;
    if token == NATIVE_ETHER {
        return overlay.basic(owner).unwrap().map_or(U256::ZERO, |info| info.balance);
    }
    let answer = view(overlay, token, braid_execution::approvals::balance_calldata(owner)).unwrap();
    U256::from_be_slice(&answer.unwrap())
}

/// Runs a basket on a copy of the chain, compares every balance, and returns the gas used.
fn execute(fork: &Fork, basket: &Basket, order: &Order, data: Bytes, spender: Address, number: u64) -> u64 {
    let mut overlay = Overlay::new(fork);
    sign_before(&mut overlay, number);
    endow(&mut overlay, order, spender);
    let tokens: Vec<Address> = order.tokens().collect();
    let holders = [TAKER, order.recipient, PARTNER];
    let read = |overlay: &mut Overlay<'_>| {
        holders.map(|who| tokens.iter().map(|t| balance(overlay, *t, who)).collect::<Vec<_>>())
    };
    let before = read(&mut overlay);
    let message =
        Transaction { from: TAKER, to: proxy::address(), data, value_wei: order.value_wei(), gas_limit: 16_000_000 };
    let result = run(&mut overlay, &message, true).unwrap();
    assert!(result.is_success(), "{result:?} for {order:?} {:?}", basket.route);
    let after = read(&mut overlay);

    for (index, input) in order.inputs.iter().enumerate() {
        let fee = input.amount - order.input_after_fee(input);
        let same_holder = order.recipient == TAKER;
        assert_eq!(before[0][index] - after[0][index], input.amount, "the payer gives exactly input {index}");
        assert_eq!(after[2][index] - before[2][index], fee, "the partner's fee on input {index}");
        assert!(same_holder || after[1][index] == before[1][index], "no input goes to the recipient");
    }
    for (index, output) in order.outputs.iter().enumerate() {
        let at = order.inputs.len() + index;
        let fee = basket.route.amounts_out[index] - output.amount;
        assert_eq!(after[1][at] - before[1][at], output.amount, "the recipient gets exactly output {index}");
        assert_eq!(after[2][at] - before[2][at], fee, "the partner's fee on output {index}");
    }
    for token in basket.tokens_met() {
        assert!(balance(&mut overlay, token, proxy::address()).is_zero(), "the proxy keeps {token}");
    }
    result.tx_gas_used()
}

#[test]
fn random_baskets_pay_every_output_to_the_wei() {
    let shared = shared::used();
    let (chain, fork) = (&shared.chain, &shared.fork());
    let block = chain.market.block();
    let mut dice = StdRng::seed_from_u64(SEED);
    let mut table = Table::default();
    let (mut several_in, mut several_out, mut by_signature) = (0, 0, 0);
    let baskets = if std::env::var_os("LONG").is_some() { 1_500 } else { 500 };
    for number in 0..baskets as u64 {
        let basket = Basket::roll(&chain.market, &mut dice);
        let order = basket.order(block.timestamp + 600);
        let program = encode_program(&chain.market, &basket.route, &order).unwrap();
        let signed = basket.by_signature && permit2::applies_to(&order);
        let spender = if signed { permit2::ADDRESS } else { proxy::address() };
        let authorization = if signed { Authorization::Permit2 } else { Authorization::Allowance };
        let estimate = gas::estimate(&chain.market, &basket.route, &order, &program, TAKER, authorization).unwrap();
        let used = execute(fork, &basket, &order, calldata(&order, &program, signed, number), spender, number);
        several_in += usize::from(order.inputs.len() > 1);
        several_out += usize::from(order.outputs.len() > 1);
        by_signature += usize::from(signed);
        table.add(Measured::new(chain, &basket.route, &program, &estimate, used, signed, order.partner_fee));
    }
    println!("{several_in} with several inputs, {several_out} with several outputs, {by_signature} by signature");
    table.print();
    table.check(0.99);
    assert!(several_in > baskets / 4 && several_out > baskets / 4 && by_signature > baskets / 10);
}
