//! Coins with state of their own: stETH, which moves as shares, and shares of listed vaults, whose rate is modelled.

use alloy_primitives::Address;

use crate::erc4626;

/// Types for a coin that is stETH.
pub(super) use crate::lido::{STETH, State as StethRate, WSTETH};

/// Returns whether a coin is the share of a listed vault.
pub(super) fn is_listed_share(coin: Address) -> bool {
    erc4626::LISTED.iter().any(|listed| listed.vault == coin)
}
