//! Rounding rules of the classic StableSwap pools.

use alloy_primitives::{Address, address};

use super::stable::{ProductRule, Rules};

/// Pools deployed individually, before the factory.
///
/// Source: the verified sources of these addresses; addresses from Curve's main registry.
pub const CLASSIC: &[(Address, Rules)] = &[
    (address!("bebc44782c7db0a1a60cb6fe97d0b483032ff1c7"), Rules::THREE_POOL),
    (address!("93054188d876f558f4a66b2ef1d97d16edf0895b"), Rules::THREE_POOL),
    (address!("7fc77b5c7614e1533320ea6ddc2eb61fa00a9714"), Rules::THREE_POOL),
    (address!("4ca9b3063ec5866a4b82e437059d2c43d1be596f"), Rules::THREE_POOL),
    (address!("a2b47e3d5c44877cca798226b7b8118f9bfb7a56"), Rules::COMPOUND),
    (address!("52ea46506b9cc5ef470c5bf89f17dc28bb35d85c"), Rules::COMPOUND),
    (address!("45f783cce6b7ff23b2ab2d70e416cdb7d6055f51"), Rules::COMPOUND),
    (address!("79a8c46dea5ada233abaffd40f3a0a2b1e5a4f27"), Rules::COMPOUND),
    (address!("a5407eae9ba41422680e2e00537571bcc53efbfd"), Rules::COMPOUND),
    (address!("06364f10b501e868329afbc005b3492902d6c763"), Rules::PAX),
    (address!("debf20617708857ebe4f679508e7b7863a8a8eee"), Rules::AAVE),
    (address!("eb16ae0052ed37f479f7fe63849198df1765a733"), Rules::AAVE),
    (address!("dc24316b9ae028f1497c275eb9192a3ea0f67022"), Rules::STETH),
    (address!("a96a65c051bf88b4095ee1f2451c2a9d43f53ae2"), Rules::ANKR),
    (address!("f9440930043eb3997fc70e1339dbb11f341de7a8"), Rules::ANKR),
    (address!("2dded6da1bf5dbdf597c45fcfaa3194e53ecfeaf"), Rules::standard(ProductRule::TimesN)),
    (address!("0ce6a5ff5217e38315f87032cf90686c96627caa"), Rules::standard(ProductRule::TimesN)),
    (address!("c5424b857f758e906013f3555dad202e4bdb4567"), Rules::standard(ProductRule::TimesN)),
];

/// Returns the rounding rules of a listed pool.
pub(super) fn listed_rules(pool: Address) -> Rules {
    rules_of(pool).unwrap_or(Rules::standard(ProductRule::TimesN))
}

/// Tells whether a pool is one of Aave tokens, with a dynamic fee.
pub(super) fn is_of_aave(pool: Address) -> bool {
    rules_of(pool) == Some(Rules::AAVE)
}

/// Returns the rounding rules of an individually deployed pool; `None` for any other.
pub fn rules_of(pool: Address) -> Option<Rules> {
    CLASSIC.iter().find(|(address, _)| *address == pool).map(|(_, rules)| *rules)
}
