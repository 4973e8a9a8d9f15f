//! The requests for balances and allowances.

use braid_primitives::Address;

use super::declare::request;
use super::kind::{AnyAddress, Chain, Kind as _, List, Token, nested};
use super::parse::AskedToken;

/// Most entries in one call.
const MAX_ENTRIES: usize = 100;

request! {
    /// Balances to read.
    pub struct BalancesRequest as "BalancesBody" {
        /// Always 1.
        pub chain_id: u64 = Chain, required;
        /// The account.
        pub owner: Address = AnyAddress, required;
        /// Token addresses.
        pub tokens: Vec<AskedToken> = List(Token, 1..=MAX_ENTRIES), required;
    }

    /// Allowances to read.
    pub struct AllowancesRequest as "AllowancesBody" {
        /// Always 1.
        pub chain_id: u64 = Chain, required;
        /// The account.
        pub owner: Address = AnyAddress, required;
        /// Token and spender of each allowance.
        pub allowances: Vec<AllowanceEntry> = List(nested::<AllowanceEntry>(), 1..=MAX_ENTRIES), required;
    }

    /// A token and a spender.
    pub struct AllowanceEntry as "AllowanceBody" {
        /// Token.
        pub token: Address = AnyAddress, required;
        /// Account that may take the token.
        pub spender: Address = AnyAddress, required;
    }
}
