//! Tests of factories, of the pools that they announce, and of announcements that do not come from a factory.

use alloy_primitives::{Address, B256, Bytes, Log, U256, address, b256, keccak256};
use alloy_sol_types::SolValue;
use braid_primitives::{PoolKey, TokenId};
use braid_protocols::{DecodeError, Freshness, Pool, PoolState, Product, uniswap_v2, uniswap_v3};

use crate::support::bytecode;

const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
const WETH: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");

/// Hashes of the creation code with which mainnet's factories deploy pools.
const UNISWAP_PAIR: B256 = b256!("96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f");
const SUSHISWAP_PAIR: B256 = b256!("e18a34eb0e04b04f7a0ac29a6e80748dca96319b42c54d679cb821dca90c6303");
const POOL: B256 = b256!("e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54");
const PANCAKE_POOL: B256 = b256!("6ce8eb472fa82df5469c6ab6d485f17c3ad13c8cd7af59b3d4a8026c5ce0f7e2");
/// The contract that deploys the pools of PancakeSwap V3's factory.
const PANCAKE_DEPLOYER: Address = address!("41ff9AA7e16B8B1a8a8dc4f0eFacd93D02d071c9");

fn factory(product: Product) -> Address {
    let [source] = product.sources() else { panic!("{product:?} has one factory") };
    source.emitter
}

#[test]
fn factories_deploy_well_known_pools_at_their_addresses() {
    let pair_salt = keccak256([USDC.as_slice(), WETH.as_slice()].concat());
    let pool_salt = |fee: u32| keccak256((USDC, WETH, U256::from(fee)).abi_encode());
    let known = [
        (Product::UniswapV2, pair_salt, UNISWAP_PAIR, address!("B4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc")),
        (Product::SushiswapV2, pair_salt, SUSHISWAP_PAIR, address!("397FF1542f962076d0BFE58eA045FfA2d347ACa0")),
        (Product::UniswapV3, pool_salt(500), POOL, address!("88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640")),
        (Product::UniswapV3, pool_salt(3_000), POOL, address!("8ad599c3A0ff1De082011EFDDc58f1908eb6e6D8")),
        (Product::SushiswapV3, pool_salt(500), POOL, address!("35644Fb61aFBc458bf92B15AdD6ABc1996Be5014")),
    ];
    for (product, salt, init_code_hash, pool) in known {
        assert_eq!(factory(product).create2(salt, init_code_hash), pool, "{product:?}");
    }
    // PancakeSwap's factory deploys pools through another contract.
    let pool = address!("1ac1A8FEaAEa1900C4166dEEed0C11cC10669D36");
    assert_eq!(PANCAKE_DEPLOYER.create2(pool_salt(500), PANCAKE_POOL), pool);
}

/// The origin of a pool in a step must be that of the proxy's table (`contracts/src/Pools.sol`).
#[test]
fn pools_are_vouched_for_by_the_factories_that_the_proxy_knows() {
    let pair = PoolState::UniswapV2(uniswap_v2::State { reserve0: 1, reserve1: 1, fee_bps: 30 });
    let pool = PoolState::UniswapV3(uniswap_v3::State::uninitialised(500, 10));
    let known = [
        (Product::UniswapV2, &pair, address!("B4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc")),
        (Product::SushiswapV2, &pair, address!("397FF1542f962076d0BFE58eA045FfA2d347ACa0")),
        (Product::UniswapV3, &pool, address!("88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640")),
        (Product::SushiswapV3, &pool, address!("35644Fb61aFBc458bf92B15AdD6ABc1996Be5014")),
        (Product::PancakeswapV3, &pool, address!("1ac1A8FEaAEa1900C4166dEEed0C11cC10669D36")),
    ];
    let table = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/src/Pools.sol")).unwrap();
    for (number, (product, state, contract)) in (0u8..).zip(known) {
        let (key, coins) = (contract.into(), [TokenId(0), TokenId(1)].into_iter().collect());
        let origin = Pool { key, product, coins, state: state.clone() }.step_code(0, 1).origin.unwrap();
        assert_eq!(origin.factory.number, number, "{product:?}");
        assert!(origin.is_known_pool(USDC, WETH) && origin.is_known_pool(WETH, USDC), "{product:?}");
        assert!(!origin.is_known_pool(USDC, PANCAKE_DEPLOYER), "{product:?}");
        assert!(table.contains(&format!("{:#x}", origin.factory.init_code_hash)), "{product:?}");
        assert!(table.contains(&origin.factory.deployer.to_checksum(None)), "{product:?}");
    }
}

