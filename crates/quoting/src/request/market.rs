//! The queries of market data.

use braid_primitives::CHAIN_ID;

use super::declare::request;
use super::kind::{Chain, Integer, Kind as _, List, Text, Token};
use super::parse::AskedToken;

/// Most tokens of a call for prices.
const MAX_PRICES: usize = 100;

/// Most tags in a search.
const MAX_TAGS: usize = 256;

/// The largest offset into a list of tokens.
const MAX_OFFSET: u32 = i32::MAX.unsigned_abs();

request! {
    /// The chain.
    pub struct ChainQuery as "ChainQuery" {
        /// Only 1 is served.
        pub chain_id: u64 = Chain, default(CHAIN_ID);
    }

    /// Tokens to price.
    pub struct PricesQuery as "PricesQuery" {
        /// Only 1 is served.
        pub chain_id: u64 = Chain, default(CHAIN_ID);
        /// 1 to 100 tokens, separated by commas.
        pub addresses: Vec<AskedToken> = List(Token, 1..=MAX_PRICES), required;
    }

    /// Tokens to list.
    pub struct TokensQuery as "TokensQuery" {
        /// Only 1 is served.
        pub chain_id: u64 = Chain, default(CHAIN_ID);
        /// Part of a symbol or name, or an address.
        pub search: String = Text, default(String::new());
        /// Tags, separated by commas. A token matches if it has one of the plain tags, and one of the tags of each kind. `type:vault,protocol:morpho` are Morpho's vaults.
        pub tags: Vec<String> = List(Text, 0..=MAX_TAGS), default(Vec::new());
        /// 1 to 200, default 50.
        pub limit: u32 = Integer(1..=200_u32), default(50);
        /// Number of tokens to skip.
        pub offset: u32 = Integer(0..=MAX_OFFSET), default(0);
    }
}
