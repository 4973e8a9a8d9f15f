//! The HTTP service: routes, authentication, limits, problem details, readiness, the OpenAPI document.
//!
//! A request comes over one of the [`connections`] and passes, from the outside in: [`http`] (id, problems, limits,
//! keys, body), a handler ([`swap`], [`data`], [`health`]), and what the handler takes of `braid_quoting`: reading the
//! request with all its mistakes at once, and answering it. It leaves as a model or a problem. Behind all that,
//! `braid_audit` compares models with the EVM.
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
