//! `GET /v1/chains`.

use axum::extract::State;
use braid_primitives::block::SLOT_SECONDS;
use braid_primitives::{CHAIN_ID, WETH};
use braid_quoting::feed::{Freshness, Markets};
use braid_quoting::model::Eip55;
use braid_quoting::request::ChainQuery;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::Data;
use crate::http::auth::MayRead;
use crate::http::query::Asked;
use crate::problems::ReadProblems;

/// A chain that is served.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Chain {
    /// Id.
    pub chain_id: u64,
    /// Name.
    pub name: &'static str,
    /// Ticker of the native token.
    pub native_symbol: &'static str,
    /// Name of the native token.
    pub native_name: &'static str,
    /// The contract that wraps the native token.
    pub wrapped_native_address: Eip55,
    /// Milliseconds between blocks.
    pub block_time_ms: u64,
    /// True if it settles on another chain.
    pub is_l2: bool,
    /// True if its tokens have no value.
    pub is_testnet: bool,
    /// True if quotes are answered on it now.
    pub healthy: bool,
    /// Base of links to a block explorer.
    pub block_explorer_url: &'static str,
}

/// Lists the chains that are served.
#[utoipa::path(get, operation_id = "chains", path = "/v1/chains", tag = "market", summary = "Chains", security((), ("api_key" = [])), params(ChainQuery),
    responses((status = 200, description = "Chains that are served.", body = Data<Vec<Chain>>), ReadProblems))]
pub async fn get(_: MayRead, State(markets): State<Markets>, _: Asked<ChainQuery>) -> Data<[Chain; 1]> {
    let healthy = matches!(markets.freshness(), Freshness::Fresh | Freshness::Aging);
    Data::new([Chain {
        chain_id: CHAIN_ID,
        name: "Ethereum",
        native_symbol: "ETH",
        native_name: "Ether",
        wrapped_native_address: Eip55(WETH),
        block_time_ms: SLOT_SECONDS * 1_000,
        is_l2: false,
        is_testnet: false,
        healthy,
        block_explorer_url: "https://etherscan.io",
    }])
}
