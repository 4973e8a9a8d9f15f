//! Balancer V3: pools of the third vault, which scales, charges fees and rounds, and asks the pool only for its curve.
//!
//! Amounts enter the pool's curve in 18 decimals of the coin's own unit of account: `amount × 10^(18 − decimals) × rate`. The fee is
//! taken from the scaled amount in. Everything that leaves the vault is rounded down, once more where a rate is not a whole number.

pub mod buffer;
mod cold;
mod continuous;
mod factories;
mod followed;
pub mod gas;
mod live;
mod maths;
mod reader;
mod state;
mod step;

pub use cold::{BALANCER_V3_STABLE, BALANCER_V3_WEIGHTED, BalancerV3, VAULT};
pub use followed::Followed;
pub use live::{Fee, Live};
pub use maths::{Curve, Generation};
pub use state::{After, Amplification, Coin, PoolKind, State};
pub use step::OPCODE;

/// Amounts, in 18 decimals, below which the vault refuses to trade: `_MINIMUM_TRADE_AMOUNT` of the mainnet vault.
pub const MINIMUM_TRADE_SCALED18: u64 = 1_000_000;
