//! `GET /v1/protocols`.

use axum::extract::State;
use braid_primitives::CHAIN_ID;
use braid_protocols::Product;
use braid_quoting::feed::Markets;
use braid_quoting::request::ChainQuery;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::Data;
use crate::http::auth::MayRead;
use crate::http::query::Asked;
use crate::problems::ReadProblems;

/// A family of products.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Family {
    /// Name of the family; in `exclude_protocols` it excludes all its products.
    pub name: &'static str,
    /// Its products.
    pub products: Vec<ProductRow>,
}

/// One kind of pool.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ProductRow {
    /// Id, for `exclude_protocols` and `include_protocols`.
    pub id: &'static str,
    /// Name for a person.
    pub product: &'static str,
    /// Chains on which it is served.
    pub chains: [u64; 1],
    /// Number of its pools in the newest market.
    pub pools: usize,
}

/// Lists the protocols, with the number of pools of each in the newest market.
#[utoipa::path(get, operation_id = "protocols", path = "/v1/protocols", tag = "market", summary = "Protocols", security((), ("api_key" = [])), params(ChainQuery),
    responses((status = 200, description = "Protocols by family.", body = Data<Vec<Family>>), ReadProblems))]
pub async fn get(_: MayRead, State(markets): State<Markets>, _: Asked<ChainQuery>) -> Data<Vec<Family>> {
    let published = markets.feed.latest();
    let mut counts = vec![0usize; Product::ALL.len()];
    for pool in published.iter().flat_map(|published| published.head.market.pools()) {
        if let Some(count) = counts.get_mut(pool.product.index()) {
            *count += 1;
        }
    }
    let mut families: Vec<Family> = Vec::new();
    for (product, pools) in Product::ALL.iter().zip(counts) {
        let row = ProductRow { id: product.id(), product: product.name(), chains: [CHAIN_ID], pools };
        match families.iter_mut().find(|family| family.name == product.family()) {
            Some(family) => family.products.push(row),
            None => families.push(Family { name: product.family(), products: vec![row] }),
        }
    }
    Data::new(families)
}
