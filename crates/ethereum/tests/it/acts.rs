//! Random changes on the chain, chosen from a seed: swaps, mints, burns and new pools.

use std::{collections::BTreeSet, sync::Arc};

use alloy::{
    primitives::{
        Address, U256,
        aliases::{I24, U24, U160},
        keccak256,
    },
    rpc::types::Log,
    sol,
    sol_types::{SolCall, SolEvent, SolValue},
};
use braid_devnet::{Devnet, accounts, addresses, rpc::Tx};
use braid_market::Market;
use braid_primitives::{NATIVE_ETHER, WETH};
use braid_protocols::{Pool, PoolState, Product, curve::Model};
use serde_json::json;

sol! {
    function approve(address spender, uint256 value) external;
    function transfer(address to, uint256 value) external;
    function sync() external;
    function createPair(address tokenA, address tokenB) external returns (address pair);
    function swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)
        external returns (uint256[] amounts);
    function addLiquidity(address tokenA, address tokenB, uint256 a, uint256 b, uint256 aMin, uint256 bMin, address to, uint256 deadline)
        external;

    struct SingleParams {
        address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 deadline; uint256 amountIn;
        uint256 amountOutMinimum; uint160 sqrtPriceLimitX96;
    }
    function exactInputSingle(SingleParams params) external payable returns (uint256 amountOut);

    struct MintParams {
        address token0; address token1; uint24 fee; int24 tickLower; int24 tickUpper; uint256 amount0Desired;
        uint256 amount1Desired; uint256 amount0Min; uint256 amount1Min; address recipient; uint256 deadline;
    }
    function mint(MintParams params) external payable;
    function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96)
        external payable returns (address pool);
    function createPool(address tokenA, address tokenB, uint24 fee) external returns (address pool);
    function initialize(uint160 sqrtPriceX96) external;

    event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1);
    function positions(bytes32 key) external view returns (uint128 liquidity, uint256 feeGrowthInside0LastX128, uint256 feeGrowthInside1LastX128, uint128 tokensOwed0, uint128 tokensOwed1);
    function burn(int24 tickLower, int24 tickUpper, uint128 amount) external;

    interface Stable {
        function exchange(int128 i, int128 j, uint256 dx, uint256 least) external payable;
        function exchange_underlying(int128 i, int128 j, uint256 dx, uint256 least) external;
        function ramp_A(uint256 future, uint256 time) external;
    }
    interface Crypto {
        function exchange(uint256 i, uint256 j, uint256 dx, uint256 least) external payable;
        function ramp_A_gamma(uint256 amp, uint256 width, uint256 time) external;
    }
    interface OfTwo { function add_liquidity(uint256[2] amounts, uint256 least) external payable; }
    interface OfThree { function add_liquidity(uint256[3] amounts, uint256 least) external; }
    interface OfMany { function add_liquidity(uint256[] amounts, uint256 least) external; }
}

/// The account that makes the changes. It has a large amount of every token.
const ACTOR: Address = accounts::TAKER;

/// Makes changes on a chain. The same seed makes the same changes.
pub(crate) struct Acts<'a> {
    chain: &'a Devnet,
    seed: u64,
    allowed: BTreeSet<(Address, Address)>,
}

impl<'a> Acts<'a> {
    pub(crate) fn on(chain: &'a Devnet, seed: u64) -> Self {
        Self { chain, seed, allowed: BTreeSet::new() }
    }

    /// Approves a contract for the account's tokens, once for each.
    async fn allow(&mut self, spender: Address, tokens: [Address; 2]) {
        for token in tokens {
            if self.allowed.insert((token, spender)) {
                let approve = approveCall { spender, value: U256::MAX };
                self.chain.send(&Tx::call(ACTOR, token, &approve)).await.unwrap();
            }
        }
    }

    /// Returns a random number below `end`.
    fn pick(&mut self, end: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as usize % end
    }

