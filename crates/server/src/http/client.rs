//! Finds a client's address: the peer of the connection, or the address that trusted proxies state.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use ipnet::IpNet;

use crate::connections::address::{caller, is_trusted};

/// Returns the address by which a caller without a key is counted; for IPv6 the /64, which one customer typically holds.
pub(super) fn address(parts: &Parts, trusted: &[IpNet]) -> IpAddr {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |info| info.0.ip());
    caller(if is_trusted(peer, trusted) { forwarded(&parts.headers, peer, trusted) } else { peer })
}

/// Returns the client's address as trusted proxies state it: from the right, the first address that is not a trusted
/// proxy's.
///
/// A proxy writes one of the two headers and may pass on the other as the client wrote it. If both are present and differ,
/// neither is trusted, and the client is counted as the proxy.
fn forwarded(headers: &HeaderMap, proxy: IpAddr, trusted: &[IpNet]) -> IpAddr {
    let lists = [(&X_FORWARDED_FOR, entry as Read), (&header::FORWARDED, forwarded_for as Read)];
    let mut stated = lists.iter().filter(|(name, _)| headers.contains_key(*name)).map(|(name, read)| {
        let lines = headers.get_all(*name).into_iter().rev();
        let hops = lines.flat_map(|line| line.to_str().unwrap_or("").rsplit(','));
        nearest(hops.map(read), proxy, trusted)
    });
    match (stated.next(), stated.next()) {
        (Some(one), Some(other)) if one != other => proxy,
        (one, _) => one.unwrap_or(proxy),
    }
}

const X_FORWARDED_FOR: header::HeaderName = header::HeaderName::from_static("x-forwarded-for");

/// Parses the address in an entry of a list.
type Read = fn(&str) -> Option<IpAddr>;

/// Returns the first untrusted address of `hops`. Stops at an entry that is no address, and returns the proxy that wrote it.
fn nearest(hops: impl Iterator<Item = Option<IpAddr>>, proxy: IpAddr, trusted: &[IpNet]) -> IpAddr {
    let mut last = proxy;
    for hop in hops {
        let Some(address) = hop else { break };
        last = address;
        if !is_trusted(address, trusted) {
            break;
        }
    }
    last
}

/// Reads an address, with or without a port, IPv6 with or without brackets.
fn entry(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// Reads the `for` of an element of `Forwarded` (RFC 7239).
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let pairs = element.split(';').filter_map(|pair| pair.split_once('='));
    let (_, node) = pairs.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    entry(node.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, Request};

    /// Returns the caller of a request from `peer` with these headers. Trusted are 10.0.0.0/8 and ::1.
    fn of(peer: &str, headers: &[(&str, &str)]) -> String {
        let trusted = ["10.0.0.0/8", "::1/128"].map(|network| network.parse().unwrap());
        let mut request = Request::new(());
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 1)));
        for (name, value) in headers {
            let name = header::HeaderName::from_bytes(name.as_bytes()).unwrap();
            request.headers_mut().append(name, HeaderValue::from_str(value).unwrap());
        }
        address(&request.into_parts().0, &trusted).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed_and_only_from_the_right() {
        let xff = |peer, value| of(peer, &[("x-forwarded-for", value)]);
        assert_eq!(xff("192.0.2.1", "198.51.100.7"), "192.0.2.1");
        assert_eq!(xff("10.0.0.1", "198.51.100.7"), "198.51.100.7");
        assert_eq!(xff("::ffff:10.0.0.1", "198.51.100.7"), "198.51.100.7");
        // Entries that the client invents are further to the left.
        assert_eq!(xff("10.0.0.1", "203.0.113.9, 198.51.100.7"), "198.51.100.7");
        assert_eq!(xff("10.0.0.1", "203.0.113.9, 198.51.100.7, 10.9.9.9"), "198.51.100.7");
        assert_eq!(xff("10.0.0.1", "10.1.1.1,10.2.2.2"), "10.1.1.1");
        assert_eq!(of("10.0.0.1", &[]), "10.0.0.1");
        // An entry that cannot be parsed ends the search.
        assert_eq!(xff("10.0.0.1", "198.51.100.7, unknown, 10.3.3.3"), "10.3.3.3");
        assert_eq!(xff("10.0.0.1", ""), "10.0.0.1");
        let lines = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "198.51.100.7")];
        assert_eq!(of("10.0.0.1", &lines), "198.51.100.7");
    }

    #[test]
    fn addresses_are_read_in_every_form_and_ipv6_counts_by_its_network() {
        let xff = |value| of("::1", &[("x-forwarded-for", value)]);
        for form in ["2001:db8:1:2:3:4:5:6", "[2001:db8:1:2::9]", "[2001:db8:1:2::9]:4711"] {
            assert_eq!(xff(form), "2001:db8:1:2::", "{form}");
        }
        assert_eq!(xff("198.51.100.7:4711"), "198.51.100.7");
        assert_eq!(xff("::ffff:198.51.100.7"), "198.51.100.7");
        let forwarded = |value| of("::1", &[("forwarded", value)]);
        assert_eq!(forwarded("for=198.51.100.7;proto=https"), "198.51.100.7");
        assert_eq!(forwarded("for=203.0.113.9, proto=https;For=\"[2001:db8:1:2::9]:80\""), "2001:db8:1:2::");
        assert_eq!(forwarded("for=_hidden, for=10.4.4.4"), "10.4.4.4");
    }

    #[test]
    fn a_header_that_the_proxy_does_not_write_changes_no_count() {
        let both = |made_up, written| of("10.0.0.1", &[("forwarded", made_up), ("x-forwarded-for", written)]);
        assert_eq!(both("for=203.0.113.9", "198.51.100.7"), "10.0.0.1");
        assert_eq!(both("for=198.51.100.7", "198.51.100.7"), "198.51.100.7");
    }
}
