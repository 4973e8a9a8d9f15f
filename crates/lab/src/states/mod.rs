//! Pool states in JSON, as files of vectors and recorded markets write them: large integers are decimal strings.

pub(crate) mod curve;
mod fields;
pub(crate) mod fluid;
pub(crate) mod uniswap;

pub(crate) use fields::number;
pub use fields::{Fields, StateError};
