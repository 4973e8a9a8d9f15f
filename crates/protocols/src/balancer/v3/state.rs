//! The vault's state of a pool, and its evaluation at a time.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use arrayvec::ArrayVec;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        fixed_point::{ONE, div_down, mul_down, mul_up},
        revert::Revert,
    },
    Curve, Fee, Followed, Generation, Live, gas,
};
use crate::{RouteState, Sale, SwapError, pool::MAX_COINS};

/// One coin of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coin {
    /// Balance in the vault, in atomic units.
    pub balance: U256,
    /// Live balance when the vault last stored it, 18 decimals: the base of yield fees.
    pub last_live: U256,
    /// `10^(18 − decimals)`.
    pub factor: U256,
    /// Rate, 18 decimals: the provider's answer at the block of the reading. One for a coin without a provider, and for
    /// a coin whose rate follows from a vault.
    pub rate: U256,
    /// Whether growth of its rate pays a fee to the protocol.
    pub pays_yield_fee: bool,
}

/// Stored curve of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a box would be made for every quote")]
pub enum PoolKind {
    /// Fixed weights.
    Weighted {
        /// Weight of each coin, 18 decimals.
        weights: ArrayVec<U256, MAX_COINS>,
        /// Minimum live balances, 18 decimals; empty if there are none.
        least_balances: ArrayVec<U256, MAX_COINS>,
    },
    /// Curve's invariant with an amplification that may ramp.
    Stable(Amplification),
}

/// An amplification that changes linearly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amplification {
    /// Value at the start, times 1,000.
    pub start_value: u64,
    /// Value at the end, times 1,000.
    pub end_value: u64,
    /// Start of the ramp, in unix seconds.
    pub start_time: u64,
    /// End of the ramp, in unix seconds.
    pub end_time: u64,
}

impl Amplification {
    /// Computes the value at a time, times 1,000. Source: `StablePool._getAmplificationParameter`.
    pub fn at(&self, now: u64) -> U256 {
        if now >= self.end_time || self.end_time <= self.start_time {
            return U256::from(self.end_value);
        }
        let passed = u128::from(now.saturating_sub(self.start_time));
        let whole = u128::from(self.end_time - self.start_time);
        let moved = u128::from(self.start_value.abs_diff(self.end_value)) * passed / whole;
        let start = u128::from(self.start_value);
        U256::from(if self.end_value > self.start_value { start + moved } else { start.saturating_sub(moved) })
    }
}

/// State that a V3 pool's swap depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Address of the pool, which the vault's events name.
    pub pool: Address,
    /// Coins in the vault's order.
    pub coins: ArrayVec<Coin, MAX_COINS>,
    /// The pool's curve.
    pub kind: PoolKind,
    /// Release of the pool's code.
    pub generation: Generation,
    /// Fee of a swap.
    pub fee: Fee,
    /// Share of swap fees that leaves the pool, 18 decimals.
    pub aggregate_swap_fee_wad: U256,
    /// Share of yield that leaves the pool, 18 decimals.
    pub aggregate_yield_fee_wad: U256,
    /// Whether the vault or the pool is paused, or the pool was never initialised: then nothing trades.
    pub paused: bool,
    /// Whether the pool is in recovery mode: it trades, but no fee leaves it.
    pub recovery: bool,
    /// Whether any coin has a rate provider.
    pub rated: bool,
    /// Coins whose rates follow from modelled vaults.
    pub followed: Arc<[Followed]>,
}

/// Balances after a swap: for each coin in atomic units, and live in 18 decimals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After(pub ArrayVec<(U256, U256), MAX_COINS>);

impl State {
    /// Tells whether the output can change with time alone.
    pub fn depends_on_time(&self) -> bool {
        self.rated || matches!(&self.kind, PoolKind::Stable(ramp) if ramp.start_value != ramp.end_value)
    }

    /// Tells whether other contracts than the vault and the pool affect the output: rate providers, a hook.
    pub fn depends_on_other_contracts(&self) -> bool {
        self.rated || matches!(self.fee, Fee::StableSurge { .. })
    }

