//! Negotiates the content coding of answers.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

/// A supported content coding, least preferred first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coding {
    /// None.
    Identity,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

impl Coding {
    /// Every coding.
    pub const ALL: [Self; 3] = [Self::Identity, Self::Gzip, Self::Zstd];

    /// Returns its name in headers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// Returns the coding of an answer to a request with these headers. A client that accepts no supported coding is answered
/// without one.
pub fn accepted(headers: &HeaderMap) -> Coding {
    let lines = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|line| line.to_str().ok());
    let items: Vec<(&str, f32)> = lines.flat_map(|line| line.split(',')).filter_map(item).collect();
    let quality = |coding: &Coding| {
        let named = |name: &str| items.iter().find(|(item, _)| item.eq_ignore_ascii_case(name)).map(|(_, q)| *q);
        let own = named(coding.name()).or_else(|| if *coding == Coding::Identity { None } else { named("*") });
        own.unwrap_or(0.0)
    };
    let wanted = Coding::ALL.into_iter().filter(|coding| quality(coding) > 0.0);
    wanted.max_by(|a, b| quality(a).total_cmp(&quality(b)).then(a.cmp(b))).unwrap_or(Coding::Identity)
}

/// Parses a coding and its quality.
fn item(text: &str) -> Option<(&str, f32)> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next()?;
    let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    Some((name, quality.map_or(Some(1.0), |q| q.parse().ok()).filter(|q| (0.0..=1.0).contains(q))?))
}

/// Reduces `Accept-Encoding` to the answer's coding, as a layer.
pub async fn negotiate(mut request: Request, next: Next) -> Response {
    let coding = accepted(request.headers());
    request.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static(coding.name()));
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_what_is_accepted_is_taken_and_nothing_where_nothing_is() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_str(value).unwrap());
            accepted(&headers)
        };
        assert_eq!(accepted(&HeaderMap::new()), Coding::Identity);
        for (value, expected) in [
            ("", Coding::Identity),
            ("gzip", Coding::Gzip),
            ("GZIP, zstd;q=0.5", Coding::Gzip),
            ("gzip, deflate, br, zstd", Coding::Zstd),
            ("*", Coding::Zstd),
            ("zstd;q=0, *;q=0.1", Coding::Gzip),
            ("gzip;q=0.2, identity", Coding::Identity),
            ("identity;q=0, gzip", Coding::Gzip),
            ("identity;q=0", Coding::Identity),
            ("*;q=0", Coding::Identity),
            ("br, gzip;q=nonsense", Coding::Identity),
        ] {
            assert_eq!(of(value), expected, "{value:?}");
        }
    }
}
