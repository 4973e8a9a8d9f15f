//! What a pool is: the contract that it runs, from a list of those that were looked at by hand, or from what its factory says of it.

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::{SolCall, SolValue, sol};

use super::{
    crypto::{ClassicTwo, Kind},
    factories::{CRYPTO_FACTORY, DOLLAR_FACTORY, NEXT_FACTORY, STABLE_FACTORY},
    implementations::{FRAX_POOL, Made, made_by},
    lending, listed,
    pool::{Model, State},
    presets::rules_of,
    stable::{ProductRule, Rules},
};
use crate::{Call, Discovered, Product, erc4626, lido};

pub(super) use super::implementations::THREE_POOL;

sol! {
    function get_implementation_address(address pool) external view returns (address);
    function get_pool_asset_types(address pool) external view returns (uint8[]);
    function get_token(address pool) external view returns (address);
    function version() external view returns (string);
}

/// The share of the pool of three dollars.
pub(super) const THREE_CRV: Address = address!("6c3F90f043a72FA612cbac8115EE7e52BDe6E490");

/// Shares and their pools. Source: Curve's main registry, `curve-js`.
const BASE_POOLS: &[(Address, Address)] =
    &[(THREE_CRV, THREE_POOL), (address!("3175Df0976dFA876431C2E9eE6Bc45b65d3473CC"), FRAX_POOL)];

/// Metapools of three dollars that were deployed one by one, and remember the price of shares. Source: Curve's main registry; `curve-contract`,
/// where the code of all is the same: GUSD, HUSD, USDK, mUSD, RSV, DUSD, USDP, UST.
const BY_HAND_METAPOOLS: [Address; 8] = [
    address!("4f062658EaAF2C1ccf8C8e36D6824CDf41167956"),
    address!("3eF6A01A0f81D6046290f3e2A8c5b843e738E604"),
    address!("3E01dD8a5E1fb3481F0F589056b428Fc308AF0Fb"),
    address!("8474DdbE98F5aA3179B3B3F5942D724aFcdec9f6"),
    address!("C18cC39da8b11dA8c3541C598eE022258F9744da"),
    address!("8038C01A0390a8c547446a0b2c18fc9aEFEcc10c"),
    address!("42d7025938bEc20B69cBae5A77421082407f053A"),
    address!("890f4e345B1dAED0367A877a1612f86A1f86985f"),
];

/// The two-coin pools of 2021 that are not the factory's, by what their contracts do differently. Source: their verified code.
const TWO_COINS: &[(Address, ClassicTwo)] = &[
    (address!("9838eCcC42659FA8AA7daF2aD134b53984c9427b"), ClassicTwo::Early),
    (address!("98a7F18d4E56Cfe84E3D081B40001B3d5bD3eB8B"), ClassicTwo::Early),
    (address!("B576491F1E6e5E62f1d8F26062Ee822B40B0E0d4"), ClassicTwo::Tenth),
    (address!("98638FAcf9a3865cd033F36548713183f6996122"), ClassicTwo::Tenth),
    (address!("752eBeb79963cf0732E9c0fec72a49FD1DEfAEAC"), ClassicTwo::Tenth),
    (address!("AdCFcf9894335dC340f6Cd182aFA45999F45Fc44"), ClassicTwo::TenthLoose),
    (address!("E84f5b1582BA325fDf9cE6B0c1F087ccfC924e54"), ClassicTwo::TenthLoose),
];

const Y_TOKENS: &str = "a yToken's worth is what it has at four lenders, and a deposit may move it";
const RATES_OF_COINS: &str = "only its coin knows the rate";

