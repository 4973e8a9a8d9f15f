//! What is known of a block's state, and what was known of earlier ones.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use braid_primitives::{Address, B256, Block, U256};
use moka::sync::Cache;
use revm::bytecode::Bytecode;
use revm::primitives::KECCAK_EMPTY;
use revm::state::AccountInfo;
use tokio::sync::{OnceCell, Semaphore};

use crate::layouts::form_of;
use crate::source::{Found, KnownCode, SourceError, StateSource, TouchingCall, Wanted};

/// Most storage words and accounts that are remembered of one block; beyond it nothing more is read of it.
const MOST_ENTRIES: usize = 200_000;

/// Most storage words that are kept from earlier blocks.
const PAST_WORDS: u64 = 200_000;

/// Most bytes of code that are kept from earlier blocks.
const PAST_CODE_BYTES: u64 = 64 << 20;

/// Most codes whose form is kept.
const PAST_FORMS: u64 = 50_000;

/// What was last seen of accounts and words, whatever the block: what an attempt goes by until the block's own values are there. Code is
/// read once and kept for as long as its hash stays.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    accounts: Cache<Address, AccountInfo>,
    words: Cache<(Address, U256), U256>,
    /// Forms of codes, by their hashes.
    forms: Cache<B256, B256>,
    /// Calls of the node that were made although nobody waited.
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
    /// How many calls of the node were made so far although nobody waited.
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
    /// What waits for the next reading.
    next: Mutex<Option<Arc<Group>>>,
}

#[derive(Default)]
struct Known {
    accounts: HashMap<Address, AccountInfo>,
    words: HashMap<(Address, U256), U256>,
    hashes: HashMap<u64, B256>,
}

/// Wants that are read together.
#[derive(Default)]
struct Group {
    wanted: Mutex<Wanted>,
    read: OnceCell<Result<u32, SourceError>>,
}

/// A lock whose holder cannot leave anything half-written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BlockMemory {
    pub(crate) fn new(block: Block, source: Arc<dyn StateSource>, past: Past) -> Self {
        Self { block, source, past, known: Mutex::default(), next: Mutex::default() }
    }

    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    /// The account as the block left it.
    pub(crate) fn account(&self, address: &Address) -> Option<AccountInfo> {
        lock(&self.known).accounts.get(address).cloned()
    }

    /// The form of an account's code, where it has code and was read.
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
        lock(&self.known).words.get(word).copied()
    }

    pub(crate) fn hash(&self, height: u64) -> Option<B256> {
        if height == self.block.number {
            return Some(self.block.hash);
        }
        lock(&self.known).hashes.get(&height).copied()
    }

    /// The account as it was when last seen.
    pub(crate) fn past_account(&self, address: &Address) -> Option<AccountInfo> {
        self.past.accounts.get(address)
    }

    pub(crate) fn past_word(&self, word: &(Address, U256)) -> Option<U256> {
        self.past.words.get(word)
    }

    /// Reads what is wanted, together with what others want meanwhile: at most as many readings run at once as there are `permits`. Gives the
    /// number of messages that the reading took.
    pub(crate) async fn fetch(&self, wanted: &Wanted, permits: &Semaphore) -> Result<u32, SourceError> {
        let group = {
            let mut next = lock(&self.next);
            let group = Arc::clone(next.get_or_insert_default());
            lock(&group.wanted).extend(wanted);
            group
        };
        // one of those who wait does the reading; where it is given up, another goes on with it
        group.read.get_or_init(|| self.read(&group, permits)).await.clone()
    }

    /// What calls touch, as far as the source tells: what of it is not known yet. Nothing where it does not.
    pub(crate) async fn touched(&self, calls: &[TouchingCall], is_urgent: bool) -> Option<Wanted> {
        if calls.is_empty() {
            return None;
        }
        let told = self.source.touched(&self.block, calls, is_urgent).await;
        let told = told.inspect_err(|why| tracing::debug!(%why, "what calls touch is not told")).ok().flatten()?;
        let known = lock(&self.known);
        let accounts = told.accounts.into_iter().filter(|account| !known.accounts.contains_key(account));
        let words = told.words.into_iter().filter(|word| !known.words.contains_key(word));
        let (accounts, words) = (accounts.map(|account| (account, None)).collect(), words.collect());
        Some(Wanted { accounts, words, is_urgent, ..Wanted::default() })
    }

    async fn read(&self, group: &Arc<Group>, permits: &Semaphore) -> Result<u32, SourceError> {
        let _permit = permits.acquire().await;
        lock(&self.next).take_if(|next| Arc::ptr_eq(next, group));
        let mut wanted = lock(&group.wanted).clone();
        {
            let known = lock(&self.known);
            if known.accounts.len() + known.words.len() > MOST_ENTRIES {
                return Err(SourceError("more of the block's state was read than is kept".into()));
            }
            wanted.accounts.retain(|address, _| !known.accounts.contains_key(address));
            wanted.words.retain(|word| !known.words.contains_key(word));
        }
        if wanted.is_empty() {
            return Ok(0);
        }
        let mut before = HashMap::new();
        for (address, known) in &mut wanted.accounts {
            let Some(info) = self.past_account(address) else { continue };
            let bytes = info.code.as_ref().map_or(0, |code| code.original_byte_slice().len());
            *known = Some(KnownCode { hash: info.code_hash, bytes });
            before.extend(info.code.map(|code| (*address, code)));
        }
        let found = self.source.read(&self.block, &wanted).await?;
        let messages = found.messages;
        if !wanted.is_urgent {
            self.past.background_calls.fetch_add(found.calls.into(), Ordering::Relaxed);
        }
        self.keep(found, before)?;
        Ok(messages)
    }

    /// Keeps what was found; `before` is the code that was known.
    fn keep(&self, found: Found, mut before: HashMap<Address, Bytecode>) -> Result<(), SourceError> {
        let mut accounts = Vec::with_capacity(found.accounts.len());
        for (address, account) in found.accounts {
            let code = match account.code {
                None => before.remove(&address),
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
        let mut known = lock(&self.known);
        known.accounts.extend(accounts);
        known.words.extend(found.words);
        known.hashes.extend(found.hashes);
        Ok(())
    }
}
