//! A client for one node, or for several as one: the few methods that Braid needs, each with a deadline and a clear error.

mod blocks;
mod blooms;
mod client;
mod config;
mod connect;
mod endpoint;
mod fee_history;
mod fleet;
mod health;
mod http;
mod logs;
mod multicall;
mod read;
mod report;
mod state;
mod watch;
mod wire;

pub use client::Traffic;
pub use config::NodeConfig;
pub use connect::Node;
pub use endpoint::Endpoint;
pub use fee_history::{FeeHistory, HISTORY_BLOCKS, PERCENTILES};
pub use health::NodeFault;
pub use logs::BlockLogs;
pub use multicall::MULTICALL3;
pub use report::NodeReport;
pub use state::AccountState;
pub(crate) use watch::HeadStream;
pub use wire::{LogFilter, PlacedLog};
