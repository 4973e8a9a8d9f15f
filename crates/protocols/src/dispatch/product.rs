//! The methods that shared code calls on a product.

use alloy_primitives::{Address, B256, Log};
use braid_primitives::{ExecutionBlock, PoolKey};

use crate::{
    Call, DecodeError, Discovered, Freshness, Pool, PoolList, PoolState, Prediction, Product, Protocol, Source,
    StateReader,
    continuous::PairCurve,
    registry::{own, own_mut, with_record},
};

/// Generates methods that dispatch to the method of the record with the same name.
macro_rules! dispatch {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        #[doc = concat!("Dispatches to [`Protocol::", stringify!($name), "`].")]
        pub fn $name(self, $($argument: $type),*) -> $answer {
            with_record!(self, record => record.$name($($argument),*))
        }
    )*};
}

impl Product {
    dispatch! {
        sources() -> &'static [Source];
        lists() -> &'static [&'static dyn PoolList];
        fixed_pools() -> Vec<Discovered>;
        unnamed_coin(pool: &Discovered) -> Option<Call>;
        confirmations(pool: &Discovered) -> Vec<Prediction>;
        suggested(log: &Log) -> Option<Discovered>;
        reader(pool: &Discovered) -> Box<dyn StateReader>;
        lens_reader(pool: &Discovered) -> Option<Box<dyn StateReader>>;
        freshness_topics() -> &'static [B256];
        log_pool_id(log: &Log) -> Option<B256>;
        pool_named_by_vault(log: &Log) -> Option<PoolKey>;
        state_from_log(log: &Log) -> Option<PoolState>;
        is_bought_from() -> bool;
        stands_alone() -> bool;
        wraps_ether() -> bool;
    }

    /// Returns the product that the record reports: itself, unless the list is wrong.
    pub fn of_record(self) -> Self {
        with_record!(self, record => record.product())
    }

    /// Dispatches to [`Protocol::discover`].
    ///
    /// # Errors
    /// As [`Protocol::discover`].
    pub fn discover(self, log: &Log) -> Result<Discovered, DecodeError> {
        with_record!(self, record => record.discover(log))
    }

    /// Dispatches to [`Protocol::named`].
    pub fn named_pool(self, pool: Address) -> Option<Discovered> {
        with_record!(self, record => record.named(pool))
    }

    /// Tells whether an operator can [name](Protocol::named) pools of this product by address.
    pub fn takes_names(self) -> bool {
        self.named_pool(Address::ZERO).is_some()
    }

    /// Returns whether pools of this product keep the worth of shares that some token counts in.
    pub fn keeps_shares(self) -> bool {
        with_record!(self, record => !record.share_tokens().is_empty())
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
}

/// Methods for a state that may belong to another product; then they return the default or an error.
impl Product {
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

    /// Dispatches to [`Protocol::listens_to`].
    pub fn listens_to(self, state: &PoolState) -> Vec<Address> {
        with_record!(self, record => own(record, state).map(|state| record.listens_to(state)).unwrap_or_default())
    }

    /// Dispatches to [`Protocol::spot_checks`].
    pub fn spot_checks(self, pool: Address, state: &PoolState) -> Vec<Prediction> {
        with_record!(self, record => own(record, state).map(|state| record.spot_checks(pool, state)).unwrap_or_default())
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

    /// Dispatches to [`Protocol::guessed_as`].
    pub fn guessed_as(self, pool: &Pool) -> Option<&'static str> {
        with_record!(self, record => record.guessed_as(pool.key.contract, own(record, &pool.state)?))
    }

    /// Dispatches to [`Protocol::predictions`].
    pub fn predictions(self, pool: &Pool, at: &ExecutionBlock) -> Vec<Prediction> {
        with_record!(self, record => match own(record, &pool.state) {
            Some(state) => record.predictions(pool.key.contract, state, at),
            None => Vec::new(),
        })
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

    /// Dispatches to [`Protocol::holds`].
    pub fn holds(self, state: &PoolState, coin: u8) -> Option<f64> {
        with_record!(self, record => record.holds(own(record, state)?, coin))
    }
}
