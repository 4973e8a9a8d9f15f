//! `GET /v1/network`.

use axum::extract::State;
use braid_primitives::{CHAIN_ID, GasTier};
use braid_quoting::costs;
use braid_quoting::feed::Markets;
use braid_quoting::request::ChainQuery;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::Data;
use crate::http::auth::MayRead;
use crate::http::problem::Refusal;
use crate::http::query::Asked;
use crate::problems::ReadProblems;

/// Gas prices in the next block.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Network {
    /// Chain.
    pub chain_id: u64,
    /// The newest block.
    pub block_number: u64,
    /// Base fee of the block after it, in wei per gas unit.
    pub base_fee_wei: u64,
    /// Gas prices by tier.
    pub gas_prices: GasPrices,
}

/// Gas price of each tier.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct GasPrices {
    /// Cheapest; may wait several blocks.
    pub slow: GasPrice,
    /// The default.
    pub standard: GasPrice,
    /// For one of the next two blocks.
    pub fast: GasPrice,
    /// For the next block.
    pub urgent: GasPrice,
}

/// Gas price of a tier, in wei per gas unit.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct GasPrice {
    /// EIP-1559.
    pub max_priority_fee_per_gas: u64,
    /// EIP-1559.
    pub max_fee_per_gas: u64,
}

/// Returns gas prices in the next block.
///
/// # Errors
/// `NOT_READY`, `MARKET_STALE`.
#[utoipa::path(get, operation_id = "network", path = "/v1/network", tag = "market", summary = "Gas prices", security((), ("api_key" = [])), params(ChainQuery),
    responses((status = 200, description = "Gas prices in the next block.", body = Data<Network>), ReadProblems))]
pub async fn get(_: MayRead, State(markets): State<Markets>, _: Asked<ChainQuery>) -> Result<Data<Network>, Refusal> {
    let published = markets.current()?;
    let price = |tier: GasTier| {
        let fees = costs::fees(&published.head, tier);
        GasPrice { max_priority_fee_per_gas: fees.max_priority_fee_per_gas, max_fee_per_gas: fees.max_fee_per_gas }
    };
    let gas_prices = GasPrices {
        slow: price(GasTier::Slow),
        standard: price(GasTier::Standard),
        fast: price(GasTier::Fast),
        urgent: price(GasTier::Urgent),
    };
    Ok(Data::new(Network {
        chain_id: CHAIN_ID,
        block_number: published.head.block().number,
        base_fee_wei: published.head.fees.next_base_fee_per_gas_wei,
        gas_prices,
    }))
}
