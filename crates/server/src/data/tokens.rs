//! `GET /v1/tokens`.

use axum::extract::State;
use braid_primitives::{Address, CHAIN_ID, NATIVE_ETHER, is_native_ether};
use braid_quoting::Problem;
use braid_quoting::feed::{Markets, Published};
use braid_quoting::model::Eip55;
use braid_quoting::request::TokensQuery;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::Data;
use crate::http::auth::MayRead;
use crate::http::problem::Refusal;
use crate::http::query::Asked;
use crate::problems::ReadProblems;

/// A page of tokens.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Page {
    /// The tokens.
    pub tokens: Vec<TokenRow>,
    /// Place of the page in the list.
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
    /// Number of its pools whose tokens all have a reference price; 0 for a token with the symbol of a better known one.
    pub pool_count: usize,
    /// `native`, `wrapped_native`, `stablecoin`; for a vault's share `vault`, `type:vault`, and its protocol, as in `protocol:morpho`.
    pub tags: Vec<String>,
}

/// Place of a page in the list.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Pagination {
    /// Most tokens on this page.
    pub limit: usize,
    /// Number of tokens before this page.
    pub offset: usize,
    /// True if there is a further page.
    pub has_more: bool,
}

/// Lists tokens, best known first.
///
/// # Errors
/// `NOT_READY`, `MARKET_STALE`.
#[utoipa::path(get, operation_id = "tokens", path = "/v1/tokens", tag = "market", summary = "Search tokens", security((), ("api_key" = [])),
    params(TokensQuery),
    responses((status = 200, description = "A page of tokens.", body = Data<Page>), ReadProblems))]
pub async fn get(
    _: MayRead,
    State(markets): State<Markets>,
    Asked(query): Asked<TokensQuery>,
) -> Result<Data<Page>, Refusal> {
    let published = markets.current()?;
    // the name of every token is read, and the list is built at the first search of a block: 10 ms each for 65,000 tokens
    let page = tokio::task::spawn_blocking(move || page(&published, &query)).await;
    Ok(Data::new(page.map_err(Problem::internal)?))
}

/// Returns the page that a query asks for.
fn page(published: &Published, query: &TokensQuery) -> Page {
    let (limit, offset) = (query.limit as usize, query.offset as usize);
    let tokens = published.head.market.tokens();
    let found = published.directory().search(tokens, &query.search, &query.tags);
    // ether in the form that the caller uses
    let ether =
        query.search.parse::<Address>().ok().filter(|address| is_native_ether(*address)).unwrap_or(NATIVE_ETHER);
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
    Page { tokens: rows.collect(), pagination: Pagination { limit, offset, has_more } }
}
