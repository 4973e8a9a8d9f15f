//! Reads accounts and storage words at a block, many in one message, for simulations on forked state.
//!
//! If the node supports code overrides, up to [`VALUES_PER_CALL`] accounts are one `eth_call` and as many words are
//! another: code that is put at a contract returns the words of its storage. Any other node is asked for one value per
//! call, many calls per message.

use std::collections::BTreeMap;

use alloy::primitives::{KECCAK256_EMPTY, U64, bytes};
use braid_primitives::{Address, B256, Bytes, U256, address};
use braid_protocols::Call;
use futures::future::try_join_all;
use serde_json::{Value, json, value::RawValue};

use super::{
    client::Request,
    connect::Node,
    health::Class,
    member::Member,
    multicall,
    wire::{at, parse},
};
use crate::NodeError;

/// Code that returns the words of its own storage at the slots in the calldata.
///
/// `i = 0; while i < calldatasize { memory[i] = sload(calldata[i]); i += 32 } return memory[..calldatasize]`
const WORDS: Bytes = bytes!("5f5b3681101560145780355481526020016001565b365ff3");

/// Code that returns two words for each address in the calldata: its ether, and the hash of its code.
///
/// `i = 0; while i < calldatasize { memory[2 i] = balance(calldata[i]); memory[2 i + 32] = extcodehash(calldata[i]); i
/// += 32 }`
const ACCOUNTS: Bytes = bytes!("5f5b36811015602157803580318260011b523f8160011b602001526020016001565b3660011b5ff3");

/// Address at which [`ACCOUNTS`] runs: the last 20 bytes of the Keccak hash of `braid accounts`, where no contract is.
const READER: Address = address!("1085eab177af0034b2ba62a52ddbd7ba6c48a771");

/// Values that one call reads: they take a million units of gas, where nodes allow 10 million or more.
const VALUES_PER_CALL: usize = 400;

/// Single values that share a message.
const VALUES_PER_BATCH: usize = 100;

/// Words that are read both ways until a node's words read by [`WORDS`] are trusted.
const PROOFS: usize = 4;

/// Longest code that may change, in bytes: none, or a delegation of EIP-7702. Longer code stays, since EIP-6780.
const CHANGEABLE_CODE_BYTES: usize = 23;

const CALL: &str = "eth_call";
const BALANCE: &str = "eth_getBalance";
const NONCE: &str = "eth_getTransactionCount";
const CODE: &str = "eth_getCode";
const STORAGE: &str = "eth_getStorageAt";

const UNSUPPORTED: NodeError = NodeError::Unsupported { what: "state read by overridden code" };

/// Code of an account that is known from an earlier block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownCode {
    /// Its Keccak hash.
    pub hash: B256,
    /// Its length, in bytes.
    pub bytes: usize,
}

/// An account at the end of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountState {
    /// Ether, in wei.
    pub balance_wei: U256,
    /// Transactions sent, or contracts created; from a node with code overrides 0 for an empty account and 1 for
    /// others.
    pub nonce: u64,
    /// Runtime code, empty for an account without; `None` if it is the known one.
    pub code: Option<Bytes>,
}

/// Accounts to read, each with the code that is known of it.
type Accounts<'a> = &'a [(Address, Option<KnownCode>)];

/// Storage words to read, by contract and slot.
type Words<'a> = &'a [(Address, U256)];

/// State of a block, in the order asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockState {
    /// Accounts.
    pub accounts: Vec<AccountState>,
    /// Storage words.
    pub words: Vec<U256>,
    /// Messages that the reading took.
    pub messages: u32,
    /// Calls in those messages.
    pub calls: u32,
}

impl Node {
    /// Returns an account's ether in wei, at a block.
    pub async fn native_balance(&self, block_hash: B256, account: Address) -> Result<U256, NodeError> {
        self.get(BALANCE, json!([account, at(block_hash)])).await
    }

    /// Returns an account's code at a block; empty for an account without code.
    pub async fn code(&self, block_hash: B256, account: Address) -> Result<Bytes, NodeError> {
        self.get(CODE, json!([account, at(block_hash)])).await
    }

    /// Reads accounts' codes at a block, in as few messages as the node allows; empty for accounts without code.
    ///
    /// # Errors
    /// [`NodeError`].
    pub(crate) async fn codes(&self, block_hash: B256, accounts: &[Address]) -> Result<Vec<Bytes>, NodeError> {
        let requests: Vec<Request> = accounts.iter().map(|account| code_request(block_hash, *account)).collect();
        let requests = requests.as_slice();
        let answers = self.ask(Class::Quick, |member| member.connection.batch(requests)).await?;
        answers.into_iter().map(|answer| parse(CODE, &answer?)).collect()
    }

