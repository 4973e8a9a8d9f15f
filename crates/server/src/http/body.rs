//! Reading a JSON body: its declared type, its size, its shape.

use axum::body::Body;
use axum::extract::{FromRef, FromRequest};
use axum::http::{HeaderMap, Request, header};
use braid_quoting::json::{self, Json};
use braid_quoting::{Code, Problem, request};
use http_body_util::BodyExt as _;

use super::problem::Refusal;

/// Largest body that is read, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimit(pub usize);

/// A request that keeps its rules, from its JSON body.
#[derive(Debug)]
pub struct Valid<T>(pub T);

impl<S: Send + Sync, T: request::Body> FromRequest<S> for Valid<T>
where
    BodyLimit: FromRef<S>,
{
    type Rejection = Refusal;

    async fn from_request(request: Request<Body>, state: &S) -> Result<Self, Refusal> {
        let body = read_json(request, BodyLimit::from_ref(state).0).await?;
        Ok(Self(T::parse(&body)?))
    }
}

/// How much of a body beyond the limit is read and thrown away, so that a client that is still sending hears the answer
/// instead of a broken connection.
const DRAIN_BYTES: usize = 16 << 20;

/// Reads a request's body as JSON.
///
/// # Errors
/// `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE` or `MALFORMED_JSON`.
async fn read_json(request: Request<Body>, limit_bytes: usize) -> Result<Json, Problem> {
    let declared = is_json(request.headers());
    // the body is taken in either way, so that the connection stays usable
    let bytes = read(request.into_body(), limit_bytes).await;
    if !declared {
        return Err(Problem::new(Code::UnsupportedMediaType, "send the body with content-type: application/json"));
    }
    json::parse(&bytes?).map_err(|error| Problem::new(Code::MalformedJson, format!("the body is not JSON: {error}")))
}

fn is_json(headers: &HeaderMap) -> bool {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let essence = declared.split(';').next().unwrap_or("").trim();
    essence.eq_ignore_ascii_case("application/json")
}

async fn read(mut body: Body, limit_bytes: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let mut seen = 0usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::new(Code::MalformedJson, "the body ended before its time"))?;
        let Some(data) = frame.data_ref() else { continue };
        seen = seen.saturating_add(data.len());
        if seen > DRAIN_BYTES {
            break;
        }
        if seen <= limit_bytes {
            bytes.extend_from_slice(data);
        }
    }
    if seen > limit_bytes {
        let detail = format!("the body may have {limit_bytes} bytes at most");
        return Err(Problem::new(Code::PayloadTooLarge, detail));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(content_type: Option<&str>, body: &str) -> Request<Body> {
        let builder = Request::builder().method("POST");
        let builder = content_type.into_iter().fold(builder, |b, value| b.header(header::CONTENT_TYPE, value));
        builder.body(Body::from(body.to_owned())).unwrap()
    }

    async fn code(content_type: Option<&str>, body: &str) -> Option<Code> {
        read_json(request(content_type, body), 10).await.err().map(|problem| problem.code)
    }

    #[tokio::test]
    async fn only_declared_json_is_read() {
        for good in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
            assert_eq!(code(Some(good), "{}").await, None, "{good}");
        }
        for bad in [None, Some(""), Some("text/plain"), Some("application/jsonp"), Some("application/xml")] {
            assert_eq!(code(bad, "{}").await, Some(Code::UnsupportedMediaType), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn the_limit_is_exact() {
        assert_eq!(code(Some("application/json"), "[1,2,3,45]").await, None);
        assert_eq!(code(Some("application/json"), "[1,2,3,456]").await, Some(Code::PayloadTooLarge));
        assert_eq!(code(Some("application/json"), "").await, Some(Code::MalformedJson));
    }
}
