//! `GET /v1/network`.

use std::collections::BTreeMap;

use axum::extract::State;
use braid_primitives::{CHAIN_ID, GasTier};
use braid_quoting::costs;
use braid_quoting::feed::Markets;
use braid_quoting::json::Reader;
use serde::Serialize;
use utoipa::ToSchema;

use super::Query;
use crate::http::Data;
use crate::http::auth::MayRead;
use crate::http::problem::Refusal;
use crate::problems::ReadProblems;

/// What gas costs in the next block.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Network {
    /// Chain.
    pub chain_id: u64,
    /// The newest block.
    pub block_number: u64,
    /// Base fee of the block after it, per unit.
    pub base_fee_wei: u64,
    /// By tier.
    pub gas_prices: BTreeMap<&'static str, GasPrice>,
}

/// What a tier bids, in wei per unit.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct GasPrice {
    /// EIP-1559.
    pub max_priority_fee_per_gas: u64,
    /// EIP-1559.
    pub max_fee_per_gas: u64,
}

/// The handler.
///
/// # Errors
/// `VALIDATION_FAILED`, `NOT_READY`, `MARKET_STALE`.
#[utoipa::path(get, operation_id = "network", path = "/v1/network", tag = "market", summary = "Gas prices", params(("chain_id" = Option<u64>, Query, description = "Only 1 is served.")),
    responses((status = 200, description = "What gas costs in the next block.", body = Data<Network>), ReadProblems))]
pub async fn get(_: MayRead, State(markets): State<Markets>, query: Query) -> Result<Data<Network>, Refusal> {
    let mut r = Reader::default();
    let chain = query.chain(&mut r);
    r.finish(chain)?;
    let published = markets.current()?;
    let price = |tier: GasTier| {
        let fees = costs::fees(&published.head, tier);
        let price =
            GasPrice { max_priority_fee_per_gas: fees.max_priority_fee_per_gas, max_fee_per_gas: fees.max_fee_per_gas };
        (tier.name(), price)
    };
    Ok(Data::new(Network {
        chain_id: CHAIN_ID,
        block_number: published.head.block().number,
        base_fee_wei: published.head.fees.next_base_fee_per_gas_wei,
        gas_prices: GasTier::ALL.map(price).into(),
    }))
}
