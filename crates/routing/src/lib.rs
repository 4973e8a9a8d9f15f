//! From a market and a request to a route and a certificate.
//!
//! Pure: no I/O, no clock, no randomness, no thread order, no hash order. The same market, request and version give the
//! same bytes. Floating point steers; every amount in an answer is computed in integers, in the proxy's own order and
//! arithmetic (`docs/internals/program.md`).
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

// What is asked and answered, and the constants between.
mod arrival;
pub mod error;
pub mod machine;
pub mod request;
pub mod route;
mod tuning;
mod witness;

// The stages, each of which imports only from those above it. Once per block: reference prices, the graph, standing arbitrage.
pub mod prepare;

// One request in floating point: what tokens can hold and be worth.
mod problem;

// Candidates: single chains, and simple splits of them.
mod path;

mod candidates;

// Upper bounds at given prices.
mod bound;

// The prices at which the bound is least.
mod relax;

// From prices to pools that are used or not.
mod round;

// In integers.
mod plan;

mod exact;

// All of it.
mod solve;

mod simple_route;

// Exact output, from sales.
pub mod purchase;

#[cfg(test)]
mod testing;

pub use arrival::arrives;
pub use error::SolveError;
pub use machine::{Instruction, Ledger, Machine, StepError};
pub use prepare::{Outlier, Prepared};
pub use request::{MAX_ROUTE_GAS_UNITS, PoolFilter, Request};
pub use route::{Certificate, Excluded, Route, Solution, Step, Uncertified};
pub use simple_route::SimplePlan;
pub use solve::{explain, solve};
pub use witness::{TokenPrice, Witness};
