//! Who calls, and whether they may.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;

use super::envelope::Notes;
use super::limits::{Counted, Quota};
use braid_store::{KeyId, KeyTerms};

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
    Valid(KeyId, KeyTerms),
    Invalid,
}

fn presented(parts: &Parts, app: &App) -> Result<Presented, Problem> {
    let Some(value) = parts.headers.get("x-api-key") else { return Ok(Presented::None) };
    let Ok(key) = value.to_str() else { return Ok(Presented::Invalid) };
    let record = app.keys.check(key, app.clock.now_s())?;
    Ok(record.map_or(Presented::Invalid, |record| Presented::Valid(record.id, record.terms)))
}

/// The address that a keyless caller is counted by: of IPv6 the /64, which is what one customer holds.
fn address(parts: &Parts) -> IpAddr {
    let connection = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    match connection.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |info| info.0.ip().to_canonical()) {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

fn missing() -> Problem {
    Problem::new(Code::ApiKeyMissing, "send your API key in the header X-API-Key")
}

fn invalid() -> Problem {
    Problem::new(Code::ApiKeyInvalid, "the API key is unknown, revoked or expired")
}

/// What a key may: its own terms, and the service's where it has none.
fn keyed(app: &App, id: KeyId, terms: KeyTerms) -> (Counted, Quota) {
    let config = &app.config.limits;
    let per_min = terms.per_min.unwrap_or(config.keyed_per_min);
    (Counted::Keyed(id.0), Quota { policy: "keyed", per_min, burst: terms.burst.or(config.keyed_burst) })
}

/// What nobody in particular may read.
fn keyless_reads(parts: &Parts, app: &App) -> (Counted, Quota) {
    let per_min = app.config.limits.reads_per_min;
    (Counted::Read(address(parts)), Quota { policy: "reads", per_min, burst: None })
}

/// What nobody in particular may quote.
fn keyless_quotes(parts: &Parts, app: &App) -> (Counted, Quota) {
    let per_min = app.config.limits.anonymous_quotes_per_min;
    (Counted::AnonymousQuote(address(parts)), Quota { policy: "anonymous-quotes", per_min, burst: None })
}

fn count(parts: &Parts, app: &App, caller: Counted, quota: Quota) -> Result<(), Problem> {
    let (standing, allowed) = app.limits.count(caller, quota, app.clock.now_ms());
    if let Some(notes) = parts.extensions.get::<Notes>() {
        notes.standing(standing);
    }
    if allowed { Ok(()) } else { Err(standing.exceeded()) }
}

impl FromRequestParts<Arc<App>> for MayQuote {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let (caller, quota) = match presented(parts, app)? {
            Presented::Valid(id, terms) => keyed(app, id, terms),
            Presented::None if app.config.anonymous_quotes => keyless_quotes(parts, app),
            Presented::None => return Err(missing()),
            Presented::Invalid => return Err(invalid()),
        };
        count(parts, app, caller, quota).map(|()| Self)
    }
}

impl FromRequestParts<Arc<App>> for MayBuild {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        match presented(parts, app)? {
            Presented::Valid(id, terms) => {
                let (caller, quota) = keyed(app, id, terms);
                count(parts, app, caller, quota).map(|()| Self)
            }
            Presented::None => Err(missing()),
            Presented::Invalid => Err(invalid()),
        }
    }
}

impl FromRequestParts<Arc<App>> for MayRead {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let (caller, quota) = match presented(parts, app)? {
            Presented::Valid(id, terms) => keyed(app, id, terms),
            Presented::None | Presented::Invalid => keyless_reads(parts, app),
        };
        count(parts, app, caller, quota).map(|()| Self)
    }
}
