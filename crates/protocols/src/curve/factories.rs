//! Curve factories and registries that list pools. Their logs announce a pool without identifying it, or without its
//! coins.

use alloy_primitives::{Address, B256, Bytes, U256, address};
use alloy_sol_types::{SolEvent, sol};

use crate::{Call, DecodeError, Discovered, PoolList, Product, pool::MAX_COINS};

sol! {
    function pool_count() external view returns (uint256);
    function pool_list(uint256 index) external view returns (address);
    function is_meta(address pool) external view returns (bool);
    function get_coins(address pool) external view;
    function get_underlying_coins(address pool) external view;

    event PoolAdded(address indexed pool);
    event MetaPoolDeployed(address coin, address base_pool, uint256 A, uint256 fee, address deployer);
    event CryptoPoolDeployed(address token, address[2] coins, uint256 A, uint256 gamma, uint256 mid_fee, uint256 out_fee, uint256 allowed_extra_profit, uint256 fee_gamma, uint256 adjustment_step, uint256 admin_fee, uint256 ma_half_time, uint256 initial_price, address deployer);
    interface Main { event PoolAdded(address indexed pool, bytes rate_method_id); }
    interface Plain { event PlainPoolDeployed(address[4] coins, uint256 A, uint256 fee, address deployer); }
    interface Dollars { event PlainPoolDeployed(address[4] coins, uint256 A, uint256 fee, address deployer, address pool); }
    interface Next { event PlainPoolDeployed(address[] coins, uint256 A, uint256 fee, address deployer); }
}

/// Factory of plain pools and metapools. Source: Curve's list of deployments, as for all of these.
pub(super) const STABLE_FACTORY: Address = address!("B9fC157394Af804a3578134A6585C0dc9cc990d4");
/// Factory of crvUSD pools, with the same interface.
pub(super) const DOLLAR_FACTORY: Address = address!("4F8846Ae9380B90d2E71D5e3D042dff3E7ebb40d");
/// Factory of StableSwap, next generation.
pub(super) const NEXT_FACTORY: Address = address!("6A8cbed756804B16E05E741eDaBd5cB544AE21bf");
/// Factory of two-coin CryptoSwap pools.
pub(super) const CRYPTO_FACTORY: Address = address!("F18056Bbd320E96A48e3Fbf8bC061322531aac99");
/// Registry of individually deployed StableSwap pools.
const MAIN_REGISTRY: Address = address!("90E00ACe148ca3b23Ac1bC8C240C2a7Dd9c2d7f5");
/// Registry of individually deployed CryptoSwap pools. Source: Curve's list of registries (`metaregistry`).
const CRYPTO_REGISTRY: Address = address!("9a32aF1A11D9c937aEa61A3790C2983257eA8Bc0");

/// A contract that lists pools.
#[derive(Clone, Copy, Debug)]
struct ListContract {
    address: Address,
    topics: &'static [B256],
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Plain pools and metapools of the first generation.
    Stable,
    /// Plain pools and metapools of the next generation.
    Next,
    /// CryptoSwap pools of two coins.
    Crypto,
    /// Registry of StableSwap pools and metapools, which can also remove pools.
    MainRegistry,
    /// Registry of CryptoSwap pools, which can also remove pools.
    CryptoRegistry,
}

const fn factory(address: Address, topics: &'static [B256], kind: Kind) -> ListContract {
    ListContract { address, topics, kind }
}

/// Lists of pools and metapools of the first generation.
pub(super) static STABLE_LISTS: &[&dyn PoolList] = &[
    &factory(MAIN_REGISTRY, &[Main::PoolAdded::SIGNATURE_HASH], Kind::MainRegistry),
    &factory(
        STABLE_FACTORY,
        &[Plain::PlainPoolDeployed::SIGNATURE_HASH, MetaPoolDeployed::SIGNATURE_HASH],
        Kind::Stable,
    ),
    &factory(
        DOLLAR_FACTORY,
        &[
            Plain::PlainPoolDeployed::SIGNATURE_HASH,
            Dollars::PlainPoolDeployed::SIGNATURE_HASH,
            MetaPoolDeployed::SIGNATURE_HASH,
        ],
        Kind::Stable,
    ),
];

