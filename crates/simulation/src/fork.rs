//! The state of a block as one attempt at a job sees it.
//!
//! An attempt does not wait for state. A value that was not read at this block is noted as missing, and the attempt
//! goes on with the value last seen in an earlier block, or with zero. Its result counts only if nothing was missing;
//! otherwise all missing values are read at once and the job is tried again. Each attempt gets further than the one
//! before. Mostly the second one completes, because a block's state leads to the same places as the state of the block
//! before. After many incomplete attempts the last one waits for each value.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use braid_primitives::{Address, B256, Block, Bytes, U256};
use revm::DatabaseRef;
use revm::bytecode::Bytecode;
use revm::state::AccountInfo;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::evm::Transaction;
use crate::memory::BlockMemory;
use crate::source::{SourceError, TouchingCall, Wanted};

/// Most values that one attempt notes as missing.
const MOST_MISSING: usize = 1_024;

/// Most values that one part of an attempt may miss without having seen them in any block: it ends there, since it has
/// probably diverged.
const MOST_UNSEEN: usize = 64;

/// Most diverged calls that are noted of one attempt.
const MOST_CALLS: usize = 16;

/// The state after a block, for one attempt at a job.
pub struct Fork {
    memory: Arc<BlockMemory>,
    /// How to wait for a missing value; `None` if the attempt goes on without it.
    waits: Option<Waits>,
    missing: RefCell<Wanted>,
    /// Missing values never seen in any block, of this part of the attempt.
    unseen: Cell<usize>,
    /// Whether any part of the attempt missed such a value.
    has_unseen: Cell<bool>,
    /// Calls that missed such values.
    diverged: RefCell<Vec<TouchingCall>>,
    /// Code and storage words that grants put in place of the state.
    granted_codes: RefCell<BTreeMap<Address, Bytes>>,
    granted_words: RefCell<BTreeMap<(Address, U256), U256>>,
    /// Gas that may still be used, in gas units.
    gas_left: Cell<u64>,
    until: Instant,
}

impl Fork {
    /// A fork that notes missing values, or waits for each of them if it has `waits`.
    pub(crate) fn new(memory: Arc<BlockMemory>, gas: u64, until: Instant, waits: Option<Waits>) -> Self {
        Self {
            memory,
            waits,
            missing: RefCell::default(),
            unseen: Cell::new(0),
            has_unseen: Cell::new(false),
            diverged: RefCell::default(),
            granted_codes: RefCell::default(),
            granted_words: RefCell::default(),
            gas_left: Cell::new(gas),
            until,
        }
    }

    /// The block whose state this is.
    pub fn block(&self) -> &Block {
        self.memory.block()
    }

    /// Returns whether this part of the attempt missed values never seen before: what it did since may be wrong.
    pub fn may_have_diverged(&self) -> bool {
        self.unseen() > 0
    }

    /// Begins another part of the attempt, which does not depend on the parts before it.
    pub(crate) fn begin_part(&self) {
        self.unseen.set(0);
    }

    /// Returns how many values this part of the attempt missed that were never seen before.
    pub(crate) fn unseen(&self) -> usize {
        self.unseen.get()
    }

    /// Ends the attempt and returns what it missed and used.
    pub(crate) fn finish(self) -> Attempt {
        Attempt {
            missing: self.missing.into_inner(),
            gas_left: self.gas_left.into_inner(),
            has_unseen: self.has_unseen.into_inner(),
            diverged: self.diverged.into_inner(),
            waited: self.waits,
        }
    }

    /// Notes a call that missed values never seen before.
    pub(crate) fn note_diverged(&self, call: &Transaction) {
        let call = TouchingCall {
            from: call.from,
            to: call.to,
            data: call.data.clone(),
            value_wei: call.value_wei,
            gas_limit: call.gas_limit,
            codes: self.granted_codes.borrow().clone(),
            words: self.granted_words.borrow().clone(),
        };
        let mut diverged = self.diverged.borrow_mut();
        if diverged.len() < MOST_CALLS && !diverged.contains(&call) {
            diverged.push(call);
        }
    }

    /// Notes code that a grant put at an account.
    pub(crate) fn note_granted_code(&self, account: Address, code: &Bytes) {
        self.granted_codes.borrow_mut().insert(account, code.clone());
    }

    /// Notes a word that a grant put in storage.
    pub(crate) fn note_granted_word(&self, account: Address, slot: U256, word: U256) {
        self.granted_words.borrow_mut().insert((account, slot), word);
    }

