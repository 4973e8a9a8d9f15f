//! Who calls, and whether they may.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;

use super::envelope::Notes;
use super::limits::Counted;
use crate::app::App;
use crate::problem::{Code, Problem};

/// A caller who may quote: a valid key, or nobody's where anonymous quotes are on. One call is counted.
#[derive(Clone, Copy, Debug)]
pub struct MayQuote;

/// A caller who may build: a valid key. One call is counted.
#[derive(Clone, Copy, Debug)]
pub struct MayBuild;

/// Anybody; a valid key raises the limit, a wrong one is ignored. One call is counted.
#[derive(Clone, Copy, Debug)]
pub struct MayRead;

/// The key of a request.
enum Presented {
    None,
    Valid(String),
    Invalid,
}

fn presented(parts: &Parts, app: &App) -> Result<Presented, Problem> {
    let Some(value) = parts.headers.get("x-api-key") else { return Ok(Presented::None) };
    let Ok(key) = value.to_str() else { return Ok(Presented::Invalid) };
    let record = app.keys.check(key)?;
    Ok(record.map_or(Presented::Invalid, |record| Presented::Valid(record.id.0)))
}

fn address(parts: &Parts) -> IpAddr {
    let connection = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    connection.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |info| info.0.ip())
}

fn missing() -> Problem {
    Problem::new(Code::ApiKeyMissing, "send your API key in the header X-API-Key")
}

fn invalid() -> Problem {
    Problem::new(Code::ApiKeyInvalid, "the API key is unknown or revoked")
}

fn count(parts: &Parts, app: &App, caller: Counted) -> Result<(), Problem> {
    let (standing, allowed) = app.limits.count(caller, app.clock.now_ms());
    if let Some(notes) = parts.extensions.get::<Notes>() {
        notes.standing(standing);
    }
    if allowed { Ok(()) } else { Err(standing.exceeded()) }
}

impl FromRequestParts<Arc<App>> for MayQuote {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let caller = match presented(parts, app)? {
            Presented::Valid(id) => Counted::Keyed(id),
            Presented::None if app.config.anonymous_quotes => Counted::AnonymousQuote(address(parts)),
            Presented::None => return Err(missing()),
            Presented::Invalid => return Err(invalid()),
        };
        count(parts, app, caller).map(|()| Self)
    }
}

impl FromRequestParts<Arc<App>> for MayBuild {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        match presented(parts, app)? {
            Presented::Valid(id) => count(parts, app, Counted::Keyed(id)).map(|()| Self),
            Presented::None => Err(missing()),
            Presented::Invalid => Err(invalid()),
        }
    }
}

impl FromRequestParts<Arc<App>> for MayRead {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let caller = match presented(parts, app)? {
            Presented::Valid(id) => Counted::Keyed(id),
            Presented::None | Presented::Invalid => Counted::Read(address(parts)),
        };
        count(parts, app, caller).map(|()| Self)
    }
}
