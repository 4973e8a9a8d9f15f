//! The HTTP service: routes, authentication, limits, problem details, readiness, the OpenAPI document.
//!
//! A request arrives on one of the [`connections`] and passes through [`http`] (id, problems, limits, keys, body) to a
//! handler ([`swap`], [`data`], [`health`]). The handler uses `braid_quoting` to parse and answer it. The result is a model
//! or a problem. In the background, `braid_audit` compares models with the EVM.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

pub mod app;
pub mod config;
pub mod connections;
pub mod data;
pub mod explorer;
pub mod health;
pub mod http;
pub mod metrics;
pub mod openapi;
pub mod problems;
pub mod receipt;
pub mod serve;
pub mod stream;
pub mod swap;

pub use app::{App, Parts, router};
pub use braid_audit::AuditConfig;
pub use braid_quoting::feed::MarketAges;
pub use braid_quoting::{Clock, ManualClock, MarketFeed, SystemClock};
pub use config::{Config, LimitsConfig};
pub use connections::slots::ConnectionLimits;
pub use connections::state::ClientTimeouts;
pub use serve::serve;
