//! Swaps of a StableSwap pool.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::{BalanceSource, Balances, FeeStep, State};
use crate::curve::arith::{FEE_WHOLE, Maths, WAD, add, div, int, mul, mul_div, sub};
use crate::{SwapError, error::positions};

/// A solved swap in scaled numbers, before the payment.
pub(crate) struct Exchange {
    pub(crate) i: usize,
    pub(crate) j: usize,
    /// Rates of all coins in this block.
    pub(crate) rates: Balances,
    /// Scaled balances before the swap.
    pub(crate) xp: Balances,
    /// Scaled balance of the coin in, after the swap.
    pub(crate) x: U256,
    /// Scaled balance of the coin out, after the swap and before the fee.
    pub(crate) y: U256,
}

/// Result of a swap of a StableSwap pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StableSwap {
    /// Amount out in atomic units.
    pub amount_out: U256,
    /// Balances afterwards; `None` if only the coins know them ([`BalanceSource::Token`]).
    pub balances: Option<Balances>,
}

impl State {
    /// Computes what `exchange` pays for `amount_in` of coin `coin_in`, assuming that all of it reaches the pool.
    ///
    /// Rounds as the contract: the solved balance is up to one unit off, one scaled unit is kept back if the pool does
    /// so, fee and payment are rounded down.
    ///
    /// # Errors
    /// [`SwapError`] where the contract reverts, and [`SwapError::ZeroOutput`] if it would pay nothing.
    ///
    /// Source: `exchange` of the StableSwap pools named at [`Rules`](super::Rules).
    pub fn swap(
        &self,
        at: &ExecutionBlock,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<StableSwap, SwapError> {
        let (i, j) = self.check(coin_in, coin_out, amount_in)?;
        let swap = self.rates.at(at).and_then(|rates| self.exchange(at, &rates, i, j, amount_in));
        let swap = swap.map_err(|fault| fault.refusal(amount_in))?;
        if swap.amount_out.is_zero() { Err(SwapError::ZeroOutput) } else { Ok(swap) }
    }

    /// Computes the pool's `get_dy`, which in some pools differs from [`State::swap`].
    ///
    /// # Errors
    /// As [`State::swap`], but a zero amount out is not an error.
    pub fn view(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<U256, SwapError> {
        let (i, j) = self.check(coin_in, coin_out, amount_in)?;
        self.get_dy(at, i, j, amount_in).map_err(|fault| fault.refusal(amount_in))
    }

    /// Returns the positions of two coins.
    pub(crate) fn check(&self, coin_in: u8, coin_out: u8, amount: U256) -> Result<(usize, usize), SwapError> {
        let positions = positions(self.balances.len(), coin_in, coin_out, amount)?;
        if self.is_whole() { Ok(positions) } else { Err(SwapError::Closed) }
    }

    /// Solves the swap up to the fee.
    pub(crate) fn solve(
        &self,
        at: &ExecutionBlock,
        rates: &Balances,
        i: usize,
        j: usize,
        amount_in: U256,
    ) -> Maths<Exchange> {
        let xp = self.scaled(rates)?;
        let x = add(xp[i], mul_div(amount_in, rates[i], WAD)?)?;
        let y = self.invariant(at)?.y(i, j, x, &xp)?;
        Ok(Exchange { i, j, rates: rates.clone(), xp, x, y })
    }

    /// Computes the fee of a solved swap, in units of 10⁻¹⁰.
    pub(crate) fn exchange_fee(&self, exchange: &Exchange) -> Maths<U256> {
        let mean = |a: U256, b: U256| Ok(add(a, b)? >> 1);
        self.fee_between(
            mean(exchange.xp[exchange.i], exchange.x)?,
            mean(exchange.xp[exchange.j], exchange.y)?,
            int(self.fee),
        )
    }

    pub(crate) fn exchange(
        &self,
        at: &ExecutionBlock,
        rates: &Balances,
        i: usize,
        j: usize,
        amount_in: U256,
    ) -> Maths<StableSwap> {
        let exchange = self.solve(at, rates, i, j, amount_in)?;
        let kept = U256::from(u8::from(self.rules.exchange_keeps_one));
        let dy = sub(sub(exchange.xp[j], exchange.y)?, kept)?;
        let fee = mul_div(dy, self.exchange_fee(&exchange)?, FEE_WHOLE)?;
        let admin_fee = mul_div(fee, int(self.admin_fee), FEE_WHOLE)?;
        let amount_out = mul_div(sub(dy, fee)?, WAD, rates[j])?;
        let balances = self.balances_after(&exchange, amount_in, amount_out, fee, admin_fee)?;
        Ok(StableSwap { amount_out, balances })
    }

    fn balances_after(
        &self,
        exchange: &Exchange,
        amount_in: U256,
        amount_out: U256,
        fee: U256,
        admin_fee: U256,
    ) -> Maths<Option<Balances>> {
        let (i, j, rates) = (exchange.i, exchange.j, &exchange.rates);
        let mut balances = self.balances.clone();
        match self.rules.balance_source {
            BalanceSource::Token => return Ok(None),
            BalanceSource::Stored => {
                balances[i] = add(balances[i], amount_in)?;
                let owed = mul_div(admin_fee, WAD, rates[j])?;
                balances[j] = sub(sub(balances[j], amount_out)?, owed)?;
            }
            BalanceSource::Restated => {
                balances[i] = mul_div(exchange.x, WAD, rates[i])?;
                let left = add(exchange.y, sub(fee, admin_fee)?)?;
                balances[j] = mul_div(left, WAD, rates[j])?;
            }
        }
        Ok(Some(balances))
    }

    pub(crate) fn get_dy(&self, at: &ExecutionBlock, i: usize, j: usize, amount_in: U256) -> Maths<U256> {
        let rates = self.rates.at_view(at)?;
        let exchange = self.solve(at, &rates, i, j, amount_in)?;
        let kept = U256::from(u8::from(self.rules.view_keeps_one));
        let dy = sub(sub(exchange.xp[j], exchange.y)?, kept)?;
        let fee = self.exchange_fee(&exchange)?;
        match self.rules.view_fee {
            FeeStep::BeforeScaling => mul_div(sub(dy, mul_div(fee, dy, FEE_WHOLE)?)?, WAD, rates[j]),
            FeeStep::AfterScaling => {
                let dy = mul_div(dy, WAD, rates[j])?;
                sub(dy, mul_div(fee, dy, FEE_WHOLE)?)
            }
        }
    }

    /// Computes the input that StableSwap-NG's `get_dx` returns for `amount_out`.
    ///
    /// It is not the inverse of [`State::view`]: the fee is that of the balances before the swap.
    ///
    /// # Errors
    /// As [`State::view`].
    pub fn view_in(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_out: U256) -> Result<U256, SwapError> {
        let (i, j) = self.check(coin_in, coin_out, amount_out)?;
        self.get_dx(at, i, j, amount_out).map_err(|fault| fault.refusal(amount_out))
    }

    fn get_dx(&self, at: &ExecutionBlock, i: usize, j: usize, amount_out: U256) -> Maths<U256> {
        let rates = self.rates.at_view(at)?;
        let xp = self.scaled(&rates)?;
        let fee = self.fee_between(xp[i], xp[j], int(self.fee))?;
        let scaled_out = add(mul_div(amount_out, rates[j], WAD)?, U256::ONE)?;
        let y = sub(xp[j], mul_div(scaled_out, FEE_WHOLE, sub(FEE_WHOLE, fee)?)?)?;
        let x = self.invariant(at)?.y(j, i, y, &xp)?;
        div(mul(sub(x, xp[i])?, WAD)?, rates[i])
    }
}
