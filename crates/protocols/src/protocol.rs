//! The trait that every product implements in its own folder: all protocol knowledge of one kind of pool.

use alloy_primitives::{Address, B256, Bytes, Log, U256};
use alloy_sol_types::SolCall;
use braid_primitives::{ExecutionBlock, PoolKey};
use serde::{Deserialize, Serialize};

use crate::{
    DecodeError, PoolState, Product, RouteState, Sale, SharedWords, SharesPaid, StepCode, Swap, SwapError,
    continuous::PairCurve,
    logs::is_one_of,
    registry::{ChangeOf, StateOf},
    vault::{Lender, Trades, Vault},
};

/// A contract whose logs announce new pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Factory or registry that emits the event.
    pub emitter: Address,
    /// `topic0` of the event that announces a pool.
    pub topic0: B256,
    /// Block of the factory's deployment on mainnet. No log is older.
    pub deployment_block: u64,
}

/// A discovered pool: the properties that never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovered {
    /// Contract, and id where the contract holds many pools.
    pub key: PoolKey,
    /// The product it belongs to.
    pub product: Product,
    /// Coins in the contract's order.
    pub coins: Vec<Address>,
    /// Fee on the amount in, in hundredths of a basis point, if the announcement fixes it; otherwise 0.
    pub fee_pips: u32,
    /// Tick spacing, if the product has one; otherwise 0.
    pub tick_spacing: i32,
}

impl Discovered {
    /// Returns a pool whose announcement fixes neither fee nor tick spacing.
    pub fn new(key: impl Into<PoolKey>, product: Product, coins: Vec<Address>) -> Self {
        Self { key: key.into(), product, coins, fee_pips: 0, tick_spacing: 0 }
    }
}

/// A contract that lists pools, for pools whose logs do not name all coins.
///
/// Entries are counted from 0. A list is trusted only for a pool's coins. The pool's reader determines its product and
/// whether Braid models it.
pub trait PoolList: Sync {
    /// Returns the address of the list's contract.
    fn keeper(&self) -> Address;

    /// Returns `topic0` of the events after which the list may be longer.
    fn topics(&self) -> &'static [B256];

    /// Tells whether entries can be removed and replaced. Such a list is read in full each time; any other only grows.
    fn loses_entries(&self) -> bool {
        false
    }

    /// Builds the call that returns the number of entries, as a word.
    fn count(&self) -> Call;

    /// Builds the call that returns an entry: the address of a pool, as a word.
    fn entry(&self, index: u64) -> Call;

    /// Builds the calls that return the coins of an entry.
    fn questions(&self, pool: Address) -> Vec<Call>;

    /// Decodes an entry from the answers to [`questions`](Self::questions); `None` is a call that reverted.
    ///
    /// # Errors
    /// [`DecodeError`] if the answers do not name the pool's coins.
    fn understand(&self, pool: Address, answers: &[Option<Bytes>]) -> Result<Discovered, DecodeError>;
}

/// One `eth_call` at the pinned block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Called contract.
    pub to: Address,
    /// Calldata.
    pub data: Bytes,
}

impl Call {
    /// Builds a call of a contract.
    pub fn new(to: Address, call: &impl SolCall) -> Self {
        Self { to, data: call.abi_encode().into() }
    }
}

/// A call, and the answer that the model of a pool expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The call.
    pub call: Call,
    /// Expected answer, as a word.
    pub answer: U256,
}

/// The effect of one log on a pool's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The log carried all changes; the state is the one after the log.
    Applied,
    /// The log does not affect swaps.
    Unaffected,
    /// The state must be read again, at this block.
    Stale,
}

impl Freshness {
    /// Returns the effect of a log that changes the state or does not, and does not carry the new one.
    pub(crate) const fn stale_if(changed: bool) -> Self {
        if changed { Self::Stale } else { Self::Unaffected }
    }
}

/// Progress of reading a pool's state.
#[derive(Clone, Debug)]
pub enum ReadProgress {
    /// Needs these calls next, all at the same block; pass their answers to [`StateReader::feed`].
    Calls(Vec<Call>),
    /// The complete state.
    Done(PoolState),
}

/// Reads a pool's whole state in rounds of calls. It does no I/O itself.
///
/// The caller makes the calls of [`start`](Self::start) in one batch pinned to one block, feeds the answers, and
/// repeats while the reader returns more calls. Rounds of different pools can share a batch.
pub trait StateReader: Send {
    /// Returns the first round of calls.
    fn start(&mut self) -> ReadProgress;

