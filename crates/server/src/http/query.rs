//! Extracts the parameters of a query, and the quote id of a path.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use braid_quoting::request::kind::{Kind as _, QuoteId};
use braid_quoting::request::{self, parse_quote_id};
use braid_quoting::{Code, Problem};
use utoipa::IntoParams;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use uuid::Uuid;

use super::problem::Refusal;

/// Valid parameters of a query.
#[derive(Debug)]
pub struct Asked<T>(pub T);

impl<S: Send + Sync, T: request::Request> FromRequestParts<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let pairs =
            pairs.map_err(|_| Problem::new(Code::ValidationFailed, "the query string is not valid URL encoding"))?;
        Ok(Self(T::parse_query(&pairs.0)?))
    }
}

/// The quote id of a path.
#[derive(Clone, Copy, Debug)]
pub struct Named(pub Uuid);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let id = Path::<String>::from_request_parts(parts, state).await.ok();
        let id = id.and_then(|Path(id)| parse_quote_id(&id)).ok_or_else(Problem::no_such_quote)?;
        Ok(Self(id))
    }
}

impl IntoParams for Named {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let id = ParameterBuilder::new().name("quote_id").parameter_in(ParameterIn::Path).required(Required::True);
        vec![id.description(Some("Id of the quote.")).schema(Some(QuoteId.schema())).build()]
    }
}
