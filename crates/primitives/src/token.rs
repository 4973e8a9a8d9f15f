//! Tokens.

use alloy_primitives::{Address, address};
use serde::{Deserialize, Serialize};

/// Placeholder address of native ether in requests, answers and programs.
pub const NATIVE_ETHER: Address = address!("EeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE");

/// Wrapped ether (WETH9) on mainnet.
pub const WETH: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");

/// Tells whether an address names native ether: the usual placeholder, or the zero address.
///
/// ```
/// # use braid_primitives::{is_native_ether, Address, WETH};
/// assert!(is_native_ether(Address::ZERO));
/// assert!(!is_native_ether(WETH));
/// ```
pub fn is_native_ether(address: Address) -> bool {
    address == NATIVE_ETHER || address == Address::ZERO
}

/// An ERC-20 token, or native ether.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Contract address; [`NATIVE_ETHER`] for ether.
    pub address: Address,
    /// Symbol that the contract returns, made safe to print; empty if it has none.
    pub symbol: String,
    /// Name that the contract returns, made safe to print; empty if it has none.
    pub name: String,
    /// Decimals: one whole token is `10^decimals` atomic units.
    pub decimals: u8,
}

impl Token {
    /// Returns native ether.
    pub fn native_ether() -> Self {
        Self { address: NATIVE_ETHER, symbol: "ETH".into(), name: "Ether".into(), decimals: 18 }
    }

    /// Tells whether this is native ether.
    pub fn is_native_ether(&self) -> bool {
        self.address == NATIVE_ETHER
    }
}
