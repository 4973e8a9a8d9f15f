//! A quote as it is kept: the answer, word for word, and what a build needs of it.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use braid_execution::{Order, Permit, Program};
use braid_primitives::{Address, GasTier};
use braid_store::QuoteRecord;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::reprice::StoredStep;
use crate::app::App;
use crate::http::Data;
use crate::http::auth::MayQuote;
use crate::model::QuoteAnswer;
use crate::openapi::StoredProblems;
use crate::problem::{Code, Problem};
use crate::request::parse_quote_id;

/// What is kept of a quote.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredQuote {
    /// From then on the quote cannot be built, unix milliseconds.
    pub expires_at_ms: u64,
    /// What a build needs.
    pub plan: Plan,
    /// The answer.
    pub answer: Box<RawValue>,
}

/// What a build needs of a quote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Who sends the transaction.
    pub taker: Address,
    /// The order that the Permit2 message binds. A build with plain allowances replaces its deadline.
    pub order: Order,
    /// The terms of the Permit2 message.
    pub permit: Permit,
    /// The program, whatever the authorization.
    pub program: Program,
    /// The route.
    pub steps: Vec<StoredStep>,
    /// The tier that prices gas.
    pub gas_priority: GasTier,
    /// Whether to read the taker's balances and allowances again.
    pub check_allowances: bool,
    /// The address that the client used for ether.
    pub ether_shown_as: Address,
}

/// Keeps a quote.
///
/// # Errors
/// `OVERLOADED` when the disk does not keep up.
pub fn keep(app: &App, id: Uuid, quote: &StoredQuote) -> Result<(), Problem> {
    let body = serde_json::to_vec(quote).map_err(Problem::internal)?;
    let keep_until_ms = quote.expires_at_ms.saturating_add(app.config.quote_memory_ms);
    Ok(app.quotes.put(id, QuoteRecord { keep_until_ms, body: Arc::from(body) })?)
}

/// Finds an open quote.
///
/// # Errors
/// `QUOTE_NOT_FOUND` or `QUOTE_EXPIRED`.
pub async fn open(app: &Arc<App>, id: Uuid) -> Result<StoredQuote, Problem> {
    let record = match app.quotes.recent(id) {
        Some(record) => Some(record),
        None => {
            let app = Arc::clone(app);
            tokio::task::spawn_blocking(move || app.quotes.get(id)).await.map_err(Problem::internal)??
        }
    };
    let now_ms = app.clock.now_ms();
    let kept = record.filter(|record| now_ms < record.keep_until_ms);
    let record = kept.ok_or_else(|| Problem::new(Code::QuoteNotFound, "no quote has this id"))?;
    let quote: StoredQuote = serde_json::from_slice(&record.body).map_err(Problem::internal)?;
    if now_ms >= quote.expires_at_ms {
        let detail = format!("the quote expired at {}; ask for a new one", crate::clock::rfc3339(quote.expires_at_ms));
        return Err(Problem::new(Code::QuoteExpired, detail));
    }
    Ok(quote)
}

/// `GET /v1/quote/{quote_id}`: the answer as it was given.
///
/// # Errors
/// As [`open`].
#[utoipa::path(get, operation_id = "stored_quote", path = "/v1/quote/{quote_id}", tag = "swap", summary = "A stored quote", security(("api_key" = [])),
    params(("quote_id" = String, Path, description = "The quote's id.")),
    responses((status = 200, description = "The quote, word for word.", body = Data<QuoteAnswer>), StoredProblems))]
pub async fn get(_: MayQuote, State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, Problem> {
    let id = parse_quote_id(&id).ok_or_else(|| Problem::new(Code::QuoteNotFound, "no quote has this id"))?;
    let quote = open(&app, id).await?;
    Ok(data(quote.answer.get()))
}

/// `{"data": …}` around an answer that is JSON already.
pub fn data(answer: &str) -> Response {
    let mut response = format!("{{\"data\":{answer}}}").into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
