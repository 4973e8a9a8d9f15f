//! A block's state, read once and shared by every simulation of that block.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use braid_primitives::{Address, B256, Block, U256};
use revm::DatabaseRef;
use revm::bytecode::Bytecode;
use revm::primitives::KECCAK_EMPTY;
use revm::state::AccountInfo;

use crate::{SourceError, StateSource};

/// Most storage words and accounts that one fork remembers; beyond it reads go to the source each time.
const REMEMBERED_ENTRIES: usize = 200_000;

/// A block's state behind a read-through memory.
pub struct Fork {
    block: Block,
    source: Box<dyn StateSource>,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    accounts: HashMap<Address, AccountInfo>,
    storage: HashMap<(Address, U256), U256>,
    hashes: HashMap<u64, B256>,
    source_reads: u64,
}

impl Memory {
    fn has_room(&self) -> bool {
        self.accounts.len() + self.storage.len() < REMEMBERED_ENTRIES
    }
}

impl Fork {
    /// The state after `block`, which `source` must serve.
    pub fn new(block: Block, source: Box<dyn StateSource>) -> Self {
        Self { block, source, memory: Mutex::default() }
    }

    /// The block whose state this is.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// How many times the source was asked so far.
    pub fn source_reads(&self) -> u64 {
        self.with_memory(|memory| memory.source_reads)
    }

    fn with_memory<T>(&self, action: impl FnOnce(&mut Memory) -> T) -> T {
        // A panic elsewhere cannot leave the maps half-written: every write is one insert.
        action(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DatabaseRef for Fork {
    type Error = SourceError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, SourceError> {
        if let Some(info) = self.with_memory(|memory| memory.accounts.get(&address).cloned()) {
            return Ok(Some(info));
        }
        let account = self.source.account(address)?;
        let info = if account.code.is_empty() {
            AccountInfo {
                balance: account.balance_wei,
                nonce: account.nonce,
                code_hash: KECCAK_EMPTY,
                ..Default::default()
            }
        } else {
            let code = Bytecode::new_raw_checked(account.code)
                .map_err(|_| SourceError { what: "an account", why: "its code is malformed".into() })?;
            AccountInfo {
                balance: account.balance_wei,
                nonce: account.nonce,
                code_hash: code.hash_slow(),
                code: Some(code),
                ..Default::default()
            }
        };
        self.with_memory(|memory| {
            memory.source_reads += 1;
            if memory.has_room() {
                memory.accounts.insert(address, info.clone());
            }
        });
        Ok(Some(info))
    }

    fn code_by_hash_ref(&self, _code_hash: B256) -> Result<Bytecode, SourceError> {
        // Accounts always carry their code, so the EVM never asks by hash.
        Err(SourceError { what: "code", why: "code is only known by address".into() })
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        if let Some(word) = self.with_memory(|memory| memory.storage.get(&(address, slot)).copied()) {
            return Ok(word);
        }
        let word = self.source.storage(address, slot)?;
        self.with_memory(|memory| {
            memory.source_reads += 1;
            if memory.has_room() {
                memory.storage.insert((address, slot), word);
            }
        });
        Ok(word)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, SourceError> {
        if number == self.block.number {
            return Ok(self.block.hash);
        }
        if let Some(hash) = self.with_memory(|memory| memory.hashes.get(&number).copied()) {
            return Ok(hash);
        }
        let hash = self.source.block_hash(number)?;
        self.with_memory(|memory| {
            memory.source_reads += 1;
            memory.hashes.insert(number, hash)
        });
        Ok(hash)
    }
}
