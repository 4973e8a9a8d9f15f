//! Which addresses count as one, and which are trusted.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;

/// Returns what of an address counts as one caller: of IPv6 the /64, which is what one customer holds.
pub fn caller(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

/// Returns whether an address is one of those that are trusted.
pub fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|network| network.contains(&address.to_canonical()))
}
