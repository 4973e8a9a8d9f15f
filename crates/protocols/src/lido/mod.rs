//! Lido: staking ether for stETH, wrapping stETH as wstETH, and unwrapping.
//!
//! An stETH account stores shares of the pooled ether. An amount of stETH is nominal, and every conversion between
//! amount and shares rounds down. Sources: `Lido.sol`, `StETH.sol`, `WstETH.sol`, `StakeLimitUtils.sol`
//! (lidofinance/core).

mod cold;
mod continuous;
pub mod gas;
mod reader;
mod step;

use alloy_primitives::{Address, U256, U512, address};
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use crate::{After, Swap, SwapError};

pub use cold::{LIDO_STETH, LIDO_WSTETH, Lido};
pub use step::{STAKE_OPCODE, UNWRAP_OPCODE, WRAP_OPCODE};

/// stETH. Source: Lido's deployed contracts.
pub const STETH: Address = address!("ae7ab96520DE3A18E5e111B5EaAb095312D7fE84");

/// wstETH. Source: Lido's deployed contracts.
pub const WSTETH: Address = address!("7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0");

/// State that staking and wrapping depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Ether behind the internal shares, in wei: `getTotalPooledEther` less `getExternalEther`.
    pub total_pooled_ether_wei: U256,
    /// Internal shares: `getTotalShares` less `getExternalShares`. External shares follow the same rate but do not
    /// determine it.
    pub total_shares: U256,
    /// Limit of staking.
    pub stake_limit: StakeLimit,
    /// Whether transfers of stETH are stopped.
    pub stopped: bool,
}

/// Limit of staking, and its recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StakeLimit {
    /// Staking is paused.
    Paused,
    /// No limit is set.
    Unlimited,
    /// A limit that recovers with each block, up to a maximum.
    Limited {
        /// Limit after the last stake, in wei.
        previous_wei: U256,
        /// Block of the last stake.
        previous_block: u64,
        /// Recovery per block, in wei: the maximum divided by the number of blocks to recover, rounded down.
        growth_per_block_wei: U256,
        /// Maximum limit, in wei.
        max_wei: U256,
    },
}

impl StakeLimit {
    /// Returns the limit at a block, in wei. Source: `StakeLimitUtils.calculateCurrentStakeLimit`.
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
                    // a limit above a lowered maximum falls towards it
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
    /// Computes the stETH minted for ether by `submit`: the worth of the minted shares afterwards, in nominal wei,
    /// rounded down.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] if staking is paused, or nothing was ever staked.
    /// - [`SwapError::LimitExceeded`] above the stake limit of the block.
    /// - [`SwapError::ZeroOutput`] if no share would be minted.
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

    /// Computes the wstETH for stETH by `WstETH.wrap`: the number of shares of the amount, rounded down.
    ///
    /// # Errors
    /// [`SwapError::ZeroOutput`] below one share; [`SwapError::Closed`] if nothing was ever staked.
    pub fn wrap(&self, steth: U256) -> Result<U256, SwapError> {
        self.open()?;
        positive(self.shares_of(steth)?)
    }

    /// Computes the stETH for wstETH by `WstETH.unwrap`: the worth of that many shares, in nominal wei, rounded down.
    ///
    /// # Errors
    /// As [`State::wrap`].
    pub fn unwrap(&self, wsteth: U256) -> Result<U256, SwapError> {
        self.open()?;
        positive(self.pooled_ether_of(wsteth)?)
    }

    /// Computes staking, or wrapping (coin 0 in) and unwrapping, with the amount out that the proxy's step counts.
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
            // stETH is redeemed only through a queue, which takes days
            (true, _) => return Err(SwapError::UnknownCoin { coin_in, coin_out: 0 }),
            (false, 0) => (self.wrap(amount_in)?, gas::WRAP_GAS_UNITS, *self),
            (false, _) => (self.unwrap(amount_in)?, gas::UNWRAP_GAS_UNITS, *self),
        };
        Ok(Swap { amount_out, gas_units, after: After::Lido(after) })
    }

    /// Returns the balance that an account without stETH gains from a transfer of an amount. The transfer moves the
    /// amount's shares, and their worth is up to two wei less. An account with stETH gains the same or one wei more.
    ///
    /// # Errors
    /// [`SwapError::Overflow`] for amounts that the contract refuses.
    pub fn arrives(&self, steth: U256) -> Result<U256, SwapError> {
        self.pooled_ether_of(self.shares_of(steth)?)
    }

    const fn open(&self) -> Result<(), SwapError> {
        if self.stopped { Err(SwapError::Closed) } else { Ok(()) }
    }

    /// Computes `getSharesByPooledEth`, rounded down.
    pub(crate) fn shares_of(&self, ether_wei: U256) -> Result<U256, SwapError> {
        in_range(ether_wei)?;
        scale(ether_wei, self.total_shares, self.total_pooled_ether_wei)
    }

    /// Returns the shares whose worth is exactly an amount; it requires that the amount is the worth of some shares and
    /// a share is worth more than one wei.
    pub(crate) fn shares_behind(&self, steth: U256) -> Result<U256, SwapError> {
        let shares = self.shares_of(steth)?;
        let short = self.pooled_ether_of(shares)? < steth;
        Ok(if short { shares.saturating_add(U256::ONE) } else { shares })
    }

    /// Computes `getPooledEthByShares`, rounded down.
    pub(crate) fn pooled_ether_of(&self, shares: U256) -> Result<U256, SwapError> {
        in_range(shares)?;
        scale(shares, self.total_pooled_ether_wei, self.total_shares)
    }
}

/// Checks that an amount is below 2^128 − 1, which the contract requires.
fn in_range(amount: U256) -> Result<(), SwapError> {
    if amount < U256::from(u128::MAX) { Ok(()) } else { Err(SwapError::Overflow { amount_in: amount }) }
}

fn positive(amount: U256) -> Result<U256, SwapError> {
    if amount.is_zero() { Err(SwapError::ZeroOutput) } else { Ok(amount) }
}

/// Computes `amount · numerator / denominator`, rounded down.
fn scale(amount: U256, numerator: U256, denominator: U256) -> Result<U256, SwapError> {
    let product: U512 = amount.widening_mul(numerator);
    let quotient = product.checked_div(U512::from(denominator)).ok_or(SwapError::Closed)?;
    U256::checked_from_limbs_slice(quotient.as_limbs()).ok_or(SwapError::Overflow { amount_in: amount })
}
