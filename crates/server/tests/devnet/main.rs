//! Tests of the complete process on a real chain: quote, approve or sign, build, send and receive, with amounts equal
//! to the wei.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, unreachable_pub)]

mod baskets;
mod distant;
mod proxy;
mod purchases;
mod simulations;
mod stand_in;
mod swaps;
mod wallets;
mod world;
