//! Contracts of the listed pools, which were identified by hand. `evidence.rs` identifies others.

use alloy_primitives::{Address, address};

use super::{
    crypto::{ClassicTwo, Kind},
    implementations::{FRAX_POOL, FRAX_USDP_POOL, REN_POOL, SBTC_POOL, SBTC_SECOND_POOL},
    lending, listed,
    pool::{Model, State},
    presets::listed_rules,
    stable::{MetaGeneration, ProductRule, Rules},
};
use crate::{Discovered, Product};

pub(super) use super::{coins::THREE_CRV, implementations::THREE_POOL};

/// Shares and their pools. Source: Curve's main registry, `curve-js`.
const BASE_POOLS: &[(Address, Address)] = &[
    (THREE_CRV, THREE_POOL),
    (address!("3175Df0976dFA876431C2E9eE6Bc45b65d3473CC"), FRAX_POOL),
    (address!("FC2838a17D8e8B1D5456E0a351B0708a09211147"), FRAX_USDP_POOL),
    (address!("075b1bb99792c9E1041bA13afEf80C91a1e70fB3"), SBTC_POOL),
    (address!("49849C98ae39Fff122806C06791Fa73784FB3675"), REN_POOL),
    (address!("051d7e5609917Bd9b73f04BAc0DED8Dd46a74301"), SBTC_SECOND_POOL),
];

/// Individually deployed metapools, which cache the price of shares. Source: Curve's main registry; `curve-contract`,
/// where they share their code except for constants: GUSD, HUSD, USDK, mUSD, RSV, DUSD, USDP, UST; on sBTC's pool tBTC,
/// pBTC, bBTC, oBTC.
const BY_HAND_METAPOOLS: [Address; 12] = [
    address!("4f062658EaAF2C1ccf8C8e36D6824CDf41167956"),
    address!("3eF6A01A0f81D6046290f3e2A8c5b843e738E604"),
    address!("3E01dD8a5E1fb3481F0F589056b428Fc308AF0Fb"),
    address!("8474DdbE98F5aA3179B3B3F5942D724aFcdec9f6"),
    address!("C18cC39da8b11dA8c3541C598eE022258F9744da"),
    address!("8038C01A0390a8c547446a0b2c18fc9aEFEcc10c"),
    address!("42d7025938bEc20B69cBae5A77421082407f053A"),
    address!("890f4e345B1dAED0367A877a1612f86A1f86985f"),
    address!("C25099792E9349C7DD09759744ea681C7de2cb66"),
    address!("7F55DDe206dbAD629C080068923b36fe9D6bDBeF"),
    address!("071c661B4DeefB59E2a3DdB20Db036821eeE8F4b"),
    address!("d81dA8D904b52208541Bade1bD6595D8a251F8dd"),
];

/// Two-coin pools of 2021 that are not from the factory, by the differences of their contracts. Source: their verified
/// code.
const TWO_COINS: &[(Address, ClassicTwo)] = &[
    (address!("9838eCcC42659FA8AA7daF2aD134b53984c9427b"), ClassicTwo::Early),
    (address!("98a7F18d4E56Cfe84E3D081B40001B3d5bD3eB8B"), ClassicTwo::Early),
    (address!("B576491F1E6e5E62f1d8F26062Ee822B40B0E0d4"), ClassicTwo::Tenth),
    (address!("98638FAcf9a3865cd033F36548713183f6996122"), ClassicTwo::Tenth),
    (address!("752eBeb79963cf0732E9c0fec72a49FD1DEfAEAC"), ClassicTwo::Tenth),
    (address!("AdCFcf9894335dC340f6Cd182aFA45999F45Fc44"), ClassicTwo::TenthLoose),
    (address!("E84f5b1582BA325fDf9cE6B0c1F087ccfC924e54"), ClassicTwo::TenthLoose),
];

/// Returns the variant of an individually deployed two-coin pool of 2021; `None` for any other pool.
pub fn two_coins_of(pool: Address) -> Option<ClassicTwo> {
    TWO_COINS.iter().find(|(address, _)| *address == pool).map(|(_, two)| *two)
}

/// Properties that the reader needs before it can decode a pool's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Rounding rules of a StableSwap pool.
    pub(super) rules: Rules,
    /// Base pool of a metapool.
    pub(super) base: Option<Address>,
    /// Whether a metapool caches the price of shares.
    pub(super) remembers_price: bool,
    /// Whether a metapool is of the next generation.
    pub(super) next: bool,
    /// Variant of a two-coin CryptoSwap pool.
    pub(super) two: ClassicTwo,
}

impl Identity {
    pub(super) const fn stable(rules: Rules) -> Self {
        Self { rules, base: None, remembers_price: false, next: false, two: ClassicTwo::Factory }
    }

    /// Returns the properties of most pools of the product.
    pub(super) fn usual(pool: &Discovered) -> Self {
        let next = pool.product == Product::CurveStableswapNg;
        Self::stable(Rules::standard(if next { ProductRule::Whole } else { ProductRule::TimesN }))
    }

    /// Returns the properties from an earlier reading.
    pub(super) fn of(was: &State) -> Self {
        match &was.model {
            Model::Stable(pool) | Model::Lending(lending::State { pool, .. }) => Self::stable(pool.rules),
            Model::Meta(meta) => Self {
                base: was.base_pool,
                remembers_price: meta.cached_price.is_some(),
                next: meta.generation == MetaGeneration::Next,
                ..Self::stable(meta.pool.rules)
            },
            Model::Crypto(pool) => {
                let two = if let Kind::Cryptoswap(two) = pool.kind { two } else { ClassicTwo::Factory };
                Self { two, ..Self::stable(Rules::standard(ProductRule::TimesN)) }
            }
        }
    }
}

/// Returns the properties of a listed pool; `None` for any other. Metapools of the first factory are among the listed
/// ones.
pub(super) fn by_hand(pool: &Discovered) -> Option<Identity> {
    let usual = Identity::usual(pool);
    match pool.product {
        Product::CurveMetapool => {
            let remembers_price = BY_HAND_METAPOOLS.contains(&pool.key.contract);
            let looked_at = remembers_price || listed::holds(pool);
            looked_at.then(|| Identity { base: base_of(pool), remembers_price, ..usual })
        }
        Product::CurveCryptoswap => {
            let two = two_coins_of(pool.key.contract).or_else(|| listed::holds(pool).then_some(ClassicTwo::Factory))?;
            Some(Identity { two, ..usual })
        }
        Product::CurveStableswap if listed::holds(pool) => Some(Identity::stable(listed_rules(pool.key.contract))),
        Product::CurveStableswap => None,
        // pools with announced coins are distinguished by their version
        Product::CurveTricryptoNg | Product::CurveTwocryptoNg => Some(usual),
        _ => listed::holds(pool).then_some(usual),
    }
}

pub(super) fn base_of(pool: &Discovered) -> Option<Address> {
    let share = pool.coins.get(1)?;
    BASE_POOLS.iter().find(|(known, _)| known == share).map(|(_, base)| *base)
}