    /// Takes the answers of the last round, in order; `None` is a call that reverted.
    ///
    /// # Errors
    /// [`DecodeError`] if the answers are not those of a pool of this product. The pool is then excluded.
    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError>;

    /// Returns the product, if the answers revealed it and the announcement did not.
    fn product(&self) -> Option<Product> {
        None
    }
}

/// A step of a route: a swap of a pool in a block, after the earlier steps.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Key of the pool.
    pub pool: PoolKey,
    /// The block.
    pub at: &'a ExecutionBlock,
    /// State changes that the earlier steps made.
    pub route: &'a RouteState,
    /// Coins and input amount.
    pub sale: Sale,
}

/// One product: discovery, reading and following of its pools, exact swaps, gas and encoding.
///
/// Shared code calls [`Product`] and [`Pool`](crate::Pool), which dispatch over the list in
/// [`registry`](crate::registry). Methods with a default are optional.
pub trait Protocol: Sync {
    /// State of a pool.
    type State: StateOf;
    /// State change of a swap; `()` if a swap changes nothing.
    type After: ChangeOf;

    /// Returns the product of this record.
    fn product(&self) -> Product;

    // Discovery.

    /// Returns the contracts whose logs announce pools. Empty for a product with fixed pools.
    fn sources(&self) -> &'static [Source] {
        &[]
    }

    /// Returns the contracts that list pools, in addition to those whose logs announce them.
    fn lists(&self) -> &'static [&'static dyn PoolList] {
        &[]
    }

    /// Returns pools that exist without an announcement.
    fn fixed_pools(&self) -> Vec<Discovered> {
        Vec::new()
    }

    /// Decodes an announcement by one of [`sources`](Self::sources).
    ///
    /// # Errors
    /// [`DecodeError::Log`] if the log is malformed, or names impossible parameters.
    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        Err(DecodeError::Log { event: "an announcement, of which this product has none,", emitter: log.address })
    }

    /// Builds the call that returns the pool's first coin, as an address in a word, if the announcement omits that
    /// coin.
    fn unnamed_coin(&self, _pool: &Discovered) -> Option<Call> {
        None
    }

    /// Returns calls to the factory, with the answers that confirm that it created this pool. Empty if no contract can
    /// confirm it; then only the announcement proves the pool.
    fn confirmations(&self, _pool: &Discovered) -> Vec<Prediction> {
        Vec::new()
    }

    /// Returns the candidate pool inferred from a log of an unknown contract.
    fn suggested(&self, _log: &Log) -> Option<Discovered> {
        None
    }

    /// Returns a pool for a contract that the operator named by address (`--vault`), if the product can read everything
    /// else from that contract.
    fn named(&self, _pool: Address) -> Option<Discovered> {
        None
    }

    // Reading.

    /// Returns a reader of the pool's whole state.
    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader>;

    /// Returns a reader of a pool that was read before on the same chain. It may skip everything that never changes, so
    /// that one round is enough for a pool that is polled every block.
    fn reader_again(&self, pool: &Discovered, _was: &Self::State) -> Box<dyn StateReader> {
        self.reader(pool)
    }

    /// Returns a one-round reader of the state that no log shows, for a pool that
    /// [`reads_each_block`](Self::reads_each_block). It is used at blocks whose logs leave the rest of the state
    /// unchanged.
    fn reader_each_block(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        self.reader_again(pool, was)
    }

    /// Returns a reader that uses the [`lens`](crate::lens) and needs fewer calls. It requires a node with state
    /// overrides.
    fn lens_reader(&self, _pool: &Discovered) -> Option<Box<dyn StateReader>> {
        None
    }

    /// Checks that a state is possible for a pool of this product.
    ///
    /// # Errors
    /// Describes the first violation.
    fn validate(&self, _state: &Self::State, _coins: usize) -> Result<(), &'static str> {
        Ok(())
    }

    /// Returns calls whose answers the state determines, to compare it with the chain at little cost. A log that was
    /// missed changes one of these answers in nearly every case. Empty if the state is not compared in this way.
    fn spot_checks(&self, _pool: Address, _state: &Self::State) -> Vec<Prediction> {
        Vec::new()
    }

    // Logs.

    /// Returns `topic0` of every event that a pool itself emits and that may change its swaps.
    fn freshness_topics(&self) -> &'static [B256] {
        &[]
    }

    /// Returns the id of the pool that a log concerns, if the emitting contract holds many pools. `None` for a log that
    /// concerns all pools of the contract.
    fn log_pool_id(&self, _log: &Log) -> Option<B256> {
        None
    }

    /// Returns the pool that a log names, if its emitter is a vault that holds the coins of pools at other addresses. An
    /// excluded pool is read again after such a log.
    fn pool_named_by_vault(&self, _log: &Log) -> Option<PoolKey> {
        None
    }

    /// Returns the contracts, other than the pool, whose logs may change its swaps: a vault that holds many pools, a
    /// market that a pool lends to. [`apply`](Self::apply) receives their logs too and decides by the topics whether
    /// they concern this pool.
    fn listens_to(&self, _state: &Self::State) -> Vec<Address> {
        Vec::new()
    }

    /// Tells whether the pool's swaps can change without any log of the pool or of [`listens_to`](Self::listens_to),
    /// and not merely with time as the state predicts. Such a pool is polled every block.
    fn reads_each_block(&self, _state: &Self::State) -> bool {
        false
    }

    /// Applies a log of the pool, or of a contract that it [listens to](Self::listens_to), to the state just before the
    /// log. The default reads the state again after any of [`freshness_topics`](Self::freshness_topics).
    ///
    /// # Errors
    /// [`DecodeError`] if the log is malformed. The state must then be read again.
    fn apply(&self, _state: &mut Self::State, log: &Log) -> Result<Freshness, DecodeError> {
        Ok(Freshness::stale_if(is_one_of(log, self.freshness_topics())))
    }

    /// Returns a pool's whole state after a log, if the log alone determines it.
    fn state_from_log(&self, _log: &Log) -> Option<PoolState> {
        None
    }

    // Unverified pools.

    /// Returns the inferred kind of an unverified vault, or `None` for a verified pool. No quote uses an unverified
    /// vault until the EVM has confirmed its [`predictions`](Self::predictions).
    fn guessed_as(&self, _pool: Address, _state: &Self::State) -> Option<&'static str> {
        None
    }

    /// Predicts the answers of an unverified vault in a later block, if nobody touches it until then. An accrual that
    /// is not modelled shows only there, never in the block of the reading.
    fn predictions(&self, _pool: Address, _state: &Self::State, _at: &ExecutionBlock) -> Vec<Prediction> {
        Vec::new()
    }

    // Swaps.

    /// Computes a step of a route, to the wei.
    ///
    /// Consumes the whole input, or returns an error.
    ///
    /// # Errors
    /// [`SwapError`] exactly where the contract, called as the proxy calls it, would revert or leave input unspent.
    fn swap(&self, state: &Self::State, step: Step<'_>) -> Result<Swap, SwapError>;

    /// Tells whether the proxy can buy an exact amount from a pool of this product (`docs/internals/program.md`,
    /// section 6).
    fn is_bought_from(&self) -> bool {
        false
    }

    /// Returns the input of a swap for exactly `amount_out`, to the wei; `coins` are the positions in and out.
    ///
    /// # Errors
    /// [`SwapError::Closed`] for a product that the proxy cannot buy from; otherwise where the contract would revert.
    fn amount_in_for(&self, _state: &Self::State, _coins: [u8; 2], _amount_out: U256) -> Result<U256, SwapError> {
        Err(SwapError::Closed)
    }

    /// Returns the key under which a route records changes of this pool's state. Pools that share state return the same
    /// key.
    fn shares_state_at(&self, pool: PoolKey, _state: &Self::State) -> PoolKey {
        pool
    }

    /// Tells whether the swaps of every pool of this product depend only on its own state, and that state only on its
    /// own logs. Such a pool has its contract to itself, listens to no other contract, does not depend on time, is
    /// verified, and has no coin that counts in shares. Most pools are such; searches for exceptions skip them.
    fn stands_alone(&self) -> bool {
        false
    }

    /// Tells whether a pool's swaps change with time alone (interest, ramps, limits).
    fn depends_on_time(&self, _state: &Self::State) -> bool {
        false
    }

    /// Returns the fee on the amount in, in hundredths of a basis point, if it is the same for every trade.
    fn fee_pips(&self, _state: &Self::State) -> Option<u32> {
        None
    }

    /// Returns the curve of two coins, given by their positions, lower first. `None` for coins that do not trade, and
    /// for the conversion of ether and WETH.
    fn curve(&self, state: &Self::State, coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve>;

    /// Tells whether this is the conversion of ether and WETH, which the graph treats as one token.
    fn wraps_ether(&self) -> bool {
        false
    }

    /// Estimates a pool's balance of a coin, in atomic units, if its state reveals it. Floating point: used only as a
    /// filter.
    fn holds(&self, _state: &Self::State, _coin: u8) -> Option<f64> {
        None
    }

    /// Tells whether a pool asks a contract that is not modelled for a coin's rate. If an earlier step of the route
    /// changed that rate, a further step is refused, because the new answer is unknown.
    fn asks_rate_of(&self, _state: &Self::State, _coin: usize) -> bool {
        false
    }

    /// Returns the vault that a step traded with besides the pool, and the route's trades with it so far.
    fn vault_trades<'a>(&self, _state: &Self::State, _after: &'a Self::After) -> Option<(Address, Vault, &'a Trades)> {
        None
    }

    /// Returns the words of both tokens that a swap left to other pools at the same contract; `None` if there are none.
    fn shared_words(&self, _state: &Self::State, _after: &Self::After) -> Option<[(Address, SharedWords); 2]> {
        None
    }

    // Coins that count balances in shares.

    /// Returns the shares that a transfer of an amount moves; `None` for a coin that does not count in shares. A product
    /// that returns any lists the coin in [`share_tokens`](Self::share_tokens).
    fn shares_of(&self, _state: &Self::State, _after: Option<&Self::After>, _coin: u8, _amount: U256) -> Option<U256> {
        None
    }

    /// Returns the amount that shares of such a coin are worth, rounded down.
    fn worth_of_shares(
        &self,
        _state: &Self::State,
        _after: Option<&Self::After>,
        _coin: u8,
        _shares: U256,
    ) -> Option<U256> {
        None
    }

    /// Returns the number of shares that are worth exactly such an amount.
    fn shares_behind(
        &self,
        _state: &Self::State,
        _after: Option<&Self::After>,
        _coin: u8,
        _amount: U256,
    ) -> Option<U256> {
        None
    }

    /// Returns the tokens that count balances in shares whose worth this product's state keeps.
    fn share_tokens(&self) -> &'static [Address] {
        &[]
    }

    /// Tells whether this product's swaps take such a coin as their model says. A transfer of it may deliver a unit or two
    /// less than the amount, and a pool that demands the whole amount reverts.
    fn takes_share_tokens(&self) -> bool {
        false
    }

    /// Tells how many shares this product's swaps pay out in such a coin.
    fn shares_paid(&self) -> SharesPaid {
        SharesPaid::OfAmountOut
    }

    // The step in the proxy's program, and its gas.

    /// Encodes a step that sells coin `coin_in` for coin `coin_out`.
    fn step_code(&self, pool: Address, state: &Self::State, coin_in: u8, coin_out: u8) -> StepCode;

    /// Returns the contract that holds the pool's coins.
    fn holder(&self, pool: Address) -> Address {
        pool
    }

    /// Returns the spender to which the pool's own token grants an implicit allowance.
    fn implicit_spender(&self, _state: &Self::State) -> Option<Address> {
        None
    }

    /// Returns the gas refunded at the end of a transaction, for slots that a step sets from zero and clears again. It
    /// is not part of a step's gas. The transaction's gas limit must include it, and refunds are capped (EIP-3529).
    fn refunded_gas_units(&self, _state: &Self::State, _coin_in: u8) -> u64 {
        0
    }

    /// Returns a further contract that a step leaves warm, besides tokens, the pool and its [`holder`](Self::holder).
    fn also_touches(&self, _state: &Self::State, _coins: [u8; 2], _at: &ExecutionBlock) -> Option<Address> {
        None
    }

    /// Returns the gas that a step saves because earlier steps touched contracts.
    fn saved_gas_units(
        &self,
        _state: &Self::State,
        _coins: [u8; 2],
        _at: &ExecutionBlock,
        _before: Touched<'_>,
    ) -> u64 {
        0
    }

    /// Returns the gas of a step after the sales before it, if it depends on the number of iterations of the pool's
    /// arithmetic.
    fn counted_gas_units(
        &self,
        _state: &Self::State,
        _at: &ExecutionBlock,
        _before: &[Sale],
        _sale: &Sale,
    ) -> Option<u64> {
        None
    }

    /// Returns the lending vaults that a step calls, with the step's action on each.
    fn lenders<'a>(&self, _pool: Address, _state: &'a Self::State, _coin_in: u8, _gas_units: u64) -> Vec<Lender<'a>> {
        Vec::new()
    }
}

/// Contracts that earlier steps touched.
#[derive(Clone, Copy)]
pub struct Touched<'a> {
    /// Whether the pool itself is one.
    pub pool: bool,
    /// Whether the contract is one that holds the pool's coins, which may be the pool.
    pub holder: bool,
    /// Tells whether another contract is one.
    pub is_touched: &'a dyn Fn(Address) -> bool,
}
