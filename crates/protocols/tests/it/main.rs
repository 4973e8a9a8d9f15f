//! Tests of this crate's arithmetic against the contracts' own bytecode in an EVM, and of the laws that every pool
//! obeys.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub
)]

mod support;

mod aave_bytecode;
mod balancer;
mod balancer_bytecode;
mod balancer_v3_bytecode;
mod boosted_bytecode;
mod buffer_bytecode;
mod curve_bytecode;
mod curve_laws;
mod curve_second_opinion;
mod deployed_sky;
mod deployed_vaults;
mod discovery;
mod fluid_bytecode;
mod fluid_deployed;
mod fluid_layer;
mod fluid_second_opinion;
mod gas;
mod lending;
mod lido_bytecode;
mod listed_vaults;
mod many_coins;
mod morpho_bytecode;
mod morpho_second_opinion;
mod named_vaults;
mod one_place;
mod pairs;
mod pools;
mod properties;
mod reading;
mod route_state;
mod sampled_bounds;
mod unsettled;
mod vault_bytecode;
mod vault_v2_bytecode;
mod vaults;
mod weth_bytecode;