    /// Checks that the state is possible.
    ///
    /// # Errors
    /// Describes the first violation.
    pub fn validate(&self) -> Result<(), &'static str> {
        let n = self.coins.len();
        let fee_wad = match &self.fee {
            Fee::Static(fee_wad) => *fee_wad,
            Fee::StableSurge { static_wad, .. } => *static_wad,
        };
        let lists = match &self.kind {
            PoolKind::Weighted { weights, least_balances } => {
                weights.len() == n && (least_balances.is_empty() || least_balances.len() == n)
            }
            PoolKind::Stable(_) => true,
        };
        match () {
            () if n < 2 => Err("fewer than two coins"),
            () if !lists => Err("lists of different lengths"),
            () if fee_wad >= ONE => Err("a fee of 100% or more"),
            () if self.aggregate_swap_fee_wad > ONE || self.aggregate_yield_fee_wad > ONE => {
                Err("a fee share above 100%")
            }
            () if self.followed.iter().any(|followed| usize::from(followed.coin) >= n) => Err("a rate without a coin"),
            () if self.coins.iter().any(|coin| coin.rate.is_zero() || coin.factor.is_zero()) => Err("a rate of zero"),
            () => Ok(()),
        }
    }

    /// Returns the pool in a block, for the optimiser's curves; `None` while it is closed.
    pub(super) fn now(&self, at: &ExecutionBlock) -> Option<Live> {
        if self.paused { None } else { self.live(at, &RouteState::default()).ok().map(|(live, _)| live) }
    }

    /// Returns the gas units of a swap.
    pub(super) fn gas_units(&self) -> u64 {
        let base = match &self.kind {
            PoolKind::Weighted { .. } => gas::WEIGHTED_SWAP_GAS_UNITS,
            PoolKind::Stable(_) => gas::STABLE_SWAP_GAS_UNITS,
        };
        let rates = (self.coins.iter().filter(|coin| coin.rate != ONE).count() + self.followed.len()) as u64;
        let previews = self.followed.iter().map(|followed| followed.vault.rate_gas_units());
        let surge = if matches!(self.fee, Fee::StableSurge { .. }) { gas::SURGE_GAS_UNITS } else { 0 };
        base + gas::MORE_COINS_GAS_UNITS * (self.coins.len() as u64).saturating_sub(2)
            + gas::RATE_GAS_UNITS * rates
            + previews.sum::<u64>()
            + surge
    }

    /// Computes a step through the vault, on the balances after an earlier swap of the route, if any.
    ///
    /// # Errors
    /// As [`State::swap`].
    pub fn step(
        &self,
        at: &ExecutionBlock,
        before: Option<&After>,
        route: &RouteState,
        sale: Sale,
    ) -> Result<crate::Swap, SwapError> {
        let (amount_out, after) = match before {
            Some(after) => self.with(after).swap_in(at, route, sale)?,
            None => self.swap_in(at, route, sale)?,
        };
        Ok(crate::Swap { amount_out, gas_units: self.gas_units(), after: crate::After::BalancerV3(after) })
    }

    /// Returns the state with the balances of `after`.
    #[must_use]
    pub fn with(&self, after: &After) -> Self {
        let mut state = self.clone();
        for (coin, (balance, live)) in state.coins.iter_mut().zip(&after.0) {
            (coin.balance, coin.last_live) = (*balance, *live);
        }
        state
    }

    /// Tells whether a coin's rate is a contract's answer that was read once.
    pub(super) fn has_oracle(&self, coin: usize) -> bool {
        let followed = self.followed.iter().any(|followed| usize::from(followed.coin) == coin);
        !followed && self.coins.get(coin).is_some_and(|coin| coin.rate != ONE)
    }

    /// Returns each coin's rate at a time: from its vault, or as read.
    fn rates(&self, at: &ExecutionBlock, route: &RouteState) -> Result<ArrayVec<U256, MAX_COINS>, Revert> {
        let mut rates: ArrayVec<U256, MAX_COINS> = self.coins.iter().map(|coin| coin.rate).collect();
        for followed in self.followed.iter() {
            let place = rates.get_mut(usize::from(followed.coin)).ok_or(Revert::Arithmetic)?;
            *place = followed.rate(at, route).ok_or(Revert::Arithmetic)?;
        }
        Ok(rates)
    }

    /// Returns the pool at a time, after the yield fees that the vault deducts before every swap, and the resulting
    /// balances.
    fn live(&self, at: &ExecutionBlock, route: &RouteState) -> Result<(Live, ArrayVec<U256, MAX_COINS>), Revert> {
        let scaled = |coin: &Coin, rate: U256, balance: U256| {
            mul_down(balance.checked_mul(coin.factor).ok_or(Revert::Arithmetic)?, rate)
        };
        let rates = self.rates(at, route)?;
        let mut raw = ArrayVec::new();
        let mut balances = ArrayVec::new();
        for (coin, rate) in self.coins.iter().zip(&rates) {
            let now = scaled(coin, *rate, coin.balance)?;
            let due = match now.checked_sub(coin.last_live) {
                Some(grown) if coin.pays_yield_fee && !self.recovery && !self.aggregate_yield_fee_wad.is_zero() => {
                    let unit = coin.factor.checked_mul(*rate).ok_or(Revert::Arithmetic)?;
                    div_down(mul_up(grown, self.aggregate_yield_fee_wad)?, unit)?
                }
                _ => U256::ZERO,
            };
            let balance = coin.balance.checked_sub(due).ok_or(Revert::Arithmetic)?;
            raw.push(balance);
            balances.push(scaled(coin, *rate, balance)?);
        }
        let curve = match &self.kind {
            PoolKind::Weighted { weights, least_balances } => Curve::Weighted {
                weights: weights.clone(),
                least_balances: least_balances.clone(),
                generation: self.generation,
            },
            PoolKind::Stable(amplification) => {
                Curve::Stable { amp_times_1000: amplification.at(at.timestamp), generation: self.generation }
            }
        };
        let factors = self.coins.iter().map(|coin| coin.factor).collect();
        Ok((Live { balances, factors, rates, fee: self.fee.clone(), curve }, raw))
    }

    /// Computes a swap at a time, and the balances afterwards.
    ///
    /// # Errors
    /// [`SwapError::Closed`] while paused, otherwise as [`Live::swap`].
    pub fn swap(
        &self,
        at: &ExecutionBlock,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<(U256, After), SwapError> {
        self.swap_in(at, &RouteState::default(), Sale { coin_in, coin_out, amount_in })
    }

    /// Computes a swap like [`State::swap`], after a route's trades with vaults whose rates the pool requests.
    fn swap_in(&self, at: &ExecutionBlock, route: &RouteState, sale: Sale) -> Result<(U256, After), SwapError> {
        let Sale { coin_in, coin_out, amount_in } = sale;
        if self.paused {
            return Err(SwapError::Closed);
        }
        let overflow = |revert: Revert| revert.into_error(amount_in, |limit| limit);
        let (live, mut raw) = self.live(at, route).map_err(overflow)?;
        let paid = live.pay(coin_in, coin_out, amount_in)?;
        let (i, j) = (usize::from(coin_in), usize::from(coin_out));
        let leaves = if self.recovery { U256::ZERO } else { self.aggregate_swap_fee_wad };
        let leaves = mul_down(paid.fee, leaves).map_err(overflow)?;
        let kept = amount_in.checked_sub(leaves).ok_or(SwapError::Overflow { amount_in })?;
        let mut after = || {
            let balance = raw.get_mut(i)?;
            *balance = balance.checked_add(kept)?;
            let balance = raw.get_mut(j)?;
            *balance = balance.checked_sub(paid.amount_out)?;
            let coins = self.coins.iter().zip(&live.rates).zip(&raw);
            let scaled = coins.map(|((coin, rate), balance)| {
                let live = mul_down(balance.checked_mul(coin.factor)?, *rate).ok()?;
                Some((*balance, live))
            });
            scaled.collect::<Option<ArrayVec<_, MAX_COINS>>>()
        };
        let after = after().ok_or(SwapError::InsufficientLiquidity { consumed: U256::ZERO, amount_in })?;
        Ok((paid.amount_out, After(after)))
    }
}
