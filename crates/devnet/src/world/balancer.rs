//! Balancer V2: its vault, factories of several generations, and pools of every kind, all with the real code.

use alloy::{
    primitives::{Address, B256, U256},
    sol,
    sol_types::{SolCall, SolValue},
};

use super::{Batch, placement::Placement, shape};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    addresses::{self as at, WETH9},
    rpc::{Rpc, Tx},
    tokens::{self, Token},
};

sol! {
    interface IWeightedV1 {
        function create(string name, string symbol, address[] tokens, uint256[] weights, uint256 fee, address owner)
            external returns (address);
    }
    interface IWeighted {
        function create(string name, string symbol, address[] tokens, uint256[] weights, address[] providers, uint256 fee, address owner)
            external returns (address);
    }
    interface IStable {
        function create(string name, string symbol, address[] tokens, uint256 amp, uint256 fee, address owner) external returns (address);
    }
    interface IMetaStable {
        function create(
            string name, string symbol, address[] tokens, uint256 amp, address[] providers, uint256[] durations, uint256 fee,
            bool oracle, address owner
        ) external returns (address);
    }
    interface IComposable {
        function create(
            string name, string symbol, address[] tokens, uint256 amp, address[] providers, uint256[] durations, bool[] exempt,
            uint256 fee, address owner
        ) external returns (address);
    }
    function getPoolId() external view returns (bytes32);
    struct JoinPoolRequest { address[] assets; uint256[] maxAmountsIn; bytes userData; bool fromInternalBalance; }
    interface IShares {
        function getActionId(bytes4 selector) external view returns (bytes32);
        function setSwapFeePercentage(uint256 share) external;
        function setFeeTypePercentage(uint256 feeType, uint256 share) external;
    }
    interface IAuthorizer {
        function grantRole(bytes32 role, address account) external;
    }
    interface IVault {
        function getProtocolFeesCollector() external view returns (address);
        function getPoolTokens(bytes32 poolId) external view returns (address[] tokens, uint256[] balances, uint256 lastChangeBlock);
        function joinPool(bytes32 poolId, address sender, address recipient, JoinPoolRequest request) external payable;
    }
}

const PAUSE_WINDOW: u64 = 7_776_000;
const BUFFER_PERIOD: u64 = 2_592_000;
/// Lifetime of a rate that pools cache.
const CACHE_SECONDS: u64 = 10_800;

/// The factory that creates a pool, with the pool's amplification.
#[derive(Debug, Clone, Copy)]
enum Made {
    WeightedV1,
    WeightedV3,
    StableV2 { amp: u64 },
    MetaStable { amp: u64 },
    ComposableV3 { amp: u64 },
}

/// A pool: its factory, its coins with their shares of the value in tenths of a percent, the fee in hundredths of a
/// basis point, and its value in thousands of dollars.
struct Spec(Made, &'static [(&'static str, u64)], u64, f64);

const POOLS: [Spec; 10] = [
    Spec(Made::WeightedV3, &[("AAVE", 800), ("WETH", 200)], 3_000, 8_000.0),
    Spec(Made::WeightedV3, &[("WBTC", 340), ("WETH", 330), ("USDC", 330)], 2_500, 20_000.0),
    Spec(Made::WeightedV3, &[("LINK", 500), ("WETH", 500)], 3_000, 6_000.0),
    Spec(Made::WeightedV1, &[("UNI", 600), ("WETH", 400)], 5_000, 3_000.0),
    Spec(
        Made::WeightedV3,
        &[
            ("WETH", 125),
            ("WBTC", 125),
            ("LINK", 125),
            ("UNI", 125),
            ("AAVE", 125),
            ("MKR", 125),
            ("CRV", 125),
            ("LDO", 125),
        ],
        10_000,
        10_000.0,
    ),
    Spec(Made::StableV2 { amp: 2_000 }, &[("DAI", 333), ("USDC", 333), ("USDT", 333)], 100, 30_000.0),
    Spec(Made::MetaStable { amp: 50 }, &[("wstETH", 500), ("WETH", 500)], 400, 40_000.0),
    Spec(Made::ComposableV3 { amp: 200 }, &[("WBTC", 500), ("cbBTC", 500)], 500, 15_000.0),
    Spec(Made::ComposableV3 { amp: 700 }, &[("wstETH", 500), ("WETH", 500)], 200, 25_000.0),
    Spec(Made::ComposableV3 { amp: 500 }, &[("DAI", 250), ("USDC", 250), ("USDT", 250), ("PYUSD", 250)], 400, 12_000.0),
];

/// A pool that trades another pool's own token, which is that of the last pool in [`POOLS`].
const OF_SHARES: Spec = Spec(Made::WeightedV3, &[("COMP", 700)], 1_000, 4_000.0);
/// The protocol's share of the swap fees and of the coins' yield: half, as on mainnet.
const PROTOCOL_SHARE_WAD: u64 = 500_000_000_000_000_000;

