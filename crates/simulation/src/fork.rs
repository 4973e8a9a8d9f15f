//! An attempt at a job on a block's state.
//!
//! An attempt does not wait for state. What is not known of the block is noted as missing, and the attempt goes on with what was seen of it in
//! an earlier block, or with nothing. Its result counts if nothing was missing; otherwise everything that was missing is read at once,
//! and the job is tried again. What is read first in a new attempt is right, so that each gets further than the one before; mostly the second
//! gets to the end, since the state of one block leads to the same places as that of the block before.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use braid_primitives::{Address, B256, Block, U256};
use revm::DatabaseRef;
use revm::bytecode::Bytecode;
use revm::state::AccountInfo;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::memory::BlockMemory;
use crate::source::{SourceError, Wanted};

/// How long a fork that waits may be used.
const WAITING_FOR: Duration = Duration::from_secs(86_400);

/// Most values that one attempt asks for.
const MOST_MISSING: usize = 1_024;

/// Most values that one attempt asks for of which nothing was ever seen: one that goes astray ends there.
const MOST_UNSEEN: usize = 64;

/// The state after a block, for one attempt at a job.
pub struct Fork {
    memory: Arc<BlockMemory>,
    /// Where a value that is missing is waited for at once; nothing for an attempt.
    waits: Option<Handle>,
    missing: RefCell<Wanted>,
    unseen: Cell<usize>,
    /// Gas that may still be used, in gas units.
    gas_left: Cell<u64>,
    until: Instant,
}

impl Fork {
    pub(crate) fn new(memory: Arc<BlockMemory>, gas: u64, until: Instant) -> Self {
        Self { memory, waits: None, missing: RefCell::default(), unseen: Cell::new(0), gas_left: Cell::new(gas), until }
    }

    /// A fork that waits for each value that is not known, without bounds.
    pub(crate) fn waiting(memory: Arc<BlockMemory>, runtime: Handle) -> Self {
        let until = Instant::now() + WAITING_FOR;
        Self { waits: Some(runtime), ..Self::new(memory, u64::MAX, until) }
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

    /// What was missing, and the gas that is left.
    pub(crate) fn into_seen(self) -> (Wanted, u64) {
        (self.missing.into_inner(), self.gas_left.into_inner())
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
        if let Some(runtime) = &self.waits {
            let mut wanted = Wanted::default();
            note(&mut wanted);
            runtime.block_on(self.memory.fetch(&wanted, &Semaphore::new(1)))?;
            return Ok(known());
        }
        let mut missing = self.missing.borrow_mut();
        note(&mut missing);
        if seen.is_none() {
            self.unseen.set(self.unseen.get() + 1);
        }
        if missing.len() >= MOST_MISSING || self.unseen.get() >= MOST_UNSEEN {
            return Err(SourceError("much of it is not known yet".into()));
        }
        Ok(seen)
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
