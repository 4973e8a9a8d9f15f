//! The trait that a product implements, in its own folder: all that Braid knows about one kind of pool.

use alloy_primitives::{Address, B256, Bytes, Log, U256};
use braid_primitives::{ExecutionBlock, PoolKey};
use serde::{Deserialize, Serialize};

use crate::{
    DecodeError, PoolState, Product, RouteState, StepCode, Swap, SwapError,
    continuous::PairCurve,
    registry::{ChangeOf, StateOf},
    vault::{Lender, Trades, Vault},
};

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
    /// What names it.
    pub key: PoolKey,
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
pub struct Prediction {
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

/// Coins and amount of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sale {
    /// Position of the coin sold.
    pub coin_in: u8,
    /// Position of the coin bought.
    pub coin_out: u8,
    /// Atomic units sold, not zero.
    pub amount_in: U256,
}

/// How the shares follow that a swap pays in a token that counts in shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharesPaid {
    /// They are those of the amount sold: minting gives the shares of what comes in.
    OfAmountIn,
    /// They are those that the amount bought stands for.
    OfAmountOut,
    /// They are those behind the amount bought, which is what the moved shares are worth.
    BehindAmountOut,
}

/// One product: how its pools are found, read and followed, what they pay, what a step costs and how it is encoded.
///
/// Shared code reaches it through [`Product`] and [`Pool`], whose methods dispatch over the one list in [`registry`](crate::registry).
/// A method with a default need not be written by a product that it does not concern.
pub trait Protocol: Sync {
    /// The state of a pool, as the list holds it.
    type State: StateOf;
    /// What a swap changes; `()` where nothing changes.
    type After: ChangeOf;

    /// Returns which product this is.
    fn product(&self) -> Product;

    // Discovery.

