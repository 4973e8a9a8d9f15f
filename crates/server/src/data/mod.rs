//! Market data: chains, protocols, tokens, prices, gas prices, balances, allowances.

pub mod accounts;
pub mod chains;
pub mod network;
pub mod prices;
pub mod protocols;
pub mod tokens;
