//! Limits the time of every answer.

use std::time::Duration;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use braid_quoting::{Code, Problem};

use super::problem::Refusal;

/// Ends a request that takes too long.
pub async fn within(limit: Duration, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = format!("no answer within {} s: retry", limit.as_secs());
            Refusal(Problem::new(Code::DeadlineExceeded, detail)).into_response()
        }
    }
}
