//! Curve: the exact arithmetic of every kind of pool.
//!
//! Amounts mirror the deployed contracts' integers, rounding and reverts. What a pool pays is what its `exchange` pays; where
//! its view says otherwise, the view is a function of its own. Whatever depends on time takes the block as an argument.

mod arith;
pub mod crypto;
pub mod presets;
pub mod read;
pub mod stable;