    /// Reads accounts and storage words at a block, in as few messages as the node allows.
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
            if member.reads_words.get() != Some(&false) && member.supports_overrides(block_hash).await? {
                match member.state_by_overrides(block_hash, accounts, words).await {
                    Err(error) if error.is_unknown_block() || error.is_rate_limit() => return Err(error),
                    Err(NodeError::Rpc { .. } | NodeError::Unsupported { .. }) => {}
                    read => return read,
                }
            }
            member.state_by_values(block_hash, accounts, words).await
        })
        .await
        .map_err(|error| if error.is_unknown_block() { NodeError::UnknownBlock { hash: block_hash } } else { error })
    }
}

impl Member {
    /// Reads state by overridden code; [`NodeError::Unsupported`] if the node turns out not to support that.
    async fn state_by_overrides(
        &self,
        block_hash: B256,
        accounts: Accounts<'_>,
        words: Words<'_>,
    ) -> Result<BlockState, NodeError> {
        let groups: Vec<Vec<Call>> = words.chunks(VALUES_PER_CALL).map(by_contract).collect();
        let proofs = if self.reads_words.get().is_some() { &[] } else { &words[..words.len().min(PROOFS)] };
        let mut requests: Vec<Request> =
            accounts.chunks(VALUES_PER_CALL).map(|chunk| accounts_request(block_hash, chunk)).collect();
        let without_code = accounts.iter().filter(|(_, known)| known.is_none());
        requests.extend(without_code.map(|(account, _)| code_request(block_hash, *account)));
        requests.extend(groups.iter().map(|calls| words_request(block_hash, calls)));
        requests.extend(proofs.iter().map(|(account, slot)| word_request(block_hash, *account, *slot)));

        let mut answers = Answers(self.connection.batch(&requests).await?.into_iter());
        let mut state = BlockState { messages: 1, calls: count(&requests), ..BlockState::default() };
        let hashes;
        (state.accounts, hashes) = self.decode_accounts(accounts, &mut answers)?;
        for (account, _) in state.accounts.iter_mut().zip(accounts).filter(|(_, (_, known))| known.is_none()) {
            account.code = Some(answers.next(CODE)?);
        }
        state.words = self.decode_words(words, &groups, &mut answers)?;
        self.check_proofs(&state.words[..proofs.len()], &mut answers)?;
        self.read_changed_code(block_hash, accounts, &hashes, &mut state).await?;
        Ok(state)
    }

    /// Decodes the answers to [`accounts_request`]: the accounts, and the hashes of their codes.
    fn decode_accounts(
        &self,
        accounts: Accounts<'_>,
        answers: &mut Answers,
    ) -> Result<(Vec<AccountState>, Vec<B256>), NodeError> {
        let (mut states, mut hashes) = (Vec::with_capacity(accounts.len()), Vec::with_capacity(accounts.len()));
        for chunk in accounts.chunks(VALUES_PER_CALL) {
            let answer: Bytes = answers.next(CALL)?;
            if answer.len() != chunk.len() * 64 {
                return Err(self.reads_no_words());
            }
            for (balance, hash) in answer.chunks_exact(64).map(|pair| pair.split_at(32)) {
                let (balance_wei, hash) = (U256::from_be_slice(balance), B256::from_slice(hash));
                // The code hash of an empty account is zero (EIP-1052).
                states.push(AccountState { balance_wei, nonce: u64::from(!hash.is_zero()), code: None });
                hashes.push(if hash.is_zero() { KECCAK256_EMPTY } else { hash });
            }
        }
        Ok((states, hashes))
    }

    /// Decodes the answers to [`words_request`].
    fn decode_words(
        &self,
        words: Words<'_>,
        groups: &[Vec<Call>],
        answers: &mut Answers,
    ) -> Result<Vec<U256>, NodeError> {
        let mut read = BTreeMap::new();
        for calls in groups {
            let answer: Bytes = answers.next(CALL)?;
            let all = multicall::decode(&answer, calls.len()).ok_or(UNSUPPORTED)?;
            for (call, values) in calls.iter().zip(all) {
                let values = values.filter(|values| values.len() == call.data.len());
                let values = values.ok_or_else(|| self.reads_no_words())?;
                let slots = call.data.chunks_exact(32).map(U256::from_be_slice);
                read.extend(slots.map(|slot| (call.to, slot)).zip(values.chunks_exact(32).map(U256::from_be_slice)));
            }
        }
        words.iter().map(|word| read.get(word).copied().ok_or(UNSUPPORTED)).collect()
    }

    /// Compares words that were read by overridden code with the node's own answers.
    fn check_proofs(&self, words: &[U256], answers: &mut Answers) -> Result<(), NodeError> {
        for word in words {
            let proof: U256 = answers.next(STORAGE)?;
            if proof != *word {
                tracing::debug!(%proof, %word, "a word read by overridden code is not the node's");
                return Err(self.reads_no_words());
            }
            if !proof.is_zero() {
                // A node that was found not to read words stays so.
                self.reads_words.get_or_init(|| true);
            }
        }
        Ok(())
    }

