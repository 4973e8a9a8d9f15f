//! `GET /v1/prices`.

use std::collections::BTreeMap;

use axum::extract::State;
use braid_quoting::feed::Markets;
use braid_quoting::json::{Item, Json, Reader};
use braid_quoting::model::BlockRef;
use braid_quoting::request::AskedToken;
use braid_quoting::request::kind::{Kind as _, Token};
use braid_quoting::{FieldCode, prices};
use serde::Serialize;
use utoipa::ToSchema;

use super::Query;
use crate::http::Data;
use crate::http::auth::MayRead;
use crate::http::problem::Refusal;
use crate::problems::ReadProblems;

/// Most addresses in one call.
const MAX_ADDRESSES: usize = 100;

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

/// The handler.
///
/// # Errors
/// `VALIDATION_FAILED`, `NOT_READY`, `MARKET_STALE`.
#[utoipa::path(get, operation_id = "prices", path = "/v1/prices", tag = "market", summary = "Prices", security((), ("api_key" = [])),
    params(("chain_id" = Option<u64>, Query, description = "Only 1 is served."), ("addresses" = String, Query, description = "1 to 100 tokens, with commas.")),
    responses((status = 200, description = "Prices in dollars and ether.", body = Data<Prices>), ReadProblems))]
pub async fn get(_: MayRead, State(markets): State<Markets>, query: Query) -> Result<Data<Prices>, Refusal> {
    let mut r = Reader::default();
    let chain = query.chain(&mut r);
    let asked = addresses(&mut r, &query);
    let ((), asked) = r.finish(chain.zip(asked))?;
    let published = markets.current()?;
    let dollars = prices::dollars_per_ether(&published);
    let block = published.head.block();
    let mut answer = Prices {
        prices: BTreeMap::new(),
        prices_eth: BTreeMap::new(),
        block: BlockRef { number: block.number, hash: block.hash, timestamp: block.timestamp },
    };
    for token in asked {
        let id = published.head.market.tokens().id(token.address);
        let Some(ether) = id.and_then(|id| prices::ether_per_token(&published, id)) else { continue };
        let key = token.shown.to_checksum(None);
        answer.prices_eth.insert(key.clone(), format!("{ether}"));
        if let Some(rate) = dollars {
            answer.prices.insert(key, prices::price_in_dollars(ether * rate));
        }
    }
    Ok(Data::new(answer))
}

fn addresses(r: &mut Reader, query: &Query) -> Option<Vec<AskedToken>> {
    let parts = query.list("addresses");
    if parts.is_empty() || parts.len() > MAX_ADDRESSES {
        let detail = format!("expected 1 to {MAX_ADDRESSES} addresses, got {}", parts.len());
        r.wrong("/addresses", FieldCode::LengthInvalid, detail);
        return None;
    }
    let read = |(index, part): (usize, &&str)| {
        let value = Json::Text((*part).to_owned());
        Token.read(r, &Item { value: &value, pointer: format!("/addresses/{index}") })
    };
    let read: Vec<Option<AskedToken>> = parts.iter().enumerate().map(read).collect();
    read.into_iter().collect()
}
