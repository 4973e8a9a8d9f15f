//! Identifies unlisted pools from the answers of factories and of the pools themselves.

use alloy_primitives::{Address, Bytes, address};
use alloy_sol_types::{SolCall, SolValue, sol};

use super::coins::{WSTETH, is_listed_share};
use super::{
    factories::{CRYPTO_FACTORY, DOLLAR_FACTORY, NEXT_FACTORY, STABLE_FACTORY},
    implementations::{Implementation, implementation_of},
    known::{Identity, base_of},
    plain,
    stable::{BalanceSource, ProductRule, Rules},
};
use crate::{Call, Discovered, Product, reading::first_word};

sol! {
    function get_implementation_address(address pool) external view returns (address);
    function get_pool_asset_types(address pool) external view returns (uint8[]);
    function get_token(address pool) external view returns (address);
    function version() external view returns (string);
    function get_base_pool(address pool) external view returns (address);
}

const Y_TOKENS: &str = "a yToken's worth depends on four lenders, and a deposit may move its assets";
const RATES_OF_COINS: &str = "the rate of its coin is not modelled";

/// Pools whose arithmetic is known but whose coins' rates are not modelled. Source: their verified code.
const REFUSED: &[(Address, &str)] = &[
    (address!("45F783CCE6B7FF23B2ab2D70e416cdb7D6055f51"), Y_TOKENS),
    (address!("79a8C46DeA5aDa233ABaFFD40F3A0A2B1e5A4F27"), Y_TOKENS),
    (address!("06364f10B501e868329afBc005b3492902d6C763"), Y_TOKENS),
    (address!("2dded6Da1BF5DBdF597C45fcFaa3194e53EcfeAF"), "it lends at Iron Bank, whose markets are not modelled"),
    (address!("A96A65c051bF88B4095Ee1f2451C2A9d43F53Ae2"), RATES_OF_COINS),
    (address!("F9440930043eb3997fc70e1339dBb11F341de7A8"), RATES_OF_COINS),
];

/// Modelled version of the next generation.
const NEXT_VERSION: &str = "v7.0.0";

/// Identification of an unlisted pool.
pub(super) struct Evidence;

impl Evidence {
    /// Returns the calls that identify an unlisted pool.
    pub(super) fn questions(pool: &Discovered) -> Vec<Call> {
        let of = pool.key.contract;
        match pool.product {
            Product::CurveStableswap | Product::CurveMetapool => {
                let implementation = get_implementation_addressCall { pool: of };
                let mut asked =
                    vec![Call::new(STABLE_FACTORY, &implementation), Call::new(DOLLAR_FACTORY, &implementation)];
                if let (Product::CurveMetapool, Some(share)) = (pool.product, pool.coins.get(1)) {
                    asked.extend([
                        Call::new(NEXT_FACTORY, &get_base_poolCall { pool: of }),
                        Call::new(of, &versionCall {}),
                        Call::new(*share, &versionCall {}),
                        Call::new(NEXT_FACTORY, &get_pool_asset_typesCall { pool: *share }),
                    ]);
                }
                asked
            }
            Product::CurveStableswapNg => {
                vec![Call::new(of, &versionCall {}), Call::new(NEXT_FACTORY, &get_pool_asset_typesCall { pool: of })]
            }
            _ => vec![Call::new(CRYPTO_FACTORY, &get_tokenCall { pool: of })],
        }
    }

    /// Identifies the pool from the answers.
    ///
    /// # Errors
    /// The reason for which the pool is not modelled.
    pub(super) fn identify(pool: &Discovered, answers: &[Option<Bytes>]) -> Result<Identity, &'static str> {
        let usual = Identity::usual(pool);
        match pool.product {
            Product::CurveMetapool => match answers.get(2).and_then(address_in) {
                Some(base) => next_metapool(pool, base, answers),
                None => by_implementation(pool, answers.get(..2).unwrap_or(answers)),
            },
            Product::CurveStableswap => by_implementation(pool, answers),
            Product::CurveStableswapNg => next_generation(pool, answers).map(|()| usual),
            Product::CurveCryptoswap if answers.iter().any(|said| address_in(said).is_some()) => Ok(usual),
            _ => Err("deployed individually, with unknown code"),
        }
    }
}

