//! The state of one block as far as it was read, and what was last seen in earlier blocks.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_primitives::{Address, B256, Block, U256};
use moka::sync::Cache;
use parking_lot::Mutex;
use revm::bytecode::Bytecode;
use revm::primitives::KECCAK_EMPTY;
use revm::state::AccountInfo;
use tokio::sync::{OnceCell, Semaphore};

use crate::layouts::form_of;
use crate::source::{Found, KnownCode, SourceError, StateSource, TouchingCall, Wanted};

/// Most accounts and storage words that are kept of one block; beyond it nothing more is read at that block.
const MOST_ENTRIES: usize = 200_000;

/// Most storage words that are kept from earlier blocks.
const PAST_WORDS: u64 = 200_000;

/// Most bytes of code that are kept from earlier blocks.
const PAST_CODE_BYTES: u64 = 64 << 20;

/// Most codes whose form is kept.
const PAST_FORMS: u64 = 50_000;

/// Accounts and words as last seen in any block: attempts use them until the block's own values are read. Code is read
/// once and kept while its hash stays the same.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    accounts: Cache<Address, AccountInfo>,
    words: Cache<(Address, U256), U256>,
    /// Forms of codes, by their hashes.
    forms: Cache<B256, B256>,
    /// Calls of the node that no quote or build waited for.
    background_calls: Arc<AtomicU64>,
}

impl Default for Past {
    fn default() -> Self {
        let bytes = |_: &Address, info: &AccountInfo| {
            let code = info.code.as_ref().map_or(0, Bytecode::len);
            u32::try_from(code.saturating_add(200)).unwrap_or(u32::MAX)
        };
        Self {
            accounts: Cache::builder().max_capacity(PAST_CODE_BYTES).weigher(bytes).build(),
            words: Cache::new(PAST_WORDS),
            forms: Cache::new(PAST_FORMS),
            background_calls: Arc::default(),
        }
    }
}

impl Past {
    /// Returns the calls of the node so far that no quote or build waited for.
    pub(crate) fn background_calls(&self) -> u64 {
        self.background_calls.load(Ordering::Relaxed)
    }
}

/// The state after one block, as far as it was read.
pub(crate) struct BlockMemory {
    block: Block,
    source: Arc<dyn StateSource>,
    past: Past,
    known: Mutex<Known>,
    /// Values that the next reading reads.
    next: Mutex<Option<Arc<Group>>>,
}

#[derive(Default)]
struct Known {
    accounts: HashMap<Address, AccountInfo>,
    words: HashMap<(Address, U256), U256>,
    hashes: HashMap<u64, B256>,
}

/// Values that are read together.
#[derive(Default)]
struct Group {
    wanted: Mutex<Wanted>,
    read: OnceCell<Result<u32, SourceError>>,
}

impl BlockMemory {
    pub(crate) fn new(block: Block, source: Arc<dyn StateSource>, past: Past) -> Self {
        Self { block, source, past, known: Mutex::default(), next: Mutex::default() }
    }

    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    /// Returns an account as the block left it, if it was read.
    pub(crate) fn account(&self, address: &Address) -> Option<AccountInfo> {
        self.known.lock().accounts.get(address).cloned()
    }

    /// Returns the form of an account's code, if the account was read and has code.
    pub(crate) fn code_form(&self, address: &Address) -> Option<B256> {
        let info = self.account(address).filter(|info| info.code_hash != KECCAK_EMPTY)?;
        if let Some(form) = self.past.forms.get(&info.code_hash) {
            return Some(form);
        }
        let form = form_of(info.code?.original_byte_slice());
        self.past.forms.insert(info.code_hash, form);
        Some(form)
    }

    pub(crate) fn word(&self, word: &(Address, U256)) -> Option<U256> {
        self.known.lock().words.get(word).copied()
    }

    pub(crate) fn hash(&self, height: u64) -> Option<B256> {
        if height == self.block.number {
            return Some(self.block.hash);
        }
        self.known.lock().hashes.get(&height).copied()
    }

    /// Returns an account as last seen in any block.
    pub(crate) fn past_account(&self, address: &Address) -> Option<AccountInfo> {
        self.past.accounts.get(address)
    }

