//! From a market and a request to a route and a certificate.
//!
//! Pure: no I/O, no clock, no randomness, no thread order, no hash order. The same market, request and version give the
//! same bytes. Floating point steers; every amount in an answer is computed in integers, in the proxy's own order and
//! arithmetic (`docs/program.md`).
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod active;
mod arrival;
pub mod baseline;
mod basket;
mod board;
mod branch;
mod certify;
mod dual;
pub mod error;
mod few;
mod fixed;
mod flow;
mod greedy;
pub mod machine;
mod path;
mod plan;
mod potentials;
pub mod prepare;
mod problem;
mod reach;
pub mod request;
mod rounding;
pub mod route;
mod solve;
mod support;
#[cfg(test)]
mod testing;
mod valuation;
mod walk;
mod witness;

pub use arrival::arrives;
pub use error::SolveError;
pub use machine::{Instruction, Ledger, Machine, StepError};
pub use prepare::Prepared;
pub use request::{MAX_ROUTE_GAS_UNITS, PoolFilter, Request};
pub use route::{Certificate, Excluded, Route, Solution, Step, Uncertified};
pub use solve::{explain, solve};
pub use witness::{TokenPrice, Witness};
