//! `GET /v1/quote/{quote_id}/receipt` and the market that it was made on.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use braid_quoting::receipt::MarketFile;
use braid_quoting::{Problem, Receipts, StoredQuotes};
use futures::stream;

use crate::http::auth::MayBuild;
use crate::http::problem::Refusal;
use crate::http::query::Named;
use crate::problems::ReceiptProblems;
use crate::swap::data;

/// Size of a chunk of a market file, in bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// Returns the receipt of a quote.
///
/// # Errors
/// `QUOTE_NOT_FOUND`, `QUOTE_EXPIRED`, `RECEIPT_UNAVAILABLE`, `NOT_READY` or `OVERLOADED`.
#[utoipa::path(get, operation_id = "receipt", path = "/v1/quote/{quote_id}/receipt", tag = "swap", summary = "A receipt of best execution", security(("api_key" = [])),
    params(Named),
    responses((status = 200, description = "The receipt, as canonical JSON under `data`: the request, the block, a digest of the market, the pools of the route, the order and program, and the quote unchanged. `braid verify` recomputes it offline. The process that gave the quote has the receipt while the quote is open.", body = Object), ReceiptProblems))]
pub async fn receipt(
    _: MayBuild,
    State(stored): State<StoredQuotes>,
    State(receipts): State<Arc<Receipts>>,
    Named(id): Named,
) -> Result<Response, Refusal> {
    let quote = stored.open(id).await?;
    let written = tokio::task::spawn_blocking(move || receipts.receipt(id, &quote)).await;
    Ok(data(&written.map_err(Problem::internal)??))
}

/// Returns the market that a quote was made on.
///
/// # Errors
/// As [`receipt`].
#[utoipa::path(get, operation_id = "receipt_market", path = "/v1/quote/{quote_id}/market", tag = "swap", summary = "The market that a quote was made on", security(("api_key" = [])),
    params(Named),
    responses((status = 200, description = "A market file of all pools, some 30 MB on mainnet, in the order of the quote's solve, for `braid verify --market`.", body = Vec<u8>, content_type = "application/octet-stream"), ReceiptProblems))]
pub async fn market(
    _: MayBuild,
    State(stored): State<StoredQuotes>,
    State(receipts): State<Arc<Receipts>>,
    Named(id): Named,
) -> Result<Response, Refusal> {
    drop(stored.open(id).await?);
    let file = tokio::task::spawn_blocking(move || receipts.market(id)).await;
    let MarketFile { bytes, slot } = file.map_err(Problem::internal)??;
    let bytes = Bytes::from(bytes);
    let chunks = (0..bytes.len()).step_by(CHUNK_BYTES).map(move |at| {
        // hold the slot until the last chunk is sent
        let _ = &slot;
        Ok::<_, Infallible>(bytes.slice(at..bytes.len().min(at + CHUNK_BYTES)))
    });
    let file = Body::from_stream(stream::iter(chunks));
    let name = format!("attachment; filename=\"{id}.market\"");
    Ok(([(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_DISPOSITION, name)], file)
        .into_response())
}
