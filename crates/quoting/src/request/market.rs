//! The queries for market data.

use braid_primitives::CHAIN_ID;

use super::declare::request;
use super::kind::{Chain, Integer, Kind as _, List, Text, Token};
use super::parse::AskedToken;

/// Most tokens whose prices one call tells.
const MAX_PRICES: usize = 100;

/// Most tags in a search: far more than tokens have.
const MAX_TAGS: usize = 256;

/// The largest offset into a list of tokens.
const MAX_OFFSET: u32 = i32::MAX.unsigned_abs();

request! {
    /// Which chain to tell of.
    pub struct ChainQuery as "ChainQuery" {
        /// Only 1 is served.
        pub chain_id: u64 = Chain, default(CHAIN_ID);
    }

    /// Which tokens to price.
    pub struct PricesQuery as "PricesQuery" {
        /// Only 1 is served.
        pub chain_id: u64 = Chain, default(CHAIN_ID);
        /// 1 to 100 tokens, with commas.
        pub addresses: Vec<AskedToken> = List(Token, 1..=MAX_PRICES), required;
    }

    /// Which tokens to list.
    pub struct TokensQuery as "TokensQuery" {
        /// Only 1 is served.
        pub chain_id: u64 = Chain, default(CHAIN_ID);
        /// Part of a symbol or name, or an address.
        pub search: String = Text, default(String::new());
        /// With commas: of plain tags any, of tags with a kind one of each kind. `type:vault,protocol:morpho` are Morpho's vaults.
        pub tags: Vec<String> = List(Text, 0..=MAX_TAGS), default(Vec::new());
        /// 1 to 200, default 50.
        pub limit: u32 = Integer(1..=200_u32), default(50);
        /// Tokens to pass over.
        pub offset: u32 = Integer(0..=MAX_OFFSET), default(0);
    }
}