/// Pools whose arithmetic is known and whose coins' worth is not. Source: their verified code.
const UNDERSTOOD_AND_REFUSED: &[(Address, &str)] = &[
    (address!("45F783CCE6B7FF23B2ab2D70e416cdb7D6055f51"), Y_TOKENS),
    (address!("79a8C46DeA5aDa233ABaFFD40F3A0A2B1e5A4F27"), Y_TOKENS),
    (address!("06364f10B501e868329afBc005b3492902d6C763"), Y_TOKENS),
    (address!("2dded6Da1BF5DBdF597C45fcFaa3194e53EcfeAF"), "its lender counts its cash itself, and caps deposits"),
    (address!("A96A65c051bF88B4095Ee1f2451C2A9d43F53Ae2"), RATES_OF_COINS),
    (address!("F9440930043eb3997fc70e1339dBb11F341de7A8"), RATES_OF_COINS),
];

/// What the reader has to know of a pool before it can understand what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Habits of rounding of a StableSwap pool.
    pub(super) rules: Rules,
    /// A metapool's base pool.
    pub(super) base: Option<Address>,
    /// Whether a metapool remembers the price of shares.
    pub(super) remembers_price: bool,
    /// Which CryptoSwap pool of two coins it is.
    pub(super) two: ClassicTwo,
}

impl Identity {
    const fn stable(rules: Rules) -> Self {
        Self { rules, base: None, remembers_price: false, two: ClassicTwo::Factory }
    }

    /// What most pools of the product are.
    pub(super) fn usual(pool: &Discovered) -> Self {
        let next = pool.product == Product::CurveStableswapNg;
        Self::stable(Rules::standard(if next { ProductRule::Whole } else { ProductRule::TimesN }))
    }

    /// What a pool was when it was read before.
    pub(super) fn of(was: &State) -> Self {
        match &was.model {
            Model::Stable(pool) | Model::Lending(lending::State { pool, .. }) => Self::stable(pool.rules),
            Model::Meta(meta) => Self {
                base: was.base_pool,
                remembers_price: meta.cached_price.is_some(),
                ..Self::stable(meta.pool.rules)
            },
            Model::Crypto(pool) => {
                let two = if let Kind::Cryptoswap(two) = pool.kind { two } else { ClassicTwo::Factory };
                Self { two, ..Self::stable(Rules::standard(ProductRule::TimesN)) }
            }
        }
    }
}

/// The habits of a pool that was looked at by hand.
pub(super) fn rules(pool: Address) -> Rules {
    rules_of(pool).unwrap_or(Rules::standard(ProductRule::TimesN))
}

/// The pools of Aave's tokens, whose fee moves.
pub(super) fn is_of_aave(pool: Address) -> bool {
    rules_of(pool) == Some(Rules::AAVE)
}

/// What a pool is that was looked at by hand; `None` for any other. Metapools of the first factory are among the listed ones.
pub(super) fn by_hand(pool: &Discovered) -> Option<Identity> {
    let usual = Identity::usual(pool);
    match pool.product {
        Product::CurveMetapool => {
            let remembers_price = BY_HAND_METAPOOLS.contains(&pool.address);
            let looked_at = remembers_price || listed::holds(pool);
            looked_at.then(|| Identity { base: base_of(pool), remembers_price, ..usual })
        }
        Product::CurveCryptoswap => {
            let known = TWO_COINS.iter().find(|(address, _)| *address == pool.address).map(|(_, two)| *two);
            let two = known.or_else(|| listed::holds(pool).then_some(ClassicTwo::Factory))?;
            Some(Identity { two, ..usual })
        }
        Product::CurveStableswap if listed::holds(pool) => Some(Identity::stable(rules(pool.address))),
        Product::CurveStableswap => None,
        // those whose announcement names them are told apart by their version
        Product::CurveTricryptoNg | Product::CurveTwocryptoNg => Some(usual),
        _ => listed::holds(pool).then_some(usual),
    }
}

fn base_of(pool: &Discovered) -> Option<Address> {
    let share = pool.coins.get(1)?;
    BASE_POOLS.iter().find(|(known, _)| known == share).map(|(_, base)| *base)
}

/// What factories and the pool itself say about what the pool is.
pub(super) struct Evidence;

