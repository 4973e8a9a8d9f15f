//! A pool at the moment of a swap: live balances, rates, fee, curve.

use alloy_primitives::U256;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        fixed_point::{ONE, add, complement, div_down, div_up, mul_down, mul_up, round_up, sub, total},
        revert::Revert,
        stable::listed,
    },
    Curve, MINIMUM_TRADE_SCALED18,
};
use crate::{SwapError, error::positions, pool::MAX_COINS};

/// Fee of a swap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fee {
    /// A constant share of the amount in, 18 decimals.
    Static(U256),
    /// Balancer's StableSurge hook: a higher fee if the trade unbalances the pool beyond the threshold.
    StableSurge {
        /// Fee without a surge, 18 decimals.
        static_wad: U256,
        /// Fee at full imbalance, 18 decimals.
        most_wad: U256,
        /// Imbalance above which the fee surges, 18 decimals.
        threshold_wad: U256,
    },
}

/// A pool at one moment, with current rates, yield fees deducted and the amplification evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Live balances: 18 decimals, including rates.
    pub balances: ArrayVec<U256, MAX_COINS>,
    /// `10^(18 − decimals)` for each coin.
    pub factors: ArrayVec<U256, MAX_COINS>,
    /// Each coin's rate, 18 decimals.
    pub rates: ArrayVec<U256, MAX_COINS>,
    /// Fee on the amount in.
    pub fee: Fee,
    /// The pool's curve.
    pub curve: Curve,
}

/// Output of a swap, and its fee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Paid {
    /// Amount out in atomic units.
    pub amount_out: U256,
    /// Fee in the coin in, in atomic units, rounded down.
    pub fee: U256,
}

/// Adds one to a rate that is not a whole number. Source: `ScalingHelpers.computeRateRoundUp`.
fn rate_up(rate: U256) -> U256 {
    if (rate % ONE).is_zero() { rate } else { rate.saturating_add(U256::ONE) }
}

fn least(amount: U256) -> Result<U256, Revert> {
    let minimum = U256::from(MINIMUM_TRADE_SCALED18);
    if amount < minimum { Err(Revert::TooSmall) } else { Ok(amount) }
}