/// Returns the vault, and then the contracts whose constructors call it.
pub(super) fn placements() -> [Vec<Placement>; 2] {
    let vault = at::BALANCER_V2_VAULT;
    let windows = (U256::from(PAUSE_WINDOW), U256::from(BUFFER_PERIOD));
    let whole = U256::from(10).pow(U256::from(18));
    let provided = (vault, at::BALANCER_V2_FEE_PROVIDER);
    let versions = (provided.0, provided.1, String::new(), String::new()).abi_encode_params();
    let held = vec![
        ("BalancerV2Authorizer", at::BALANCER_V2_AUTHORIZER, MAKER.abi_encode()),
        ("BalancerV2Vault", vault, (at::BALANCER_V2_AUTHORIZER, WETH9, windows.0, windows.1).abi_encode_params()),
    ];
    let made = vec![
        ("BalancerV2FeeProvider", at::BALANCER_V2_FEE_PROVIDER, (vault, whole, whole).abi_encode_params()),
        ("BalancerV2QueryProcessor", at::BALANCER_V2_QUERY_PROCESSOR, vec![]),
        ("WstEthRateProvider", at::WSTETH_RATE_PROVIDER, at::WSTETH.abi_encode()),
        ("BalancerV2WeightedV1", at::BALANCER_V2_WEIGHTED_V1, vault.abi_encode()),
        ("BalancerV2WeightedV3", at::BALANCER_V2_WEIGHTED_V3, versions.clone()),
        ("BalancerV2StableV2", at::BALANCER_V2_STABLE_V2, vault.abi_encode()),
        ("BalancerV2MetaStable", at::BALANCER_V2_META_STABLE, vault.abi_encode()),
        ("BalancerV2ComposableV3", at::BALANCER_V2_COMPOSABLE_V3, versions),
    ];
    [held, made]
}

/// Creates the pools and fills them at the tokens' prices.
pub(super) async fn open(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    let mut approved: Vec<&str> =
        POOLS.iter().chain([&OF_SHARES]).flat_map(|spec| spec.1).map(|(symbol, _)| *symbol).collect();
    approved.sort_unstable();
    approved.dedup();
    for symbol in approved {
        let call = IErc20::approveCall { spender: at::BALANCER_V2_VAULT, value: U256::MAX };
        batch.send("approving Balancer", Tx::call(MAKER, tokens::find(symbol)?.address, &call).gas(100_000)).await?;
    }
    batch.mine().await?;
    let collector = rpc.view(at::BALANCER_V2_VAULT, &IVault::getProtocolFeesCollectorCall {}).await?;
    share_with_protocol(rpc, collector).await?;
    let mut last = Address::ZERO;
    for spec in &POOLS {
        let mut coins = Vec::with_capacity(spec.1.len());
        for (symbol, share) in spec.1 {
            coins.push((tokens::find(symbol)?, *share));
        }
        coins.sort_unstable_by_key(|(token, _)| token.address);
        let pool = create(rpc, spec, &coins).await?;
        join(rpc, pool, spec.3, &coins).await?;
        last = pool;
    }
    let share = Token {
        symbol: "BPT",
        name: "A pool of Balancer",
        address: last,
        decimals: 18,
        price_usd: 1.0,
        balance_slot: 0,
        kind: tokens::Kind::PoolShare,
    };
    let mut coins = vec![(&share, 300)];
    for (symbol, part) in OF_SHARES.1 {
        coins.push((tokens::find(symbol)?, *part));
    }
    coins.sort_unstable_by_key(|(token, _)| token.address);
    let pool = create(rpc, &OF_SHARES, &coins).await?;
    join(rpc, pool, OF_SHARES.3, &coins).await
}

/// Sets the protocol's shares of fees. Pools cache them when they are created.
async fn share_with_protocol(rpc: &Rpc, collector: Address) -> Result<(), DevnetError> {
    let share = U256::from(PROTOCOL_SHARE_WAD);
    let of_fees = IShares::setSwapFeePercentageCall { share };
    let of_earnings = IShares::setFeeTypePercentageCall { feeType: U256::from(2), share };
    let asked = [
        (collector, IShares::setSwapFeePercentageCall::SELECTOR, Tx::call(MAKER, collector, &of_fees)),
        (
            at::BALANCER_V2_FEE_PROVIDER,
            IShares::setFeeTypePercentageCall::SELECTOR,
            Tx::call(MAKER, at::BALANCER_V2_FEE_PROVIDER, &of_earnings),
        ),
    ];
    for (keeper, selector, tx) in asked {
        let role = rpc.view(keeper, &IShares::getActionIdCall { selector: selector.into() }).await?;
        let grant = IAuthorizer::grantRoleCall { role, account: MAKER };
        let mut batch = Batch::new(rpc);
        batch.send("letting the maker", Tx::call(MAKER, at::BALANCER_V2_AUTHORIZER, &grant).gas(300_000)).await?;
        batch.send("the protocol's share", tx.gas(300_000)).await?;
        batch.mine().await?;
    }
    Ok(())
}

