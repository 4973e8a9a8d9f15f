//! The service over real HTTP, on a small market of our own making, without a node.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, unreachable_pub)]

mod bad_input;
mod build;
mod connections;
mod keys;
mod limits;
mod market_data;
mod openapi;
mod overload;
mod quote;
mod service;
mod support;
