//! `GET /v1/prices`.

use std::collections::BTreeMap;

use axum::extract::State;
use braid_quoting::feed::Markets;
use braid_quoting::model::BlockRef;
use braid_quoting::prices;
use braid_quoting::request::PricesQuery;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::Data;
use crate::http::auth::MayRead;
use crate::http::problem::Refusal;
use crate::http::query::Asked;
use crate::problems::ReadProblems;

/// Prices at one block. A token without a price is absent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Prices {
    /// Dollars per whole token.
    pub prices: BTreeMap<String, f64>,
    /// Ether per whole token: the reference prices of quotes at the same block.
    pub prices_eth: BTreeMap<String, String>,
    /// The block.
    pub block: BlockRef,
}

/// Returns prices at the newest block.
///
/// # Errors
/// `NOT_READY`, `MARKET_STALE`.
#[utoipa::path(get, operation_id = "prices", path = "/v1/prices", tag = "market", summary = "Prices", security((), ("api_key" = [])),
    params(PricesQuery),
    responses((status = 200, description = "Prices in dollars and ether.", body = Data<Prices>), ReadProblems))]
pub async fn get(
    _: MayRead,
    State(markets): State<Markets>,
    Asked(query): Asked<PricesQuery>,
) -> Result<Data<Prices>, Refusal> {
    let published = markets.current()?;
    let dollars = prices::dollars_per_ether(&published.prepared);
    let block = published.head.block();
    let mut answer = Prices {
        prices: BTreeMap::new(),
        prices_eth: BTreeMap::new(),
        block: BlockRef { number: block.number, hash: block.hash, timestamp: block.timestamp },
    };
    for token in query.addresses {
        let id = published.head.market.tokens().id(token.address);
        let Some(ether) = id.and_then(|id| prices::ether_per_token(&published.prepared, id)) else { continue };
        let key = token.shown.to_checksum(None);
        answer.prices_eth.insert(key.clone(), format!("{ether}"));
        if let Some(rate) = dollars {
            answer.prices.insert(key, prices::price_in_dollars(ether * rate));
        }
    }
    Ok(Data::new(answer))
}
