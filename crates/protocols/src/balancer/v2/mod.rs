//! Balancer V2: pools that are held in one vault and priced by a contract each.

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

/// What a swap through a pool depends on. A composable pool's own token is the last of its coins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The vault's name for the pool; the first 20 bytes are the pool's address.
    pub pool_id: B256,
    /// What the pool computes.
    pub model: Model,
}

/// The two kinds of pools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a state lives behind an `Arc`")]
pub enum Model {
    /// Fixed shares of value.
    Weighted(WeightedPool),
    /// Around one price, or around rates.
    Stable(Box<StableModel>),
}

/// A stable pool, and what changes by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StableModel {
    /// The pool with the rates that it remembers. One whose amplification is on its way is left out.
    pub pool: StablePool,
    /// Its own token, where it is a coin.
    pub own: Option<OwnToken>,
    /// For each coin, when its remembered rate is replaced; empty where no coin has a rate.
    pub rates: ArrayVec<Rate, MAX_COINS>,
}

/// A coin's next rate. A pool asks its provider in the first swap after the remembered rate expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// The last second at which the remembered rate is used; `u64::MAX` for a coin without a provider.
    pub expires: u64,
    /// The scaling factor afterwards, by what the provider said in the block that was read.
    pub next_factor: U256,
    /// The scaling factor without a rate.
    pub plain_factor: U256,
    /// Who says the rate; zero for nobody.
    pub provider: Address,
}

/// What the vault holds for the pool after a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// Balances in the order of the coins, its own token left out.
    pub balances: ArrayVec<U256, MAX_COINS>,
    /// Where its own token stands, if it was bought or sold.
    pub joined: Option<Shares>,
}

impl State {
    /// How many coins there are, its own token among them.
    pub fn coins(&self) -> usize {
        let own = matches!(&self.model, Model::Stable(stable) if stable.own.is_some());
        self.balances().len() + usize::from(own)
    }

    /// What the vault holds of each coin but its own token.
    pub fn balances(&self) -> &ArrayVec<U256, MAX_COINS> {
        match &self.model {
            Model::Weighted(pool) => &pool.balances,
            Model::Stable(stable) => &stable.pool.balances,
        }
    }

    /// Whether a swap may pay something else only because time has passed.
    pub fn depends_on_time(&self) -> bool {
        match &self.model {
            Model::Weighted(_) => false,
            Model::Stable(stable) => stable.has_rates(),
        }
    }

    /// The fee on the amount in, 18 decimals.
    pub fn fee_wad(&self) -> U256 {
        match &self.model {
            Model::Weighted(pool) => pool.fee_wad,
            Model::Stable(stable) => stable.pool.fee_wad,
        }
    }

    /// What no pool can be in, in words.
    ///
    /// # Errors
    /// The first thing found.
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
            () if self.coins() > MAX_COINS => Err("more coins than a pool can have here"),
            () if factors.len() != coins || !others => Err("lists of different lengths"),
            () if self.fee_wad() >= U256::from(10).pow(U256::from(18)) => Err("a fee of everything"),
            () => Ok(()),
        }
    }
}

impl StableModel {
    /// Whether any coin has a rate that can change.
    pub fn has_rates(&self) -> bool {
        self.rates.iter().any(|rate| rate.expires != u64::MAX)
    }
}
