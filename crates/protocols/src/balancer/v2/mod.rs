//! Balancer V2: pools whose coins are in one vault and whose prices come from one contract each.

mod cold;
mod continuous;
mod factories;
pub mod gas;
mod own_token;
mod reader;
mod step;
mod swap;

use alloy_primitives::{Address, B256, U256};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::{StablePool, WeightedPool};
use crate::pool::MAX_COINS;

pub use cold::{BALANCER_V2_COMPOSABLE_STABLE, BALANCER_V2_STABLE, BALANCER_V2_WEIGHTED, BalancerV2, VAULT};
pub use own_token::{Earning, Minting, OwnToken, Shares};
pub use step::OPCODE;

/// State that a swap depends on. A composable pool's own token is the last coin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Id of the pool in the vault; its first 20 bytes are the pool's address.
    pub pool_id: B256,
    /// Arithmetic and balances.
    pub model: Model,
}

/// Kinds of pools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a state lives behind an `Arc`")]
pub enum Model {
    /// Fixed shares of value.
    Weighted(WeightedPool),
    /// Around one price, or around rates.
    Stable(Box<StableModel>),
}

/// A stable pool, with values that change with time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StableModel {
    /// The pool with its cached rates. Pools with a ramping amplification are excluded.
    pub pool: StablePool,
    /// The pool's own token, if it is a coin.
    pub own: Option<OwnToken>,
    /// Expiry of each coin's cached rate; empty if no coin has a rate.
    pub rates: ArrayVec<Rate, MAX_COINS>,
}

/// Next rate of a coin. A pool asks the provider in the first swap after the cached rate expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Last second at which the cached rate is used; `u64::MAX` for a coin without a provider.
    pub expires: u64,
    /// Scaling factor after the expiry, from the provider's answer at the block of the reading.
    pub next_factor: U256,
    /// Scaling factor without a rate.
    pub plain_factor: U256,
    /// Rate provider; zero if there is none.
    pub provider: Address,
}

/// Balances of the pool in the vault after a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// Balances in the order of the coins, without the pool's own token.
    pub balances: ArrayVec<U256, MAX_COINS>,
    /// State of the pool's own token, if it was traded.
    pub joined: Option<Shares>,
}

impl State {
    /// Returns the number of coins, including the pool's own token.
    pub fn coins(&self) -> usize {
        let own = matches!(&self.model, Model::Stable(stable) if stable.own.is_some());
        self.balances().len() + usize::from(own)
    }

    /// Returns the vault's balance of each coin except the pool's own token.
    pub fn balances(&self) -> &ArrayVec<U256, MAX_COINS> {
        match &self.model {
            Model::Weighted(pool) => &pool.balances,
            Model::Stable(stable) => &stable.pool.balances,
        }
    }

    /// Tells whether the output can change with time alone.
    pub fn depends_on_time(&self) -> bool {
        match &self.model {
            Model::Weighted(_) => false,
            Model::Stable(stable) => stable.has_rates(),
        }
    }

    /// Returns the fee on the amount in, 18 decimals.
    pub fn fee_wad(&self) -> U256 {
        match &self.model {
            Model::Weighted(pool) => pool.fee_wad,
            Model::Stable(stable) => stable.pool.fee_wad,
        }
    }

    /// Checks that the state is possible.
    ///
    /// # Errors
    /// Describes the first violation.
    pub fn validate(&self) -> Result<(), &'static str> {
        let coins = self.balances().len();
        let (factors, others) = match &self.model {
            Model::Weighted(pool) => (&pool.scaling_factors, pool.weights.len() == coins),
            Model::Stable(stable) => {
                let rates = stable.rates.len();
                let earnings = stable.own.as_ref().is_none_or(|own| own.earnings.len() == rates);
                (&stable.pool.scaling_factors, (rates == 0 || rates == coins) && earnings)
            }
        };
        match () {
            () if coins < 2 => Err("fewer than two coins"),
            () if self.coins() > MAX_COINS => Err("more coins than are supported"),
            () if factors.len() != coins || !others => Err("lists of different lengths"),
            () if self.fee_wad() >= U256::from(10).pow(U256::from(18)) => Err("a fee of 100% or more"),
            () => Ok(()),
        }
    }
}

impl StableModel {
    /// Tells whether any coin has a rate that can change.
    pub fn has_rates(&self) -> bool {
        self.rates.iter().any(|rate| rate.expires != u64::MAX)
    }
}
