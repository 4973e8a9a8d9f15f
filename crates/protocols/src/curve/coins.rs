//! Coins of several listed pools, and coins with state of their own: stETH, which moves as shares, and shares of listed
//! vaults, whose rate is modelled.

use alloy_primitives::{Address, address};

use crate::erc4626;

pub(super) const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
pub(super) const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
pub(super) const USDT: Address = address!("dAC17F958D2ee523a2206206994597C13D831ec7");
pub(super) const FRAX: Address = address!("853d955aCEf822Db058eb8505911ED77F175b99e");
pub(super) const WBTC: Address = address!("2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599");
pub(super) const SBTC: Address = address!("fE18be6b3Bd88A2D2A7f928d00292E7a9963CfC6");
pub(super) const RENBTC: Address = address!("EB4C2781e4ebA804CE9a9803C67d0893436bB27D");
/// Share of the 3pool.
pub(super) const THREE_CRV: Address = address!("6c3F90f043a72FA612cbac8115EE7e52BDe6E490");
pub(super) const SUSD: Address = address!("57Ab1ec28D129707052df4dF418D58a2D46d5f51");

/// Types for a coin that is stETH.
pub(super) use crate::lido::{STETH, State as StethRate, WSTETH};

/// Returns whether a coin is the share of a listed vault.
pub(super) fn is_listed_share(coin: Address) -> bool {
    erc4626::LISTED.iter().any(|listed| listed.vault == coin)
}
