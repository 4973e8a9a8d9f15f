//! Tests of whole transactions: calldata made by this crate, run by the proxy's bytecode over the real pools, must give
//! exact amounts.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    missing_docs,
    unreachable_pub
)]

mod balancer;
mod basket;
mod baskets;
mod buffers;
mod chain;
mod conformance;
mod crypto_again;
mod curve;
mod curve_lending;
mod descriptors;
mod edges;
mod fluid;
mod gas_of_steps;
mod gas_table;
mod random_routes;
mod shared;
mod signatures;
mod staked_ether_fees;
mod staked_ether_merges;
mod vault_v2;
mod vaults;
