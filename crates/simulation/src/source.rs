//! The interface through which state of a block is read, many values at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;

use braid_primitives::{Address, B256, Block, U256};

pub use braid_ethereum::{AccountState, KnownCode, Touched, TouchingCall};

/// Values of one block's state to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Accounts, each with the code that is known from an earlier block.
    pub accounts: BTreeMap<Address, Option<KnownCode>>,
    /// Storage words, by contract and slot.
    pub words: BTreeSet<(Address, U256)>,
    /// Heights of ancestor blocks whose hashes are wanted.
    pub hashes: BTreeSet<u64>,
    /// Whether a quote or a build waits for them.
    pub is_urgent: bool,
}

impl Wanted {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.accounts.len() + self.words.len() + self.hashes.len()
    }

    /// Returns whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the values that another job wants.
    pub fn extend(&mut self, other: &Self) {
        self.accounts.extend(&other.accounts);
        self.words.extend(&other.words);
        self.hashes.extend(&other.hashes);
        self.is_urgent |= other.is_urgent;
    }
}

/// Values that were read, each beside its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Accounts; the default for an address without an account.
    pub accounts: Vec<(Address, AccountState)>,
    /// Storage words.
    pub words: Vec<((Address, U256), U256)>,
    /// Block hashes by height.
    pub hashes: Vec<(u64, B256)>,
    /// Messages to the node that the reading took.
    pub messages: u32,
    /// JSON-RPC calls in those messages.
    pub calls: u32,
}

/// Result of [`StateSource::read`].
pub type Reading<'a> = Pin<Box<dyn Future<Output = Result<Found, SourceError>> + Send + 'a>>;

/// Result of [`StateSource::touched`].
pub type Touching<'a> = Pin<Box<dyn Future<Output = Result<Option<Touched>, SourceError>> + Send + 'a>>;

/// A source of block state. Every value of an answer must be of the block that was asked for.
pub trait StateSource: Send + Sync {
    /// Reads all of the wanted values after a block, or fails.
    fn read<'a>(&'a self, block: &'a Block, wanted: &'a Wanted) -> Reading<'a>;

    /// Lists the accounts and storage words that calls touch after a block, in one message; `None` if the source
    /// cannot.
    fn touched<'a>(&'a self, _block: &'a Block, _calls: &'a [TouchingCall], _is_urgent: bool) -> Touching<'a> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// State that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state could not be read: {0}")]
pub struct SourceError(pub String);

impl revm::database_interface::DBErrorMarker for SourceError {}
