//! Pool states in JSON, in the form of files of vectors and of recorded markets. Large integers are decimal strings.

pub(crate) mod curve;
mod fields;
pub(crate) mod fluid;
pub(crate) mod uniswap;

pub(crate) use fields::number;
pub use fields::{Fields, StateError};
