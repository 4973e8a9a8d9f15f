//! Balancer V2: pools whose coins are in one vault and whose prices come from one contract each.

mod cold;
mod continuous;
mod factories;
pub mod gas;
mod own_token;
mod reader;
mod step;
mod swap;

use alloy_primitives::{Address, B256, U256, address};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::{StablePool, WeightedPool};
use crate::{maths::WAD, pool::MAX_COINS};

pub use cold::{BALANCER_V2_COMPOSABLE_STABLE, BALANCER_V2_STABLE, BALANCER_V2_WEIGHTED, BalancerV2};
pub use step::OPCODE;

/// The V2 vault. Source: Balancer's deployment list, `20210418-vault`.
pub const VAULT: Address = address!("BA12222222228d8Ba445958a75a0704d566BF2C8");

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

/// State that trades in a pool's own token depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnToken {
    /// Supply and last invariant.
    pub shares: Shares,
    /// Protocol's share of swap fees, 18 decimals.
    pub fee_share_wad: U256,
    /// Protocol's share of yield, 18 decimals.
    pub yield_share_wad: U256,
    /// Yield of each coin; empty if no coin has a rate.
    pub earnings: ArrayVec<Earning, MAX_COINS>,
    /// Rounding of BPT minted to the protocol.
    pub minting: Minting,
}

/// Rounding of a share of the supply, always down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Minting {
    /// After the multiplication and after the division: the first generation.
    Twice,
    /// Once: later generations.
    Once,
}

/// Values that joins and exits change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shares {
    /// BPT held by the vault, which do not circulate.
    pub held: U256,
    /// BPT of all other holders.
    pub circulating: U256,
    /// Invariant after the last join or exit.
    pub last_invariant: U256,
    /// Amplification at that time, times 1,000.
    pub last_amp_times_1000: U256,
}

/// Rates from which a coin's yield since the last join or exit follows, 18 decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earning {
    /// Cached rate; one for a coin without a provider.
    pub rate: U256,
    /// Rate after the cached one expires.
    pub next_rate: U256,
    /// Rate at the last join or exit.
    pub last_rate: U256,
    /// Whether the protocol takes no share of the yield.
    pub exempt: bool,
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
            () if self.fee_wad() >= WAD => Err("a fee of 100% or more"),
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