    /// Checks that the attempt has time and gas left for another transaction.
    pub(crate) fn check(&self) -> Result<(), SourceError> {
        if Instant::now() >= self.until {
            return Err(SourceError(TOO_SLOW.into()));
        }
        if self.gas_left.get() == 0 {
            return Err(SourceError("it uses more gas than a simulation may".into()));
        }
        Ok(())
    }

    /// Counts gas that was used.
    pub(crate) fn spend(&self, gas: u64) {
        self.gas_left.set(self.gas_left.get().saturating_sub(gas));
    }

    /// Handles a value that was not read at this block: notes it as missing and returns the value `last_seen` in an
    /// earlier block. A fork that waits reads it instead, and then returns it from `known`.
    fn miss<T>(
        &self,
        last_seen: Option<T>,
        known: impl FnOnce() -> Option<T>,
        note: impl FnOnce(&mut Wanted),
    ) -> Result<Option<T>, SourceError> {
        if let Some(waits) = &self.waits {
            let mut wanted = Wanted { is_urgent: waits.is_urgent, ..Wanted::default() };
            note(&mut wanted);
            waits.read(&self.memory, &wanted, self.until)?;
            // No default stands in for a value that the node did not return.
            return known().map(Some).ok_or_else(|| SourceError("the node left out a value that was asked for".into()));
        }
        let mut missing = self.missing.borrow_mut();
        note(&mut missing);
        if last_seen.is_none() {
            self.unseen.set(self.unseen.get() + 1);
            self.has_unseen.set(true);
        }
        if missing.len() >= MOST_MISSING || self.unseen.get() >= MOST_UNSEEN {
            return Err(SourceError("too many values of the block are not read yet".into()));
        }
        Ok(last_seen)
    }
}

/// What an attempt missed and used.
pub(crate) struct Attempt {
    /// Values that were missing.
    pub(crate) missing: Wanted,
    /// Gas left, in gas units.
    pub(crate) gas_left: u64,
    /// Whether some of the missing values were never seen before.
    pub(crate) has_unseen: bool,
    /// Calls that missed values never seen before.
    pub(crate) diverged: Vec<TouchingCall>,
    /// What waiting used, if the attempt waited.
    pub(crate) waited: Option<Waits>,
}

const TOO_SLOW: &str = "it takes too long";

/// How a fork waits for values. It must run on a thread that does not belong to the runtime.
pub(crate) struct Waits {
    pub(crate) runtime: Handle,
    pub(crate) readings: Arc<Semaphore>,
    /// Whether a quote or a build waits.
    pub(crate) is_urgent: bool,
    /// Most messages to the node.
    pub(crate) most_messages: u32,
    /// Messages used.
    pub(crate) messages: Cell<u32>,
    /// Values that may still be read.
    pub(crate) reads_left: Cell<usize>,
}

impl Waits {
    fn read(&self, memory: &BlockMemory, wanted: &Wanted, until: Instant) -> Result<(), SourceError> {
        let left = self.reads_left.get().checked_sub(1);
        let left = left.ok_or_else(|| SourceError("it reads more state than a simulation may".into()))?;
        if self.messages.get() >= self.most_messages {
            return Err(SourceError("it takes more messages than it may".into()));
        }
        // The timer is made inside the runtime that it belongs to.
        let messages = self.runtime.block_on(async { timeout_at(until, memory.fetch(wanted, &self.readings)).await });
        let messages = messages.map_err(|_| SourceError(TOO_SLOW.into()))??;
        self.messages.set(self.messages.get().saturating_add(messages));
        self.reads_left.set(left);
        Ok(())
    }
}

impl DatabaseRef for Fork {
    type Error = SourceError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, SourceError> {
        let known = || self.memory.account(&address);
        if let Some(info) = known() {
            return Ok(Some(info));
        }
        self.miss(self.memory.past_account(&address), known, |missing| {
            missing.accounts.insert(address, None);
        })
    }

    fn code_by_hash_ref(&self, _code_hash: B256) -> Result<Bytecode, SourceError> {
        // Accounts always carry their code, so that the EVM never asks by hash.
        Err(SourceError("code is only known by address".into()))
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        let word = (address, slot);
        let known = || self.memory.word(&word);
        if let Some(value) = known() {
            return Ok(value);
        }
        let last_seen = self.miss(self.memory.past_word(&word), known, |missing| {
            missing.words.insert(word);
        })?;
        Ok(last_seen.unwrap_or_default())
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, SourceError> {
        let known = || self.memory.hash(number);
        if let Some(hash) = known() {
            return Ok(hash);
        }
        let last_seen = self.miss(None, known, |missing| {
            missing.hashes.insert(number);
        })?;
        Ok(last_seen.unwrap_or_default())
    }
}
