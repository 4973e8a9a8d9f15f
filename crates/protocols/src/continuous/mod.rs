//! The floating-point side of a pool, for the optimiser and the certificate.
//!
//! A pool of several coins becomes many pairs of coins. Each direction of a pair is a chain of *segments*, along which
//! the marginal rate falls like that of a constant-product pool. A V2 pair is one segment, a V3 pool one per stretch
//! between initialised ticks, and a fixed rate one that is almost flat. Any other curve is sampled into a chain that
//! lies above it, for planning and for the bound.
//!
//! Amounts are in atomic units. Prices are values per atomic unit, in any common unit of value. Floating point only
//! steers: no amount shown to a user comes from here.

mod direction;
mod fixed;
mod pair;
mod sampled;

pub(crate) use direction::fall_of_inverse;
pub use direction::{Direction, GasSpread, Stretch, Trade};
pub(crate) use fixed::{Room, fixed_rate, likely_room};
pub use pair::PairCurve;
pub(crate) use sampled::MAX_SAMPLED_ROUNDS;
pub use sampled::{sampled, sampled_at};