impl Evidence {
    /// What to ask about a pool that nobody looked at.
    pub(super) fn questions(pool: &Discovered) -> Vec<Call> {
        let of = pool.address;
        let call = |to: Address, data: Vec<u8>| Call { to, data: data.into() };
        match pool.product {
            Product::CurveStableswap | Product::CurveMetapool => {
                let data = get_implementation_addressCall { pool: of }.abi_encode();
                vec![call(STABLE_FACTORY, data.clone()), call(DOLLAR_FACTORY, data)]
            }
            Product::CurveStableswapNg => vec![
                call(of, versionCall {}.abi_encode()),
                call(NEXT_FACTORY, get_pool_asset_typesCall { pool: of }.abi_encode()),
            ],
            _ => vec![call(CRYPTO_FACTORY, get_tokenCall { pool: of }.abi_encode())],
        }
    }

    /// What the answers show.
    ///
    /// # Errors
    /// Why the pool is not one that is covered.
    pub(super) fn understand(pool: &Discovered, answers: &[Option<Bytes>]) -> Result<Identity, &'static str> {
        let usual = Identity::usual(pool);
        match pool.product {
            Product::CurveStableswap | Product::CurveMetapool => made(pool, answers),
            Product::CurveStableswapNg => next_generation(pool, answers).map(|()| usual),
            Product::CurveCryptoswap if answers.iter().any(|said| address_in(said).is_some()) => Ok(usual),
            _ => Err("deployed by hand, and its code is not known"),
        }
    }
}

fn address_in(answer: &Option<Bytes>) -> Option<Address> {
    let word = U256::try_from_be_slice(answer.as_ref()?.get(..32)?)?;
    (!word.is_zero() && word.bit_len() <= 160).then(|| Address::from_word(word.into()))
}

/// What the implementation that a factory names makes of a pool.
fn made(pool: &Discovered, answers: &[Option<Bytes>]) -> Result<Identity, &'static str> {
    if let Some((_, why)) = UNDERSTOOD_AND_REFUSED.iter().find(|(refused, _)| *refused == pool.address) {
        return Err(why);
    }
    let implementation = answers.iter().find_map(address_in).ok_or("deployed by hand, and its code is not known")?;
    let made = made_by(implementation);
    let identity = made.rules().map(Identity::stable);
    match (made, pool.product) {
        (Made::Refused(why), _) => Err(why),
        (Made::Plain { coins, .. }, Product::CurveStableswap) if coins == pool.coins.len() => {
            identity.ok_or("an implementation without rules")
        }
        (Made::Meta { base }, Product::CurveMetapool) if base_of(pool) == Some(base) => {
            identity.map(|identity| Identity { base: Some(base), ..identity }).ok_or("an implementation without rules")
        }
        _ => Err("its coins are not those that its implementation takes"),
    }
}

