//! Deposits and withdrawals of a single coin. A metapool uses them to reach the coins of its base pool.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::{Balances, Invariant, State, state::scale};
use crate::SwapError;
use crate::curve::arith::{FEE_WHOLE, Fault, Maths, WAD, add, div, int, mul, mul_div, sub};

/// A pool whose shares are a coin of another pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BasePool {
    /// The pool.
    pub state: State,
    /// Shares in circulation, in atomic units.
    pub total_supply: U256,
}

/// State of the base pool after a deposit, a withdrawal or a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseAfter {
    /// Balances in atomic units, net of administrator fees.
    pub balances: Balances,
    /// Shares in circulation.
    pub total_supply: U256,
}

impl BasePool {
    /// Returns the pool after an earlier step.
    #[must_use]
    pub fn with(&self, after: &BaseAfter) -> Self {
        let state = State { balances: after.balances.clone(), ..self.state.clone() };
        Self { state, total_supply: after.total_supply }
    }

    /// Computes the worth of a share, 18 decimals, rounded down: `get_virtual_price()`.
    pub(crate) fn virtual_price(&self, at: &ExecutionBlock) -> Maths<U256> {
        let xp = self.state.scaled(&self.state.rates.at_view(at)?)?;
        mul_div(self.state.invariant(at)?.d(&xp)?, WAD, self.total_supply)
    }

    /// Computes the fee on each coin's distance from balance: `fee · n / (4 · (n − 1))`.
    fn imbalance_fee(&self) -> Maths<U256> {
        let n = self.state.balances.len() as u64;
        mul_div(int(self.state.fee), int(n), mul(int(4), sub(int(n), U256::ONE)?)?)
    }

    fn invariant_of(&self, invariant: &Invariant, rates: &[U256], balances: &[U256]) -> Maths<U256> {
        invariant.d(&scale(balances, rates)?)
    }

    /// Computes the shares minted for `amount` of one coin, and the pool afterwards: `add_liquidity`.
    pub(crate) fn deposit(&self, at: &ExecutionBlock, coin: usize, amount: U256) -> Maths<(U256, BaseAfter)> {
        let (invariant, rates) = (self.state.invariant(at)?, self.state.rates.at(at)?);
        let old = &self.state.balances;
        let d0 = self.invariant_of(&invariant, &rates, old)?;
        if self.total_supply.is_zero() || d0.is_zero() {
            return Err(Fault::Unsafe);
        }
        let mut new = old.clone();
        new[coin] = add(new[coin], amount)?;
        let d1 = self.invariant_of(&invariant, &rates, &new)?;
        if d1 <= d0 {
            return Err(Fault::Unsafe);
        }
        let base_fee = self.imbalance_fee()?;
        let mean = div(add(d0, d1)?, int(old.len() as u64))?;
        let mut balances = new.clone();
        for k in 0..old.len() {
            let ideal = mul_div(d1, old[k], d0)?;
            let held = mul_div(rates[k], add(old[k], new[k])?, WAD)?;
            let rate = self.state.fee_between(held, mean, base_fee)?;
            let fee = mul_div(rate, ideal.abs_diff(new[k]), FEE_WHOLE)?;
            balances[k] = sub(new[k], mul_div(fee, int(self.state.admin_fee), FEE_WHOLE)?)?;
            new[k] = sub(new[k], fee)?;
        }
        let d2 = self.invariant_of(&invariant, &rates, &new)?;
        let minted = mul_div(self.total_supply, sub(d2, d0)?, d0)?;
        Ok((minted, BaseAfter { balances, total_supply: add(self.total_supply, minted)? }))
    }

    /// Estimates the shares for `amount` of one coin like `calc_token_amount` of the classic pools: without a fee.
    pub(crate) fn deposit_estimate(&self, at: &ExecutionBlock, coin: usize, amount: U256) -> Maths<U256> {
        let (invariant, rates) = (self.state.invariant(at)?, self.state.rates.at_view(at)?);
        let d0 = self.invariant_of(&invariant, &rates, &self.state.balances)?;
        let mut new = self.state.balances.clone();
        new[coin] = add(new[coin], amount)?;
        let d1 = self.invariant_of(&invariant, &rates, &new)?;
        mul_div(sub(d1, d0)?, self.total_supply, d0)
    }

