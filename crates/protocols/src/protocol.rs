//! The cold side of a protocol: what the follower needs to know to find its pools and keep them fresh.

use alloy_primitives::{Address, B256, Bytes, Log, U256};
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use crate::{DecodeError, Pool, PoolState, Product};

/// A contract whose logs announce pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Factory or registry.
    pub emitter: Address,
    /// `topic0` of the event that announces a pool.
    pub topic0: B256,
    /// Block of the factory's deployment on mainnet: no log is older.
    pub deployment_block: u64,
}

/// A pool that a factory announced: what never changes about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovered {
    /// The pool's own address.
    pub address: Address,
    /// The product it belongs to.
    pub product: Product,
    /// Its coins in the contract's order.
    pub coins: Vec<Address>,
    /// Fee in hundredths of a basis point, where the announcement fixes it; 0 otherwise.
    pub fee_pips: u32,
    /// Tick spacing, where the product has one; 0 otherwise.
    pub tick_spacing: i32,
}

/// A contract that keeps a list of pools, where its logs do not say all that has to be known of one.
///
/// Entries are counted from 0. What a list says is believed of coins only: which product a pool is, and whether it is covered,
/// its reader finds out.
pub trait PoolList: Sync {
    /// The contract.
    fn keeper(&self) -> Address;

    /// `topic0` of its events after which the list may be longer.
    fn topics(&self) -> &'static [B256];

    /// Whether entries may go, and others take their places: such a list is read whole each time. Others only grow.
    fn loses_entries(&self) -> bool {
        false
    }

    /// Asks how many entries there are: a word.
    fn count(&self) -> Call;

    /// Asks for an entry: the address of a pool, as a word.
    fn entry(&self, index: u64) -> Call;

    /// What to ask about an entry.
    fn questions(&self, pool: Address) -> Vec<Call>;

    /// The entry, from the answers to [`questions`](Self::questions); `None` is a call that reverted.
    ///
    /// # Errors
    /// [`DecodeError`] when the keeper does not say which coins it has.
    fn understand(&self, pool: Address, answers: &[Option<Bytes>]) -> Result<Discovered, DecodeError>;
}

/// One `eth_call` to make at the pinned block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Contract to call.
    pub to: Address,
    /// Calldata.
    pub data: Bytes,
}

/// A question about a pool, and what its model says will be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foretold {
    /// The question.
    pub call: Call,
    /// The answer: a word.
    pub answer: U256,
}

/// What one log does to a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The log carried all that changed; the state is that of after the log.
    Applied,
    /// The log does not matter to swaps.
    Unaffected,
    /// The state must be read again at this block.
    Stale,
}

/// Where reading a pool's state stands.
#[derive(Clone, Debug)]
pub enum ReadProgress {
    /// Make these calls next, all at the same block, and give their answers to [`StateReader::feed`].
    Calls(Vec<Call>),
    /// The state is complete.
    Done(PoolState),
}

/// Reads a pool's whole state in as many rounds of calls as it takes, without doing any I/O itself.
///
/// The caller makes the calls of [`start`](Self::start) in one batch pinned to one block, feeds the answers, and
/// goes on while more calls are asked for. Rounds of different pools are meant to share batches.
pub trait StateReader: Send {
    /// The first round of calls.
    fn start(&mut self) -> ReadProgress;

    /// Takes the answers of the round before, in order; `None` is a call that reverted.
    ///
    /// # Errors
    /// [`DecodeError`] when the answers are not those of a pool of this product: the pool is then left out.
    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError>;

    /// The product that the answers showed the pool to be, where its announcement could not tell.
    fn product(&self) -> Option<Product> {
        None
    }
}

/// The record of one product: everything about it that is not on the hot path.
pub trait Protocol: Sync {
    /// Which product this is.
    fn product(&self) -> Product;

    /// The contracts whose logs announce its pools. Empty for a product whose pools are fixed.
    fn sources(&self) -> &'static [Source];

    /// The contracts that keep lists of its pools, besides those whose logs announce them.
    fn lists(&self) -> &'static [&'static dyn PoolList] {
        &[]
    }

    /// Pools that exist without any announcement (wrapped ether).
    fn fixed_pools(&self) -> Vec<Discovered> {
        Vec::new()
    }

    /// Decodes an announcement by one of [`sources`](Self::sources).
    ///
    /// # Errors
    /// [`DecodeError::Log`] when the log is malformed, or names impossible parameters.
    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError>;

    /// Asks for the coin that goes before those which a pool's announcement names, where it does not name them all: an address, as a
    /// word.
    fn unnamed_coin(&self, _pool: &Discovered) -> Option<Call> {
        None
    }

    /// `topic0` of every event, emitted by a pool itself, that may change what it pays.
    fn freshness_topics(&self) -> &'static [B256];

    /// Contracts besides the pool itself whose logs may change what it pays: a vault that holds many pools, a market that a
    /// pool lends to. Their logs come to [`apply`](Self::apply) as well, which tells by its topics whether they are about this pool.
    fn listens_to(&self, _state: &PoolState) -> Vec<Address> {
        Vec::new()
    }

    /// Whether what the pool pays also changes without any log that it or [`listens_to`](Self::listens_to) emits, beyond what
    /// its state says of time: its state is then read again at every block.
    fn reads_each_block(&self, _state: &PoolState) -> bool {
        false
    }

    /// Applies a log of the pool, or of a contract that it [listens to](Self::listens_to), to the state of just before it.
    ///
    /// # Errors
    /// [`DecodeError`] when the log is malformed: the state must then be read again.
    fn apply(&self, state: &mut PoolState, log: &Log) -> Result<Freshness, DecodeError>;

    /// A reader of the pool's whole state.
    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader>;

    /// A reader of a pool that was read before, on the same chain: what never changes about it need not be asked for again, so
    /// that one round is enough for what is read at every block.
    fn reader_again(&self, pool: &Discovered, _was: &Pool) -> Box<dyn StateReader> {
        self.reader(pool)
    }

    /// A reader, of one round, of what no log tells about a pool that is [read at each block](Self::reads_each_block), for a block whose
    /// logs leave the rest of its state as it was.
    fn reader_each_block(&self, pool: &Discovered, was: &Pool) -> Box<dyn StateReader> {
        self.reader_again(pool, was)
    }

    /// The pool that a log of a contract which is none may be of, where pools of this product tell by themselves what they are.
    fn suggested(&self, _log: &Log) -> Option<Discovered> {
        None
    }

    /// What a pool was guessed to be, in a word, where only its own answers told: nothing is quoted through it as such before an EVM was
    /// seen to answer as [`foretold`](Self::foretold).
    fn guessed_as(&self, _pool: &Pool) -> Option<&'static str> {
        None
    }

    /// What a guessed pool would answer in a later block if nobody touched it until then, by its model. What moves with time in a way
    /// that is not modelled shows there, and nowhere in the block that it was read at.
    fn foretold(&self, _pool: &Pool, _at: &ExecutionBlock) -> Vec<Foretold> {
        Vec::new()
    }

    /// A reader that asks the [`lens`](crate::lens) and takes fewer calls; used where the node lends its code to an address.
    fn lens_reader(&self, _pool: &Discovered) -> Option<Box<dyn StateReader>> {
        None
    }
}
