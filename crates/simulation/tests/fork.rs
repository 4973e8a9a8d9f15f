//! Grants find the word that decides a token's answer whatever its layout, and a fork asks its source only once.
//!
//! The tokens are a few hand-written instructions each, so that a layout is all there is to see.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::HashMap;

use braid_primitives::{Address, B256, Block, Bytes, NATIVE_ETHER, U256};
use braid_simulation::grant::{Granted, grant};
use braid_simulation::{
    Account, Fork, Grant, SimulationError, SourceError, StateSource, Status, Transaction, evm, simulate,
};

const TOKEN: Address = Address::repeat_byte(0x11);
const IMPLEMENTATION: Address = Address::repeat_byte(0x22);
const OWNER: Address = Address::repeat_byte(0x33);
const SPENDER: Address = Address::repeat_byte(0x44);

/// `keccak(first argument ++ slot 5)`, loaded: a Solidity mapping from an address.
const SOLIDITY_MAPPING: &str = "6004356000526005602052604060002054";
/// `keccak(slot 5 ++ first argument)`, loaded: the order that Vyper hashes in.
const VYPER_MAPPING: &str = "6005600052600435602052604060002054";
/// Clears the highest bit: a blacklist flag lives there.
const WITHOUT_FLAG: &str = "600160ff1b1916";
/// Times three, halved: an answer that is a share of the word.
const REBASED: &str = "60030260029004";
/// Returns the word on the stack.
const RETURN: &str = "60005260206000f3";
/// Reads two administrative words first, then delegates to the implementation.
const PROXY: &str = "6007545060085450365f5f375f5f365f7322222222222222222222222222222222222222225af43d5f5f3e3d5ff3";

struct World {
    accounts: HashMap<Address, Account>,
    storage: HashMap<(Address, U256), U256>,
    dead: bool,
}

impl StateSource for World {
    fn account(&self, address: Address) -> Result<Account, SourceError> {
        if self.dead {
            return Err(SourceError { what: "an account", why: "the connection failed".into() });
        }
        Ok(self.accounts.get(&address).cloned().unwrap_or_default())
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        Ok(self.storage.get(&(address, slot)).copied().unwrap_or_default())
    }

    fn block_hash(&self, _number: u64) -> Result<B256, SourceError> {
        Ok(B256::ZERO)
    }
}

fn code(parts: &[&str]) -> Account {
    Account { code: parts.concat().parse::<Bytes>().unwrap(), ..Account::default() }
}

fn block() -> Block {
    Block {
        number: 100,
        hash: B256::repeat_byte(1),
        parent_hash: B256::ZERO,
        timestamp: 1_700_000_000,
        base_fee_per_gas_wei: 1_000_000_000,
        gas_used: 15_000_000,
        gas_limit: 30_000_000,
    }
}

fn fork_of(accounts: impl IntoIterator<Item = (Address, Account)>) -> Fork {
    let world = World { accounts: accounts.into_iter().collect(), storage: HashMap::new(), dead: false };
    Fork::new(block(), Box::new(world))
}

fn balance_grant(amount: u64) -> Grant {
    Grant::Balance { token: TOKEN, owner: OWNER, amount: U256::from(amount) }
}

#[test]
fn a_balance_is_granted_in_every_layout() {
    let layouts: [(&str, Vec<(Address, Account)>); 5] = [
        ("solidity", vec![(TOKEN, code(&[SOLIDITY_MAPPING, RETURN]))]),
        ("vyper", vec![(TOKEN, code(&[VYPER_MAPPING, RETURN]))]),
        ("packed with a flag", vec![(TOKEN, code(&[SOLIDITY_MAPPING, WITHOUT_FLAG, RETURN]))]),
        ("rebasing", vec![(TOKEN, code(&[SOLIDITY_MAPPING, REBASED, RETURN]))]),
        ("proxy", vec![(TOKEN, code(&[PROXY])), (IMPLEMENTATION, code(&[SOLIDITY_MAPPING, RETURN]))]),
    ];
    for (name, accounts) in layouts {
        let fork = fork_of(accounts);
        let mut overlay = evm::Overlay::new(&fork);
        assert_eq!(grant(&mut overlay, &balance_grant(1_000_000)).unwrap(), Granted::Overridden, "{name}");
        assert_eq!(grant(&mut overlay, &balance_grant(1_000_000)).unwrap(), Granted::NotNeeded, "{name}");
    }
}

/// Shares of a pool, as stETH: the answer is the owner's shares times one word for everybody, over another.
#[test]
fn what_a_share_is_worth_is_left_alone() {
    let balance = [SOLIDITY_MAPPING, "600054026001549004", RETURN];
    let mut storage = HashMap::from([((TOKEN, U256::ZERO), U256::from(12)), ((TOKEN, U256::from(1)), U256::from(10))]);
    let shares_of = |owner: Address| {
        let key = [owner.into_word().as_slice(), &U256::from(5).to_be_bytes::<32>()].concat();
        U256::from_be_bytes(revm::primitives::keccak256(key).0)
    };
    let other = Address::repeat_byte(0x55);
    storage.insert((TOKEN, shares_of(OWNER)), U256::from(50));
    storage.insert((TOKEN, shares_of(other)), U256::from(100));
    let accounts = HashMap::from([(TOKEN, code(&balance))]);
    let fork = Fork::new(block(), Box::new(World { accounts, storage, dead: false }));
    let mut overlay = evm::Overlay::new(&fork);
    assert_eq!(grant(&mut overlay, &balance_grant(1_000_000)).unwrap(), Granted::Overridden);
    // nobody else has more or less than before
    let whole = |amount: u64| Grant::Balance { token: TOKEN, owner: other, amount: U256::from(amount) };
    assert_eq!(grant(&mut overlay, &whole(120)).unwrap(), Granted::NotNeeded);
    assert_eq!(grant(&mut overlay, &whole(121)).unwrap(), Granted::Overridden);
}

