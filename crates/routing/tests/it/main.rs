//! Tests of the guarantees of routes, certificates and purchases, on small markets.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

mod apart;
mod baskets;
mod certificate;
mod common;
mod drains;
mod ether;
mod layout;
mod properties;
mod purchases;
mod simple_plans;
mod small_markets;
mod unpriced;
