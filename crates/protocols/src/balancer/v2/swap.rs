//! What a swap through the vault pays, and what it leaves.

use std::borrow::Cow;

use alloy_primitives::U256;
use arrayvec::ArrayVec;
use braid_primitives::ExecutionBlock;

use super::{After, Model, StableModel, State, gas};
use crate::{
    Swap, SwapError,
    balancer::{StablePool, WeightedPool},
    pool::MAX_COINS,
};

/// Bits that the vault keeps of a balance.
const BALANCE_BITS: usize = 112;

impl State {
    /// What the vault pays for all of `amount_in`, on the balances that an earlier swap of the route left, if any.
    ///
    /// Source: `Swaps._swapWithPool` of the vault, and the pool's `onSwap`.
    ///
    /// # Errors
    /// Those of [`WeightedPool::swap`] and [`StablePool::swap`], and [`SwapError::Overflow`] where a balance would pass the
    /// vault's 112 bits.
    pub fn swap(
        &self,
        at: &ExecutionBlock,
        before: Option<&After>,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        let balances = before.map_or_else(|| self.balances(), |after| &after.balances);
        let (amount_out, gas_units) = match &self.model {
            Model::Weighted(pool) => {
                let pool = match before {
                    Some(_) => &WeightedPool { balances: balances.clone(), ..pool.clone() },
                    None => pool,
                };
                (pool.swap(coin_in, coin_out, amount_in)?, gas::WEIGHTED_SWAP_GAS_UNITS)
            }
            Model::Stable(stable) => {
                let mut pool = stable.at(at);
                if before.is_some() {
                    pool.to_mut().balances.clone_from(balances);
                }
                (pool.swap(coin_in, coin_out, amount_in)?, stable.gas_units(at))
            }
        };
        let mut balances = balances.clone();
        let overflow = SwapError::Overflow { amount_in };
        let balance_in = balances.get_mut(usize::from(coin_in)).ok_or_else(|| overflow.clone())?;
        *balance_in = balance_in.checked_add(amount_in).filter(|sum| sum.bit_len() <= BALANCE_BITS).ok_or(overflow)?;
        let balance_out = balances.get_mut(usize::from(coin_out)).ok_or(SwapError::Closed)?;
        *balance_out = balance_out.checked_sub(amount_out).ok_or(SwapError::Closed)?;
        Ok(Swap { amount_out, gas_units, after: crate::After::BalancerV2(After { balances }) })
    }
}

impl StableModel {
    /// The pool in a block: with the rates that the first swap in it would use.
    pub fn at(&self, at: &ExecutionBlock) -> Cow<'_, StablePool> {
        let mut pool = Cow::Borrowed(&self.pool);
        if self.expired(at) > 0 {
            pool.to_mut().scaling_factors = self.factors(at);
        }
        pool
    }

    fn factors(&self, at: &ExecutionBlock) -> ArrayVec<U256, MAX_COINS> {
        let remembered = self.pool.scaling_factors.iter();
        let factor = |(factor, rate): (&U256, &super::Rate)| {
            if at.timestamp > rate.expires { rate.next_factor } else { *factor }
        };
        remembered.zip(&self.rates).map(factor).collect()
    }

    /// How many rates the first swap of a block asks for anew.
    fn expired(&self, at: &ExecutionBlock) -> usize {
        self.rates.iter().filter(|rate| at.timestamp > rate.expires).count()
    }

    pub(super) fn gas_units(&self, at: &ExecutionBlock) -> u64 {
        let rates = self.rates.iter().filter(|rate| rate.expires != u64::MAX).count() as u64;
        let base = if self.composable { gas::COMPOSABLE_SWAP_GAS_UNITS } else { gas::STABLE_SWAP_GAS_UNITS };
        base + gas::RATE_GAS_UNITS * rates
            + gas::NEW_RATE_GAS_UNITS * self.expired(at) as u64
            + gas::MORE_COINS_GAS_UNITS * (self.pool.balances.len() as u64).saturating_sub(2)
    }
}