impl Live {
    /// Computes a swap of `amount_in`, in atomic units, with the vault's rounding. Source: `Vault.swap`.
    ///
    /// # Errors
    /// - [`SwapError::ZeroOutput`] if the amount is below the vault's minimum, or the output rounds to zero.
    /// - [`SwapError::LimitExceeded`] beyond the pool's limit for one trade.
    /// - [`SwapError::UnknownCoin`] for a coin that the pool does not have.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts, [`SwapError::Closed`] where it does not
    ///   converge.
    pub fn swap(&self, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<U256, SwapError> {
        self.pay(coin_in, coin_out, amount_in).map(|paid| paid.amount_out)
    }

    pub(super) fn pay(&self, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<Paid, SwapError> {
        let (i, j) = positions(self.coins(), coin_in, coin_out, amount_in)?;
        let unscaled = |limit| div_down(limit, self.unit(i).unwrap_or(ONE)).unwrap_or(limit);
        let paid = self.out_given_in(i, j, amount_in).map_err(|revert| revert.into_error(amount_in, unscaled))?;
        if paid.amount_out.is_zero() { Err(SwapError::ZeroOutput) } else { Ok(paid) }
    }

    /// Computes the input for exactly `amount_out`, in atomic units.
    ///
    /// # Errors
    /// As [`Live::swap`].
    pub fn swap_exact_out(&self, coin_in: u8, coin_out: u8, amount_out: U256) -> Result<U256, SwapError> {
        let (i, j) = positions(self.coins(), coin_in, coin_out, amount_out)?;
        let unscaled = |limit| div_down(limit, self.unit(j).unwrap_or(ONE)).unwrap_or(limit);
        self.in_given_out(i, j, amount_out).map_err(|revert| revert.into_error(amount_out, unscaled))
    }

    fn coins(&self) -> usize {
        self.balances.len().min(self.factors.len()).min(self.rates.len())
    }

    /// Returns one atomic unit in 18 decimals of the pool's own scale: factor times rate.
    fn unit(&self, coin: usize) -> Result<U256, Revert> {
        self.factor(coin)?.checked_mul(self.rate(coin)?).ok_or(Revert::Arithmetic)
    }

    fn factor(&self, coin: usize) -> Result<U256, Revert> {
        self.factors.get(coin).copied().ok_or(Revert::Arithmetic)
    }

    fn rate(&self, coin: usize) -> Result<U256, Revert> {
        self.rates.get(coin).copied().ok_or(Revert::Arithmetic)
    }

    fn scaled(&self, amount: U256, coin: usize) -> Result<U256, Revert> {
        mul_down(amount.checked_mul(self.factor(coin)?).ok_or(Revert::Arithmetic)?, self.rate(coin)?)
    }

    fn out_given_in(&self, i: usize, j: usize, amount_in: U256) -> Result<Paid, Revert> {
        let given = self.scaled(amount_in, i)?;
        let fee_wad = self.fee_wad(i, j, given)?;
        let fee = mul_up(given, fee_wad)?;
        let net = least(sub(given, fee)?)?;
        let out = least(self.curve.out_given_in(&self.balances, i, j, net)?)?;
        let unit_out = self.factor(j)?.checked_mul(rate_up(self.rate(j)?)).ok_or(Revert::Arithmetic)?;
        Ok(Paid { amount_out: div_down(out, unit_out)?, fee: div_down(fee, self.unit(i)?)? })
    }

    fn in_given_out(&self, i: usize, j: usize, amount_out: U256) -> Result<U256, Revert> {
        let raised = amount_out.checked_mul(self.factor(j)?).ok_or(Revert::Arithmetic)?;
        let given = least(mul_up(raised, rate_up(self.rate(j)?))?)?;
        let fee_wad = match &self.fee {
            Fee::Static(fee_wad) => *fee_wad,
            Fee::StableSurge { static_wad, .. } => match self.curve.in_given_out(&self.balances, i, j, given) {
                Ok(amount_in) => self.surge(i, j, amount_in, given)?,
                Err(_) => *static_wad,
            },
        };
        let net = least(self.curve.in_given_out(&self.balances, i, j, given)?)?;
        let fee = round_up(net.checked_mul(fee_wad), complement(fee_wad))?;
        div_up(add(net, fee)?, self.unit(i)?)
    }

    /// Computes the fee of a trade with a given amount in. The hook uses the whole amount, before the fee.
    fn fee_wad(&self, i: usize, j: usize, given: U256) -> Result<U256, Revert> {
        match &self.fee {
            Fee::Static(fee_wad) => Ok(*fee_wad),
            Fee::StableSurge { .. } => {
                let out = self.curve.out_given_in(&self.balances, i, j, given)?;
                self.surge(i, j, given, out)
            }
        }
    }

    /// Computes the surge fee. Source: `StableSurgeHook.getSurgeFeePercentage`, `StableSurgeMedianMath`.
    fn surge(&self, i: usize, j: usize, amount_in: U256, amount_out: U256) -> Result<U256, Revert> {
        let Fee::StableSurge { static_wad, most_wad, threshold_wad } = &self.fee else { return Ok(U256::ZERO) };
        let mut after = self.balances.clone();
        if let Some(balance) = after.get_mut(i) {
            *balance = add(*balance, amount_in)?;
        }
        if let Some(balance) = after.get_mut(j) {
            *balance = sub(*balance, amount_out)?;
        }
        let imbalance = imbalance(&after)?;
        let surges = !imbalance.is_zero() && imbalance > *threshold_wad && imbalance > self::imbalance(&self.balances)?;
        let Some(extra) = most_wad.checked_sub(*static_wad).filter(|_| surges) else { return Ok(*static_wad) };
        let over = div_down(imbalance - *threshold_wad, complement(*threshold_wad))?;
        add(*static_wad, mul_down(extra, over)?)
    }
}

/// Computes the distance of balances from their median, as a share of their sum, 18 decimals.
fn imbalance(balances: &[U256]) -> Result<U256, Revert> {
    let mut sorted = listed(balances);
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle).ok_or(Revert::Arithmetic)?;
    let median = match middle.checked_sub(1).and_then(|below| sorted.get(below)) {
        Some(lower) if sorted.len() % 2 == 0 => add(*lower, upper)? / U256::from(2),
        _ => upper,
    };
    let apart = sorted.iter().try_fold(U256::ZERO, |sum, balance| add(sum, balance.abs_diff(median)))?;
    div_down(apart, total(balances)?)
}
