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

use alloy_primitives::{Address, address};

pub use cold::{BALANCER_V3_STABLE, BALANCER_V3_WEIGHTED, BalancerV3};
pub use followed::Followed;
pub use live::{Fee, Live};
pub use maths::{Curve, Generation};
pub use state::{After, Amplification, Coin, PoolKind, State};
pub use step::OPCODE;

/// The V3 vault. Source: Balancer's deployment list, `20241204-v3-vault`.
pub const VAULT: Address = address!("bA1333333333a1BA1108E8412f11850A5C319bA9");

/// Minimum trade of the mainnet vault, in 18 decimals: `_MINIMUM_TRADE_AMOUNT`.
pub const MINIMUM_TRADE_SCALED18: u64 = 1_000_000;
