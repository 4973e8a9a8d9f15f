//! Groups addresses by caller, and recognises trusted ones.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;

/// Returns the part of an address that counts as one caller; for IPv6 the /64, which one customer typically holds.
pub fn caller(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

/// Returns whether an address is in one of the trusted networks.
pub fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|network| network.contains(&address.to_canonical()))
}
