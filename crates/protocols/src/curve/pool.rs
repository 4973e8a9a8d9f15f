//! A Curve pool of any kind, as a route uses it.

use alloy_primitives::{Address, U256};
use arrayvec::ArrayVec;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::{
    coins::StethRate,
    crypto, lending,
    stable::{self, Balances, BaseAfter, MetaAfter, MetaState, Rate},
};
use crate::{RouteState, Sale, Swap, SwapError};

/// State of a pool, as far as swaps depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Arithmetic and balances of the pool.
    pub model: Model,
    /// Position of the coin that is native ether, if any.
    pub ether_coin: Option<u8>,
    /// Base pool of a metapool. Its trades change this pool's output.
    pub base_pool: Option<Address>,
    /// Whether rates of its coins come from an oracle or a vault and can change without a log of the pool.
    pub has_oracle: bool,
    /// Position of the coin that is stETH, if any, and its rate. Amounts of it move as shares.
    pub steth: Option<(u8, StethRate)>,
}

/// Kind of pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a state lives behind an `Arc`")]
pub enum Model {
    /// StableSwap of any generation.
    Stable(stable::State),
    /// A metapool. Its coins are its own, the base pool's share, and then the base pool's coins.
    Meta(MetaState),
    /// CryptoSwap of any generation.
    Crypto(crypto::State),
    /// StableSwap over lent tokens, traded in the underlying coins.
    Lending(lending::State),
}

/// State change of a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "it lives on the stack of a solve, where a box would have to be allocated"
)]
pub enum After {
    /// New balances.
    Stable(Balances),
    /// Balances of a metapool, by its address, and of its base pool, after the first swap of a route.
    Meta(Address, MetaAfter),
    /// Balances of a base pool and of the metapools on it, after further swaps.
    Based(Box<Based>),
    /// Swaps of a CryptoSwap pool so far. Computing the state after them takes longer than computing their output, so
    /// it is done only if the route uses the pool again.
    Crypto(Trades),
    /// The new state does not follow from the state that was read: a second swap in one route is refused.
    Unknown,
}

/// A base pool and its metapools after swaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Based {
    /// State of the base pool.
    pub base: BaseAfter,
    /// Metapools that were traded with, by address.
    pub metapools: Vec<(Address, MetaAfter)>,
}

impl Based {
    /// Returns the base pool and its metapools after earlier swaps; `None` if no metapool took part.
    fn after(before: Option<&After>) -> Option<Self> {
        match before? {
            After::Meta(pool, after) => {
                Some(Self { base: after.base.clone(), metapools: vec![(*pool, after.clone())] })
            }
            After::Based(based) => Some((**based).clone()),
            _ => None,
        }
    }

    /// Returns the state change of a metapool by its address.
    fn of(&self, pool: Address) -> Option<&MetaAfter> {
        self.metapools.iter().find(|(known, _)| *known == pool).map(|(_, after)| after)
    }

    /// Adds a swap of a metapool by its address.
    fn and(mut self, pool: Address, after: MetaAfter) -> Self {
        self.base = after.base.clone();
        self.metapools.retain(|(known, _)| *known != pool);
        self.metapools.push((pool, after));
        self
    }
}

/// Swaps of one pool in one route, in order.
pub type Trades = ArrayVec<Sale, 3>;

/// Replays earlier swaps of a CryptoSwap pool; `None` if there were none. Refused if the price scale may have moved:
/// how far depends on the second of execution, and a route must hold for more than one.
pub(super) fn replayed(
    pool: &crypto::State,
    at: &ExecutionBlock,
    trades: &[Sale],
) -> Result<Option<crypto::State>, SwapError> {
    let mut left: Option<crypto::State> = None;
    for trade in trades {
        let now = left.as_ref().unwrap_or(pool);
        let swap = now.swap(at, trade.coin_in, trade.coin_out, trade.amount_in)?;
        let after = swap.after.filter(|after| pool.keeps_its_scale(after)).ok_or(SwapError::Closed)?;
        left = Some(now.with(&after));
    }
    Ok(left)
}

/// Exchange kind: the function that trades two coins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeKind {
    /// `exchange` between the pool's own coins.
    Own(u8, u8),
    /// `exchange_underlying` through the base pool or the lender, by positions among the underlying coins.
    Underlying(u8, u8),
}

impl State {
    /// Returns the number of coins, including the base pool's.
    pub fn coins(&self) -> usize {
        match &self.model {
            Model::Stable(pool) => pool.balances.len(),
            Model::Meta(meta) => 2 + meta.base.state.balances.len(),
            Model::Crypto(pool) => pool.kind.coins(),
            Model::Lending(pool) => pool.markets.len(),
        }
    }

