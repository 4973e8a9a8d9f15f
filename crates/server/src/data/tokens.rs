//! `GET /v1/tokens`.

use axum::extract::State;
use braid_primitives::{Address, CHAIN_ID, NATIVE_ETHER, is_native_ether};
use braid_quoting::feed::Markets;
use braid_quoting::json::Reader;
use braid_quoting::model::Eip55;
use serde::Serialize;
use utoipa::ToSchema;

use super::Query;
use crate::http::Data;
use crate::http::auth::MayRead;
use crate::http::problem::Refusal;
use crate::problems::ReadProblems;

/// Tokens on one page.
const DEFAULT_LIMIT: usize = 50;

/// Most tokens on one page.
const MAX_LIMIT: i128 = 200;

/// A page of tokens.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Page {
    /// The tokens.
    pub tokens: Vec<TokenRow>,
    /// Where the page stands.
    pub pagination: Pagination,
}

/// A token.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TokenRow {
    /// Address.
    pub address: Eip55,
    /// Ticker.
    pub symbol: String,
    /// Name.
    pub name: String,
    /// Decimals.
    pub decimals: u8,
    /// Chain.
    pub chain_id: u64,
    /// Pools above the liquidity floor; 0 for a copy of a better known token's symbol.
    pub pool_count: usize,
    /// What the token is: `native`, `wrapped_native`, `stablecoin`; of a vault's share `vault`, `type:vault`, and its protocol, as in `protocol:morpho`.
    pub tags: Vec<String>,
}

/// Where a page stands.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Pagination {
    /// Most tokens on this page.
    pub limit: usize,
    /// Tokens before this page.
    pub offset: usize,
    /// Whether there is a page after it.
    pub has_more: bool,
}

/// The handler.
///
/// # Errors
/// `VALIDATION_FAILED`, `NOT_READY`, `MARKET_STALE`.
#[utoipa::path(get, operation_id = "tokens", path = "/v1/tokens", tag = "market", summary = "Search tokens", security((), ("api_key" = [])),
    params(("chain_id" = Option<u64>, Query, description = "Only 1 is served."),
        ("search" = Option<String>, Query, description = "Part of a symbol or name, or an address."),
        ("tags" = Option<String>, Query, description = "With commas: of plain tags any, of tags with a kind one of each kind. `type:vault,protocol:morpho` are Morpho's vaults."),
        ("limit" = Option<u32>, Query, description = "1 to 200, default 50.", minimum = 1, maximum = 200),
        ("offset" = Option<u32>, Query, description = "Tokens to pass over.", maximum = 2147483647)),
    responses((status = 200, description = "A page of tokens.", body = Data<Page>), ReadProblems))]
pub async fn get(_: MayRead, State(markets): State<Markets>, query: Query) -> Result<Data<Page>, Refusal> {
    let mut r = Reader::default();
    let chain = query.chain(&mut r);
    let limit = query.integer(&mut r, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT);
    let offset = query.integer(&mut r, "offset", 0usize, 0, i128::from(i32::MAX));
    let ((), (limit, offset)) = r.finish(chain.zip(limit.zip(offset)))?;
    let published = markets.current()?;
    let tokens = published.head.market.tokens();
    let search = query.get("search").unwrap_or("");
    let found = published.directory().search(tokens, search, &query.list("tags"));
    // ether in the form that the caller uses
    let ether = search.parse::<Address>().ok().filter(|address| is_native_ether(*address)).unwrap_or(NATIVE_ETHER);
    let has_more = found.len() > offset.saturating_add(limit);
    let page = found.into_iter().skip(offset).take(limit);
    let rows = page.map(|(entry, token)| TokenRow {
        address: Eip55(if token.address == NATIVE_ETHER { ether } else { token.address }),
        symbol: token.symbol.clone(),
        name: token.name.clone(),
        decimals: token.decimals,
        chain_id: CHAIN_ID,
        pool_count: entry.pool_count,
        tags: entry.tags(token.address),
    });
    Ok(Data::new(Page { tokens: rows.collect(), pagination: Pagination { limit, offset, has_more } }))
}
