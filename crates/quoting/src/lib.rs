//! What a quote and a build are; nothing here knows HTTP.
//!
//! A body is parsed by [`json`] and read by [`request`], which reports every wrong field at once. [`quote`] and
//! [`build`] each walk one request through the stages, in order, in one file; each stage is a module that takes what it
//! needs and knows nothing of the stages after it. What comes out is a [`model`] or a [`problem`]. The market comes
//! from [`feed`], prepared once per block.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

pub mod accounts;
mod answer;
mod approvals;
mod block_reads;
pub mod build;
pub mod clock;
mod context;
pub mod costs;
pub mod directory;
mod draft;
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
pub mod reprice;
pub mod request;
mod resolve;
mod sale;
mod shared_reads;
mod shown;
mod signature;
mod simulation;
mod solve;
pub mod stored;
#[cfg(test)]
mod testing;
mod trial;
mod warnings;
mod way;

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
