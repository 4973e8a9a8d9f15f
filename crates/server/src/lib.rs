//! The HTTP service: routes, authentication, validation, problem details, readiness.
//!
//! A request passes, from the outside in: [`http`] (id, problems, limits, keys, body), [`request`] (validation, all mistakes at
//! once), [`flow`] (market → route → order → answer), and leaves as a [`model`] or a [`problem`]. Solving is pure and runs on the
//! bounded threads of [`work`]; the market comes from [`feed`], prepared once per block. Behind all that, [`audit`] compares
//! models with the EVM.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

pub mod app;
pub mod audit;
pub mod clock;
pub mod config;
pub mod data;
pub mod feed;
pub mod flow;
pub mod http;
pub mod json;
pub mod metrics;
pub mod model;
pub mod openapi;
pub mod problem;
pub mod proxy;
pub mod request;
pub mod routes;
pub mod serve;
pub mod work;

pub use app::{App, Parts, router};
pub use clock::{Clock, ManualClock, SystemClock};
pub use config::{AuditConfig, Config, LimitsConfig};
pub use feed::MarketFeed;
pub use serve::serve;