    /// Reads the code of accounts whose code differs from the known one.
    async fn read_changed_code(
        &self,
        block_hash: B256,
        accounts: Accounts<'_>,
        hashes: &[B256],
        state: &mut BlockState,
    ) -> Result<(), NodeError> {
        let known = accounts.iter().zip(hashes).zip(&mut state.accounts);
        let changed = known.filter(|(((_, known), hash), _)| known.is_some_and(|known| known.hash != **hash));
        let changed: Vec<(Address, &mut AccountState)> =
            changed.map(|(((address, _), _), account)| (*address, account)).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let requests: Vec<Request> = changed.iter().map(|(address, _)| code_request(block_hash, *address)).collect();
        let mut answers = Answers(self.connection.batch(&requests).await?.into_iter());
        for (_, account) in changed {
            account.code = Some(answers.next(CODE)?);
        }
        state.messages += 1;
        state.calls = state.calls.saturating_add(count(&requests));
        Ok(())
    }

    /// Reads state with one value per call. Code that cannot change is not read again.
    async fn state_by_values(
        &self,
        block_hash: B256,
        accounts: Accounts<'_>,
        words: Words<'_>,
    ) -> Result<BlockState, NodeError> {
        let is_kept = |known: &Option<KnownCode>| known.is_some_and(|known| known.bytes > CHANGEABLE_CODE_BYTES);
        let mut requests: Vec<Request> = Vec::new();
        for (account, known) in accounts {
            let params = json!([account, at(block_hash)]);
            requests.push(Request { method: BALANCE, params: params.clone() });
            requests.push(Request { method: NONCE, params });
            requests.extend((!is_kept(known)).then(|| code_request(block_hash, *account)));
        }
        requests.extend(words.iter().map(|(account, slot)| word_request(block_hash, *account, *slot)));
        let batches: Vec<&[Request]> = requests.chunks(VALUES_PER_BATCH).collect();
        let read = try_join_all(batches.iter().map(|batch| self.connection.batch(batch))).await?;
        let mut answers = Answers(read.into_iter().flatten().collect::<Vec<_>>().into_iter());
        let mut state = BlockState { messages: count(&batches), calls: count(&requests), ..BlockState::default() };
        for (_, known) in accounts {
            let balance_wei = answers.next(BALANCE)?;
            let nonce: U64 = answers.next(NONCE)?;
            let code = if is_kept(known) { None } else { Some(answers.next(CODE)?) };
            state.accounts.push(AccountState { balance_wei, nonce: nonce.to(), code });
        }
        for _ in words {
            state.words.push(answers.next(STORAGE)?);
        }
        Ok(state)
    }

    /// Notes that overridden code does not read a contract's storage at this node.
    fn reads_no_words(&self) -> NodeError {
        // Several reads may find out at once.
        if self.reads_words.set(false).is_ok() {
            tracing::info!(
                node = self.name,
                "the node does not support overrides of contracts: state is read value by value"
            );
        }
        UNSUPPORTED
    }
}

/// The answers of a batch, to be read in order.
struct Answers(std::vec::IntoIter<Result<Box<RawValue>, NodeError>>);

impl Answers {
    fn next<T: serde::de::DeserializeOwned>(&mut self, method: &'static str) -> Result<T, NodeError> {
        let missing = || NodeError::Malformed { method, why: "there is no answer".into() };
        parse(method, &self.0.next().unwrap_or_else(|| Err(missing()))?)
    }
}

fn count<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}

/// Groups words into one call per contract, with the slots as calldata.
fn by_contract(words: Words<'_>) -> Vec<Call> {
    let mut slots: BTreeMap<Address, Vec<u8>> = BTreeMap::new();
    for (account, slot) in words {
        slots.entry(*account).or_default().extend(slot.to_be_bytes::<32>());
    }
    slots.into_iter().map(|(to, slots)| Call { to, data: slots.into() }).collect()
}

/// Asks for the ether and code hashes of accounts.
fn accounts_request(block_hash: B256, accounts: Accounts<'_>) -> Request {
    let data: Vec<u8> = accounts.iter().flat_map(|(account, _)| account.into_word().0).collect();
    overridden(block_hash, &Call { to: READER, data: data.into() }, [READER], &ACCOUNTS)
}

/// Asks for the words of a group of contracts.
fn words_request(block_hash: B256, calls: &[Call]) -> Request {
    let aggregate = Call { to: multicall::MULTICALL3, data: multicall::encode(calls) };
    overridden(block_hash, &aggregate, calls.iter().map(|call| call.to), &WORDS)
}

/// Makes a call with code put at some addresses.
fn overridden(block_hash: B256, call: &Call, at_addresses: impl IntoIterator<Item = Address>, code: &Bytes) -> Request {
    let override_at = |address: Address| (address.to_string(), json!({ "code": code }));
    let overrides: serde_json::Map<String, Value> = at_addresses.into_iter().map(override_at).collect();
    Request { method: CALL, params: json!([{ "to": call.to, "data": call.data }, at(block_hash), overrides]) }
}

fn code_request(block_hash: B256, account: Address) -> Request {
    Request { method: CODE, params: json!([account, at(block_hash)]) }
}

fn word_request(block_hash: B256, account: Address, slot: U256) -> Request {
    Request { method: STORAGE, params: json!([account, B256::from(slot), at(block_hash)]) }
}