    /// Makes a change in some pool of the market, at least one block. An attempt that the contract refuses counts too.
    pub(crate) async fn any(&mut self, market: &Market) {
        // Wrapped ether never changes, and pools of other kinds have their own tests.
        let moved = |pool: &&Arc<Pool>| matches!(pool.state, PoolState::UniswapV2(_) | PoolState::UniswapV3(_));
        let pools: Vec<&Arc<Pool>> = market.pools().iter().filter(moved).collect();
        let pool = pools[self.pick(pools.len())].as_ref().clone();
        let [a, b] = [0, 1].map(|coin| market.tokens().get(pool.coins[coin]).unwrap().address);
        match (&pool.state, self.pick(4)) {
            (PoolState::UniswapV2(_), 0) => self.donate_and_sync(&pool, a).await,
            (PoolState::UniswapV2(_), _) => self.swap_pair(&pool, a, b).await,
            (PoolState::UniswapV3(_), 0) => self.mint(&pool, a, b).await,
            (PoolState::UniswapV3(_), 1) => self.burn(&pool).await,
            (PoolState::UniswapV3(_), _) => self.swap_concentrated(&pool, a, b).await,
            _ => unreachable!("only these were picked from"),
        }
    }

    /// Makes several changes, one after another.
    pub(crate) async fn several(&mut self, market: &Market, count: usize) {
        for _ in 0..count {
            self.any(market).await;
        }
    }

    /// Makes a swap, makes a deposit or starts a ramp in every Curve pool, one per block.
    pub(crate) async fn every_curve_pool(&mut self, market: &Market) {
        let pools: Vec<Arc<Pool>> =
            market.pools().iter().filter(|pool| pool.product.family() == "curve").cloned().collect();
        for pool in pools {
            self.curve(market, &pool).await;
        }
    }

    async fn curve(&mut self, market: &Market, pool: &Pool) {
        let PoolState::Curve(state) = &pool.state else { return };
        let coins: Vec<Address> = pool.coins.iter().map(|coin| market.tokens().get(*coin).unwrap().address).collect();
        // The first two coins of a metapool are its own, and its base pool's coins follow.
        let own = if matches!(state.model, Model::Meta(_)) { 2 } else { coins.len() };
        for coin in coins.iter().filter(|coin| **coin != NATIVE_ETHER) {
            self.allow(pool.key.contract, [*coin; 2]).await;
        }
        let part = U256::from(self.pick(90) + 10);
        match (&state.model, self.pick(5)) {
            (Model::Crypto(_), 0) => {
                let (amp, width) = (U256::from(self.pick(1_000_000) + 500_000), U256::from(20_000_000_000_000_u64));
                let time = U256::from(market.block().timestamp + 200_000);
                self.try_to(ACTOR, pool.key.contract, &Crypto::ramp_A_gammaCall { amp, width, time }).await;
            }
            (Model::Lending(_), _) => {
                let i = self.pick(own);
                let j = ((i + 1) % own) as i128;
                let decimals = market.tokens().get(pool.coins[i]).unwrap().decimals;
                let dx = U256::from(10).pow(U256::from(decimals)) * part;
                let swap = Stable::exchange_underlyingCall { i: i as i128, j, dx, least: U256::ZERO };
                self.try_to(ACTOR, pool.key.contract, &swap).await;
            }
            (Model::Stable(_), 0) => {
                let (future, time) =
                    (U256::from(self.pick(1_000) + 100), U256::from(market.block().timestamp + 200_000));
                self.try_to(ACTOR, pool.key.contract, &Stable::ramp_ACall { future, time }).await;
            }
            (_, 1) if !coins.contains(&NATIVE_ETHER) => {
                let mut amounts = Vec::new();
                for coin in &coins[..own] {
                    amounts.push(self.chain.balance_of(*coin, pool.key.contract).await.unwrap() / part);
                }
                let least = U256::ZERO;
                match (pool.product, amounts[..].try_into(), amounts[..].try_into()) {
                    (Product::CurveStableswapNg, ..) => {
                        self.try_to(ACTOR, pool.key.contract, &OfMany::add_liquidityCall { amounts, least }).await;
                    }
                    (_, Ok(amounts), _) => {
                        self.try_to(ACTOR, pool.key.contract, &OfTwo::add_liquidityCall { amounts, least }).await;
                    }
                    (_, _, Ok(amounts)) => {
                        self.try_to(ACTOR, pool.key.contract, &OfThree::add_liquidityCall { amounts, least }).await;
                    }
                    _ => unreachable!("pools here have two coins or three"),
                }
            }
            (model, _) => {
                let i = self.pick(own);
                let j = (i + 1 + self.pick(own - 1)) % own;
                let dx = match coins[i] {
                    NATIVE_ETHER => U256::from(1_000_000_000_000_000_000_u64),
                    coin => self.chain.balance_of(coin, pool.key.contract).await.unwrap() / part,
                };
                let (signed, least) = ([i as i128, j as i128], U256::ZERO);
                let data = match model {
                    Model::Crypto(_) => {
                        Crypto::exchangeCall { i: U256::from(i), j: U256::from(j), dx, least }.abi_encode()
                    }
                    Model::Meta(_) if i == 0 => {
                        let j = (1 + self.pick(3)) as i128;
                        Stable::exchange_underlyingCall { i: 0, j, dx, least }.abi_encode()
                    }
                    _ => Stable::exchangeCall { i: signed[0], j: signed[1], dx, least }.abi_encode(),
                };
                let value_wei = if coins[i] == NATIVE_ETHER { dx } else { U256::ZERO };
                let tx = Tx { from: ACTOR, to: pool.key.contract, data: data.into(), value_wei, gas_units: None };
                let _ = self.chain.send(&tx).await;
            }
        }
    }

