//! Accounts and storage words at a block, many in one message, for simulations on forked state.
//!
//! Where the node lends code for a call, all accounts are one `eth_call` and all words are another, whatever their number: the code that is
//! lent answers the words of whoever runs it. A node that does not is asked for one value a call, many calls a message.

use std::collections::BTreeMap;

use alloy::primitives::{KECCAK256_EMPTY, U64, bytes};
use braid_primitives::{Address, B256, Bytes, U256, address};
use braid_protocols::Call;
use futures::future::try_join_all;
use serde_json::{Value, json, value::RawValue};

use super::{
    client::Request,
    connect::Node,
    fleet::Member,
    health::Class,
    multicall,
    wire::{at, parse},
};
use crate::NodeError;

/// Answers the words of its own storage at the slots that the calldata lists.
///
/// `i = 0; while i < calldatasize { memory[i] = sload(calldata[i]); i += 32 } return memory[..calldatasize]`
const WORDS: Bytes = bytes!("5f5b3681101560145780355481526020016001565b365ff3");

/// Answers two words for each address that the calldata lists: its ether, and the hash of its code.
///
/// `i = 0; while i < calldatasize { memory[2 i] = balance(calldata[i]); memory[2 i + 32] = extcodehash(calldata[i]); i += 32 }`
const ACCOUNTS: Bytes = bytes!("5f5b36811015602157803580318260011b523f8160011b602001526020016001565b3660011b5ff3");

/// Where the code that reads accounts is lent to: the last 20 bytes of the Keccak hash of `braid accounts`, where nothing is.
const READER: Address = address!("1085eab177af0034b2ba62a52ddbd7ba6c48a771");

/// How many values one call reads: a million units of gas, where nodes allow ten million or more.
const VALUES_PER_CALL: usize = 400;

/// How many single values share a message.
const VALUES_PER_BATCH: usize = 100;

/// How many words are read both ways until the words that a node reads by lent code are trusted.
const PROOFS: usize = 4;

/// Longest code that may change: none, or a delegation of EIP-7702. Longer code is there for good since EIP-6780.
const CHANGEABLE_CODE_BYTES: usize = 23;

/// Code that is known of an account from before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownCode {
    /// Its Keccak hash.
    pub hash: B256,
    /// How long it is, in bytes.
    pub bytes: usize,
}

/// An account as a block left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountState {
    /// Ether, in wei.
    pub balance_wei: U256,
    /// Transactions sent, or contracts created; where the node lends code, 0 or 1 for an account that is empty or not.
    pub nonce: u64,
    /// Runtime code, empty for an account without; nothing where it is the known one.
    pub code: Option<Bytes>,
}

/// What was read of a block's state, in the order asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockState {
    /// The accounts.
    pub accounts: Vec<AccountState>,
    /// The storage words.
    pub words: Vec<U256>,
    /// How many messages that took.
    pub messages: u32,
    /// How many calls they had.
    pub calls: u32,
}

impl Node {
    /// An account's ether in wei, at a block.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn native_balance(&self, block_hash: B256, account: Address) -> Result<U256, NodeError> {
        self.get("eth_getBalance", json!([account, at(block_hash)])).await
    }

    /// An account's code at a block; empty for an account without code.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn code(&self, block_hash: B256, account: Address) -> Result<Bytes, NodeError> {
        self.get("eth_getCode", json!([account, at(block_hash)])).await
    }

    /// Accounts' codes at a block, in as few messages as the node allows; empty for accounts without code.
    ///
    /// # Errors
    /// [`NodeError`].
    pub(crate) async fn codes(&self, block_hash: B256, accounts: &[Address]) -> Result<Vec<Bytes>, NodeError> {
        let requests: Vec<Request> = accounts.iter().map(|account| code(block_hash, *account)).collect();
        self.batch(&requests).await?.into_iter().map(|answer| parse(CODE, &answer?)).collect()
    }

    /// Accounts and storage words at a block, in as few messages as the node lets them be read in.
    ///
    /// # Errors
    /// [`NodeError`] when the node does not answer, or does not know the block.
    pub async fn state(
        &self,
        block_hash: B256,
        accounts: &[(Address, Option<KnownCode>)],
        words: &[(Address, U256)],
    ) -> Result<BlockState, NodeError> {
        self.ask(Class::Heavy, |member| async move {
            if member.reads_words.get() != Some(&false) && member.lends(block_hash).await? {
                match member.lent_state(block_hash, accounts, words).await {
                    Err(error) if error.is_of_the_block() || error.is_a_rate_limit() => return Err(error),
                    Err(NodeError::Rpc { .. } | NodeError::Unsupported { .. }) => {}
                    read => return read,
                }
            }
            member.plain_state(block_hash, accounts, words).await
        })
        .await
        .map_err(|error| if error.is_of_the_block() { NodeError::UnknownBlock { hash: block_hash } } else { error })
    }
}

