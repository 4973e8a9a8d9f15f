//! Dispatch of shared code's calls to the record of a product.

use alloy_primitives::{Address, B256, Log};
use braid_primitives::ExecutionBlock;

use crate::{
    Call, DecodeError, Discovered, Freshness, Pool, PoolList, PoolState, Prediction, Product, Protocol, Source,
    StateReader,
    continuous::PairCurve,
    registry::{StateOf, with_record},
};

/// Returns a product's own state. It is present in every validated pool.
pub(crate) fn own<'a, P: Protocol>(_: &P, state: &'a PoolState) -> Option<&'a P::State> {
    P::State::of(state)
}

fn own_mut<'a, P: Protocol>(_: &P, state: &'a mut PoolState) -> Option<&'a mut P::State> {
    P::State::of_mut(state)
}

/// Methods of [`Protocol`], for a state that may belong to another product; then they return the default or an error.
impl Product {
    /// Returns the product that the record reports: itself, unless the list is wrong.
    pub fn of_record(self) -> Self {
        with_record!(self, record => record.product())
    }

    /// Dispatches to [`Protocol::sources`].
    pub fn sources(self) -> &'static [Source] {
        with_record!(self, record => record.sources())
    }

    /// Dispatches to [`Protocol::lists`].
    pub fn lists(self) -> &'static [&'static dyn PoolList] {
        with_record!(self, record => record.lists())
    }

    /// Dispatches to [`Protocol::fixed_pools`].
    pub fn fixed_pools(self) -> Vec<Discovered> {
        with_record!(self, record => record.fixed_pools())
    }

    /// Dispatches to [`Protocol::discover`].
    ///
    /// # Errors
    /// As [`Protocol::discover`].
    pub fn discover(self, log: &Log) -> Result<Discovered, DecodeError> {
        with_record!(self, record => record.discover(log))
    }

    /// Dispatches to [`Protocol::unnamed_coin`].
    pub fn unnamed_coin(self, pool: &Discovered) -> Option<Call> {
        with_record!(self, record => record.unnamed_coin(pool))
    }

    /// Dispatches to [`Protocol::confirmations`].
    pub fn confirmations(self, pool: &Discovered) -> Vec<Prediction> {
        with_record!(self, record => record.confirmations(pool))
    }

    /// Dispatches to [`Protocol::suggested`].
    pub fn suggested(self, log: &Log) -> Option<Discovered> {
        with_record!(self, record => record.suggested(log))
    }

    /// Dispatches to [`Protocol::named`].
    pub fn named_pool(self, pool: Address) -> Option<Discovered> {
        with_record!(self, record => record.named(pool))
    }

    /// Tells whether an operator can [name](Protocol::named) pools of this product by address.
    pub fn takes_names(self) -> bool {
        self.named_pool(Address::ZERO).is_some()
    }

    /// Dispatches to [`Protocol::reader`].
    pub fn reader(self, pool: &Discovered) -> Box<dyn StateReader> {
        with_record!(self, record => record.reader(pool))
    }

    /// Dispatches to [`Protocol::reader_again`].
    pub fn reader_again(self, pool: &Discovered, was: &PoolState) -> Box<dyn StateReader> {
        with_record!(self, record => match own(record, was) {
            Some(was) => record.reader_again(pool, was),
            None => record.reader(pool),
        })
    }

    /// Dispatches to [`Protocol::reader_each_block`].
    pub fn reader_each_block(self, pool: &Discovered, was: &PoolState) -> Box<dyn StateReader> {
        with_record!(self, record => match own(record, was) {
            Some(was) => record.reader_each_block(pool, was),
            None => record.reader(pool),
        })
    }

    /// Dispatches to [`Protocol::lens_reader`].
    pub fn lens_reader(self, pool: &Discovered) -> Option<Box<dyn StateReader>> {
        with_record!(self, record => record.lens_reader(pool))
    }

    /// Dispatches to [`Protocol::freshness_topics`].
    pub fn freshness_topics(self) -> &'static [B256] {
        with_record!(self, record => record.freshness_topics())
    }

    /// Dispatches to [`Protocol::log_pool_id`].
    pub fn log_pool_id(self, log: &Log) -> Option<B256> {
        with_record!(self, record => record.log_pool_id(log))
    }

    /// Dispatches to [`Protocol::listens_to`].
    pub fn listens_to(self, state: &PoolState) -> Vec<Address> {
        with_record!(self, record => own(record, state).map(|state| record.listens_to(state)).unwrap_or_default())
    }

    /// Dispatches to [`Protocol::reads_each_block`].
    pub fn reads_each_block(self, state: &PoolState) -> bool {
        with_record!(self, record => own(record, state).is_some_and(|state| record.reads_each_block(state)))
    }

    /// Dispatches to [`Protocol::apply`].
    ///
    /// # Errors
    /// As [`Protocol::apply`], and [`DecodeError::State`] for the state of another product.
    pub fn apply(self, state: &mut PoolState, log: &Log) -> Result<Freshness, DecodeError> {
        let foreign = DecodeError::State { pool: log.address, what: "a state of another product" };
        with_record!(self, record => match own_mut(record, state) {
            Some(state) => record.apply(state, log),
            None => Err(foreign),
        })
    }

    /// Dispatches to [`Protocol::validate`].
    ///
    /// # Errors
    /// As [`Protocol::validate`], and for the state of another product.
    pub fn validate(self, state: &PoolState, coins: usize) -> Result<(), &'static str> {
        with_record!(self, record => match own(record, state) {
            Some(state) => record.validate(state, coins),
            None => Err("a state of another product"),
        })
    }

    /// Dispatches to [`Protocol::guessed_as`].
    pub fn guessed_as(self, pool: &Pool) -> Option<&'static str> {
        with_record!(self, record => record.guessed_as(pool.key.contract, own(record, &pool.state)?))
    }

    /// Dispatches to [`Protocol::predictions`].
    pub fn predictions(self, pool: &Pool, at: &ExecutionBlock) -> Vec<Prediction> {
        let asked =
            || with_record!(self, record => Some(record.predictions(pool.key.contract, own(record, &pool.state)?, at)));
        asked().unwrap_or_default()
    }

    /// Dispatches to [`Protocol::stands_alone`].
    pub fn stands_alone(self) -> bool {
        with_record!(self, record => record.stands_alone())
    }

    /// Dispatches to [`Protocol::depends_on_time`].
    pub fn depends_on_time(self, state: &PoolState) -> bool {
        with_record!(self, record => own(record, state).is_some_and(|state| record.depends_on_time(state)))
    }

    /// Dispatches to [`Protocol::curve`]; `None` also where neither direction trades.
    pub fn curve(self, state: &PoolState, coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
        let curve = with_record!(self, record => record.curve(own(record, state)?, coins, at))?;
        curve.directions.iter().any(Option::is_some).then_some(curve)
    }

    /// Dispatches to [`Protocol::wraps_ether`].
    pub fn wraps_ether(self) -> bool {
        with_record!(self, record => record.wraps_ether())
    }

    /// Dispatches to [`Protocol::is_bought_from`].
    pub fn is_bought_from(self) -> bool {
        with_record!(self, record => record.is_bought_from())
    }

    /// Dispatches to [`Protocol::state_from_log`].
    pub fn state_from_log(self, log: &Log) -> Option<PoolState> {
        with_record!(self, record => record.state_from_log(log))
    }

    /// Returns the coin of a pool that counts balances in shares although [its swaps](Protocol::takes_share_tokens) do not
    /// take such coins.
    pub fn refused_share_token(self, coins: &[Address]) -> Option<Address> {
        if with_record!(self, record => record.takes_share_tokens()) {
            return None;
        }
        let counts_shares = |coin: &&Address| {
            Self::ALL.iter().any(|product| with_record!(*product, record => record.share_tokens()).contains(coin))
        };
        coins.iter().find(counts_shares).copied()
    }

    /// Dispatches to [`Protocol::holds`].
    pub fn holds(self, state: &PoolState, coin: u8) -> Option<f64> {
        with_record!(self, record => record.holds(own(record, state)?, coin))
    }
}
