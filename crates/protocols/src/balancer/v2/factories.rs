//! Factories whose pools' code is known. The factory of a pool determines its arithmetic.
//!
//! Anyone may register a pool with the vault, and a pool that merely claims to be weighted can pay anything.
//!
//! Source of the addresses: Balancer's deployment list. The rounding of each generation is compared with its own
//! bytecode (`tests/it/balancer_bytecode.rs`). The bytecode of pools since 2023-03 is in no package; they are assumed
//! to round like their predecessors.

use alloy_primitives::{Address, address};

use super::Minting;
use crate::balancer::{Invariant, Power};

/// Kind of a factory's pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Weighted, with this computation of powers.
    Weighted(Power),
    /// Stable, without rates.
    Stable(Invariant),
    /// Stable, with a rate provider for each coin that needs one.
    MetaStable,
    /// Stable, with rate providers, and with the pool's own token among the coins.
    Composable(Minting),
}

/// Every factory, with the kind of its pools.
pub(super) const FACTORIES: [(Address, Kind); 14] = [
    (address!("8E9aa87E45e92bad84D5F8DD1bff34Fb92637dE9"), Kind::Weighted(Power::Logarithm)),
    (address!("A5bf2ddF098bb0Ef6d120C98217dD6B141c74EE0"), Kind::Weighted(Power::Logarithm)),
    (address!("cC508a455F5b0073973107Db6a878DdBDab957bC"), Kind::Weighted(Power::Shortcuts)),
    (address!("5Dd94Da3644DDD055fcf6B3E1aa310Bb7801EB8b"), Kind::Weighted(Power::Shortcuts)),
    (address!("897888115Ada5773E02aA29F775430BFB5F34c51"), Kind::Weighted(Power::Shortcuts)),
    (address!("c66Ba2B6595D3613CCab350C886aCE23866EDe24"), Kind::Stable(Invariant::Up)),
    (address!("8df6EfEc5547e31B0eb7d1291B511FF8a2bf987c"), Kind::Stable(Invariant::Down)),
    (address!("67d27634E44793fE63c467035E31ea8635117cd4"), Kind::MetaStable),
    (address!("f9ac7B9dF2b3454E841110CcE5550bD5AC6f875F"), Kind::Composable(Minting::Twice)),
    (address!("85a80afee867aDf27B50BdB7b76DA70f1E853062"), Kind::Composable(Minting::Once)),
    (address!("dba127fBc23fb20F5929C546af220A991b5C6e01"), Kind::Composable(Minting::Once)),
    (address!("fADa0f4547AB2de89D1304A668C39B3E09Aa7c76"), Kind::Composable(Minting::Once)),
    (address!("DB8d758BCb971e482B2C45f7F8a7740283A1bd3A"), Kind::Composable(Minting::Once)),
    (address!("5B42eC6D40f7B7965BE5308c70e2603c0281C1E9"), Kind::Composable(Minting::Once)),
];
