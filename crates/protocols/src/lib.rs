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
mod answers;
pub mod balancer;
pub mod continuous;
pub mod curve;
pub mod erc4626;
pub mod error;
pub mod fluid;
pub mod lens;
pub mod lido;
pub mod morpho;
pub mod pancakeswap;
pub mod pool;
mod product;
pub mod protocol;
mod reading;
pub mod registry;
mod route_state;
pub mod step;
pub mod storage;
pub mod sushiswap;
pub mod uniswap_v2;
pub mod uniswap_v3;
pub mod vault;
mod warm;
pub mod wrapped_ether;

pub use error::{DecodeError, SwapError};
pub use pool::{After, Pool, PoolState, Swap};
pub use protocol::{
    Call, Discovered, Freshness, PoolList, Prediction, Protocol, ReadProgress, Sale, SharesPaid, Source, StateReader,
    Touched,
};
pub use registry::Product;
pub use route_state::RouteState;
pub use step::StepCode;
pub use warm::Warm;
