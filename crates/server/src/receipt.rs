//! `GET /v1/quote/{quote_id}/receipt` and the market that it was made on.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use braid_quoting::{Problem, Receipts, StoredQuotes};

use crate::http::auth::MayBuild;
use crate::http::problem::Refusal;
use crate::problems::ReceiptProblems;
use crate::swap::{data, named};

/// Gives the receipt of a quote.
///
/// # Errors
/// `QUOTE_NOT_FOUND`, `QUOTE_EXPIRED`, `RECEIPT_UNAVAILABLE` or `OVERLOADED`.
#[utoipa::path(get, operation_id = "receipt", path = "/v1/quote/{quote_id}/receipt", tag = "swap", summary = "A receipt of best execution", security(("api_key" = [])),
    params(("quote_id" = String, Path, description = "The quote's id.")),
    responses((status = 200, description = "The receipt, as canonical JSON under `data`: the request, the block, a digest of the market, the pools of the route, the order and program, and the quote word for word. `braid verify` works it out again offline. The process that gave the quote has it while the quote is open.", body = Object), ReceiptProblems))]
pub async fn receipt(
    _: MayBuild,
    State(stored): State<StoredQuotes>,
    State(receipts): State<Arc<Receipts>>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    let id = named(id)?;
    let quote = stored.open(id).await?;
    let written = tokio::task::spawn_blocking(move || receipts.receipt(id, &quote)).await;
    Ok(data(&written.map_err(Problem::internal)??))
}

/// Gives the market that a quote was made on.
///
/// # Errors
/// As [`receipt`].
#[utoipa::path(get, operation_id = "receipt_market", path = "/v1/quote/{quote_id}/market", tag = "swap", summary = "The market that a quote was made on", security(("api_key" = [])),
    params(("quote_id" = String, Path, description = "The quote's id.")),
    responses((status = 200, description = "A market file of all pools, some 30 MB on mainnet, in the order in which the quote was solved: what `braid verify --market` takes.", body = Vec<u8>, content_type = "application/octet-stream"), ReceiptProblems))]
pub async fn market(
    _: MayBuild,
    State(stored): State<StoredQuotes>,
    State(receipts): State<Arc<Receipts>>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    let id = named(id)?;
    drop(stored.open(id).await?);
    let file = tokio::task::spawn_blocking(move || receipts.market(id)).await;
    let file = file.map_err(Problem::internal)??;
    let name = format!("attachment; filename=\"{id}.market\"");
    Ok(([(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_DISPOSITION, name)], file)
        .into_response())
}
