//! Tests of how pools of many coins are read and announced, with artificial answers.

use alloy_primitives::{Address, B256, Bytes, Log, LogData, U256, address};
use alloy_sol_types::{SolCall, SolEvent, SolValue, sol};
use braid_protocols::{
    Call, Discovered, Freshness, PoolState, Product, ReadProgress,
    balancer::{
        Power,
        v2::{Model, VAULT},
    },
    curve,
};

sol! {
    event TokensRegistered(bytes32 indexed poolId, address[] tokens, address[] assetManagers);
    event Swap(bytes32 indexed poolId, address indexed tokenIn, address indexed tokenOut, uint256 amountIn, uint256 amountOut);
    function getPoolId() external view returns (bytes32);
    function getPoolTokens(bytes32 poolId) external view returns (address[] tokens, uint256[] balances, uint256 lastChangeBlock);
    function getSwapFeePercentage() external view returns (uint256);
    function getPausedState() external view returns (bool paused, uint256 pauseWindowEndTime, uint256 bufferPeriodEndTime);
    function getNormalizedWeights() external view returns (uint256[]);
    function getAmplificationParameter() external view returns (uint256 value, bool isUpdating, uint256 precision);
    function getRateProviders() external view returns (address[]);
    function isPoolFromFactory(address pool) external view returns (bool);
    function getScalingFactors() external view returns (uint256[]);
    function getRate() external view returns (uint256);
    function getTokenRateCache(address token) external view returns (uint256 rate, uint256 oldRate, uint256 duration, uint256 expires);
    function isTokenExemptFromYieldProtocolFee(address token) external view returns (bool);
    function totalSupply() external view returns (uint256);
    function getLastJoinExitData() external view returns (uint256 amplification, uint256 invariant);
    function getProtocolFeePercentageCache(uint256 feeType) external view returns (uint256);
    function decimals() external view returns (uint8);
}

const POOL: Address = address!("1111111111111111111111111111111111111111");
const A: Address = address!("2222222222222222222222222222222222222222");
const B: Address = address!("3333333333333333333333333333333333333333");
/// The first factory of weighted pools, and the third of composable stable pools.
const WEIGHTED: Address = address!("8E9aa87E45e92bad84D5F8DD1bff34Fb92637dE9");
const COMPOSABLE: Address = address!("dba127fBc23fb20F5929C546af220A991b5C6e01");
const PROVIDER: Address = address!("4444444444444444444444444444444444444444");

fn e(power: u64) -> U256 {
    U256::from(10).pow(U256::from(power))
}