/// Lists of pools of the next generation.
pub(super) static NEXT_LISTS: &[&dyn PoolList] =
    &[&factory(NEXT_FACTORY, &[Next::PlainPoolDeployed::SIGNATURE_HASH, MetaPoolDeployed::SIGNATURE_HASH], Kind::Next)];

/// Lists of CryptoSwap pools.
pub(super) static CRYPTO_LISTS: &[&dyn PoolList] = &[
    &factory(CRYPTO_REGISTRY, &[PoolAdded::SIGNATURE_HASH], Kind::CryptoRegistry),
    &factory(CRYPTO_FACTORY, &[CryptoPoolDeployed::SIGNATURE_HASH], Kind::Crypto),
];

impl ListContract {
    fn product(&self, coins: usize, meta: bool) -> Product {
        match self.kind {
            Kind::Crypto | Kind::CryptoRegistry if coins == 3 => Product::CurveTricrypto,
            Kind::Crypto | Kind::CryptoRegistry => Product::CurveCryptoswap,
            _ if meta => Product::CurveMetapool,
            Kind::Next => Product::CurveStableswapNg,
            Kind::Stable | Kind::MainRegistry => Product::CurveStableswap,
        }
    }
}

impl PoolList for ListContract {
    fn keeper(&self) -> Address {
        self.address
    }

    fn topics(&self) -> &'static [B256] {
        self.topics
    }

    fn loses_entries(&self) -> bool {
        matches!(self.kind, Kind::MainRegistry | Kind::CryptoRegistry)
    }

    fn count(&self) -> Call {
        Call::new(self.address, &pool_countCall {})
    }

    fn entry(&self, index: u64) -> Call {
        Call::new(self.address, &pool_listCall { index: U256::from(index) })
    }

    fn questions(&self, pool: Address) -> Vec<Call> {
        let mut questions = vec![Call::new(self.address, &get_coinsCall { pool })];
        if !matches!(self.kind, Kind::Crypto | Kind::CryptoRegistry) {
            questions.push(Call::new(self.address, &is_metaCall { pool }));
            questions.push(Call::new(self.address, &get_underlying_coinsCall { pool }));
        }
        questions
    }

    fn understand(&self, pool: Address, answers: &[Option<Bytes>]) -> Result<Discovered, DecodeError> {
        let impossible = |what| DecodeError::State { pool, what };
        let coins = |answer: Option<&Option<Bytes>>| list_of(answer?.as_ref()?);
        let own = coins(answers.first()).filter(|own| own.len() >= 2);
        let own = own.ok_or_else(|| impossible("a list without the coins of its pool"))?;
        let meta = answers.get(1).and_then(Option::as_ref).and_then(|said| U256::try_from_be_slice(said));
        let meta = meta == Some(U256::ONE);
        let mut all = own.clone();
        if meta {
            // the list has the pool's own coins, then the base pool's; the share between them is omitted
            let underlying = coins(answers.get(2)).filter(|underlying| underlying.first() == own.first());
            let underlying = underlying.ok_or_else(|| impossible("a metapool without its base pool's coins"))?;
            all.truncate(2);
            all.extend(underlying.into_iter().skip(1));
        }
        if all.len() > MAX_COINS {
            return Err(impossible("more coins than any pool has"));
        }
        let product = self.product(own.len(), meta);
        Ok(Discovered::new(pool, product, all))
    }
}

/// Decodes addresses: a fixed-size array with trailing zeros, or a dynamic array.
fn list_of(answer: &Bytes) -> Option<Vec<Address>> {
    let mut words = answer.chunks_exact(32).map(B256::from_slice);
    let first = words.next()?;
    let count = if U256::from_be_bytes(first.0) == U256::from(32) {
        usize::try_from(U256::from_be_bytes(words.next()?.0)).ok()?
    } else {
        words = answer.chunks_exact(32).map(B256::from_slice);
        usize::MAX
    };
    let mut coins = Vec::new();
    for word in words.take(count.min(2 * MAX_COINS)) {
        if word.is_zero() {
            break;
        }
        if word[..12] != [0; 12] {
            return None;
        }
        coins.push(Address::from_word(word));
    }
    Some(coins)
}

