//! Where state comes from: many values at once.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;

use braid_primitives::{Address, B256, Block, Bytes, U256};

pub use braid_ethereum::{KnownCode, Touched, TouchingCall};

/// Values of one block's state that somebody needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Accounts, and the code that is known of them from before.
    pub accounts: BTreeMap<Address, Option<KnownCode>>,
    /// Storage words.
    pub words: BTreeSet<(Address, U256)>,
    /// Hashes of ancestor blocks, by height.
    pub hashes: BTreeSet<u64>,
    /// Whether somebody waits for a quote or a build.
    pub is_urgent: bool,
}

impl Wanted {
    /// How many values.
    pub fn len(&self) -> usize {
        self.accounts.len() + self.words.len() + self.hashes.len()
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds what somebody else wants.
    pub fn extend(&mut self, other: &Self) {
        self.accounts.extend(&other.accounts);
        self.words.extend(&other.words);
        self.hashes.extend(&other.hashes);
        self.is_urgent |= other.is_urgent;
    }
}

/// An account as a block left it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Ether, in wei.
    pub balance_wei: U256,
    /// Transactions sent, or contracts created.
    pub nonce: u64,
    /// Runtime code, empty for an account without; nothing where it is the known one.
    pub code: Option<Bytes>,
}

/// The values, each beside what names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Accounts; the default account where there is none.
    pub accounts: Vec<(Address, Account)>,
    /// Storage words.
    pub words: Vec<((Address, U256), U256)>,
    /// Hashes of blocks.
    pub hashes: Vec<(u64, B256)>,
    /// How many messages to a node that took.
    pub messages: u32,
    /// How many calls they had.
    pub calls: u32,
}

/// What a source gives in time.
pub type Reading<'a> = Pin<Box<dyn Future<Output = Result<Found, SourceError>> + Send + 'a>>;

/// What a source tells in time of what calls touch.
pub type Telling<'a> = Pin<Box<dyn Future<Output = Result<Option<Touched>, SourceError>> + Send + 'a>>;

/// State of blocks, read on demand. All answers to one question must be of the block that it names.
pub trait StateSource: Send + Sync {
    /// Reads everything that is wanted of the state after a block, or fails.
    fn read<'a>(&'a self, block: &'a Block, wanted: &'a Wanted) -> Reading<'a>;

    /// Tells what calls touch in the state after a block, in one message; nothing where it cannot.
    fn touched<'a>(&'a self, _block: &'a Block, _calls: &'a [TouchingCall], _is_urgent: bool) -> Telling<'a> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// State that could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state could not be read: {0}")]
pub struct SourceError(pub String);

impl revm::database_interface::DBErrorMarker for SourceError {}
