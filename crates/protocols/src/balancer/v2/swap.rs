//! Swaps through the V2 vault.

use std::borrow::Cow;

use alloy_primitives::U256;
use arrayvec::ArrayVec;
use braid_primitives::ExecutionBlock;

use super::{After, Model, OwnToken, StableModel, State, gas, own_token::Trade};
use crate::{
    Swap, SwapError,
    balancer::{StablePool, WeightedPool},
    pool::MAX_COINS,
};

/// Bits of a balance in the vault.
const BALANCE_BITS: usize = 112;

impl State {
    /// Computes a swap of all of `amount_in`, on the balances after an earlier swap of the route, if any.
    ///
    /// Source: `Swaps._swapWithPool` of the vault, and the pool's `onSwap`.
    ///
    /// # Errors
    /// Those of [`WeightedPool::swap`] and [`StablePool::swap`], and [`SwapError::Overflow`] if a balance would exceed
    /// the vault's 112 bits.
    pub fn swap(
        &self,
        at: &ExecutionBlock,
        before: Option<&After>,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        let balances = before.map_or_else(|| self.balances(), |after| &after.balances);
        if let Model::Stable(stable) = &self.model
            && let Some(own) = &stable.own
            && [coin_in, coin_out].map(usize::from).contains(&balances.len())
        {
            return stable.swap_own(own, at, before, coin_in, coin_out, amount_in);
        }
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
        take_in(&mut balances, coin_in, amount_in)?;
        pay_out(&mut balances, coin_out, amount_out)?;
        let joined = before.and_then(|after| after.joined);
        Ok(Swap { amount_out, gas_units, after: crate::After::BalancerV2(After { balances, joined }) })
    }
}

/// Adds the amount in to a balance, within the vault's range.
fn take_in(balances: &mut [U256], coin: u8, amount_in: U256) -> Result<(), SwapError> {
    let overflow = SwapError::Overflow { amount_in };
    let Some(balance) = balances.get_mut(usize::from(coin)) else { return Err(overflow) };
    *balance = balance.checked_add(amount_in).filter(|sum| sum.bit_len() <= BALANCE_BITS).ok_or(overflow)?;
    Ok(())
}

fn pay_out(balances: &mut [U256], coin: u8, amount_out: U256) -> Result<(), SwapError> {
    let balance = balances.get_mut(usize::from(coin)).ok_or(SwapError::Closed)?;
    *balance = balance.checked_sub(amount_out).ok_or(SwapError::Closed)?;
    Ok(())
}

impl State {
    /// Tells whether the pool's own token is one of its coins.
    pub(crate) fn trades_own_token(&self) -> bool {
        matches!(&self.model, Model::Stable(stable) if stable.own.is_some())
    }

    /// Returns the gas units that a step saves if an earlier step went through this pool, besides the saving at the
    /// vault.
    pub(crate) fn again_gas_units(&self) -> u64 {
        match &self.model {
            Model::Weighted(_) => gas::WEIGHTED_AGAIN_GAS_UNITS,
            Model::Stable(stable) => {
                gas::COIN_AGAIN_GAS_UNITS * self.coins() as u64 + gas::RATE_AGAIN_GAS_UNITS * stable.remembered()
            }
        }
    }
}

impl StableModel {
    /// Returns the pool in a block, with the rates that the block's first swap would use.
    pub fn at(&self, at: &ExecutionBlock) -> Cow<'_, StablePool> {
        let mut pool = Cow::Borrowed(&self.pool);
        if self.expired(at) > 0 {
            pool.to_mut().scaling_factors = self.factors(at);
        }
        pool
    }

    /// Computes a swap between a coin and the pool's own token, which is the last coin.
    fn swap_own(
        &self,
        own: &OwnToken,
        at: &ExecutionBlock,
        before: Option<&After>,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        let mut pool = self.at(at);
        if let Some(before) = before {
            pool.to_mut().balances.clone_from(&before.balances);
        }
        let joins = usize::from(coin_in) < pool.balances.len();
        let trade = match joins {
            true => Trade::Join(usize::from(coin_in), amount_in),
            false => Trade::Exit(usize::from(coin_out), amount_in),
        };
        let joined = before.and_then(|after| after.joined.as_ref());
        let traded = self.trade_own(own, &pool, at, joined, trade);
        let unscaled = |limit| pool.scale().down(limit, usize::from(coin_in)).unwrap_or(limit);
        let (amount_out, shares, minted) = traded.map_err(|revert| revert.into_error(amount_in, unscaled))?;
        if amount_out.is_zero() {
            return Err(SwapError::ZeroOutput);
        }
        if shares.held.bit_len() > BALANCE_BITS {
            return Err(SwapError::Overflow { amount_in });
        }
        let mut balances = pool.into_owned().balances;
        match joins {
            true => take_in(&mut balances, coin_in, amount_in)?,
            false => pay_out(&mut balances, coin_out, amount_out)?,
        }
        let after = After { balances, joined: Some(shares) };
        let gas_units = self.own_gas_units(at) + if minted.is_zero() { 0 } else { gas::MINT_DUE_GAS_UNITS };
        Ok(Swap { amount_out, gas_units, after: crate::After::BalancerV2(after) })
    }

    fn factors(&self, at: &ExecutionBlock) -> ArrayVec<U256, MAX_COINS> {
        let remembered = self.pool.scaling_factors.iter();
        let factor = |(factor, rate): (&U256, &super::Rate)| {
            if at.timestamp > rate.expires { rate.next_factor } else { *factor }
        };
        remembered.zip(&self.rates).map(factor).collect()
    }

    /// Returns the number of rates that the block's first swap requests again.
    fn expired(&self, at: &ExecutionBlock) -> usize {
        self.rates.iter().filter(|rate| at.timestamp > rate.expires).count()
    }

    /// Returns the number of cached rates.
    fn remembered(&self) -> u64 {
        self.rates.iter().filter(|rate| rate.expires != u64::MAX).count() as u64
    }

    /// Returns the gas units of a trade in the pool's own token, if nothing is due to the protocol.
    pub(super) fn own_gas_units(&self, at: &ExecutionBlock) -> u64 {
        let more_coins = (self.pool.balances.len() as u64).saturating_sub(2);
        self.gas_units(at) + gas::OWN_TOKEN_GAS_UNITS + gas::OWN_TOKEN_MORE_COINS_GAS_UNITS * more_coins
    }

    pub(super) fn gas_units(&self, at: &ExecutionBlock) -> u64 {
        let base = if self.own.is_some() { gas::COMPOSABLE_SWAP_GAS_UNITS } else { gas::STABLE_SWAP_GAS_UNITS };
        base + gas::RATE_GAS_UNITS * self.remembered()
            + gas::NEW_RATE_GAS_UNITS * self.expired(at) as u64
            + gas::MORE_COINS_GAS_UNITS * (self.pool.balances.len() as u64).saturating_sub(2)
    }
}