/// The next generation: one version, and coins whose rates are known for the next block.
fn next_generation(pool: &Discovered, answers: &[Option<Bytes>]) -> Result<(), &'static str> {
    let bytes = |place: usize| answers.get(place).and_then(Option::as_ref);
    let version = bytes(0).and_then(|said| String::abi_decode(said).ok());
    if version.as_deref() != Some("v7.0.0") {
        return Err("a version whose rounding is not known");
    }
    let types = bytes(1).and_then(|said| get_pool_asset_typesCall::abi_decode_returns(said).ok());
    let types = types.filter(|types| types.len() == pool.coins.len()).ok_or("no asset types for its coins")?;
    for (coin, kind) in pool.coins.iter().zip(types) {
        match kind {
            0 => {}
            // changes once a day, and never within a block without a log of its own
            1 if *coin == lido::WSTETH => {}
            1 => return Err("an oracle tells the rate of a coin, and may tell another in the next block"),
            2 => return Err("a coin of it rebases"),
            3 if erc4626::LISTED.iter().any(|listed| listed.vault == *coin) => {}
            3 => return Err("a coin of it is a vault that is not known"),
            _ => return Err("a kind of coin that is not known"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(product: Product, coins: u8) -> Discovered {
        let coins = (1..=coins).map(Address::with_last_byte).collect();
        Discovered { address: Address::repeat_byte(9), product, coins, fee_pips: 0, tick_spacing: 0 }
    }

    fn said<T: SolValue>(value: T) -> Option<Bytes> {
        Some(value.abi_encode().into())
    }

    const PLAIN_OF_TWO: Address = address!("6523Ac15EC152Cb70a334230F6c5d62C5Bd963f1");

    #[test]
    fn an_implementation_tells_the_rounding_or_why_not() {
        let two = pool(Product::CurveStableswap, 2);
        let shown = |pool: &Discovered, implementation: Address| {
            Evidence::understand(pool, &[said(Address::ZERO), said(implementation)])
        };
        assert_eq!(shown(&two, PLAIN_OF_TWO).unwrap().rules, Rules::standard(ProductRule::Whole));
        let three = pool(Product::CurveStableswap, 3);
        let plain_of_three = address!("9B52F13DF69D79Ec5aAB6D1aCe3157d29B409cC3");
        assert_eq!(shown(&three, plain_of_three).unwrap().rules, Rules::standard(ProductRule::TimesN));
        assert!(shown(&three, PLAIN_OF_TWO).is_err(), "another number of coins");
        assert!(shown(&two, Address::repeat_byte(7)).unwrap_err().contains("not known"));
        assert!(shown(&two, address!("24D937143d3F5cF04c72bA112735151A8CAE2262")).unwrap_err().contains("rebase"));
        assert!(Evidence::understand(&two, &[said(Address::ZERO), None]).is_err(), "no factory made it");
        assert!(Evidence::understand(&two, &[]).is_err());
    }

    #[test]
    fn pools_whose_coins_worth_is_not_known_are_refused_by_name() {
        for (address, why) in UNDERSTOOD_AND_REFUSED {
            let pool = Discovered { address: *address, ..pool(Product::CurveStableswap, 2) };
            assert_eq!(Evidence::understand(&pool, &[said(PLAIN_OF_TWO), None]), Err(*why));
            assert!(rules_of(*address).is_some() && by_hand(&pool).is_none(), "{address}");
        }
    }

    #[test]
    fn a_metapool_stands_on_the_pool_of_its_share() {
        let implementation = address!("213be373FDff327658139C7df330817DAD2d5bBE");
        let mut meta = pool(Product::CurveMetapool, 5);
        assert!(Evidence::understand(&meta, &[said(implementation)]).is_err(), "a share that is not known");
        meta.coins[1] = THREE_CRV;
        let identity = Evidence::understand(&meta, &[said(implementation)]).unwrap();
        assert_eq!((identity.base, identity.remembers_price), (Some(THREE_POOL), false));
        let plain = Evidence::understand(&meta, &[said(PLAIN_OF_TWO)]);
        assert!(plain.is_err(), "a plain pool's implementation");
    }

    #[test]
    fn the_next_generation_is_one_version_with_coins_that_are_known() {
        let mut pool = pool(Product::CurveStableswapNg, 2);
        pool.coins[1] = lido::WSTETH;
        let shown = |version: &str, types: Vec<U256>| {
            Evidence::understand(&pool, &[said(version.to_owned()), said(types)]).map(|identity| identity.rules)
        };
        let types = |kinds: [u64; 2]| kinds.map(U256::from).to_vec();
        let usual = Rules::standard(ProductRule::Whole);
        assert_eq!(shown("v7.0.0", types([0, 0])), Ok(usual));
        assert_eq!(shown("v7.0.0", types([0, 1])), Ok(usual), "wstETH's own oracle");
        assert!(shown("v6.0.1", types([0, 0])).is_err());
        for kinds in [[1, 0], [2, 0], [0, 2], [3, 0], [9, 0]] {
            assert!(shown("v7.0.0", types(kinds)).is_err(), "{kinds:?}");
        }
        assert!(shown("v7.0.0", vec![U256::ZERO]).is_err(), "a type for one coin only");
        assert!(Evidence::understand(&pool, &[None, None]).is_err());
    }
}
