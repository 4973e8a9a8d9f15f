//! Who calls, and whether they may.

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

/// Who has which key, and how often anybody may call.
pub struct Access {
    /// API keys.
    pub keys: KeyStore,
    /// Whether callers without a key may quote.
    pub anonymous_quotes: bool,
    /// Calls per minute.
    pub allowed: LimitsConfig,
    /// The calls so far.
    pub counted: Limits,
    /// The other services, where calls are counted over all of them.
    pub replicas: Option<Replicas>,
    /// Proxies whose word on who calls is taken.
    pub trusted_proxies: Vec<IpNet>,
    /// Tells when a key is over and when a minute is.
    pub clock: Arc<dyn Clock>,
    /// Makes of who is counted together a number, for what else is bounded for each caller.
    pub names: RandomState,
}

/// A caller who may quote: a valid key, or nobody's where anonymous quotes are on. One call is counted.
#[derive(Clone, Copy, Debug)]
pub struct MayQuote(pub Caller);

/// A caller who may build: a valid key. One call is counted.
#[derive(Clone, Copy, Debug)]
pub struct MayBuild(pub Caller);

/// Anybody; a valid key raises the limit, a wrong one is ignored. One call is counted.
#[derive(Clone, Copy, Debug)]
pub struct MayRead(pub Caller);

/// The key of a request.
enum Presented {
    None,
    Valid(KeyId, KeyTerms),
    Invalid,
    /// The keys cannot be read, so that nobody knows.
    Unknown(Problem),
}

fn presented(parts: &Parts, access: &Access) -> Presented {
    let key = match (parts.headers.get("x-api-key"), parts.headers.get(header::AUTHORIZATION)) {
        (Some(value), _) => value.to_str().ok(),
        (None, Some(value)) => match bearer(value) {
            // a proxy in front may ask for credentials of its own
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

/// What `Authorization` holds: a key, `None` where it cannot be read, or the credentials of another scheme.
enum Bearer<'a> {
    Key(Option<&'a str>),
    OtherScheme,
}

/// Reads `Authorization: Bearer KEY`; schemes are told apart in any case (RFC 9110).
fn bearer(value: &HeaderValue) -> Bearer<'_> {
    let (scheme, rest) = value.as_bytes().split_at(value.len().min("bearer".len()));
    let is_word = rest.first().is_none_or(|byte| *byte == b' ');
    if !scheme.eq_ignore_ascii_case(b"bearer") || !is_word {
        return Bearer::OtherScheme;
    }
    Bearer::Key(std::str::from_utf8(rest).ok().map(str::trim))
}

/// Returns where a keyless caller calls from.
fn origin(parts: &Parts, access: &Access) -> Origin {
    Origin::Address(address(parts, &access.trusted_proxies))
}

fn missing() -> Problem {
    Problem::new(Code::ApiKeyMissing, "send your API key in the header X-API-Key, or as Authorization: Bearer")
}

fn invalid() -> Problem {
    Problem::new(Code::ApiKeyInvalid, "the API key is unknown, revoked or expired")
}

/// Returns what a key may: its own terms, and the service's where it has none.
fn keyed(access: &Access, id: KeyId, terms: KeyTerms) -> (Counted, Quota) {
    let config = &access.allowed;
    let per_min = terms.per_min.unwrap_or(config.keyed_per_min);
    (Counted::Keyed(id.0), Quota { policy: "keyed", per_min, burst: terms.burst.or(config.keyed_burst) })
}

/// Returns what nobody in particular may read.
fn keyless_reads(parts: &Parts, access: &Access) -> (Counted, Quota) {
    let per_min = access.allowed.reads_per_min;
    (Counted::Read(origin(parts, access)), Quota { policy: "reads", per_min, burst: None })
}

/// Returns what nobody in particular may quote.
fn keyless_quotes(parts: &Parts, access: &Access) -> (Counted, Quota) {
    let per_min = access.allowed.anonymous_quotes_per_min;
    (Counted::AnonymousQuote(origin(parts, access)), Quota { policy: "anonymous-quotes", per_min, burst: None })
}

/// Counts a call here and, where it is allowed here, over all services.
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

/// As what a caller is counted and how often it may call, or the problem of a caller who may not.
type Admission = fn(&Parts, &Access, Presented) -> Result<(Counted, Quota), Problem>;

async fn admit<S>(parts: &Parts, state: &S, admission: Admission) -> Result<Caller, Refusal>
where
    Arc<Access>: FromRef<S>,
{
    let access = Arc::<Access>::from_ref(state);
    let (caller, quota) = admission(parts, &access, presented(parts, &access))?;
    let named = Caller(access.names.hash_one(&caller));
    count(parts, &access, caller, quota).await?;
    Ok(named)
}

/// Gives a caller's class the admission that decides on it.
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