#[test]
fn the_packages_hold_the_code_that_mainnet_runs() {
    assert_eq!(keccak256(bytecode::initcode("UniswapV2Pair")), UNISWAP_PAIR);
    assert_eq!(keccak256(bytecode::initcode("UniswapV3Pool")), POOL);
    assert_eq!(keccak256(bytecode::initcode("PancakeV3Pool")), PANCAKE_POOL);
}

#[test]
fn topics_are_the_hashes_of_their_signatures() {
    let announced = |product: Product| product.sources()[0].topic0;
    let pair_created = keccak256("PairCreated(address,address,address,uint256)");
    let pool_created = keccak256("PoolCreated(address,address,uint24,int24,address)");
    assert_eq!([announced(Product::UniswapV2), announced(Product::SushiswapV2)], [pair_created; 2]);
    assert_eq!([Product::UniswapV3, Product::SushiswapV3, Product::PancakeswapV3].map(announced), [pool_created; 3]);

    let pair_topics = [keccak256("Sync(uint112,uint112)")];
    let pool_topics = [
        "Initialize(uint160,int24)",
        "Swap(address,address,int256,int256,uint160,uint128,int24)",
        "Mint(address,address,int24,int24,uint128,uint256,uint256)",
        "Burn(address,int24,int24,uint128,uint256,uint256)",
        "SetFeeProtocol(uint8,uint8,uint8,uint8)",
    ]
    .map(keccak256);
    for product in [Product::UniswapV2, Product::SushiswapV2] {
        assert_eq!(product.freshness_topics(), pair_topics);
    }
    for product in [Product::UniswapV3, Product::SushiswapV3] {
        assert_eq!(product.freshness_topics(), pool_topics);
    }
    let [initialize, _, mint, burn, _] = pool_topics;
    let swap = keccak256("Swap(address,address,int256,int256,uint160,uint128,int24,uint128,uint128)");
    assert_eq!(Product::PancakeswapV3.freshness_topics(), [initialize, swap, mint, burn]);
}

#[test]
fn every_product_of_the_list_knows_itself() {
    for product in Product::ALL {
        let record = product;
        assert_eq!(record.of_record(), *product);
        let announced = |product: &Product| !product.sources().is_empty();
        // One announcement may be shared by several products of a family, which are distinguished when they are read.
        let spoken_for = Product::named(product.family()).iter().any(announced) && record.fixed_pools().is_empty();
        let found = announced(product) || !record.fixed_pools().is_empty();
        assert!(found || spoken_for, "{product:?} is found some way");
    }
}

fn word(value: impl Into<U256>) -> B256 {
    B256::from(value.into())
}

fn pair_created(token0: Address, token1: Address, pair: Address) -> Log {
    let topics = vec![Product::UniswapV2.sources()[0].topic0, token0.into_word(), token1.into_word()];
    Log::new_unchecked(factory(Product::UniswapV2), topics, (pair, U256::ONE).abi_encode().into())
}

fn pool_created(tokens: [Address; 2], fee: u64, spacing: i32, pool: Address) -> Log {
    let [token0, token1] = tokens.map(|token| token.into_word());
    let topics = vec![Product::UniswapV3.sources()[0].topic0, token0, token1, word(U256::from(fee))];
    Log::new_unchecked(factory(Product::UniswapV3), topics, (spacing, pool).abi_encode().into())
}