fn address_in(answer: &Option<Bytes>) -> Option<Address> {
    let word = first_word(answer.as_ref())?;
    (!word.is_zero() && word.bit_len() <= 160).then(|| Address::from_word(word.into()))
}

/// Returns the pool's own coins. For a metapool these exclude the share and the base pool's coins.
fn own_coins(pool: &Discovered) -> impl Iterator<Item = &Address> {
    let own = if pool.product == Product::CurveMetapool { 1 } else { pool.coins.len() };
    pool.coins.iter().take(own)
}

fn says_version(answer: Option<&Option<Bytes>>) -> Option<String> {
    answer.and_then(Option::as_ref).and_then(|said| String::abi_decode(said).ok())
}

/// Identifies a metapool of the next generation. It must have the modelled version, and a base pool that is listed or
/// has the same version and plain coins. Its own coin must be known to be plain, because neither the factory nor the
/// pool reveals its kind.
fn next_metapool(pool: &Discovered, base: Address, answers: &[Option<Bytes>]) -> Result<Identity, &'static str> {
    if says_version(answers.get(3)).as_deref() != Some(NEXT_VERSION) {
        return Err("a version with unknown rounding");
    }
    if !own_coins(pool).all(plain::is_plain) {
        return Err("its own coin may rebase or have a rate, which its pool does not reveal");
    }
    let [_, share, coins @ ..] = pool.coins.as_slice() else { return Err("a metapool without a share") };
    let types = answers.get(5).and_then(Option::as_ref);
    let types = types.and_then(|said| get_pool_asset_typesCall::abi_decode_returns(said).ok()).unwrap_or_default();
    let is_next = base == *share
        && says_version(answers.get(4)).as_deref() == Some(NEXT_VERSION)
        && types.len() == coins.len()
        && types.iter().all(|kind| *kind == 0);
    if base_of(pool) != Some(base) && !is_next {
        return Err("its base pool is not modelled");
    }
    Ok(Identity { base: Some(base), next: true, ..Identity::stable(Rules::standard(ProductRule::Whole)) })
}

/// Identifies a pool by its implementation, which a factory names.
fn by_implementation(pool: &Discovered, answers: &[Option<Bytes>]) -> Result<Identity, &'static str> {
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == pool.key.contract) {
        return Err(why);
    }
    let implementation = answers.iter().find_map(address_in).ok_or("deployed individually, with unknown code")?;
    let made = implementation_of(implementation);
    let identity = made.rules().map(Identity::stable);
    match (made, pool.product) {
        (Implementation::Refused(why), _) => Err(why),
        _ if made.rules().is_some_and(|rules| rules.balance_source == BalanceSource::Token)
            && !own_coins(pool).all(plain::is_plain) =>
        {
            Err("it reads balances from its coins, and one may rebase or charge a transfer fee")
        }
        (Implementation::Plain { coins, .. }, Product::CurveStableswap) if coins == pool.coins.len() => {
            identity.ok_or("an implementation without rules")
        }
        (Implementation::Meta { base, .. }, Product::CurveMetapool) if base_of(pool) == Some(base) => {
            identity.map(|identity| Identity { base: Some(base), ..identity }).ok_or("an implementation without rules")
        }
        _ => Err("its coins do not fit its implementation"),
    }
}

