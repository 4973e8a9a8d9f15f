//! Authenticates callers and counts their calls.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use braid_quoting::{Clock, Code, Problem};
use braid_simulation::Caller;
use braid_store::replicas::CallLimits;
use braid_store::{KeyId, KeyStore, KeyTerms, Replicas};
use ipnet::IpNet;

use super::client::address;
use super::envelope::Notes;
use super::limits::{Counted, Limits, Origin, Quota};
use super::problem::Refusal;
use crate::config::LimitsConfig;

/// API keys and rate limits.
pub struct Access {
    /// API keys.
    pub keys: KeyStore,
    /// True if callers without a key may quote.
    pub anonymous_quotes: bool,
    /// Rate limits.
    pub allowed: LimitsConfig,
    /// Counted calls.
    pub counted: Limits,
    /// Redis server through which several services count calls together.
    pub replicas: Option<Replicas>,
    /// Proxies whose headers `X-Forwarded-For` and `Forwarded` are trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Clock for keys and rate limits.
    pub clock: Arc<dyn Clock>,
    /// Hashes a counted caller to the number by which simulations are limited per caller.
    pub caller_hasher: RandomState,
}

/// A caller who may quote: with a valid key, or without a key if anonymous quotes are on. Extracting it counts a call.
#[derive(Clone, Copy, Debug)]
pub struct MayQuote(pub Caller);

/// A caller who may build: with a valid key. Extracting it counts a call.
#[derive(Clone, Copy, Debug)]
pub struct MayBuild(pub Caller);

/// Any caller: a valid key raises the limit, an invalid one is ignored. Extracting it counts a call.
#[derive(Clone, Copy, Debug)]
pub struct MayRead(pub Caller);

/// The key of a request.
enum Presented {
    None,
    Valid(KeyId, KeyTerms),
    Invalid,
    /// The key file cannot be read.
    Unknown(Problem),
}

fn presented(parts: &Parts, access: &Access) -> Presented {
    let key = match (parts.headers.get("x-api-key"), parts.headers.get(header::AUTHORIZATION)) {
        (Some(value), _) => value.to_str().ok(),
        (None, Some(value)) => match bearer(value) {
            // credentials for a proxy in front of the service
            Bearer::OtherScheme => return Presented::None,
            Bearer::Key(key) => key,
        },
        (None, None) => return Presented::None,
    };
    let Some(key) = key else { return Presented::Invalid };
    match access.keys.check(key, access.clock.now_s()) {
        Ok(Some(record)) => Presented::Valid(record.id, record.terms),
        Ok(None) => Presented::Invalid,
        Err(error) => Presented::Unknown(error.into()),
    }
}

/// Content of `Authorization`: a key, `None` if it is not text, or credentials of another scheme.
enum Bearer<'a> {
    Key(Option<&'a str>),
    OtherScheme,
}

/// Reads `Authorization: Bearer KEY`. The scheme is case-insensitive (RFC 9110).
fn bearer(value: &HeaderValue) -> Bearer<'_> {
    let (scheme, rest) = value.as_bytes().split_at(value.len().min("bearer".len()));
    let is_word = rest.first().is_none_or(|byte| *byte == b' ');
    if !scheme.eq_ignore_ascii_case(b"bearer") || !is_word {
        return Bearer::OtherScheme;
    }
    Bearer::Key(std::str::from_utf8(rest).ok().map(str::trim))
}

/// Returns the origin of a caller without a key.
fn origin(parts: &Parts, access: &Access) -> Origin {
    Origin::Address(address(parts, &access.trusted_proxies))
}

fn missing() -> Problem {
    Problem::new(Code::ApiKeyMissing, "send your API key in the header X-API-Key, or as Authorization: Bearer")
}

fn invalid() -> Problem {
    Problem::new(Code::ApiKeyInvalid, "the API key is unknown, revoked or expired")
}

/// Returns the quota of a key: its own terms, and the service's defaults.
fn keyed(access: &Access, id: KeyId, terms: KeyTerms) -> (Counted, Quota) {
    let config = &access.allowed;
    let per_min = terms.per_min.unwrap_or(config.keyed_per_min);
    (Counted::Keyed(id.0), Quota { policy: "keyed", per_min, burst: terms.burst.or(config.keyed_burst) })
}

/// Returns the quota of reads without a key.
fn keyless_reads(parts: &Parts, access: &Access) -> (Counted, Quota) {
    let per_min = access.allowed.reads_per_min;
    (Counted::Read(origin(parts, access)), Quota { policy: "reads", per_min, burst: None })
}

/// Returns the quota of quotes without a key.
fn keyless_quotes(parts: &Parts, access: &Access) -> (Counted, Quota) {
    let per_min = access.allowed.anonymous_quotes_per_min;
    (Counted::AnonymousQuote(origin(parts, access)), Quota { policy: "anonymous-quotes", per_min, burst: None })
}

/// Counts a call at this service and, if allowed here, over all services.
async fn count(parts: &Parts, access: &Access, caller: Counted, quota: Quota) -> Result<(), Problem> {
    let (mut standing, mut allowed) = access.counted.count(caller.clone(), quota, access.clock.elapsed_ms());
    if let Some(replicas) = access.replicas.as_ref().filter(|_| allowed) {
        let name = access.counted.counted_as(caller.clone()).shared_name();
        let limits = CallLimits { per_min: quota.per_min, burst: quota.burst };
        if let Some(left) = replicas.count(&name, limits).await {
            (standing, allowed) = (standing.shared(left), left.allowed);
            if !allowed {
                access.counted.take_back(caller);
            }
        }
    }
    if let Some(notes) = parts.extensions.get::<Notes>() {
        notes.standing(standing);
    }
    if allowed { Ok(()) } else { Err(standing.exceeded()) }
}

/// Returns the counted caller and its quota, or the problem of a caller without permission.
type Admission = fn(&Parts, &Access, Presented) -> Result<(Counted, Quota), Problem>;

async fn admit<S>(parts: &Parts, state: &S, admission: Admission) -> Result<Caller, Refusal>
where
    Arc<Access>: FromRef<S>,
{
    let access = Arc::<Access>::from_ref(state);
    let (caller, quota) = admission(parts, &access, presented(parts, &access))?;
    let named = Caller(access.caller_hasher.hash_one(&caller));
    count(parts, &access, caller, quota).await?;
    Ok(named)
}

/// Implements the extractors of callers by their admissions.
macro_rules! admitted {
    ($($class:ident: $admission:expr;)*) => {$(
        impl<S: Send + Sync> FromRequestParts<S> for $class
        where
            Arc<Access>: FromRef<S>,
        {
            type Rejection = Refusal;

            async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
                admit(parts, state, $admission).await.map(Self)
            }
        }
    )*};
}

admitted! {
    MayQuote: |parts, access, key| match key {
        Presented::Valid(id, terms) => Ok(keyed(access, id, terms)),
        Presented::None if access.anonymous_quotes => Ok(keyless_quotes(parts, access)),
        Presented::None => Err(missing()),
        Presented::Invalid => Err(invalid()),
        Presented::Unknown(problem) => Err(problem),
    };
    MayBuild: |_, access, key| match key {
        Presented::Valid(id, terms) => Ok(keyed(access, id, terms)),
        Presented::None => Err(missing()),
        Presented::Invalid => Err(invalid()),
        Presented::Unknown(problem) => Err(problem),
    };
    MayRead: |parts, access, key| match key {
        Presented::Valid(id, terms) => Ok(keyed(access, id, terms)),
        Presented::None | Presented::Invalid | Presented::Unknown(_) => Ok(keyless_reads(parts, access)),
    };
}