    /// Returns the exchange kind of two coins; `None` for coins that do not trade with each other here. The base pool's
    /// own coins and its share trade in the base pool.
    pub(crate) fn exchange_kind(&self, coin_in: u8, coin_out: u8) -> Option<ExchangeKind> {
        let coins = self.coins();
        if coin_in == coin_out || usize::from(coin_in.max(coin_out)) >= coins {
            return None;
        }
        match (&self.model, coin_in, coin_out) {
            (Model::Stable(_) | Model::Crypto(_), i, j) | (Model::Meta(_), i @ 0..=1, j @ 0..=1) => {
                Some(ExchangeKind::Own(i, j))
            }
            (Model::Lending(_), i, j) => Some(ExchangeKind::Underlying(i, j)),
            (Model::Meta(_), 0, j) => Some(ExchangeKind::Underlying(0, j - 1)),
            (Model::Meta(_), i, 0) => Some(ExchangeKind::Underlying(i - 1, 0)),
            _ => None,
        }
    }

    /// Tells whether the output can change with time alone.
    pub fn depends_on_time(&self) -> bool {
        let ramps = |pool: &stable::State| pool.amplification.initial != pool.amplification.future;
        let accrues = |pool: &stable::State| pool.rates.0.iter().any(stable::Rate::depends_on_time);
        match &self.model {
            Model::Stable(pool) => ramps(pool) || accrues(pool),
            Model::Meta(meta) => meta.cached_price.is_some() || ramps(&meta.pool) || ramps(&meta.base.state),
            Model::Crypto(pool) => pool.amp_gamma.initial != pool.amp_gamma.future,
            Model::Lending(_) => true,
        }
    }

    /// Tells whether the pool's balances or rates come from other contracts, which can change without it.
    pub fn depends_on_coin_contracts(&self) -> bool {
        match &self.model {
            Model::Stable(pool) | Model::Meta(MetaState { pool, .. }) => {
                pool.rules.balance_source == stable::BalanceSource::Token
            }
            Model::Lending(_) => true,
            Model::Crypto(_) => false,
        }
    }

    /// Tells whether the pool requests a coin's rate from a contract, so that the rate is known only for this block.
    pub(super) fn asks_rate_of(&self, place: usize) -> bool {
        match &self.model {
            Model::Stable(pool) => pool.rates.0.get(place).is_some_and(Rate::is_oracles),
            _ => false,
        }
    }

    /// Returns the pool after a route's trades with vaults whose rates it requests; `None` if there were none.
    ///
    /// # Errors
    /// [`SwapError`] if a vault refuses those trades.
    pub(super) fn after_vaults(&self, at: &ExecutionBlock, route: &RouteState) -> Result<Option<Self>, SwapError> {
        let Model::Stable(pool) = &self.model else { return Ok(None) };
        let mut left = None;
        for (place, rate) in pool.rates.0.iter().enumerate() {
            let Some(moved) = rate.after(at, route)? else { continue };
            let left = left.get_or_insert_with(|| self.clone());
            if let Model::Stable(pool) = &mut left.model {
                pool.rates.0[place] = moved;
            }
        }
        Ok(left)
    }

    /// Returns the contract that holds the state shared with other pools: the base pool, or the lender. `None` if the
    /// pool shares none.
    pub fn shared_contract(&self) -> Option<Address> {
        match &self.model {
            Model::Lending(pool) => Some(pool.lender_address),
            _ => self.base_pool,
        }
    }

