//! Lido: ether staked for stETH, stETH wrapped into wstETH and back.
//!
//! An account of stETH counts shares of the pooled ether; an amount of stETH is nominal and every step between the two
//! rounds down. Sources: `Lido.sol`, `StETH.sol`, `WstETH.sol`, `StakeLimitUtils.sol` (lidofinance/core).

mod cold;
mod continuous;
pub mod gas;
mod reader;
mod step;

use alloy_primitives::{U256, U512};
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use crate::{After, Swap, SwapError};

pub use cold::{LIDO_STETH, LIDO_WSTETH, Lido, STETH, WSTETH};
pub use step::{STAKE_OPCODE, UNWRAP_OPCODE, WRAP_OPCODE};

/// What staking and wrapping depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Ether that the shares stand for, in wei: `getTotalPooledEther` without `getExternalEther`.
    pub total_pooled_ether_wei: U256,
    /// The shares: `getTotalShares` without `getExternalShares`, which follow the same rate and do not make it.
    pub total_shares: U256,
    /// What may be staked.
    pub stake_limit: StakeLimit,
    /// Whether stETH does not move at all.
    pub stopped: bool,
}

/// What may be staked, and how it grows back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StakeLimit {
    /// Nothing: staking is paused.
    Paused,
    /// Everything: no limit is set.
    Unlimited,
    /// So much at a block, more with each block since, up to a maximum.
    Limited {
        /// The limit after the last stake, in wei.
        previous_wei: U256,
        /// The block of that.
        previous_block: u64,
        /// What each block adds, in wei: the maximum divided by the blocks that it takes to grow back, rounded down.
        growth_per_block_wei: U256,
        /// The most that it grows to, in wei.
        max_wei: U256,
    },
}

impl StakeLimit {
    /// What may be staked in a block. Source: `StakeLimitUtils.calculateCurrentStakeLimit`.
    pub fn current_wei(&self, at: &ExecutionBlock) -> U256 {
        match *self {
            Self::Paused => U256::ZERO,
            Self::Unlimited => U256::MAX,
            Self::Limited { previous_wei, previous_block, growth_per_block_wei, max_wei } => {
                let blocks = U256::from(at.number.saturating_sub(previous_block));
                let change = growth_per_block_wei.saturating_mul(blocks);
                if previous_wei < max_wei {
                    previous_wei.saturating_add(change).min(max_wei)
                } else {
                    // a maximum that was lowered is approached from above
                    previous_wei.saturating_sub(change).max(max_wei)
                }
            }
        }
    }

    fn after(self, at: &ExecutionBlock, staked: U256) -> Self {
        match self {
            Self::Limited { growth_per_block_wei, max_wei, .. } => Self::Limited {
                previous_wei: self.current_wei(at).saturating_sub(staked),
                previous_block: at.number,
                growth_per_block_wei,
                max_wei,
            },
            other => other,
        }
    }
}

impl State {
    /// The stETH that staking ether gives, `submit`: what the shares minted are worth afterwards, in nominal wei.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] while staking is paused or nothing was ever staked.
    /// - [`SwapError::LimitExceeded`] above the stake limit of the block.
    /// - [`SwapError::ZeroOutput`] when no share would be minted.
    pub fn stake(&self, at: &ExecutionBlock, ether_wei: U256) -> Result<(U256, Self), SwapError> {
        if ether_wei.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        if self.stopped || self.stake_limit == StakeLimit::Paused {
            return Err(SwapError::Closed);
        }
        let limit = self.stake_limit.current_wei(at);
        if ether_wei > limit {
            return Err(SwapError::LimitExceeded { limit, amount: ether_wei });
        }
        let shares = self.shares_of(ether_wei)?;
        let overflow = SwapError::Overflow { amount_in: ether_wei };
        let after = Self {
            total_pooled_ether_wei: self
                .total_pooled_ether_wei
                .checked_add(ether_wei)
                .ok_or_else(|| overflow.clone())?,
            total_shares: self.total_shares.checked_add(shares).ok_or(overflow)?,
            stake_limit: self.stake_limit.after(at, ether_wei),
            stopped: self.stopped,
        };
        let steth = after.pooled_ether_of(shares)?;
        if steth.is_zero() { Err(SwapError::ZeroOutput) } else { Ok((steth, after)) }
    }

