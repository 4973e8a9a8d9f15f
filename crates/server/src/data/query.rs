//! Query parameters, with every mistake told at once.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use braid_quoting::json::{Item, Json, Reader};
use braid_quoting::request::kind::{Chain, Kind as _};
use braid_quoting::{Code, Problem};

use crate::http::problem::Refusal;

/// The parameters of a request, in the order written. Unknown ones are left alone.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let pairs = pairs.map_err(|_| Problem::new(Code::ValidationFailed, "the query string cannot be read"))?;
        Ok(Self(pairs.0))
    }
}

impl Query {
    /// A parameter that is there and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, value)| key == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// The parts of a list with commas; empty where the parameter is absent.
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        self.get(name)
            .into_iter()
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect()
    }

    /// A parameter as JSON: a number where it is written as one.
    fn number(&self, name: &str) -> Option<Json> {
        let text = self.get(name)?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let huge = || text.parse().ok().filter(|_| is_whole).map(Json::Huge);
        let read = text.parse().ok().map(Json::Integer).or_else(huge);
        Some(read.unwrap_or_else(|| Json::Text(text.into())))
    }

    /// A whole number within bounds, or the default where it is absent.
    pub(crate) fn integer<T: TryFrom<i128>>(
        &self,
        r: &mut Reader,
        name: &str,
        default: T,
        min: i128,
        max: i128,
    ) -> Option<T> {
        self.number(name)
            .map_or(Some(default), |value| r.integer(&Item { value: &value, pointer: format!("/{name}") }, min, max))
    }

    /// The chain, which may be left out and must be the one that is served.
    pub(crate) fn chain(&self, r: &mut Reader) -> Option<()> {
        let Some(value) = self.number("chain_id") else { return Some(()) };
        Chain.read(r, &Item { value: &value, pointer: "/chain_id".into() }).map(|_| ())
    }
}
