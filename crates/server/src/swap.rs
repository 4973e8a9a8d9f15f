//! `POST /v1/quote`, `GET /v1/quote/{quote_id}`, its picture, and `POST /v1/build`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use braid_quoting::model::{BuildAnswer, QuoteAnswer};
use braid_quoting::request::{BuildRequest, QuoteRequest};
use braid_quoting::{Builder, Quoter, StoredQuotes, picture};

use crate::http::Data;
use crate::http::auth::{MayBuild, MayQuote};
use crate::http::body::Valid;
use crate::http::problem::Refusal;
use crate::http::query::Named;
use crate::problems::{BuildProblems, QuoteProblems, StoredProblems};

/// Makes a quote.
///
/// # Errors
/// Every problem that a quote can have.
#[utoipa::path(post, operation_id = "quote", path = "/v1/quote", tag = "swap", summary = "Find a route", security((), ("api_key" = [])),
    request_body = QuoteRequest, responses((status = 200, description = "A quote.", body = Data<QuoteAnswer>), QuoteProblems))]
pub async fn quote(
    MayQuote(caller): MayQuote,
    State(quoter): State<Arc<Quoter>>,
    Valid { request, body }: Valid<QuoteRequest>,
) -> Result<Response, Refusal> {
    Ok(data(quoter.quote(request, body.into(), caller).await?.get()))
}

/// Returns a stored quote, unchanged.
///
/// # Errors
/// `QUOTE_NOT_FOUND`, `QUOTE_EXPIRED` or `NOT_READY`.
#[utoipa::path(get, operation_id = "stored_quote", path = "/v1/quote/{quote_id}", tag = "swap", summary = "A stored quote", security((), ("api_key" = [])),
    params(Named),
    responses((status = 200, description = "The quote, unchanged.", body = Data<QuoteAnswer>), StoredProblems))]
pub async fn stored_quote(
    _: MayQuote,
    State(stored): State<StoredQuotes>,
    Named(id): Named,
) -> Result<Response, Refusal> {
    Ok(data(stored.open(id).await?.answer.get()))
}

/// Draws the route of a quote.
///
/// # Errors
/// `QUOTE_NOT_FOUND`, `QUOTE_EXPIRED` or `NOT_READY`.
#[utoipa::path(get, operation_id = "route_picture", path = "/v1/quote/{quote_id}/route.svg", tag = "swap", summary = "A stored quote's route as a picture", security((), ("api_key" = [])),
    params(Named),
    responses((status = 200, description = "The route: tokens, steps, amounts and shares. The same quote gives the same bytes.", body = String, content_type = "image/svg+xml"), StoredProblems))]
pub async fn route_picture(
    _: MayQuote,
    State(stored): State<StoredQuotes>,
    Named(id): Named,
) -> Result<Response, Refusal> {
    let picture = picture::svg(stored.open(id).await?.answer.get())?;
    // a browser that opens the picture runs and loads nothing
    let headers = [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, picture).into_response())
}

/// Turns a quote into a transaction.
///
/// # Errors
/// Every problem that a build can have.
#[utoipa::path(post, operation_id = "build", path = "/v1/build", tag = "swap", summary = "Turn a quote into a transaction", security(("api_key" = [])),
    request_body = BuildRequest, responses((status = 200, description = "An unsigned transaction.", body = Data<BuildAnswer>), BuildProblems))]
pub async fn build(
    MayBuild(caller): MayBuild,
    State(builder): State<Arc<Builder>>,
    Valid { request, .. }: Valid<BuildRequest>,
) -> Result<Data<BuildAnswer>, Refusal> {
    Ok(Data::new(builder.build(request, caller).await?))
}

/// Wraps an answer that is JSON text in `{"data": …}`.
pub(crate) fn data(answer: &str) -> Response {
    let mut response = format!("{{\"data\":{answer}}}").into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