impl Member {
    /// Reads by lent code: [`NodeError::Unsupported`] where the node turns out not to do that.
    async fn lent_state(
        &self,
        block_hash: B256,
        accounts: &[(Address, Option<KnownCode>)],
        words: &[(Address, U256)],
    ) -> Result<BlockState, NodeError> {
        let mut requests: Vec<Request> = Vec::new();
        for chunk in accounts.chunks(VALUES_PER_CALL) {
            let data: Vec<u8> = chunk.iter().flat_map(|(account, _)| account.into_word().0).collect();
            requests.push(lent(block_hash, &Call { to: READER, data: data.into() }, [READER], &ACCOUNTS));
        }
        let unseen = accounts.iter().filter(|(_, known)| known.is_none());
        requests.extend(unseen.map(|(account, _)| code(block_hash, *account)));
        let groups: Vec<Vec<Call>> = words.chunks(VALUES_PER_CALL).map(by_contract).collect();
        for calls in &groups {
            let aggregate = Call { to: multicall::MULTICALL3, data: multicall::encode(calls) };
            requests.push(lent(block_hash, &aggregate, calls.iter().map(|call| call.to), &WORDS));
        }
        let proofs = if self.reads_words.get().is_some() { &[] } else { &words[..words.len().min(PROOFS)] };
        requests.extend(proofs.iter().map(|(account, slot)| word(block_hash, *account, *slot)));

        let mut answers = self.connection.batch(&requests).await?.into_iter();
        let mut state = BlockState { messages: 1, calls: count(&requests), ..BlockState::default() };
        let mut hashes = Vec::with_capacity(accounts.len());
        for chunk in accounts.chunks(VALUES_PER_CALL) {
            let told: Bytes = next(&mut answers, CALL)?;
            if told.len() != chunk.len() * 64 {
                return Err(self.reads_no_words());
            }
            let pairs = told.chunks_exact(64).map(|pair| pair.split_at(32));
            for (balance, hash) in pairs {
                let (balance_wei, hash) = (U256::from_be_slice(balance), B256::from_slice(hash));
                // the hash of an empty account's code is zero (EIP-1052)
                state.accounts.push(AccountState { balance_wei, nonce: u64::from(!hash.is_zero()), code: None });
                hashes.push(if hash.is_zero() { KECCAK256_EMPTY } else { hash });
            }
        }
        for (account, _) in state.accounts.iter_mut().zip(accounts).filter(|(_, (_, known))| known.is_none()) {
            account.code = Some(next(&mut answers, CODE)?);
        }
        let mut read = BTreeMap::new();
        for calls in &groups {
            let told: Bytes = next(&mut answers, CALL)?;
            let told = multicall::decode(&told, calls.len()).ok_or(UNSUPPORTED)?;
            for (call, told) in calls.iter().zip(told) {
                let told = told.filter(|told| told.len() == call.data.len()).ok_or_else(|| self.reads_no_words())?;
                let slots = call.data.chunks_exact(32).map(U256::from_be_slice);
                read.extend(slots.map(|slot| (call.to, slot)).zip(told.chunks_exact(32).map(U256::from_be_slice)));
            }
        }
        state.words = words.iter().map(|word| read.get(word).copied().ok_or(UNSUPPORTED)).collect::<Result<_, _>>()?;
        for (index, word) in state.words.iter().take(proofs.len()).enumerate() {
            let proof: U256 = next(&mut answers, STORAGE)?;
            if proof != *word {
                tracing::debug!(index, %proof, %word, "words that are read by lent code are not the node's");
                return Err(self.reads_no_words());
            }
            if !proof.is_zero() {
                // a node that was found not to read words stays so
                self.reads_words.get_or_init(|| true);
            }
        }
        // what has other code than before is asked for it
        let known = accounts.iter().zip(&hashes).zip(&mut state.accounts);
        let changed: Vec<(Address, &mut AccountState)> = known
            .filter(|(((_, known), hash), _)| known.is_some_and(|known| known.hash != **hash))
            .map(|(((address, _), _), account)| (*address, account))
            .collect();
        if !changed.is_empty() {
            let requests: Vec<Request> = changed.iter().map(|(address, _)| code(block_hash, *address)).collect();
            let mut answers = self.connection.batch(&requests).await?.into_iter();
            state.messages += 1;
            state.calls = state.calls.saturating_add(count(&requests));
            for (_, account) in changed {
                account.code = Some(next(&mut answers, CODE)?);
            }
        }
        Ok(state)
    }

