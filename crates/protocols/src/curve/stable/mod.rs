//! StableSwap: classic pools, the next generation, and metapools on top of either.

mod liquidity;
mod maths;
mod meta;
mod rates;
mod state;
mod swap;

pub use liquidity::{BaseAfter, BasePool};
pub(crate) use maths::Invariant;
pub use maths::{Balances, ProductRule};
pub use meta::{CACHE_SECONDS, CachedPrice, MetaAfter, MetaGeneration, MetaState, MetaSwap};
pub use rates::{CompoundAccrual, CompoundRate, Rate, Rates, VaultRate};
pub use state::{Amplification, BalanceSource, FeeStep, Rules, State};
pub use swap::StableSwap;