/// Identifies a pool of the next generation: it must have the modelled version, and coins whose rates are known for the
/// next block.
fn next_generation(pool: &Discovered, answers: &[Option<Bytes>]) -> Result<(), &'static str> {
    let bytes = |place: usize| answers.get(place).and_then(Option::as_ref);
    if says_version(answers.first()).as_deref() != Some(NEXT_VERSION) {
        return Err("a version with unknown rounding");
    }
    let types = bytes(1).and_then(|said| get_pool_asset_typesCall::abi_decode_returns(said).ok());
    let types = types.filter(|types| types.len() == pool.coins.len()).ok_or("no asset types for its coins")?;
    for (coin, kind) in pool.coins.iter().zip(types) {
        match kind {
            0 => {}
            // changes once a day, and within a block only with a log of its own
            1 if *coin == WSTETH => {}
            1 => return Err("an oracle gives the rate of a coin, which may change in the next block"),
            2 => return Err("one of its coins rebases"),
            3 if is_listed_share(*coin) => {}
            3 => return Err("one of its coins is an unknown vault"),
            _ => return Err("an unknown kind of coin"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;

    use super::super::{
        implementations::{REN_POOL, SBTC_POOL, SBTC_SECOND_POOL, THREE_POOL},
        known::{THREE_CRV, by_hand},
        presets::rules_of,
    };
    use super::*;

    fn pool(product: Product, coins: u8) -> Discovered {
        let coins = (1..=coins).map(Address::with_last_byte).collect();
        Discovered::new(Address::repeat_byte(9), product, coins)
    }

    fn said<T: SolValue>(value: T) -> Option<Bytes> {
        Some(value.abi_encode().into())
    }

    const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
    const CRV_USD: Address = address!("f939E0A03FB07F59A73314E73794Be0E57ac1b4E");
    const PLAIN_OF_TWO: Address = address!("6523Ac15EC152Cb70a334230F6c5d62C5Bd963f1");

    #[test]
    fn an_implementation_tells_the_rounding_or_why_not() {
        let two = pool(Product::CurveStableswap, 2);
        let shown = |pool: &Discovered, implementation: Address| {
            Evidence::identify(pool, &[said(Address::ZERO), said(implementation)])
        };
        assert_eq!(shown(&two, PLAIN_OF_TWO).unwrap().rules, Rules::standard(ProductRule::Whole));
        let three = pool(Product::CurveStableswap, 3);
        let plain_of_three = address!("9B52F13DF69D79Ec5aAB6D1aCe3157d29B409cC3");
        assert_eq!(shown(&three, plain_of_three).unwrap().rules, Rules::standard(ProductRule::TimesN));
        assert!(shown(&three, PLAIN_OF_TWO).is_err(), "another number of coins");
        assert!(shown(&two, Address::repeat_byte(7)).unwrap_err().contains("unknown implementation"));
        let reads_coin_balances = address!("24D937143d3F5cF04c72bA112735151A8CAE2262");
        assert!(shown(&two, reads_coin_balances).unwrap_err().contains("rebase"), "coins that nobody knows");
        let plain = Discovered { coins: vec![DAI, CRV_USD], ..two.clone() };
        let rules = Rules { balance_source: BalanceSource::Token, ..Rules::standard(ProductRule::Whole) };
        assert_eq!(shown(&plain, reads_coin_balances).unwrap().rules, rules);
        let one_of_two = Discovered { coins: vec![DAI, super::super::coins::STETH], ..two.clone() };
        assert!(shown(&one_of_two, reads_coin_balances).is_err());
        assert!(Evidence::identify(&two, &[said(Address::ZERO), None]).is_err(), "no factory made it");
        assert!(Evidence::identify(&two, &[]).is_err());
    }

    #[test]
    fn pools_whose_coins_worth_is_not_known_are_refused_by_name() {
        for (address, why) in REFUSED {
            let pool = Discovered { key: (*address).into(), ..pool(Product::CurveStableswap, 2) };
            assert_eq!(Evidence::identify(&pool, &[said(PLAIN_OF_TWO), None]), Err(*why));
            assert!(rules_of(*address).is_some() && by_hand(&pool).is_none(), "{address}");
        }
    }

    #[test]
    fn a_metapool_stands_on_the_pool_of_its_share() {
        let implementation = address!("213be373FDff327658139C7df330817DAD2d5bBE");
        let mut meta = pool(Product::CurveMetapool, 5);
        assert!(Evidence::identify(&meta, &[said(implementation)]).is_err(), "a share that is not known");
        meta.coins[1] = THREE_CRV;
        let identity = Evidence::identify(&meta, &[said(implementation)]).unwrap();
        assert_eq!((identity.base, identity.remembers_price), (Some(THREE_POOL), false));
        let plain = Evidence::identify(&meta, &[said(PLAIN_OF_TWO)]);
        assert!(plain.is_err(), "a plain pool's implementation");
    }

    #[test]
    fn metapools_of_bitcoin_stand_on_the_pool_of_their_share() {
        for (implementation, share, base) in [
            ("C6A8466d128Fbfd34AdA64a9FFFce325D57C9a52", "075b1bb99792c9E1041bA13afEf80C91a1e70fB3", SBTC_POOL),
            ("ECAaecd9d2193900b424774133B1f51ae0F29d9E", "49849C98ae39Fff122806C06791Fa73784FB3675", REN_POOL),
            ("008CFa89df5B0c780cA3462fc2602D7F8c7Ac315", "051d7e5609917Bd9b73f04BAc0DED8Dd46a74301", SBTC_SECOND_POOL),
        ] {
            let mut meta = pool(Product::CurveMetapool, 4);
            meta.coins[1] = share.parse().unwrap();
            let shown =
                |meta: &Discovered| Evidence::identify(meta, &[said(implementation.parse::<Address>().unwrap())]);
            assert_eq!(shown(&meta).unwrap().base, Some(base));
            meta.coins[1] = THREE_CRV;
            assert!(shown(&meta).is_err(), "another base pool's share");
        }
        // The pool of tBTC, which was deployed by hand.
        let mut meta = pool(Product::CurveMetapool, 5);
        meta.key.contract = address!("C25099792E9349C7DD09759744ea681C7de2cb66");
        meta.coins[1] = address!("075b1bb99792c9E1041bA13afEf80C91a1e70fB3");
        let identity = by_hand(&meta).unwrap();
        assert_eq!((identity.base, identity.remembers_price), (Some(SBTC_POOL), true));
    }

    #[test]
    fn a_metapool_of_the_next_generation_tells_its_base_pool_and_must_have_a_coin_that_is_known() {
        let next = address!("4f493B7dE8aAC7d55F71853688b1F7C8F0243C85");
        let meta = |own: Address, share: Address| Discovered {
            coins: vec![own, share, Address::with_last_byte(3), Address::with_last_byte(4)],
            ..pool(Product::CurveMetapool, 4)
        };
        let shown = |pool: &Discovered, base: Address, versions: [&str; 2], kinds: Vec<U256>| {
            let versions = versions.map(|version| said(version.to_owned()));
            let [own, bases] = versions;
            let answers = [None, None, said(base), own, bases, said(kinds)];
            assert_eq!(answers.len(), Evidence::questions(pool).len());
            Evidence::identify(pool, &answers)
        };
        let (plain, both) = (vec![U256::ZERO; 2], ["v7.0.0", "v7.0.0"]);
        let identity = shown(&meta(CRV_USD, next), next, both, plain.clone()).unwrap();
        assert_eq!((identity.base, identity.next, identity.remembers_price), (Some(next), true, false));
        assert_eq!(identity.rules, Rules::standard(ProductRule::Whole));
        let on_three = shown(&meta(CRV_USD, THREE_CRV), THREE_POOL, ["v7.0.0", ""], vec![]).unwrap();
        assert_eq!(on_three.base, Some(THREE_POOL));
        assert!(shown(&meta(Address::repeat_byte(5), next), next, both, plain.clone()).is_err(), "any coin");
        assert!(shown(&meta(CRV_USD, next), next, ["v6.0.1", "v7.0.0"], plain.clone()).is_err());
        assert!(shown(&meta(CRV_USD, next), next, ["v7.0.0", "v6.0.1"], plain.clone()).is_err());
        assert!(shown(&meta(CRV_USD, next), next, both, vec![U256::ZERO, U256::ONE]).is_err(), "an oracle below");
        assert!(shown(&meta(CRV_USD, next), next, both, vec![U256::ZERO]).is_err(), "a type for one coin only");
        assert!(shown(&meta(CRV_USD, next), THREE_POOL, both, plain).is_err(), "another pool's share");
    }

    #[test]
    fn the_next_generation_is_one_version_with_coins_that_are_known() {
        let mut pool = pool(Product::CurveStableswapNg, 2);
        pool.coins[1] = WSTETH;
        let shown = |version: &str, types: Vec<U256>| {
            Evidence::identify(&pool, &[said(version.to_owned()), said(types)]).map(|identity| identity.rules)
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
        assert!(Evidence::identify(&pool, &[None, None]).is_err());
    }
}