    /// Reads one value a call. Code that cannot change is not read again.
    async fn plain_state(
        &self,
        block_hash: B256,
        accounts: &[(Address, Option<KnownCode>)],
        words: &[(Address, U256)],
    ) -> Result<BlockState, NodeError> {
        let is_kept = |known: &Option<KnownCode>| known.is_some_and(|known| known.bytes > CHANGEABLE_CODE_BYTES);
        let mut requests: Vec<Request> = Vec::new();
        for (account, known) in accounts {
            let params = json!([account, at(block_hash)]);
            requests.push(Request { method: BALANCE, params: params.clone() });
            requests.push(Request { method: NONCE, params });
            requests.extend((!is_kept(known)).then(|| code(block_hash, *account)));
        }
        requests.extend(words.iter().map(|(account, slot)| word(block_hash, *account, *slot)));
        let batches: Vec<&[Request]> = requests.chunks(VALUES_PER_BATCH).collect();
        let read = try_join_all(batches.iter().map(|batch| self.connection.batch(batch))).await?;
        let mut answers = read.into_iter().flatten();
        let mut state = BlockState { messages: count(&batches), calls: count(&requests), ..BlockState::default() };
        for (_, known) in accounts {
            let balance_wei = next(&mut answers, BALANCE)?;
            let nonce: U64 = next(&mut answers, NONCE)?;
            let code = if is_kept(known) { None } else { Some(next(&mut answers, CODE)?) };
            state.accounts.push(AccountState { balance_wei, nonce: nonce.to(), code });
        }
        for _ in words {
            state.words.push(next(&mut answers, STORAGE)?);
        }
        Ok(state)
    }

    fn reads_no_words(&self) -> NodeError {
        // several readings may find out at once
        if self.reads_words.set(false).is_ok() {
            tracing::info!(
                node = self.name,
                "a node lends code to some addresses only: from it state is read value by value"
            );
        }
        UNSUPPORTED
    }
}

const CALL: &str = "eth_call";
const BALANCE: &str = "eth_getBalance";
const NONCE: &str = "eth_getTransactionCount";
const CODE: &str = "eth_getCode";
const STORAGE: &str = "eth_getStorageAt";
const UNSUPPORTED: NodeError = NodeError::Unsupported { what: "state read by lent code" };

fn count<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}

/// One call per contract, with the slots as its calldata.
fn by_contract(words: &[(Address, U256)]) -> Vec<Call> {
    let mut slots: BTreeMap<Address, Vec<u8>> = BTreeMap::new();
    for (account, slot) in words {
        slots.entry(*account).or_default().extend(slot.to_be_bytes::<32>());
    }
    slots.into_iter().map(|(to, slots)| Call { to, data: slots.into() }).collect()
}

/// A call for which code is lent to some addresses.
fn lent(block_hash: B256, call: &Call, to: impl IntoIterator<Item = Address>, code: &Bytes) -> Request {
    let lent: serde_json::Map<String, Value> =
        to.into_iter().map(|address| (address.to_string(), json!({ "code": code }))).collect();
    Request { method: CALL, params: json!([{ "to": call.to, "data": call.data }, at(block_hash), lent]) }
}

fn code(block_hash: B256, account: Address) -> Request {
    Request { method: CODE, params: json!([account, at(block_hash)]) }
}

fn word(block_hash: B256, account: Address, slot: U256) -> Request {
    Request { method: STORAGE, params: json!([account, B256::from(slot), at(block_hash)]) }
}

/// Reads the next answer of a batch.
fn next<T: serde::de::DeserializeOwned>(
    answers: &mut impl Iterator<Item = Result<Box<RawValue>, NodeError>>,
    method: &'static str,
) -> Result<T, NodeError> {
    let missing = || NodeError::Malformed { method, why: "there is no answer".into() };
    parse(method, &answers.next().unwrap_or_else(|| Err(missing()))?)
}