    /// Computes a swap of all of `amount_in` at the pool with this address, after the route's earlier steps. A metapool
    /// and its base pool see each other's changes. An amount of stETH is the worth of the moved shares, for a receiver
    /// without stETH.
    ///
    /// # Errors
    /// Those of [`stable::State::swap`], [`MetaState::swap`], [`MetaState::swap_underlying`] and
    /// [`crypto::State::swap`]; [`SwapError::Closed`] for a second swap whose starting state is unknown.
    pub fn swap(
        &self,
        pool: Address,
        at: &ExecutionBlock,
        before: Option<&After>,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        let exchange_kind =
            self.exchange_kind(coin_in, coin_out).ok_or(SwapError::UnknownCoin { coin_in, coin_out })?;
        if before == Some(&After::Unknown) {
            return Err(SwapError::Closed);
        }
        let mut gas_units = self.gas_units(at, coin_out, exchange_kind);
        let (amount_out, after) = match (&self.model, exchange_kind) {
            (Model::Stable(own), ExchangeKind::Own(i, j) | ExchangeKind::Underlying(i, j)) => {
                let based = Based::after(before);
                let balances = match (before, &based) {
                    (Some(After::Stable(balances)), _) => Some(balances),
                    (_, based) => based.as_ref().map(|based| &based.base.balances),
                };
                let left = balances.map(|balances| stable::State { balances: balances.clone(), ..own.clone() });
                let swap = left.as_ref().unwrap_or(own).swap(at, i, j, amount_in)?;
                let after = swap.balances.map(|balances| match based {
                    Some(Based { base, metapools }) => {
                        After::Based(Box::new(Based { base: BaseAfter { balances, ..base }, metapools }))
                    }
                    None => After::Stable(balances),
                });
                (swap.amount_out, after)
            }
            (Model::Meta(meta), exchange_kind) => {
                let based = Based::after(before);
                let left = match (&based, before) {
                    (Some(based), _) => Some(meta.among(based.of(pool), &based.base)),
                    (None, Some(After::Stable(balances))) => {
                        let mut left = meta.clone();
                        left.base.state.balances = balances.clone();
                        Some(left)
                    }
                    _ => None,
                };
                let meta = left.as_ref().unwrap_or(meta);
                let swap = match exchange_kind {
                    ExchangeKind::Own(i, j) => meta.swap(at, i, j, amount_in)?,
                    ExchangeKind::Underlying(i, j) => meta.swap_underlying(at, i, j, amount_in)?,
                };
                (
                    swap.amount_out,
                    swap.after.map(|after| match based {
                        Some(based) => After::Based(Box::new(based.and(pool, after))),
                        None => After::Meta(pool, after),
                    }),
                )
            }
            (Model::Crypto(own), ExchangeKind::Own(i, j) | ExchangeKind::Underlying(i, j)) => {
                let mut trades = if let Some(After::Crypto(trades)) = before { trades.clone() } else { Trades::new() };
                let left = replayed(own, at, &trades)?;
                let now = left.as_ref().unwrap_or(own);
                let costs = crypto::swap_gas(own.kind);
                gas_units += if now.seeks_scale() { costs.seek_scale } else { 0 };
                gas_units += if now.finds_d(at) { costs.find_d } else { 0 };
                let amount_out = now.amount_out(at, i, j, amount_in)?;
                let noted = trades.try_push(Sale { coin_in: i, coin_out: j, amount_in }).is_ok();
                (amount_out, noted.then_some(After::Crypto(trades)))
            }
            // the lender's state after a deposit or a withdrawal is not modelled, so a second trade is refused
            (Model::Lending(own), _) => (own.swap(at, coin_in, coin_out, amount_in)?, None),
        };
        let amount_out = match &self.steth {
            Some((coin, lido)) if *coin == coin_out => lido.arrives(amount_out)?,
            _ => amount_out,
        };
        if amount_out.is_zero() {
            return Err(SwapError::ZeroOutput);
        }
        let after = crate::After::Curve(after.unwrap_or(After::Unknown));
        Ok(Swap { amount_out, gas_units, after })
    }

    /// Returns the maximum output in a coin of the base pool: a withdrawal of all the metapool's shares. For a lending
    /// pool, the lender's cash.
    pub(crate) fn most_through(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8) -> Option<U256> {
        if let Model::Lending(pool) = &self.model {
            return pool.markets.get(usize::from(coin_out)).map(|market| market.cash);
        }
        let (Model::Meta(meta), Some(ExchangeKind::Underlying(0, place))) =
            (&self.model, self.exchange_kind(coin_in, coin_out))
        else {
            return None;
        };
        let shares = *meta.pool.balances.get(1)?;
        let coin = usize::from(place).checked_sub(1)?;
        meta.base.withdraw(at, coin, shares).ok().map(|(amount, _)| amount)
    }

    /// Computes only the amount out, for sampling, without the state change.
    pub(crate) fn amount_out(
        &self,
        at: &ExecutionBlock,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<U256, SwapError> {
        match &self.model {
            Model::Crypto(pool) => pool.amount_out(at, coin_in, coin_out, amount_in),
            _ => {
                let swap = self.swap(Address::ZERO, at, None, coin_in, coin_out, amount_in);
                swap.map(|swap| swap.amount_out)
            }
        }
    }

    /// Checks that the state is possible.
    ///
    /// # Errors
    /// Describes the first violation.
    pub fn validate(&self) -> Result<(), &'static str> {
        let whole = match &self.model {
            Model::Stable(pool) => pool.is_whole(),
            Model::Meta(meta) => meta.pool.is_whole() && meta.pool.balances.len() == 2 && meta.base.state.is_whole(),
            Model::Crypto(_) => true,
            Model::Lending(pool) => pool.is_whole(),
        };
        match self.ether_coin {
            _ if !whole => Err("balances and rates of different lengths"),
            _ if self.coins() > crate::pool::MAX_COINS => Err("too many coins"),
            Some(coin) if usize::from(coin) >= self.coins() => Err("a coin out of range is ether"),
            _ if self.steth.is_some_and(|(coin, _)| usize::from(coin) >= self.coins()) => {
                Err("a coin out of range is stETH")
            }
            _ => Ok(()),
        }
    }
}