    async fn try_to<C: SolCall>(&self, from: Address, to: Address, call: &C) {
        // A refused call changes nothing, but still makes a block.
        let _ = self.chain.send(&Tx::call(from, to, call)).await;
    }

    async fn part_of_reserve(&mut self, token: Address, pool: Address) -> U256 {
        let held = self.chain.balance_of(token, pool).await.unwrap();
        held / U256::from(2 + self.pick(400))
    }

    async fn donate_and_sync(&mut self, pool: &Pool, token: Address) {
        let value = self.part_of_reserve(token, pool.key.contract).await;
        self.try_to(ACTOR, token, &transferCall { to: pool.key.contract, value }).await;
        self.try_to(ACTOR, pool.key.contract, &syncCall {}).await;
    }

    async fn swap_pair(&mut self, pool: &Pool, a: Address, b: Address) {
        let path = if self.pick(2) == 0 { vec![a, b] } else { vec![b, a] };
        let sushi = pool.product == Product::SushiswapV2;
        let router = if sushi { addresses::SUSHI_V2_ROUTER } else { addresses::UNISWAP_V2_ROUTER };
        self.allow(router, [a, b]).await;
        let amount_in = self.part_of_reserve(path[0], pool.key.contract).await;
        let swap = swapExactTokensForTokensCall {
            amountIn: amount_in,
            amountOutMin: U256::ZERO,
            path,
            to: ACTOR,
            deadline: U256::MAX,
        };
        self.try_to(ACTOR, router, &swap).await;
    }

    async fn swap_concentrated(&mut self, pool: &Pool, a: Address, b: Address) {
        if pool.product != Product::UniswapV3 {
            return self.mint(pool, a, b).await;
        }
        let PoolState::UniswapV3(state) = &pool.state else { return };
        let (token_in, token_out) = if self.pick(2) == 0 { (a, b) } else { (b, a) };
        self.allow(addresses::SWAP_ROUTER, [a, b]).await;
        let params = SingleParams {
            tokenIn: token_in,
            tokenOut: token_out,
            fee: U24::from(state.fee_pips),
            recipient: ACTOR,
            deadline: U256::MAX,
            amountIn: self.part_of_reserve(token_in, pool.key.contract).await,
            amountOutMinimum: U256::ZERO,
            sqrtPriceLimitX96: U160::ZERO,
        };
        self.try_to(ACTOR, addresses::SWAP_ROUTER, &exactInputSingleCall { params }).await;
    }

    async fn mint(&mut self, pool: &Pool, a: Address, b: Address) {
        let PoolState::UniswapV3(state) = &pool.state else { return };
        self.allow(position_manager(pool.product), [a, b]).await;
        let spacing = state.tick_spacing;
        let middle = state.tick.div_euclid(spacing) * spacing;
        let (below, above) = (self.pick(30) as i32 - 4, self.pick(30) as i32 + 6);
        let params = MintParams {
            token0: a,
            token1: b,
            fee: U24::from(state.fee_pips),
            tickLower: I24::try_from(middle - below * spacing).unwrap(),
            tickUpper: I24::try_from(middle + above * spacing).unwrap(),
            amount0Desired: self.part_of_reserve(a, pool.key.contract).await,
            amount1Desired: self.part_of_reserve(b, pool.key.contract).await,
            amount0Min: U256::ZERO,
            amount1Min: U256::ZERO,
            recipient: ACTOR,
            deadline: U256::MAX,
        };
        self.try_to(ACTOR, position_manager(pool.product), &mintCall { params }).await;
    }

