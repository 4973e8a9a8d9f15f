//! Tests of the service over real HTTP, on a small artificial market, without a node.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs, unreachable_pub)]

mod bad_input;
mod build;
mod connections;
mod disk;
mod edges;
mod keys;
mod killed;
mod limits;
mod market_data;
#[allow(dead_code, reason = "the store's tests use the rest")]
#[path = "../../../store/tests/it/quotes/mount.rs"]
mod mount;
mod network;
mod openapi;
mod overload;
mod purchase;
mod quote;
mod receipt;
mod replicas;
mod service;
mod stream;
mod support;