#[test]
fn nonsense_of_a_factory_is_an_error_and_not_a_pool() {
    let pair = address!("00000000000000000000000000000000000000aa");
    let record = Product::UniswapV2;
    assert!(record.discover(&pair_created(USDC, WETH, pair)).is_ok());
    let mut short = pair_created(USDC, WETH, pair);
    short.data.data = Bytes::from_static(&[0; 31]);
    let mut dirty = pair_created(USDC, WETH, pair);
    dirty.data.data = Bytes::from(vec![0xff; 64]);
    let mut topicless = pair_created(USDC, WETH, pair);
    topicless.data.topics_mut_unchecked().clear();
    let mut dirty_topic = pair_created(USDC, WETH, pair);
    dirty_topic.data.topics_mut_unchecked()[1] = B256::repeat_byte(0xff);
    let bad = [
        pair_created(WETH, USDC, pair),
        pair_created(USDC, USDC, pair),
        pair_created(Address::ZERO, USDC, pair),
        pair_created(USDC, WETH, Address::ZERO),
        short,
        dirty,
        topicless,
        dirty_topic,
    ];
    for log in bad {
        let error = record.discover(&log).unwrap_err();
        assert_eq!(error, DecodeError::Log { event: "PairCreated", emitter: factory(Product::UniswapV2) });
    }

    let record = Product::UniswapV3;
    assert!(record.discover(&pool_created([USDC, WETH], 3_000, 60, pair)).is_ok());
    let bad = [
        pool_created([WETH, USDC], 3_000, 60, pair),
        pool_created([USDC, USDC], 3_000, 60, pair),
        pool_created([USDC, WETH], 1_000_000, 60, pair),
        pool_created([USDC, WETH], 1 << 24, 60, pair),
        pool_created([USDC, WETH], 3_000, 0, pair),
        pool_created([USDC, WETH], 3_000, -60, pair),
        pool_created([USDC, WETH], 3_000, 16_384, pair),
        pool_created([USDC, WETH], 3_000, i32::MAX, pair),
        pool_created([USDC, WETH], 3_000, 60, Address::ZERO),
    ];
    for log in bad {
        let error = record.discover(&log).unwrap_err();
        assert_eq!(error, DecodeError::Log { event: "PoolCreated", emitter: factory(Product::UniswapV3) });
    }
}

#[test]
fn a_buffer_is_announced_by_its_share_and_asked_for_its_asset() {
    let record = Product::BalancerV3Buffer;
    let source = record.sources()[0];
    let added =
        |share: B256, data: Vec<u8>| Log::new_unchecked(source.emitter, vec![source.topic0, share], data.into());
    let found = record.discover(&added(USDC.into_word(), vec![0; 96])).unwrap();
    assert_eq!((found.coins.clone(), found.product), (vec![USDC], Product::BalancerV3Buffer));
    assert_eq!(found.key, PoolKey::with_id(source.emitter, USDC.into_word()), "the vault holds it, by its share");
    let question = record.unnamed_coin(&found).unwrap();
    assert_eq!(question.to, source.emitter);
    let selector = &keccak256("getERC4626BufferAsset(address)")[..4];
    assert_eq!(question.data, [selector, USDC.into_word().as_slice()].concat());
    let bad = [
        added(B256::ZERO, vec![0; 96]),
        added(B256::repeat_byte(0xff), vec![0; 96]),
        added(USDC.into_word(), vec![0; 95]),
        added(USDC.into_word(), vec![]),
    ];
    for log in bad {
        let error = record.discover(&log).unwrap_err();
        assert_eq!(error, DecodeError::Log { event: "LiquidityAddedToBuffer", emitter: source.emitter });
    }
}

#[test]
fn a_log_that_is_not_what_it_claims_leaves_the_state_alone() {
    let pool = address!("00000000000000000000000000000000000000aa");
    let states = [
        (Product::UniswapV2, PoolState::UniswapV2(uniswap_v2::State { reserve0: 5, reserve1: 7, fee_bps: 30 })),
        (Product::UniswapV3, PoolState::UniswapV3(uniswap_v3::State::uninitialised(3_000, 60))),
    ];
    for (product, state) in states {
        let record = product;
        for topic in record.freshness_topics() {
            for data in [Bytes::new(), Bytes::from(vec![0xff; 32 * 7])] {
                let mut after = state.clone();
                let log = Log::new_unchecked(pool, vec![*topic], data);
                assert!(record.apply(&mut after, &log).is_err());
                assert_eq!(after, state);
            }
        }
        let other = Log::new_unchecked(pool, vec![keccak256("Collect()")], Bytes::new());
        assert_eq!(record.apply(&mut state.clone(), &other), Ok(Freshness::Unaffected));
        let nameless = Log::new_unchecked(pool, vec![], Bytes::new());
        assert_eq!(record.apply(&mut state.clone(), &nameless), Ok(Freshness::Unaffected));
        let mut of_another = PoolState::WrappedEther(braid_protocols::wrapped_ether::State);
        let log = Log::new_unchecked(pool, vec![record.freshness_topics()[0]], Bytes::new());
        assert!(record.apply(&mut of_another, &log).is_err(), "a state of another product");
    }
}