    /// Withdraws from one of the positions with which the local chain began.
    async fn burn(&mut self, pool: &Pool) {
        let (contract, rpc, owner) = (pool.key.contract, self.chain.rpc(), accounts::MAKER);
        let made =
            json!({ "address": contract, "fromBlock": "0x0", "topics": [Mint::SIGNATURE_HASH, owner.into_word()] });
        let made: Vec<Log> = rpc.get("eth_getLogs", json!([made])).await.unwrap();
        let index = self.pick(made.len().max(1));
        let (lower, upper, held) = match made.get(index).map(|log| log.log_decode::<Mint>().unwrap().inner) {
            Some(mint) => {
                let key = keccak256((owner, mint.tickLower, mint.tickUpper).abi_encode_packed());
                let held = rpc.view(contract, &positionsCall { key }).await.unwrap().liquidity;
                (mint.tickLower, mint.tickUpper, held)
            }
            // A pool that a test made has none, and refuses.
            None => (I24::ZERO, I24::ZERO, 0),
        };
        // Sometimes all of it, so that ticks are removed.
        let amount = if self.pick(2) == 0 { held } else { held / 3 };
        self.try_to(owner, contract, &burnCall { tickLower: lower, tickUpper: upper, amount }).await;
    }

    /// Creates a pair of two tokens that have none at this factory, with liquidity, and returns its address.
    pub(crate) async fn new_pair(&mut self, a: Address, b: Address) -> Address {
        let (factory, router) = (addresses::SUSHI_V2_FACTORY, addresses::SUSHI_V2_ROUTER);
        self.allow(router, [a, b]).await;
        let create = createPairCall { tokenA: a, tokenB: b };
        let pair = self.chain.rpc().view(factory, &create).await.unwrap();
        self.chain.send(&Tx::call(ACTOR, factory, &create)).await.unwrap();
        let add = addLiquidityCall {
            tokenA: a,
            tokenB: b,
            a: U256::from(1_000_000),
            b: U256::from(2_000_000),
            aMin: U256::ZERO,
            bMin: U256::ZERO,
            to: ACTOR,
            deadline: U256::MAX,
        };
        self.chain.send(&Tx::call(ACTOR, router, &add)).await.unwrap();
        pair
    }

    /// Swaps through two pairs in one transaction: one block with a log of each.
    pub(crate) async fn swap_through(&mut self, path: [Address; 3], amount_in: u64) {
        let router = addresses::UNISWAP_V2_ROUTER;
        self.allow(router, [path[0], path[1]]).await;
        let swap = swapExactTokensForTokensCall {
            amountIn: U256::from(amount_in),
            amountOutMin: U256::ZERO,
            path: path.to_vec(),
            to: ACTOR,
            deadline: U256::MAX,
        };
        self.chain.send(&Tx::call(ACTOR, router, &swap)).await.unwrap();
    }

    /// Creates a pair without liquidity of any two addresses, and returns its address.
    pub(crate) async fn empty_pair(&mut self, a: Address, b: Address) -> Address {
        let factory = addresses::UNISWAP_V2_FACTORY;
        let create = createPairCall { tokenA: a, tokenB: b };
        let pair = self.chain.rpc().view(factory, &create).await.unwrap();
        self.chain.send(&Tx::call(ACTOR, factory, &create)).await.unwrap();
        pair
    }

    /// Creates a V3 pool in one block and initialises it in a later one. Returns its address.
    pub(crate) async fn new_pool(&self, a: Address, b: Address, fee_pips: u32) -> Address {
        let factory = addresses::UNISWAP_V3_FACTORY;
        let create = createPoolCall { tokenA: a, tokenB: b, fee: U24::from(fee_pips) };
        let pool = self.chain.rpc().view(factory, &create).await.unwrap();
        self.chain.send(&Tx::call(ACTOR, factory, &create)).await.unwrap();
        let initialize = initializeCall { sqrtPriceX96: U160::from(1) << 96 };
        self.chain.send(&Tx::call(ACTOR, pool, &initialize)).await.unwrap();
        pool
    }

    /// Transfers a token to a pair without a swap, and then calls the pair's `sync`.
    pub(crate) async fn gift(&self, pair: Address, token: Address) {
        assert_ne!(token, WETH);
        self.chain.send(&Tx::call(ACTOR, token, &transferCall { to: pair, value: U256::from(1_000) })).await.unwrap();
        self.chain.send(&Tx::call(ACTOR, pair, &syncCall {})).await.unwrap();
    }
}

fn position_manager(product: Product) -> Address {
    if product == Product::SushiswapV3 {
        addresses::SUSHI_V3_POSITION_MANAGER
    } else {
        addresses::UNISWAP_V3_POSITION_MANAGER
    }
}
