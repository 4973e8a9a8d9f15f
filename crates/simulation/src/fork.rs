//! An attempt at a job on a block's state.
//!
//! An attempt does not wait for state. What is not known of the block is noted as missing, and the attempt goes on with what was seen of it in
//! an earlier block, or with nothing. Its result counts if nothing was missing; otherwise everything that was missing is read at once,
//! and the job is tried again. What is read first in a new attempt is right, so that each gets further than the one before; mostly the second
//! gets to the end, since the state of one block leads to the same places as that of the block before.

use std::cell::RefCell;
use std::sync::Arc;

use braid_primitives::{Address, B256, Block, U256};
use revm::DatabaseRef;
use revm::bytecode::Bytecode;
use revm::state::AccountInfo;
use tokio::time::Instant;

use crate::memory::BlockMemory;
use crate::source::{SourceError, Wanted};

/// Most values that one attempt asks for: one that goes astray ends there.
const MOST_MISSING: usize = 256;

/// The state after a block, for one attempt at a job.
pub struct Fork {
    memory: Arc<BlockMemory>,
    missing: RefCell<Wanted>,
    /// Gas that may still be used, in gas units.
    gas_left: RefCell<u64>,
    until: Instant,
}

impl Fork {
    pub(crate) fn new(memory: Arc<BlockMemory>, gas: u64, until: Instant) -> Self {
        Self { memory, missing: RefCell::default(), gas_left: RefCell::new(gas), until }
    }

    /// The block whose state this is.
    pub fn block(&self) -> &Block {
        self.memory.block()
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
        if *self.gas_left.borrow() == 0 {
            return Err(SourceError("it uses more gas than a simulation may".into()));
        }
        Ok(())
    }

    /// Counts gas that was used.
    pub(crate) fn spend(&self, gas: u64) {
        let left = self.gas_left.borrow().saturating_sub(gas);
        *self.gas_left.borrow_mut() = left;
    }

    /// Notes a missing value, while there is room for more.
    fn miss(&self, note: impl FnOnce(&mut Wanted)) -> Result<(), SourceError> {
        let mut missing = self.missing.borrow_mut();
        note(&mut missing);
        if missing.len() < MOST_MISSING { Ok(()) } else { Err(SourceError("much of it is not known yet".into())) }
    }
}

impl DatabaseRef for Fork {
    type Error = SourceError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, SourceError> {
        if let Some(info) = self.memory.account(&address) {
            return Ok(Some(info));
        }
        self.miss(|missing| {
            missing.accounts.insert(address, None);
        })?;
        Ok(self.memory.past_account(&address))
    }

    fn code_by_hash_ref(&self, _code_hash: B256) -> Result<Bytecode, SourceError> {
        // Accounts always carry their code, so the EVM never asks by hash.
        Err(SourceError("code is only known by address".into()))
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        if let Some(word) = self.memory.word(&(address, slot)) {
            return Ok(word);
        }
        self.miss(|missing| {
            missing.words.insert((address, slot));
        })?;
        Ok(self.memory.past_word(&(address, slot)).unwrap_or_default())
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, SourceError> {
        if let Some(hash) = self.memory.hash(number) {
            return Ok(hash);
        }
        self.miss(|missing| {
            missing.hashes.insert(number);
        })?;
        Ok(B256::ZERO)
    }
}
