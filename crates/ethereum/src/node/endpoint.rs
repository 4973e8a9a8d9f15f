//! The address of a node, and the part of it that may be shown.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use alloy::transports::http::reqwest::Url;

use crate::NodeError;

/// Most characters of a node's text that are kept.
const MOST_CHARS: usize = 300;

/// The address of a node. `Display` and `Debug` show only scheme and host: paths, queries and user names contain API
/// keys.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    address: Address,
    shown: String,
    host: String,
}

/// The whole address, including secrets.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// `http://` or `https://`.
    Http(Url),
    /// `ws://` or `wss://`.
    Ws(Url),
    /// A local socket.
    Ipc(PathBuf),
}

impl Endpoint {
    /// Reads a URL, or the path of an ipc socket (absolute, relative with a dot, `ipc://…`, or ending in `.ipc`).
    ///
    /// # Errors
    /// [`NodeError::BadUrl`] for anything else.
    pub fn parse(text: &str) -> Result<Self, NodeError> {
        let text = text.trim();
        if let Some(path) = ipc_path(text) {
            let file = path.file_name().unwrap_or_default();
            let shown = format!("ipc socket {}", file.display());
            return Ok(Self { shown, host: "ipc".into(), address: Address::Ipc(path) });
        }
        let url = Url::parse(text).map_err(|e| bad("the given text", &e.to_string()))?;
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
            return Err(bad(&format!("{}:…", url.scheme()), "it names no host"));
        };
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let host = format!("{host}{port}");
        let shown = format!("{}://{host}", url.scheme());
        match url.scheme() {
            "http" | "https" => Ok(Self { address: Address::Http(url), shown, host }),
            "ws" | "wss" => Ok(Self { address: Address::Ws(url), shown, host }),
            other => Err(bad(&shown, &format!("the scheme {other} is not supported"))),
        }
    }

    /// Returns whether the transport can push new heads.
    pub fn can_subscribe(&self) -> bool {
        !matches!(self.address, Address::Http(_))
    }

    /// Returns the path of an ipc socket; `None` for a URL.
    pub fn socket(&self) -> Option<&Path> {
        match &self.address {
            Address::Ipc(path) => Some(path),
            Address::Http(_) | Address::Ws(_) => None,
        }
    }

    /// Returns host and port, or `ipc`: the name of a node.
    pub(crate) fn host(&self) -> String {
        self.host.clone()
    }

    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// Removes possible secrets of this address from a text, and shortens it.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let (Address::Http(url) | Address::Ws(url)) = &self.address else { return shorten(text) };
        // Not of the shortened text: a secret that it cuts would not be found.
        let mut text = text.to_owned();
        for whole in [url.as_str(), url.as_str().trim_end_matches('/')] {
            text = text.replace(whole, &self.shown);
        }
        let parts = [url.username(), url.password().unwrap_or_default(), url.query().unwrap_or_default()];
        let path = url.path_segments().into_iter().flatten();
        for secret in parts.into_iter().chain(path).filter(|part| part.len() >= 6) {
            text = text.replace(secret, "…");
        }
        shorten(&text)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({})", self.shown)
    }
}

/// Returns the beginning of a text that a node may have written, without control characters.
pub(super) fn shorten(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST_CHARS).collect()
}

fn ipc_path(text: &str) -> Option<PathBuf> {
    let path = text.strip_prefix("ipc://").or_else(|| text.strip_prefix("file://"));
    let looks_like_a_path = |t: &&str| t.starts_with('/') || t.starts_with("./") || t.starts_with("../");
    path.or_else(|| Some(text).filter(looks_like_a_path))
        .or_else(|| Some(text).filter(|t| t.ends_with(".ipc") && !t.contains("://")))
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

fn bad(shown: &str, why: &str) -> NodeError {
    NodeError::BadUrl { shown: shown.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scheme_and_host_are_ever_shown() {
        let secret = "https://user:hunter22@node.example:8443/v3/0123456789abcdef?key=topsecret";
        let endpoint = Endpoint::parse(secret).unwrap();
        assert_eq!(endpoint.to_string(), "https://node.example:8443");
        assert_eq!(format!("{endpoint:?}"), "Endpoint(https://node.example:8443)");
        let scrubbed = endpoint.scrub(&format!("error for url ({secret}): /v3/0123456789abcdef is wrong, hunter22"));
        for leak in ["hunter22", "0123456789abcdef", "topsecret"] {
            assert!(!scrubbed.contains(leak), "{scrubbed}");
        }
    }

    /// The first characters of a key were shown where a text was cut within it.
    #[test]
    fn a_text_that_is_cut_within_a_secret_shows_nothing_of_it() {
        let endpoint = Endpoint::parse("https://node.example/v3/0123456789abcdef").unwrap();
        for before in MOST_CHARS - 40..MOST_CHARS {
            let text = format!("{} https://node.example/v3/0123456789abcdef", "x".repeat(before));
            let scrubbed = endpoint.scrub(&text);
            assert!(!scrubbed.contains("0123") && scrubbed.chars().count() <= MOST_CHARS, "{scrubbed}");
        }
    }

    #[test]
    fn an_ipc_socket_is_shown_without_its_directory() {
        assert_eq!(Endpoint::parse("/home/somebody/geth.ipc").unwrap().to_string(), "ipc socket geth.ipc");
    }

    #[test]
    fn every_transport_is_recognised() {
        for (text, subscribes) in [
            ("http://127.0.0.1:8545", false),
            ("https://node.example/key", false),
            ("ws://127.0.0.1:8545", true),
            ("wss://node.example", true),
            ("/run/node/geth.ipc", true),
            ("./geth.ipc", true),
            ("geth.ipc", true),
            ("ipc:///run/geth.ipc", true),
        ] {
            assert_eq!(Endpoint::parse(text).unwrap().can_subscribe(), subscribes, "{text}");
        }
    }

    #[test]
    fn what_is_no_node_address_is_refused_without_repeating_it() {
        for text in ["", "localhost:8545", "ftp://node.example/secretkey", "http://", "not a url secretkey"] {
            let error = Endpoint::parse(text).unwrap_err();
            assert!(matches!(error, NodeError::BadUrl { .. }), "{text}");
            assert!(!error.to_string().contains("secretkey"), "{error}");
        }
    }
}