    /// Computes the output of burning `shares` for one coin, and the pool afterwards: `remove_liquidity_one_coin`.
    pub(crate) fn withdraw(&self, at: &ExecutionBlock, coin: usize, shares: U256) -> Maths<(U256, BaseAfter)> {
        let (invariant, rates) = (self.state.invariant(at)?, self.state.rates.at(at)?);
        let xp = self.state.scaled(&rates)?;
        let d0 = invariant.d(&xp)?;
        let d1 = sub(d0, mul_div(shares, d0, self.total_supply)?)?;
        let y = invariant.y_of_d(coin, &xp, d1)?;
        let reduced = self.reduce_by_fees(&xp, coin, y, d0, d1)?;
        let scaled_out = sub(reduced[coin], invariant.y_of_d(coin, &reduced, d1)?)?;
        let without_fee = mul_div(sub(xp[coin], y)?, WAD, rates[coin])?;
        let amount_out = mul_div(sub(scaled_out, U256::ONE)?, WAD, rates[coin])?;
        let fee = sub(without_fee, amount_out)?;
        let mut balances = self.state.balances.clone();
        let taken = add(amount_out, mul_div(fee, int(self.state.admin_fee), FEE_WHOLE)?)?;
        balances[coin] = sub(balances[coin], taken)?;
        Ok((amount_out, BaseAfter { balances, total_supply: sub(self.total_supply, shares)? }))
    }

    fn check(&self, coin: u8, amount: U256) -> Result<usize, SwapError> {
        let place = usize::from(coin);
        if place >= self.state.balances.len() {
            return Err(SwapError::UnknownCoin { coin_in: coin, coin_out: coin });
        }
        if amount.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        if self.state.is_whole() { Ok(place) } else { Err(SwapError::Closed) }
    }

    /// Computes the output of burning `shares` for one coin: `calc_withdraw_one_coin`, which equals the withdrawal's.
    ///
    /// # Errors
    /// [`SwapError`] where the contract reverts.
    pub fn withdraw_view(&self, at: &ExecutionBlock, coin: u8, shares: U256) -> Result<U256, SwapError> {
        let place = self.check(coin, shares)?;
        Ok(self.withdraw(at, place, shares).map_err(|fault| fault.refusal(shares))?.0)
    }

    /// Computes the classic estimate of the shares for `amount` of one coin: `calc_token_amount`, without the deposit's
    /// fee.
    ///
    /// # Errors
    /// [`SwapError`] where the contract reverts.
    pub fn deposit_view(&self, at: &ExecutionBlock, coin: u8, amount: U256) -> Result<U256, SwapError> {
        let place = self.check(coin, amount)?;
        self.deposit_estimate(at, place, amount).map_err(|fault| fault.refusal(amount))
    }

    /// Subtracts from scaled balances the fee on each coin's distance from a balanced withdrawal.
    fn reduce_by_fees(&self, xp: &Balances, coin: usize, y: U256, d0: U256, d1: U256) -> Maths<Balances> {
        let base_fee = self.imbalance_fee()?;
        let mean = div(add(d0, d1)?, int(2 * xp.len() as u64))?;
        let mut reduced = xp.clone();
        for (k, held) in xp.iter().enumerate() {
            let share = mul_div(*held, d1, d0)?;
            let (distance, average) =
                if k == coin { (sub(share, y)?, add(*held, y)? >> 1) } else { (sub(*held, share)?, *held) };
            let rate = self.state.fee_between(average, mean, base_fee)?;
            reduced[k] = sub(*held, mul_div(rate, distance, FEE_WHOLE)?)?;
        }
        Ok(reduced)
    }
}
