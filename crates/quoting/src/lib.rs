//! Makes quotes and builds. Nothing here knows HTTP.
//!
//! A body is parsed by [`json`] and read by [`request`], which reports every wrong field at once. [`quote`] and
//! [`build`] each run the stages of one request in order. Each stage is a module that takes its inputs as arguments and
//! knows nothing of later stages. The result is a [`model`] or a [`problem`]. The market comes from [`feed`], prepared
//! once per block.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

pub mod accounts;
mod answer;
mod approvals;
mod block_reads;
mod build;
pub mod clock;
mod context;
pub mod costs;
pub mod directory;
mod draft;
mod draft_simulation;
mod explain;
pub mod feed;
mod first_use;
pub mod json;
pub mod measures;
pub mod model;
mod nonces;
mod path;
pub mod picture;
pub mod prices;
pub mod problem;
pub mod proxy;
mod purchase;
pub mod quote;
pub mod receipt;
mod reprice;
pub mod request;
mod resolve;
mod sale;
mod search;
mod shared_reads;
mod shown;
mod signature;
mod simulation;
mod solutions;
mod solve;
pub mod stored;
#[cfg(test)]
mod testing;
mod warnings;

pub use build::Builder;
pub use clock::{Clock, ManualClock, SystemClock};
pub use context::Context;
pub use feed::{MarketFeed, Markets};
pub use measures::Measures;
pub use problem::{Code, FieldCode, FieldError, Problem};
pub use quote::Quoter;
pub use receipt::Receipts;
pub use simulation::Simulations;
pub use stored::StoredQuotes;