/// Calls the factory to learn the pool's address, and then sends the same call as a transaction.
async fn create(rpc: &Rpc, spec: &Spec, coins: &[(&Token, u64)]) -> Result<Address, DevnetError> {
    let tokens: Vec<Address> = coins.iter().map(|(token, _)| token.address).collect();
    let weights = coins.iter().map(|(_, share)| U256::from(*share) * U256::from(10).pow(U256::from(15))).collect();
    let provider = |token: &Address| if *token == at::WSTETH { at::WSTETH_RATE_PROVIDER } else { Address::ZERO };
    let providers: Vec<Address> = tokens.iter().map(provider).collect();
    let durations =
        providers.iter().map(|one| U256::from(if one.is_zero() { 0 } else { CACHE_SECONDS })).collect::<Vec<_>>();
    let exempt = vec![false; tokens.len()];
    let fee = U256::from(spec.2) * U256::from(10).pow(U256::from(12));
    let (name, symbol) = ("A pool of Balancer".to_owned(), "BPT".to_owned());
    let (factory, pool, tx) = match spec.0 {
        Made::WeightedV1 => {
            let call = IWeightedV1::createCall { name, symbol, tokens, weights, fee, owner: MAKER };
            let factory = at::BALANCER_V2_WEIGHTED_V1;
            (factory, rpc.view(factory, &call).await?, Tx::call(MAKER, factory, &call))
        }
        Made::WeightedV3 => {
            let providers = vec![Address::ZERO; tokens.len()];
            let call = IWeighted::createCall { name, symbol, tokens, weights, providers, fee, owner: MAKER };
            let factory = at::BALANCER_V2_WEIGHTED_V3;
            (factory, rpc.view(factory, &call).await?, Tx::call(MAKER, factory, &call))
        }
        Made::StableV2 { amp } => {
            let call = IStable::createCall { name, symbol, tokens, amp: U256::from(amp), fee, owner: MAKER };
            let factory = at::BALANCER_V2_STABLE_V2;
            (factory, rpc.view(factory, &call).await?, Tx::call(MAKER, factory, &call))
        }
        Made::MetaStable { amp } => {
            let amp = U256::from(amp);
            let call = IMetaStable::createCall {
                name,
                symbol,
                tokens,
                amp,
                providers,
                durations,
                fee,
                oracle: false,
                owner: MAKER,
            };
            let factory = at::BALANCER_V2_META_STABLE;
            (factory, rpc.view(factory, &call).await?, Tx::call(MAKER, factory, &call))
        }
        Made::ComposableV3 { amp } => {
            let amp = U256::from(amp);
            let call =
                IComposable::createCall { name, symbol, tokens, amp, providers, durations, exempt, fee, owner: MAKER };
            let factory = at::BALANCER_V2_COMPOSABLE_V3;
            (factory, rpc.view(factory, &call).await?, Tx::call(MAKER, factory, &call))
        }
    };
    let mut batch = Batch::new(rpc);
    batch.send(&format!("{:?} of Balancer at {factory}", spec.0), tx.gas(15_000_000)).await?;
    batch.mine().await?;
    Ok(pool)
}

async fn join(rpc: &Rpc, pool: Address, value_kusd: f64, coins: &[(&Token, u64)]) -> Result<(), DevnetError> {
    let pool_id: B256 = rpc.view(pool, &getPoolIdCall {}).await?;
    let held = rpc.view(at::BALANCER_V2_VAULT, &IVault::getPoolTokensCall { poolId: pool_id }).await?;
    // The pool mints its own token for itself, whatever amount is passed for it.
    let named = amounts(value_kusd, coins);
    let amount = |address: &Address| {
        let coin = coins.iter().zip(&named).find(|((token, _), _)| token.address == *address);
        coin.map_or((U256::ONE << 112) - U256::ONE, |(_, amount)| *amount)
    };
    let amounts: Vec<U256> = held.tokens.iter().map(amount).collect();
    let request = JoinPoolRequest {
        maxAmountsIn: vec![U256::MAX; amounts.len()],
        userData: (U256::ZERO, amounts).abi_encode_params().into(),
        assets: held.tokens,
        fromInternalBalance: false,
    };
    let call = IVault::joinPoolCall { poolId: pool_id, sender: MAKER, recipient: MAKER, request };
    let mut batch = Batch::new(rpc);
    batch.send("filling a pool of Balancer", Tx::call(MAKER, at::BALANCER_V2_VAULT, &call).gas(3_000_000)).await?;
    batch.mine().await
}

/// Returns the amounts of coins, in atomic units, that are together worth `value_kusd` thousand dollars and are divided
/// by the coins' shares of the value.
pub(super) fn amounts(value_kusd: f64, coins: &[(&Token, u64)]) -> Vec<U256> {
    let whole: u64 = coins.iter().map(|(_, share)| share).sum();
    let amount = |(token, share): &(&Token, u64)| {
        let dollars = value_kusd * 1_000.0 * (*share as f64) / (whole as f64);
        let digits = token.decimals.min(9);
        let units = shape::whole(dollars / token.price_usd * 10_f64.powi(i32::from(digits)));
        units * U256::from(10).pow(U256::from(token.decimals - digits))
    };
    coins.iter().map(amount).collect()
}
