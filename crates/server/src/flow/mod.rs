//! From a request to an answer: what a quote and a build do, one file per stage.
//!
//! Parsing and validation are pure, solving is pure, encoding is pure; only reading accounts and keeping quotes wait.

pub mod accounts;
pub mod answer;
pub mod approvals;
pub mod build;
pub mod costs;
pub mod explain;
pub mod first_use;
pub mod nonces;
pub mod path;
pub mod prices;
pub mod quote;
pub mod reprice;
pub mod resolve;
pub mod signature;
pub mod simulation;
pub mod stored;
pub mod warnings;
