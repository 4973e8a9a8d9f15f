//! An attempt at a job on a block's state.
//!
//! An attempt does not wait for state. What is not known of the block is noted as missing, and the attempt goes on with what was seen of it in
//! an earlier block, or with nothing. Its result counts if nothing was missing; otherwise everything that was missing is read at once,
//! and the job is tried again. What is read first in a new attempt is right, so that each gets further than the one before; mostly the second
//! gets to the end, since the state of one block leads to the same places as that of the block before. Where many attempts did not, the way
//! is unknown: the last one waits for each value.

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

use crate::evm::Message;
use crate::memory::BlockMemory;
use crate::source::{SourceError, TouchingCall, Wanted};

/// Most values that one attempt asks for.
const MOST_MISSING: usize = 1_024;

/// Most values that one attempt asks for of which nothing was ever seen: one that goes astray ends there.
const MOST_UNSEEN: usize = 64;

/// Most calls of one attempt that are noted because they went astray.
const MOST_CALLS: usize = 16;

/// The state after a block, for one attempt at a job.
pub struct Fork {
    memory: Arc<BlockMemory>,
    /// How a missing value is waited for; nothing where the attempt goes on without.
    waits: Option<Waits>,
    missing: RefCell<Wanted>,
    /// Values of which nothing was ever seen, that this part of the attempt asked for.
    unseen: Cell<usize>,
    /// Whether any part asked for such a value.
    is_astray: Cell<bool>,
    /// Calls that asked for such values.
    calls: RefCell<Vec<TouchingCall>>,
    /// What grants put in place of the state.
    codes: RefCell<BTreeMap<Address, Bytes>>,
    words: RefCell<BTreeMap<(Address, U256), U256>>,
    /// Gas that may still be used, in gas units.
    gas_left: Cell<u64>,
    until: Instant,
}

impl Fork {
    pub(crate) fn new(memory: Arc<BlockMemory>, gas: u64, until: Instant) -> Self {
        Self {
            memory,
            waits: None,
            missing: RefCell::default(),
            unseen: Cell::new(0),
            is_astray: Cell::new(false),
            calls: RefCell::default(),
            codes: RefCell::default(),
            words: RefCell::default(),
            gas_left: Cell::new(gas),
            until,
        }
    }

    /// A fork that waits for each value that is not known.
    pub(crate) fn waiting(memory: Arc<BlockMemory>, gas: u64, until: Instant, waits: Waits) -> Self {
        Self { waits: Some(waits), ..Self::new(memory, gas, until) }
    }

    /// The block whose state this is.
    pub fn block(&self) -> &Block {
        self.memory.block()
    }

    /// Whether values were missing of which nothing was ever seen: what comes after them may lead anywhere.
    pub fn is_astray(&self) -> bool {
        self.unseen.get() > 0
    }

    /// Begins another part of the attempt, which does not depend on what was missing before.
    pub(crate) fn begin_part(&self) {
        self.unseen.set(0);
    }

    /// What came of the attempt.
    pub(crate) fn into_seen(self) -> Seen {
        let is_astray = self.is_astray.get();
        let (missing, gas_left) = (self.missing.into_inner(), self.gas_left.into_inner());
        Seen { missing, gas_left, is_astray, calls: self.calls.into_inner(), waited: self.waits }
    }

    /// How many values were missing so far of which nothing was ever seen.
    pub(crate) fn unseen(&self) -> usize {
        self.unseen.get()
    }

    /// Notes a call that asked for such values.
    pub(crate) fn went_astray(&self, message: &Message) {
        let mut calls = self.calls.borrow_mut();
        let call = TouchingCall {
            from: message.from,
            to: message.to,
            data: message.data.clone(),
            value_wei: message.value_wei,
            gas_limit: message.gas_limit,
            codes: self.codes.borrow().clone(),
            words: self.words.borrow().clone(),
        };
        if calls.len() < MOST_CALLS && !calls.contains(&call) {
            calls.push(call);
        }
    }

    /// Notes code that a grant put at an account.
    pub(crate) fn grants_code(&self, account: Address, code: &Bytes) {
        self.codes.borrow_mut().insert(account, code.clone());
    }

    /// Notes a word that a grant put in storage.
    pub(crate) fn grants_word(&self, account: Address, slot: U256, word: U256) {
        self.words.borrow_mut().insert((account, slot), word);
    }

