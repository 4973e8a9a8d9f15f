//! All protocol knowledge, one folder per protocol.
//!
//! A product implements one trait, [`Protocol`], in its folder. The list in [`registry`] generates [`Product`],
//! [`PoolState`] and every dispatch to a product's code. Shared code calls [`Product`] and [`Pool`] and matches on no
//! product.
//!
//! This crate does no I/O and reads no clock. Amounts are integers with the contract's own rounding. Floating point
//! appears only in [`continuous`], which steers the optimiser and never reaches an amount that a user sees.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod aave;
pub mod balancer;
pub mod continuous;
pub mod curve;
mod dispatch;
pub mod erc4626;
mod error;
pub mod fluid;
pub mod lens;
pub mod lido;
mod logs;
mod maths;
pub mod morpho;
pub mod pancakeswap;
pub mod pool;
mod protocol;
mod reading;
pub mod registry;
mod route_state;
pub mod step;
pub mod storage;
pub mod sushiswap;
mod swap;
pub mod uniswap_v2;
pub mod uniswap_v3;
pub mod vault;
mod warm;
pub mod wrapped_ether;

pub use error::{DecodeError, SwapError};
pub use pool::Pool;
pub use protocol::{
    Call, Discovered, Freshness, PoolList, Prediction, Protocol, ReadProgress, Source, StateReader, Step, Touched,
};
pub use registry::{After, PoolState, Product};
pub use route_state::RouteState;
pub use step::StepCode;
pub(crate) use swap::SharedChange;
pub use swap::{Sale, SharedWords, SharesPaid, Swap};
pub use warm::Warm;
