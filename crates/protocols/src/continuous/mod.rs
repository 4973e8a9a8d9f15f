//! The floating-point side of a pool: what the optimiser and the certificate ask of it.
//!
//! A pool of several coins is here as many pairs of coins. Every pair is, in each direction, a chain of *segments* along
//! which the marginal rate falls like that of a constant-product pool: a V2 pair is one segment, a V3 pool one per stretch
//! between initialised ticks, a fixed rate one that is almost flat. A curve of another shape joins by its own chain: sampled
//! from below to plan, from above to bound.
//!
//! Amounts are atomic units, prices are values per atomic unit in one common unit of value; nothing here depends on what
//! that unit is. Floating point steers; an amount shown to a user never comes from here.

mod direction;
mod fixed;
mod pair;
mod sampled;

pub use direction::{Direction, Stretch, Trade};
pub(crate) use fixed::{MOST, fixed_rate, likely_room};
pub use pair::PairCurve;
pub use sampled::{sampled, sampled_at};