    /// Whether another message may run: refused past the attempt's time and gas.
    pub(crate) fn check(&self) -> Result<(), SourceError> {
        if Instant::now() >= self.until {
            return Err(SourceError("it takes too long".into()));
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

    /// Notes a missing value, while there is room for more; `seen` is what it was in an earlier block. A fork that waits reads the value
    /// instead, which `known` then gives.
    fn miss<T>(
        &self,
        seen: Option<T>,
        known: impl FnOnce() -> Option<T>,
        note: impl FnOnce(&mut Wanted),
    ) -> Result<Option<T>, SourceError> {
        if let Some(waits) = &self.waits {
            let mut wanted = Wanted { is_urgent: waits.is_urgent, ..Wanted::default() };
            note(&mut wanted);
            waits.read(&self.memory, &wanted, self.until)?;
            // nothing stands for a value that the node did not give
            return known().map(Some).ok_or_else(|| SourceError("the node did not give a value that it needs".into()));
        }
        let mut missing = self.missing.borrow_mut();
        note(&mut missing);
        if seen.is_none() {
            self.unseen.set(self.unseen.get() + 1);
            self.is_astray.set(true);
        }
        if missing.len() >= MOST_MISSING || self.unseen.get() >= MOST_UNSEEN {
            return Err(SourceError("much of it is not known yet".into()));
        }
        Ok(seen)
    }
}

/// What came of an attempt.
pub(crate) struct Seen {
    /// The values that were missing.
    pub(crate) missing: Wanted,
    /// The gas that is left, in gas units.
    pub(crate) gas_left: u64,
    /// Whether some of them were never seen before.
    pub(crate) is_astray: bool,
    /// The calls that asked for those.
    pub(crate) calls: Vec<TouchingCall>,
    /// How waiting ended, if it waited.
    pub(crate) waited: Option<Waits>,
}

/// How a fork waits for values, on a thread that is none of the runtime's.
pub(crate) struct Waits {
    pub(crate) runtime: Handle,
    pub(crate) readings: Arc<Semaphore>,
    /// Whether somebody waits for a quote or a build.
    pub(crate) is_urgent: bool,
    /// Most messages to the node, and how many it took.
    pub(crate) most_messages: u32,
    pub(crate) messages: Cell<u32>,
    /// Most values.
    pub(crate) reads_left: Cell<usize>,
}

impl Waits {
    fn read(&self, memory: &BlockMemory, wanted: &Wanted, until: Instant) -> Result<(), SourceError> {
        let left = self.reads_left.get().checked_sub(1);
        let left = left.ok_or_else(|| SourceError("it reads more state than a simulation may".into()))?;
        if self.messages.get() >= self.most_messages {
            return Err(SourceError("it takes more messages than it may".into()));
        }
        // the timer belongs to the runtime, so it is made there
        let messages = self.runtime.block_on(async { timeout_at(until, memory.fetch(wanted, &self.readings)).await });
        let messages = messages.map_err(|_| SourceError("it takes too long".into()))??;
        self.messages.set(self.messages.get().saturating_add(messages));
        self.reads_left.set(left);
        Ok(())
    }
}

impl DatabaseRef for Fork {
    type Error = SourceError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, SourceError> {
        if let Some(info) = self.memory.account(&address) {
            return Ok(Some(info));
        }
        let known = || self.memory.account(&address);
        self.miss(self.memory.past_account(&address), known, |missing| {
            missing.accounts.insert(address, None);
        })
    }

    fn code_by_hash_ref(&self, _code_hash: B256) -> Result<Bytecode, SourceError> {
        // Accounts always carry their code, so the EVM never asks by hash.
        Err(SourceError("code is only known by address".into()))
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        if let Some(word) = self.memory.word(&(address, slot)) {
            return Ok(word);
        }
        let known = || self.memory.word(&(address, slot));
        let seen = self.miss(self.memory.past_word(&(address, slot)), known, |missing| {
            missing.words.insert((address, slot));
        })?;
        Ok(seen.unwrap_or_default())
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, SourceError> {
        if let Some(hash) = self.memory.hash(number) {
            return Ok(hash);
        }
        let known = || self.memory.hash(number);
        let seen = self.miss(None, known, |missing| {
            missing.hashes.insert(number);
        })?;
        Ok(seen.unwrap_or_default())
    }
}