    pub(crate) fn past_word(&self, word: &(Address, U256)) -> Option<U256> {
        self.past.words.get(word)
    }

    /// Reads wanted values, together with those that other jobs want meanwhile; at most as many readings run at once as
    /// there are `permits`. Returns the number of messages to the node.
    pub(crate) async fn fetch(&self, wanted: &Wanted, permits: &Semaphore) -> Result<u32, SourceError> {
        let group = {
            let mut next = self.next.lock();
            let group = Arc::clone(next.get_or_insert_default());
            group.wanted.lock().extend(wanted);
            group
        };
        // One waiter does the reading; if it is cancelled, another one takes over.
        group.read.get_or_init(|| self.read(&group, permits)).await.clone()
    }

    /// Asks the source for the accounts and words that calls touch, and returns those that are not known yet; `None` if
    /// the source cannot list them.
    pub(crate) async fn touched(&self, calls: &[TouchingCall], is_urgent: bool) -> Option<Wanted> {
        if calls.is_empty() {
            return None;
        }
        let touched = self.source.touched(&self.block, calls, is_urgent).await;
        let touched = touched
            .inspect_err(|why| tracing::debug!(%why, "the node did not list the state that calls touch"))
            .ok()
            .flatten()?;
        let known = self.known.lock();
        let accounts = touched.accounts.into_iter().filter(|account| !known.accounts.contains_key(account));
        let words = touched.words.into_iter().filter(|word| !known.words.contains_key(word));
        let (accounts, words) = (accounts.map(|account| (account, None)).collect(), words.collect());
        Some(Wanted { accounts, words, is_urgent, ..Wanted::default() })
    }

    async fn read(&self, group: &Arc<Group>, permits: &Semaphore) -> Result<u32, SourceError> {
        let _permit = permits.acquire().await;
        self.next.lock().take_if(|next| Arc::ptr_eq(next, group));
        let mut wanted = group.wanted.lock().clone();
        {
            let known = self.known.lock();
            if known.accounts.len() + known.words.len() > MOST_ENTRIES {
                return Err(SourceError("too much of the block's state was read already".into()));
            }
            wanted.accounts.retain(|address, _| !known.accounts.contains_key(address));
            wanted.words.retain(|word| !known.words.contains_key(word));
        }
        if wanted.is_empty() {
            return Ok(0);
        }
        let mut known_codes = HashMap::new();
        for (address, known) in &mut wanted.accounts {
            let Some(info) = self.past_account(address) else { continue };
            let bytes = info.code.as_ref().map_or(0, |code| code.original_byte_slice().len());
            *known = Some(KnownCode { hash: info.code_hash, bytes });
            known_codes.extend(info.code.map(|code| (*address, code)));
        }
        let found = self.source.read(&self.block, &wanted).await?;
        let messages = found.messages;
        if !wanted.is_urgent {
            self.past.background_calls.fetch_add(found.calls.into(), Ordering::Relaxed);
        }
        self.keep(found, known_codes)?;
        Ok(messages)
    }

    /// Keeps values that were read. Accounts without code in `found` have the code in `known_codes`.
    fn keep(&self, found: Found, mut known_codes: HashMap<Address, Bytecode>) -> Result<(), SourceError> {
        let mut accounts = Vec::with_capacity(found.accounts.len());
        for (address, account) in found.accounts {
            let code = match account.code {
                None => known_codes.remove(&address),
                Some(code) if code.is_empty() => None,
                Some(code) => {
                    let malformed = |_| SourceError(format!("the code of {address} is malformed"));
                    Some(Bytecode::new_raw_checked(code).map_err(malformed)?)
                }
            };
            let code_hash = code.as_ref().map_or(KECCAK_EMPTY, Bytecode::hash_slow);
            let (balance, nonce) = (account.balance_wei, account.nonce);
            accounts.push((address, AccountInfo { balance, nonce, code_hash, code, ..Default::default() }));
        }
        for (address, info) in &accounts {
            self.past.accounts.insert(*address, info.clone());
        }
        for (word, value) in &found.words {
            self.past.words.insert(*word, *value);
        }
        let mut known = self.known.lock();
        known.accounts.extend(accounts);
        known.words.extend(found.words);
        known.hashes.extend(found.hashes);
        Ok(())
    }
}
