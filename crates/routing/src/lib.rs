//! From a market and a request to a route and a certificate.
//!
//! Pure: no I/O, no clock, no randomness, no thread order, no hash order. The same market, request and version give the
//! same bytes. Floating point steers; every amount in an answer is computed in integers, in the proxy's own order and
//! arithmetic (`docs/program.md`).
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod arrival;
mod basket;
mod bound;
mod candidates;
pub mod error;
mod exact;
pub mod machine;
mod path;
mod plan;
pub mod prepare;
mod problem;
mod relax;
pub mod request;
mod round;
pub mod route;
mod simple_route;
mod solve;
#[cfg(test)]
mod testing;
mod tuning;
mod witness;

pub use arrival::arrives;
pub use error::SolveError;
pub use machine::{Instruction, Ledger, Machine, StepError};
pub use prepare::Prepared;
pub use request::{MAX_ROUTE_GAS_UNITS, PoolFilter, Request};
pub use route::{Certificate, Excluded, Route, Solution, Step, Uncertified};
pub use simple_route::SimplePlan;
pub use solve::{explain, solve};
pub use witness::{TokenPrice, Witness};