#[test]
fn an_allowance_is_granted() {
    // keccak(spender ++ keccak(owner ++ 5)) as Solidity nests mappings
    let nested = "60043560005260056020526040600020602052602435600052604060002054";
    let fork = fork_of([(TOKEN, code(&[nested, RETURN]))]);
    let mut overlay = evm::Overlay::new(&fork);
    let wanted = Grant::Allowance { token: TOKEN, owner: OWNER, spender: SPENDER, amount: U256::MAX };
    assert_eq!(grant(&mut overlay, &wanted).unwrap(), Granted::Overridden);
    assert_eq!(grant(&mut overlay, &wanted).unwrap(), Granted::NotNeeded);
}

#[test]
fn a_token_whose_answer_is_no_storage_word_is_reported() {
    let always_seven = "6007";
    let fork = fork_of([(TOKEN, code(&[always_seven, RETURN]))]);
    let mut overlay = evm::Overlay::new(&fork);
    assert_eq!(grant(&mut overlay, &balance_grant(8)).unwrap(), Granted::NotFound);
    assert_eq!(grant(&mut overlay, &balance_grant(7)).unwrap(), Granted::NotNeeded);
}

fn send(to: Address, value: u64) -> Transaction {
    Transaction { from: OWNER, to, data: Bytes::new(), value_wei: U256::from(value), gas_limit: 100_000 }
}

#[test]
fn ether_sent_arrives_and_the_grant_is_listed() {
    let fork = fork_of([]);
    let grants = [Grant::Balance { token: NATIVE_ETHER, owner: OWNER, amount: U256::from(5) }];
    let outcome = simulate(&fork, &send(SPENDER, 5), &grants, SPENDER, &[NATIVE_ETHER]).unwrap();
    assert_eq!(outcome.status, Status::Success);
    assert_eq!(outcome.gas_used, 21_000);
    assert_eq!(outcome.gains, [(NATIVE_ETHER, U256::from(5))]);
    assert_eq!(outcome.grants, [(grants[0].clone(), Granted::Overridden)]);
}

#[test]
fn code_is_placed_where_it_is_missing() {
    let answers_nine = code(&["6009", RETURN]).code;
    let fork = fork_of([]);
    let place = Grant::Code { account: TOKEN, code: answers_nine };
    let mut overlay = evm::Overlay::new(&fork);
    assert_eq!(grant(&mut overlay, &place).unwrap(), Granted::Overridden);
    assert_eq!(grant(&mut overlay, &place).unwrap(), Granted::NotNeeded);
    assert_eq!(grant(&mut overlay, &balance_grant(9)).unwrap(), Granted::NotNeeded);
}

#[test]
fn a_revert_carries_its_data() {
    let reverts_with_one_word = "63deadbeef6000526004601cfd";
    let fork = fork_of([(TOKEN, code(&[reverts_with_one_word]))]);
    let outcome = simulate(&fork, &send(TOKEN, 0), &[], OWNER, &[]).unwrap();
    assert_eq!(outcome.status, Status::Reverted(Bytes::from_static(&[0xde, 0xad, 0xbe, 0xef])));
}

#[test]
fn a_second_simulation_of_the_block_reads_nothing_new() {
    let fork = fork_of([(TOKEN, code(&[SOLIDITY_MAPPING, RETURN]))]);
    let run = || simulate(&fork, &send(TOKEN, 0), &[balance_grant(9)], OWNER, &[TOKEN]).unwrap();
    let first = run();
    let reads = fork.source_reads();
    assert!(reads > 0);
    assert_eq!(run(), first, "an overlay leaks into nothing");
    assert_eq!(fork.source_reads(), reads);
}

#[test]
fn a_node_that_does_not_serve_the_state_is_an_error_that_says_so() {
    let world = World { accounts: HashMap::new(), storage: HashMap::new(), dead: true };
    let fork = Fork::new(*fork_of([]).block(), Box::new(world));
    let error = simulate(&fork, &send(TOKEN, 0), &[], OWNER, &[]).unwrap_err();
    assert!(matches!(error, SimulationError::Unavailable(_)), "{error}");
}

#[test]
fn a_gas_limit_above_the_protocol_cap_is_invalid() {
    let fork = fork_of([]);
    let transaction = Transaction { gas_limit: 20_000_000, ..send(SPENDER, 0) };
    let error = simulate(&fork, &transaction, &[], OWNER, &[]).unwrap_err();
    assert!(matches!(error, SimulationError::Invalid(_)), "{error}");
}