    /// Returns the contracts whose logs announce its pools. Empty for a product whose pools are fixed.
    fn sources(&self) -> &'static [Source] {
        &[]
    }

    /// Returns the contracts that keep lists of its pools, besides those whose logs announce them.
    fn lists(&self) -> &'static [&'static dyn PoolList] {
        &[]
    }

    /// Returns pools that exist without any announcement.
    fn fixed_pools(&self) -> Vec<Discovered> {
        Vec::new()
    }

    /// Decodes an announcement by one of [`sources`](Self::sources).
    ///
    /// # Errors
    /// [`DecodeError::Log`] when the log is malformed, or names impossible parameters.
    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        Err(DecodeError::Log { event: "an announcement, of which this product has none,", emitter: log.address })
    }

    /// Asks for the coin that goes before those which a pool's announcement names, where it does not name them all: an address, as a
    /// word.
    fn unnamed_coin(&self, _pool: &Discovered) -> Option<Call> {
        None
    }

    /// Returns questions to the contract that announced a pool, with the answers that confirm that it did and that the pool is what it is
    /// said to be. None where no contract can be asked: then only the announcement itself tells.
    fn confirmations(&self, _pool: &Discovered) -> Vec<Prediction> {
        Vec::new()
    }

    /// Returns the candidate pool that a log of an unknown contract points to.
    fn suggested(&self, _log: &Log) -> Option<Discovered> {
        None
    }

    /// Returns a pool that somebody named by its address alone, where the product can ask the pool for the rest.
    fn named(&self, _pool: Address) -> Option<Discovered> {
        None
    }

    // Reading.

    /// Returns a reader of the pool's whole state.
    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader>;

    /// Returns a reader of a pool that was read before, on the same chain: what never changes about it need not be asked for again, so
    /// that one round is enough for what is read at every block.
    fn reader_again(&self, pool: &Discovered, _was: &Self::State) -> Box<dyn StateReader> {
        self.reader(pool)
    }

    /// Returns a reader, of one round, of what no log tells about a pool that is [read at each block](Self::reads_each_block), for a block
    /// whose logs leave the rest of its state as it was.
    fn reader_each_block(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        self.reader_again(pool, was)
    }

    /// Returns a reader that asks the [`lens`](crate::lens) and takes fewer calls; used where the node lends its code to an address.
    fn lens_reader(&self, _pool: &Discovered) -> Option<Box<dyn StateReader>> {
        None
    }

    /// Checks that a pool can be in a state at all.
    ///
    /// # Errors
    /// The first thing found, in words.
    fn validate(&self, _state: &Self::State, _coins: usize) -> Result<(), &'static str> {
        Ok(())
    }

    // Logs.

    /// Returns `topic0` of every event, emitted by a pool itself, that may change what it pays.
    fn freshness_topics(&self) -> &'static [B256] {
        &[]
    }

    /// Returns the id of the pool that a log concerns, where the contract that emitted it holds many pools of this product. `None` for a
    /// log that concerns every pool of the contract.
    fn log_pool_id(&self, _log: &Log) -> Option<B256> {
        None
    }

    /// Returns contracts besides the pool itself whose logs may change what it pays: a vault that holds many pools, a market that a
    /// pool lends to. Their logs come to [`apply`](Self::apply) as well, which tells by its topics whether they are about this pool.
    fn listens_to(&self, _state: &Self::State) -> Vec<Address> {
        Vec::new()
    }

    /// Tells whether what the pool pays also changes without any log that it or [`listens_to`](Self::listens_to) emits, beyond what
    /// its state says of time: its state is then read again at every block.
    fn reads_each_block(&self, _state: &Self::State) -> bool {
        false
    }

    /// Applies a log of the pool, or of a contract that it [listens to](Self::listens_to), to the state of just before it.
    ///
    /// # Errors
    /// [`DecodeError`] when the log is malformed: the state must then be read again.
    fn apply(&self, _state: &mut Self::State, _log: &Log) -> Result<Freshness, DecodeError> {
        Ok(Freshness::Unaffected)
    }

    /// Returns the whole state of a pool after one of its logs, where the log tells it of a pool of which nothing else is known.
    fn state_told(&self, _log: &Log) -> Option<PoolState> {
        None
    }

    // Unverified pools.

    /// Returns what a pool was inferred to be, in a word, where only its own answers told: nothing is quoted through it as such before an
    /// EVM was seen to answer as [`predictions`](Self::predictions).
    fn guessed_as(&self, _pool: Address, _state: &Self::State) -> Option<&'static str> {
        None
    }

    /// Predicts what an unverified pool would answer in a later block if nobody touched it until then. What moves with time in a way
    /// that is not modelled shows there, and nowhere in the block that it was read at.
    fn predictions(&self, _pool: Address, _state: &Self::State, _at: &ExecutionBlock) -> Vec<Prediction> {
        Vec::new()
    }

    // Swaps.

    /// Returns what a swap pays after what a route did so far, to the wei.
    ///
    /// Consumes all of the input or says why not.
    ///
    /// # Errors
    /// [`SwapError`] exactly where the contract, called the way the proxy calls it, would revert or leave input unspent.
    fn swap(
        &self,
        pool: PoolKey,
        state: &Self::State,
        at: &ExecutionBlock,
        route: &RouteState,
        sale: Sale,
    ) -> Result<Swap, SwapError>;

    /// Tells whether the proxy can buy an exact amount from a pool (`docs/internals/program.md`, section 6).
    fn is_bought_from(&self) -> bool {
        false
    }

    /// Returns what a swap for exactly `amount_out` of one coin asks of another, to the wei, where the proxy can buy that way.
    ///
    /// # Errors
    /// [`SwapError::Closed`] for a product of which the proxy buys nothing; else where the contract would revert.
    fn amount_in_for(&self, _state: &Self::State, _coins: [u8; 2], _amount_out: U256) -> Result<U256, SwapError> {
        Err(SwapError::Closed)
    }

    /// Returns where what a pool depends on lies: pools that answer with the same key share their state.
    fn shares_state_at(&self, pool: PoolKey, _state: &Self::State) -> PoolKey {
        pool
    }

    /// Tells whether nothing but its own state decides what any pool of this product pays, and nothing but its own logs changes that: it has
    /// its contract to itself, listens to no other, is the same at any time, was not guessed, and none of its coins counts in shares. Most pools of
    /// a market are so: what looks for others passes them over.
    fn stands_alone(&self) -> bool {
        false
    }

    /// Tells whether what a pool pays changes from block to block without anything happening to it (interest, ramps, limits).
    fn depends_on_time(&self, _state: &Self::State) -> bool {
        false
    }

    /// Returns the fee on the amount in, in hundredths of a basis point, where it is one number for every trade.
    fn fee_pips(&self, _state: &Self::State) -> Option<u32> {
        None
    }

    /// Returns the curve of two coins of a pool, given by their positions, lower first; `None` for coins that do not trade, and for a
    /// conversion that is no curve.
    fn curve(&self, state: &Self::State, coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve>;

    /// Tells whether this is the one conversion between ether and wrapped ether, which the graph takes for one token.
    fn wraps_ether(&self) -> bool {
        false
    }

    /// Estimates what a pool holds of a coin, in atomic units, where its state tells. Floating point: it only sorts out.
    fn holds(&self, _state: &Self::State, _coin: u8) -> Option<f64> {
        None
    }

    /// Tells whether a pool asks a contract that is not modelled what a coin is worth: where a route moved that before, a further step is
    /// refused, since what it would be told is not known.
    fn asks_rate_of(&self, _state: &Self::State, _coin: usize) -> bool {
        false
    }

    /// Returns the vault that a step traded with, and the route's trades with it so far.
    fn vault_trades<'a>(
        &self,
        _pool: Address,
        _state: &Self::State,
        _after: &'a Self::After,
    ) -> Option<(Address, Vault, &'a Trades)> {
        None
    }

    // A coin that counts in shares.

    /// Returns the shares that an amount of a coin moves; `None` for coins that do not count in shares.
    fn shares_of(&self, _state: &Self::State, _after: Option<&Self::After>, _coin: u8, _amount: U256) -> Option<U256> {
        None
    }

    /// Returns what shares of such a coin are worth.
    fn worth_of_shares(
        &self,
        _state: &Self::State,
        _after: Option<&Self::After>,
        _coin: u8,
        _shares: U256,
    ) -> Option<U256> {
        None
    }

    /// Returns the shares behind an amount of such a coin that is what shares are worth.
    fn shares_behind(
        &self,
        _state: &Self::State,
        _after: Option<&Self::After>,
        _coin: u8,
        _amount: U256,
    ) -> Option<U256> {
        None
    }

    /// Says how the shares follow that this product's swaps pay in such a coin.
    fn shares_paid(&self) -> SharesPaid {
        SharesPaid::OfAmountOut
    }

    // The step in the proxy's program, and what it costs.

    /// Encodes a step that sells coin `coin_in` for coin `coin_out`.
    fn step_code(&self, pool: Address, state: &Self::State, coin_in: u8, coin_out: u8) -> StepCode;

    /// Returns the contract that holds a pool's coins.
    fn holder(&self, pool: Address) -> Address {
        pool
    }

    /// Returns the spender to whom the pool's own token gives an implicit allowance of any amount.
    fn own_token_lets(&self, _state: &Self::State) -> Option<Address> {
        None
    }

    /// Returns the gas refunded at the end of a transaction, for slots that a step writes from zero and back. It is not in a step's
    /// gas, but in what a transaction must be given, and refunds have a cap (EIP-3529).
    fn refunded_gas_units(&self, _state: &Self::State, _coin_in: u8) -> u64 {
        0
    }

    /// Returns a contract, besides tokens, the pool and its [`holder`](Self::holder), that a step leaves warm.
    fn also_touches(&self, _state: &Self::State, _coins: [u8; 2], _at: &ExecutionBlock) -> Option<Address> {
        None
    }

    /// Returns what of a step's own gas is saved where steps before it touched contracts: the pool itself, its holder, or, by `touched`,
    /// another one.
    fn saved_gas_units(
        &self,
        _state: &Self::State,
        _coins: [u8; 2],
        _at: &ExecutionBlock,
        _before: Touched,
        _touched: &dyn Fn(Address) -> bool,
    ) -> u64 {
        0
    }

    /// Returns the gas of a step after the sales before it, where the pool's arithmetic goes round in loops that are counted.
    fn counted_gas_units(
        &self,
        _state: &Self::State,
        _at: &ExecutionBlock,
        _before: &[Sale],
        _sale: &Sale,
    ) -> Option<u64> {
        None
    }

    /// Returns the vaults that a step goes by, each that lends with others, and what the step does with it.
    fn lenders<'a>(&self, _pool: Address, _state: &'a Self::State, _coin_in: u8, _gas_units: u64) -> Vec<Lender<'a>> {
        Vec::new()
    }
}

/// Which contracts of a step were touched by a step before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The pool itself.
    pub pool: bool,
    /// The contract that holds its coins, which may be the pool.
    pub holder: bool,
}