    /// The wstETH for stETH, `WstETH.wrap`: one for each share that the amount stands for.
    ///
    /// # Errors
    /// [`SwapError::ZeroOutput`] below one share; [`SwapError::Closed`] when nothing was ever staked.
    pub fn wrap(&self, steth: U256) -> Result<U256, SwapError> {
        self.open()?;
        positive(self.shares_of(steth)?)
    }

    /// The stETH for wstETH, `WstETH.unwrap`: what so many shares stand for, in nominal wei.
    ///
    /// # Errors
    /// As [`State::wrap`].
    pub fn unwrap(&self, wsteth: U256) -> Result<U256, SwapError> {
        self.open()?;
        positive(self.pooled_ether_of(wsteth)?)
    }

    /// Staking, or wrapping (coin 0 in) and unwrapping; each as the step of the proxy accounts for it.
    pub(crate) fn swap(
        &self,
        stakes: bool,
        at: &ExecutionBlock,
        coin_in: u8,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        let (amount_out, gas_units, after) = match (stakes, coin_in) {
            (true, 0) => {
                let (steth, after) = self.stake(at, amount_in)?;
                (steth, gas::STAKE_GAS_UNITS, after)
            }
            // leaving takes days, in a queue
            (true, _) => return Err(SwapError::UnknownCoin { coin_in, coin_out: 0 }),
            (false, 0) => (self.wrap(amount_in)?, gas::WRAP_GAS_UNITS, *self),
            (false, _) => (self.unwrap(amount_in)?, gas::UNWRAP_GAS_UNITS, *self),
        };
        Ok(Swap { amount_out, gas_units, after: After::Lido(after) })
    }

    /// What a holder of none gains by a transfer of an amount: it moves the shares that the amount stands for, and they are worth
    /// up to two wei less. One who holds some gains that, or one wei more.
    ///
    /// # Errors
    /// [`SwapError::Overflow`] for amounts that the contract does not take.
    pub fn arrives(&self, steth: U256) -> Result<U256, SwapError> {
        self.pooled_ether_of(self.shares_of(steth)?)
    }

    const fn open(&self) -> Result<(), SwapError> {
        if self.stopped { Err(SwapError::Closed) } else { Ok(()) }
    }

    /// `getSharesByPooledEth`.
    pub(crate) fn shares_of(&self, ether_wei: U256) -> Result<U256, SwapError> {
        in_range(ether_wei)?;
        scale(ether_wei, self.total_shares, self.total_pooled_ether_wei)
    }

    /// The shares that are worth an amount, where it is what shares are worth and a share is worth more than a wei.
    pub(crate) fn shares_behind(&self, steth: U256) -> Result<U256, SwapError> {
        let shares = self.shares_of(steth)?;
        let short = self.pooled_ether_of(shares)? < steth;
        Ok(if short { shares.saturating_add(U256::ONE) } else { shares })
    }

    /// `getPooledEthByShares`.
    pub(crate) fn pooled_ether_of(&self, shares: U256) -> Result<U256, SwapError> {
        in_range(shares)?;
        scale(shares, self.total_pooled_ether_wei, self.total_shares)
    }
}

/// The contract takes amounts below 2^128 − 1.
fn in_range(amount: U256) -> Result<(), SwapError> {
    if amount < U256::from(u128::MAX) { Ok(()) } else { Err(SwapError::Overflow { amount_in: amount }) }
}

fn positive(amount: U256) -> Result<U256, SwapError> {
    if amount.is_zero() { Err(SwapError::ZeroOutput) } else { Ok(amount) }
}

/// `amount · numerator / denominator`, rounded down.
fn scale(amount: U256, numerator: U256, denominator: U256) -> Result<U256, SwapError> {
    let product: U512 = amount.widening_mul(numerator);
    let quotient = product.checked_div(U512::from(denominator)).ok_or(SwapError::Closed)?;
    U256::checked_from_limbs_slice(quotient.as_limbs()).ok_or(SwapError::Overflow { amount_in: amount })
}
