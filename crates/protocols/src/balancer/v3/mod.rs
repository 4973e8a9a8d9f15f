//! Balancer V3: pools of the V3 vault. The vault scales, charges fees and rounds, and asks the pool only for its curve.
//!
//! Amounts enter the curve in 18 decimals, with the rate applied: `amount × 10^(18 − decimals) × rate`. The fee is
//! deducted from the scaled amount in. Every amount that leaves the vault is rounded down, and once more if a rate is
//! not a whole number.

pub mod buffer;
mod cold;
mod continuous;
mod factories;
mod followed;
pub mod gas;
mod hooks;
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

/// Minimum trade of the mainnet vault, in 18 decimals: `_MINIMUM_TRADE_AMOUNT`.
pub const MINIMUM_TRADE_SCALED18: u64 = 1_000_000;
