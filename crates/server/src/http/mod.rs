//! The layers that every request passes through: ids, problems, panics, limits, keys, bodies.

pub mod auth;
pub mod body;
mod client;
pub mod coding;
pub mod envelope;
pub mod fallback;
pub mod limits;
pub mod problem;
pub mod query;
pub(crate) mod static_text;
pub mod timeout;

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// A successful answer: `{"data": …}`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Data<T> {
    data: T,
}

impl<T> Data<T> {
    /// Wraps an answer.
    pub const fn new(data: T) -> Self {
        Self { data }
    }
}

impl<T: Serialize> IntoResponse for Data<T> {
    fn into_response(self) -> Response {
        Json(self).into_response()
    }
}