#[cfg(test)]
mod tests {
    use alloy_sol_types::SolValue;

    use super::*;

    const OWN: Address = Address::repeat_byte(1);
    const SHARE: Address = Address::repeat_byte(2);
    const POOL: Address = Address::repeat_byte(9);

    fn keeper(kind: Kind) -> ListContract {
        factory(Address::repeat_byte(7), &[], kind)
    }

    fn answer<T: SolValue>(value: T) -> Option<Bytes> {
        Some(value.abi_encode().into())
    }

    #[test]
    fn topics_are_those_of_the_deployed_factories() {
        let topics =
            |lists: &[&dyn PoolList]| -> Vec<B256> { lists.iter().flat_map(|list| list.topics()).copied().collect() };
        let all = [topics(STABLE_LISTS), topics(NEXT_LISTS), topics(CRYPTO_LISTS)].concat();
        // From recorded logs; only `PoolAdded` is the main registry's.
        for known in [
            "e485c16479ab7092c0b3fc4649843c06be7f072194675261590c84473ab0aea9",
            "73cca62ab1b520c9715bf4e6c71e3e518c754e7148f65102f43289a7df0efea6",
            "5b4a28c940282b5bf183df6a046b8119cf6edeb62859f75e835eb7ba834cce8d",
            "b8f6972d6e56d21c47621efd7f02fe68f07a17c999c42245b3abd300f34d61eb",
            "d1d60d4611e4091bb2e5f699eeb79136c21ac2305ad609f3de569afc3471eecc",
            "01f31cd2abdeb4e5e10ba500f2db0f937d9e8c735ab04681925441b4ea37eda5",
            "0394cb40d7dbe28dad1d4ee890bdd35bbb0d89e17924a80a542535e83d54ba14",
        ] {
            assert!(all.contains(&known.parse().unwrap()), "{known}");
        }
    }

    #[test]
    fn a_metapool_counts_its_own_coin_the_share_and_the_base_coins() {
        let base = [Address::repeat_byte(3), Address::repeat_byte(4)];
        let own = [OWN, SHARE, Address::ZERO, Address::ZERO];
        let under = [OWN, base[0], base[1], Address::ZERO];
        let said = [answer(own), answer(true), answer(under)];
        let pool = keeper(Kind::Stable).understand(POOL, &said).unwrap();
        assert_eq!((pool.product, pool.coins), (Product::CurveMetapool, vec![OWN, SHARE, base[0], base[1]]));
        let said = [answer(vec![OWN, SHARE]), answer(false), None];
        let pool = keeper(Kind::Next).understand(POOL, &said).unwrap();
        assert_eq!((pool.product, pool.coins), (Product::CurveStableswapNg, vec![OWN, SHARE]));
        let said =
            [answer([OWN, SHARE, base[0], Address::ZERO, Address::ZERO, Address::ZERO, Address::ZERO, Address::ZERO])];
        assert_eq!(keeper(Kind::CryptoRegistry).understand(POOL, &said).unwrap().product, Product::CurveTricrypto);
    }

    #[test]
    fn a_list_that_talks_nonsense_of_an_entry_is_an_error() {
        let keeper = keeper(Kind::Stable);
        let nonsense: [Vec<Option<Bytes>>; 6] = [
            vec![],
            vec![None, None, None],
            vec![Some(Bytes::from_static(&[1, 2, 3])), None, None],
            vec![answer([B256::repeat_byte(0xff); 4]), None, None],
            vec![answer([OWN, Address::ZERO]), answer(false), None],
            vec![answer([OWN, SHARE]), answer(true), None],
        ];
        for said in nonsense {
            assert!(keeper.understand(POOL, &said).is_err(), "{said:?}");
        }
        let endless = (U256::from(32), U256::MAX, [OWN; 3]).abi_encode();
        assert!(list_of(&endless.into()).is_none(), "a length that nothing has");
        let many = vec![OWN; 40];
        assert!(keeper.understand(POOL, &[answer(many), answer(false), None]).is_err());
    }
}