fn pool_id() -> B256 {
    let mut id = B256::repeat_byte(0x11);
    id[20..].copy_from_slice(&[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
    id
}

/// Answers a reader until it is done.
fn read(pool: &Discovered, answer: impl Fn(&Call) -> Option<Vec<u8>>) -> (Result<PoolState, String>, Option<Product>) {
    let mut reader = pool.product.reader(pool);
    let mut progress = reader.start();
    loop {
        match progress {
            ReadProgress::Done(state) => return (Ok(state), reader.product()),
            ReadProgress::Calls(calls) => {
                let answers: Vec<Option<Bytes>> = calls.iter().map(|call| answer(call).map(Bytes::from)).collect();
                match reader.feed(&answers) {
                    Ok(next) => progress = next,
                    Err(error) => return (Err(error.to_string()), reader.product()),
                }
            }
        }
    }
}

fn announced(tokens: Vec<Address>) -> Discovered {
    let event = TokensRegistered { poolId: pool_id(), assetManagers: vec![Address::ZERO; tokens.len()], tokens };
    let log = Log { address: VAULT, data: event.encode_log_data() };
    Product::BalancerV2Weighted.discover(&log).unwrap()
}

/// Returns the answers that both kinds of pools have in common.
fn common(call: &Call, tokens: &[Address], balances: &[U256]) -> Option<Vec<u8>> {
    match call.data.get(..4)?.try_into().ok()? {
        getPoolIdCall::SELECTOR => Some(pool_id().abi_encode()),
        getSwapFeePercentageCall::SELECTOR => Some(e(15).abi_encode()),
        getPausedStateCall::SELECTOR => Some((false, U256::ZERO, U256::ZERO).abi_encode()),
        getPoolTokensCall::SELECTOR => {
            assert_eq!((call.to, call.data.get(4..)), (VAULT, Some(&pool_id()[..])));
            Some((tokens.to_vec(), balances.to_vec(), U256::ZERO).abi_encode_params())
        }
        decimalsCall::SELECTOR => Some(U256::from(if call.to == A { 6 } else { 18 }).abi_encode()),
        _ => None,
    }
}

#[test]
fn a_weighted_pool_is_announced_read_and_followed() {
    let pool = announced(vec![A, B]);
    assert_eq!((pool.key.contract, pool.coins.as_slice()), (POOL, &[A, B][..]));
    let balances = [e(12), e(24)];
    let (state, product) = read(&pool, |call| {
        common(call, &[A, B], &balances).or_else(|| match call.data.get(..4)?.try_into().ok()? {
            getNormalizedWeightsCall::SELECTOR => Some(vec![e(17) * U256::from(8), e(17) * U256::from(2)].abi_encode()),
            isPoolFromFactoryCall::SELECTOR => Some((call.to == WEIGHTED).abi_encode()),
            _ => None,
        })
    });
    assert_eq!(product, Some(Product::BalancerV2Weighted));
    let PoolState::BalancerV2(state) = state.unwrap() else { panic!("not a pool of the vault") };
    assert_eq!(state.pool_id, pool_id());
    let Model::Weighted(weighted) = &state.model else { panic!("not weighted") };
    assert_eq!(weighted.balances[..], balances);
    assert_eq!(weighted.scaling_factors[..], [e(30), e(18)]);
    assert_eq!(weighted.power, Power::Logarithm, "the first factory's");

    let swap = |id: B256| Swap { poolId: id, tokenIn: A, tokenOut: B, amountIn: e(6), amountOut: e(18) };
    let mut followed = PoolState::BalancerV2(state.clone());
    let mut apply = |id: B256| {
        let log = Log { address: VAULT, data: LogData::from(&swap(id)) };
        Product::BalancerV2Weighted.apply(&mut followed, &log).unwrap()
    };
    assert_eq!(apply(pool_id()), Freshness::Stale);
    assert_eq!(apply(B256::repeat_byte(9)), Freshness::Unaffected, "another pool's");
}

/// Anyone may register a contract that answers like a weighted pool, so the factory decides.
#[test]
fn a_pool_of_no_known_factory_is_left_out() {
    let (state, _) = read(&announced(vec![A, B]), |call| {
        common(call, &[A, B], &[e(12), e(24)]).or_else(|| match call.data.get(..4)?.try_into().ok()? {
            getNormalizedWeightsCall::SELECTOR => Some(vec![e(17) * U256::from(5); 2].abi_encode()),
            isPoolFromFactoryCall::SELECTOR => Some(false.abi_encode()),
            _ => None,
        })
    });
    assert!(state.unwrap_err().contains("factory"));
}

/// The last coin of a composable pool must be its own token. When a cached rate expires, the provider's rate must
/// replace it.
#[test]
fn a_composable_pool_changes_rates_when_they_run_out() {
    let tokens = [A, POOL, B];
    let pool = announced(tokens.to_vec());
    assert_eq!(pool.coins, [A, B, POOL]);
    let balances = [e(12), e(33), e(24)];
    let (state, product) = read(&pool, |call| {
        common(call, &tokens, &balances).or_else(|| match call.data.get(..4)?.try_into().ok()? {
            getAmplificationParameterCall::SELECTOR => {
                Some((U256::from(200_000), false, U256::from(1_000)).abi_encode())
            }
            getRateProvidersCall::SELECTOR => Some(vec![Address::ZERO, Address::ZERO, PROVIDER].abi_encode()),
            isPoolFromFactoryCall::SELECTOR => Some((call.to == COMPOSABLE).abi_encode()),
            getScalingFactorsCall::SELECTOR => Some(vec![e(30), e(18), e(17) * U256::from(11)].abi_encode()),
            getRateCall::SELECTOR => Some((e(17) * U256::from(12)).abi_encode()),
            getTokenRateCacheCall::SELECTOR => {
                Some((e(17) * U256::from(11), e(18), U256::from(10_800), U256::from(1_000)).abi_encode())
            }
            isTokenExemptFromYieldProtocolFeeCall::SELECTOR => Some(false.abi_encode()),
            totalSupplyCall::SELECTOR => Some((e(33) + e(24)).abi_encode()),
            getLastJoinExitDataCall::SELECTOR => Some((U256::from(200_000), e(24)).abi_encode()),
            getProtocolFeePercentageCacheCall::SELECTOR => Some((e(17) * U256::from(5)).abi_encode()),
            _ => None,
        })
    });
    assert_eq!(product, Some(Product::BalancerV2ComposableStable));
    let PoolState::BalancerV2(state) = state.unwrap() else { panic!("not a pool of the vault") };
    assert!(state.depends_on_time());
    let block = |timestamp| braid_primitives::ExecutionBlock { number: 1, timestamp };
    let paid = |timestamp| state.swap(&block(timestamp), None, 0, 1, e(9)).unwrap().amount_out;
    assert_eq!(paid(1), paid(1_000));
    // Each unit of coin 1 is worth more, so fewer are paid.
    assert!(paid(1_001) < paid(1_000));
    // The pool's own token comes last, and its value is modelled.
    assert_eq!(state.coins(), 3);
    let joined = state.swap(&block(1), None, 0, 2, e(9)).unwrap().amount_out;
    assert!((e(20)..e(21) * U256::from(2)).contains(&joined), "{joined}");
    // The coin's yield since then belongs to the holders, less the half that the protocol takes, so each share is worth
    // more.
    assert!(state.swap(&block(1_001), None, 0, 2, e(9)).unwrap().amount_out < joined);
}

/// The shares that the pool has minted and will mint to the protocol change the value of its own token.
#[test]
fn a_change_of_the_protocols_share_makes_a_composable_pool_stale() {
    let record = Product::BalancerV2ComposableStable;
    for event in [
        "RecoveryModeStateChanged(bool)",
        "ProtocolFeePercentageCacheUpdated(bytes32)",
        "ProtocolFeePercentageCacheUpdated(uint256,uint256)",
    ] {
        assert!(record.freshness_topics().contains(&alloy_primitives::keccak256(event)), "{event}");
    }
}

#[test]
fn a_metapool_has_an_exchange_for_each_pair_that_trades() {
    let listed = Product::CurveMetapool.fixed_pools();
    let gusd = &listed[0];
    assert_eq!(gusd.coins.len(), 5);
    for product in Product::named("curve") {
        for pool in product.fixed_pools() {
            assert_eq!(pool.product, product);
            assert!((2..=8).contains(&pool.coins.len()));
        }
    }
    assert!(curve::presets::rules_of(address!("bEbc44782C7dB0a1A60Cb6fe97d0b483032FF1C7")).is_some());
}
