//! Tests that buffers of Balancer V3 are found by a log that does not name their asset, and that their balances and the
//! vaults behind them stay equal to the chain.

use alloy::{
    primitives::{Address, U256, keccak256},
    sol,
    sol_types::SolCall,
};
use braid_devnet::{Devnet, accounts::MAKER, addresses as at, rpc::Tx, tokens};
use braid_market::Market;
use braid_primitives::PoolKey;
use braid_protocols::{PoolState, Product, balancer::v3::buffer};

use crate::support::*;

sol! {
    function approve(address spender, uint256 value) external;
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function fillBuffer(address wrapped, address asset, uint256 assets, uint256 shares) external;
    function addToBuffer(address wrapped, address asset, uint256 issued) external;
    function exchange(address wrapped, address asset, bool wraps, uint256 amount) external returns (uint256 amountOut);
    function swap(address pool, address tokenIn, address tokenOut, uint256 amount) external returns (uint256 amountOut);
    interface Blue {
        struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }
        function borrow(MarketParams params, uint256 assets, uint256 shares, address onBehalf, address receiver) external;
    }
    interface Aave {
        function borrow(address asset, uint256 amount, uint256 mode, uint16 referral, address onBehalfOf) external;
    }
}

/// Sends a transaction of the account that created the buffers. It must succeed.
async fn act<C: SolCall>(chain: &Devnet, to: Address, call: &C) {
    chain.send(&Tx::call(MAKER, to, call).gas(4_000_000)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_to_a_buffer_is_in_the_market_of_its_block() {
    let chain = chain().await;
    let mut follower = follow(&chain.ws_url()).await;
    let market = at_head(&mut follower, &chain).await;
    let buffers = market.pools().iter().filter(|pool| pool.product == Product::BalancerV3Buffer);
    assert_eq!(buffers.count(), 7);
    let [weth, pufeth, usdc, metamorpho] =
        ["WETH", "pufETH", "USDC", "gtUSDCp"].map(|symbol| tokens::by_symbol(symbol).address);
    let units = |symbol: &str, whole: u64| tokens::by_symbol(symbol).units(whole);
    let exchange = |wrapped, asset, wraps, amount| exchangeCall { wrapped, asset, wraps, amount };
    let mut last = content(&market);
    for act_number in 0..6 {
        let changed: PoolKey = match act_number {
            // Within the buffer's balance, and beyond it with the vault behind it, whose own pool changes too.
            0 => {
                act(&chain, at::BALANCER_V3_FILLER, &exchange(pufeth, weth, true, units("WETH", 7))).await;
                buffer::key_of(pufeth)
            }
            1 => {
                act(&chain, at::BALANCER_V3_FILLER, &exchange(pufeth, weth, false, units("pufETH", 4_000))).await;
                pufeth.into()
            }
            2 => {
                act(&chain, at::BALANCER_V3_FILLER, &exchange(metamorpho, usdc, true, units("USDC", 9_000_000))).await;
                metamorpho.into()
            }
            // The log that announces a buffer is also that of a deposit into it.
            3 => {
                let call = addToBufferCall { wrapped: pufeth, asset: weth, issued: units("WETH", 50) };
                act(&chain, at::BALANCER_V3_FILLER, &call).await;
                buffer::key_of(pufeth)
            }
            // A deposit in the vault itself causes no log of the buffer.
            4 => {
                let call = depositCall { assets: units("WETH", 100), receiver: MAKER };
                act(&chain, at::PUFETH, &call).await;
                buffer::key_of(pufeth)
            }
            _ => {
                act(&chain, at::BALANCER_V3_FILLER, &exchange(metamorpho, usdc, false, units("gtUSDCp", 70))).await;
                buffer::key_of(metamorpho)
            }
        };
        let market = assert_faithful(&mut follower, &chain).await;
        let now = content(&market);
        assert_ne!(now[&changed], last[&changed], "act {act_number} changes {changed}");
        last = now;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_buffer_is_in_the_market_of_its_block_with_the_asset_that_the_vault_names() {
    let chain = chain().await;
    let mut follower = follow(&chain.ws_url()).await;
    at_head(&mut follower, &chain).await;
    let (share, asset) = (tokens::by_symbol("sUSDe"), tokens::by_symbol("USDe"));
    for token in [share, asset] {
        let approve = approveCall { spender: at::BALANCER_V3_FILLER, value: U256::MAX };
        act(&chain, token.address, &approve).await;
        chain.fund(token.address, MAKER, token.units(5_000_000)).await.unwrap();
    }
    let (assets, shares) = (asset.units(1_000_000), share.units(800_000));
    let call = fillBufferCall { wrapped: share.address, asset: asset.address, assets, shares };
    act(&chain, at::BALANCER_V3_FILLER, &call).await;
    let market = assert_faithful(&mut follower, &chain).await;
    let pool = market.pool_id(buffer::key_of(share.address)).and_then(|id| market.pool(id)).unwrap();
    let coins = [asset.address, share.address].map(|coin| market.tokens().id(coin).unwrap());
    assert_eq!(pool.coins[..], coins);
    let PoolState::BalancerV3Buffer(state) = &pool.state else { panic!("a buffer") };
    assert_eq!((state.held, state.wrapped), ([assets, shares], share.address));
    // Holders of shares have a waiting period, but trades within the buffer's balance do not.
    let at = market.block().next();
    assert!(pool.swap(&at, 1, 0, share.units(500_000)).is_ok());
    assert!(pool.swap(&at, 1, 0, share.units(900_000)).is_err());
    assert_eq!(follower.status.borrow().excluded, 0);
}

/// When others borrow, neither a wrapped token nor its buffer nor the pool of two of them logs anything, but the
/// outputs of all three change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_borrows_from_aave_changes_wrapped_tokens_their_buffers_and_boosted_pools() {
    let chain = chain().await;
    let mut follower = follow(&chain.ws_url()).await;
    at_head(&mut follower, &chain).await;
    let market = assert_faithful(&mut follower, &chain).await;
    let [share, other] = ["waEthUSDC", "waEthUSDT"].map(tokens::by_symbol);
    let ids = [share, other].map(|token| market.tokens().id(token.address).unwrap());
    let mut stable = market.pools().iter().filter(|pool| pool.product == Product::BalancerV3Stable);
    let boosted = stable.find(|pool| ids.iter().all(|id| pool.coins.contains(id))).unwrap();
    let PoolState::BalancerV3(state) = &boosted.state else { panic!("a pool of the vault") };
    assert_eq!(state.followed.len(), 2, "both rates follow from their vaults");
    let changing = [share.address.into(), buffer::key_of(share.address), boosted.key];
    let mut last = content(&market);
    let asset = tokens::by_symbol("USDC");
    for act_number in 0..3 {
        match act_number {
            0 => {
                let (amount, mode) = (asset.units(90_000_000), U256::from(2));
                let call = Aave::borrowCall { asset: asset.address, amount, mode, referral: 0, onBehalfOf: MAKER };
                act(&chain, at::AAVE_V3_POOL, &call).await;
            }
            1 => {
                let call = exchangeCall {
                    wrapped: share.address,
                    asset: asset.address,
                    wraps: true,
                    amount: asset.units(9_000_000),
                };
                act(&chain, at::BALANCER_V3_FILLER, &call).await;
            }
            _ => {
                let call = swapCall {
                    pool: boosted.key.contract,
                    tokenIn: share.address,
                    tokenOut: other.address,
                    amount: share.units(70_000),
                };
                act(&chain, at::BALANCER_V3_FILLER, &call).await;
            }
        }
        let market = assert_faithful(&mut follower, &chain).await;
        let now = content(&market);
        for pool in changing.iter().filter(|pool| act_number != 2 || **pool == boosted.key) {
            assert_ne!(now[pool], last[pool], "act {act_number} changes {pool}");
        }
        last = now;
    }
    assert_eq!(follower.status.borrow().excluded, 0);
}

/// Morpho's vaults and the markets that they lend on log every change, but not the interest that accrues each second.
/// The boosted pools of their shares must follow both logs, and must not change in blocks in which only time passes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_to_morphos_vaults_is_in_their_boosted_pools_and_time_alone_changes_nothing() {
    let chain = chain().await;
    let mut follower = follow(&chain.ws_url()).await;
    let mut market = assert_faithful(&mut follower, &chain).await;
    let usdc = tokens::by_symbol("USDC");
    let pools = [at::GAUNTLET_USDC_PRIME, at::VAULT_V2_USDC].map(|share| boosted(&market, share));
    let state = |market: &Market, pool: Address| market.pool(market.pool_id(pool).unwrap()).unwrap().state.clone();
    for pool in pools {
        let PoolState::BalancerV3(state) = state(&market, pool) else { panic!("a pool of the vault") };
        assert_eq!(state.followed.len(), 2, "both rates follow from their vaults");
    }
    // A deposit in each of two vaults that lend on the same markets; a loan on one of these, which neither vault logs;
    // and only time.
    for act_number in 0..4 {
        chain.rpc().call("evm_increaseTime", serde_json::json!([3_600])).await.unwrap();
        let call = depositCall { assets: usdc.units(1_000_000), receiver: MAKER };
        match act_number {
            0 => act(&chain, at::GAUNTLET_USDC_PRIME, &call).await,
            1 => act(&chain, at::VAULT_V2_USDC, &call).await,
            2 => act(&chain, at::MORPHO_BLUE, &loan(usdc.units(1_000))).await,
            _ => chain.mine(3).await.unwrap(),
        }
        let now = assert_faithful(&mut follower, &chain).await;
        let changed = pools.map(|pool| state(&now, pool) != state(&market, pool));
        assert_eq!(changed, [act_number < 3; 2], "act {act_number}");
        market = now;
    }
    assert_eq!(follower.status.borrow().excluded, 0);
}

/// Returns the call that borrows on a market of Morpho Blue on which both vaults lend.
fn loan(assets: U256) -> Blue::borrowCall {
    let [usdc, wbtc] = ["USDC", "WBTC"].map(|symbol| tokens::by_symbol(symbol).address);
    let params = Blue::MarketParams {
        loanToken: usdc,
        collateralToken: wbtc,
        oracle: Address::from_word(keccak256("WBTC")),
        irm: at::ADAPTIVE_CURVE_IRM,
        lltv: U256::from(860_000_000_000_000_000_u64),
    };
    Blue::borrowCall { params, assets, shares: U256::ZERO, onBehalf: MAKER, receiver: MAKER }
}

/// Returns a stable pool with the share of a vault.
fn boosted(market: &Market, share: Address) -> Address {
    let id = market.tokens().id(share).unwrap();
    let mut pools = market.pools().iter().filter(|pool| pool.product == Product::BalancerV3Stable);
    pools.find(|pool| pool.coins.contains(&id)).unwrap().key.contract
}
