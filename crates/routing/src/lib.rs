//! Routing: from a market and a request to a route and a certificate.
//!
//! Pure: no I/O, no clock, no randomness, no dependence on thread or hash order. The same market, request and version
//! give the same bytes. Floating point only steers the search; every amount in an answer is an integer, computed in the
//! proxy's own order and arithmetic (`docs/internals/program.md`).
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

// Requests, answers, and the constants of the search.
mod arrival;
mod error;
pub mod machine;
mod request;
mod route;
mod threads;
mod tuning;
mod witness;

// The stages, each of which imports only from those above it. Once per block: reference prices, the graph, standing
// arbitrage.
mod prepare;

// One request in floating point: how much of each token a route can hold, and what it can be worth.
mod problem;

// Candidates: single paths, and simple splits of them.
mod path;

mod candidates;

// Upper bounds at given prices.
mod bound;

// The prices at which the bound is least.
mod relax;

// From prices to a set of pools.
mod round;

// Exact routes, in integers.
mod plan;

mod exact;

// All stages together.
mod solve;

mod simple_route;

// Exact output, found by solving sales.
pub mod purchase;

#[cfg(test)]
mod testing;

pub use arrival::arrives;
pub use error::SolveError;
pub use machine::{Instruction, Ledger, Machine, StepError};
pub use prepare::{Outlier, Prepared};
pub use request::{MAX_ROUTE_GAS_UNITS, PoolFilter, Request};
pub use route::{Certificate, Excluded, Route, Solution, Step, Uncertified};
pub use simple_route::{SimplePlan, many_chunks};
pub use solve::{explain, solve};
pub use threads::use_threads;
pub use witness::{TokenPrice, Witness};
