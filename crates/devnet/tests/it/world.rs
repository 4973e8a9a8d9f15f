//! Tests of the contents of the local chain. Each test starts its own node from the same state file.

use std::collections::BTreeSet;

use alloy::{
    primitives::{Address, B256, Bytes, U256, address, aliases::U24, keccak256},
    sol,
    sol_types::{SolCall, SolValue},
};
use braid_devnet::{
    Devnet, Options,
    accounts::{OTHER, TAKER},
    addresses as at,
    rpc::Tx,
    tokens::{TOKENS, Token, by_symbol},
    world::pools::{POOLS, Venue},
};
use serde_json::{Value, json};

sol! {
    interface IToken {
        function name() external view returns (string);
        function symbol() external view returns (string);
        function decimals() external view returns (uint8);
        function totalSupply() external view returns (uint256);
        function approve(address spender, uint256 value) external;
        function allowance(address owner, address spender) external view returns (uint256);
        function transfer(address to, uint256 value) external;
    }
    interface IFactory {
        function getPair(address a, address b) external view returns (address);
        function getPool(address a, address b, uint24 fee) external view returns (address);
        function feeAmountTickSpacing(uint24 fee) external view returns (int24);
    }
    interface IPool {
        function slot0() external view returns (uint160 sqrtPriceX96, int24 tick, uint16 a, uint16 b, uint16 c, uint8 d, bool e);
        function liquidity() external view returns (uint128);
        function price0CumulativeLast() external view returns (uint256);
        function getReserves() external view returns (uint112 reserve0, uint112 reserve1, uint32 at);
    }
    interface IQuoter {
        struct Ask { address tokenIn; address tokenOut; uint256 amountIn; uint24 fee; uint160 sqrtPriceLimitX96; }
        function quoteExactInputSingle(Ask params) external returns (uint256 amountOut, uint160 sqrtPriceAfter, uint32 ticks, uint256 gas);
    }
    interface IRouter02 {
        struct Swap { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96; }
        function exactInputSingle(Swap params) external payable returns (uint256 amountOut);
    }
    interface IV2Router {
        function getAmountsOut(uint256 amountIn, address[] path) external view returns (uint256[] amounts);
        function swapExactTokensForTokens(uint256 amountIn, uint256 min, address[] path, address to, uint256 deadline) external returns (uint256[] amounts);
    }
    interface IPermit2 {
        function DOMAIN_SEPARATOR() external view returns (bytes32);
    }
    interface IMulticall3 {
        function getChainId() external view returns (uint256);
    }
}

async fn chain() -> Devnet {
    Devnet::start(Options::default()).await.unwrap()
}

async fn code(chain: &Devnet, address: Address) -> Bytes {
    chain.rpc().get("eth_getCode", json!([address, "latest"])).await.unwrap()
}

async fn approve(chain: &Devnet, token: Address, spender: Address) {
    let call = IToken::approveCall { spender, value: U256::MAX };
    chain.send(&Tx::call(TAKER, token, &call)).await.unwrap();
}

#[tokio::test]
async fn contracts_sit_at_their_mainnet_addresses() {
    let chain = chain().await;
    for address in [
        at::PERMIT2,
        at::MULTICALL3,
        at::CREATE2_DEPLOYER,
        at::UNISWAP_V2_FACTORY,
        at::UNISWAP_V2_ROUTER,
        at::SUSHI_V2_FACTORY,
        at::SUSHI_V2_ROUTER,
        at::UNISWAP_V3_FACTORY,
        at::UNISWAP_V3_POSITION_MANAGER,
        at::QUOTER_V2,
        at::SWAP_ROUTER,
        at::SWAP_ROUTER_02,
        at::TICK_LENS,
        at::SUSHI_V3_FACTORY,
        at::SUSHI_V3_POSITION_MANAGER,
        at::PANCAKE_V3_FACTORY,
        at::PANCAKE_V3_POOL_DEPLOYER,
        at::PANCAKE_V3_POSITION_MANAGER,
        at::PANCAKE_V3_ROUTER,
    ] {
        assert!(!code(&chain, address).await.is_empty(), "{address}");
    }
    assert_eq!(keccak256(code(&chain, at::WETH9).await), at::WETH9_CODE_HASH);
    assert_eq!(chain.rpc().get::<U256>("eth_chainId", json!([])).await.unwrap(), U256::ONE);
    assert_eq!(chain.rpc().view(at::MULTICALL3, &IMulticall3::getChainIdCall {}).await.unwrap(), U256::ONE);
    for factory in [at::UNISWAP_V3_FACTORY, at::SUSHI_V3_FACTORY] {
        for (fee, spacing) in [(100, 1), (500, 10), (3_000, 60), (10_000, 200)] {
            let call = IFactory::feeAmountTickSpacingCall { fee: U24::from(fee) };
            assert_eq!(chain.rpc().view(factory, &call).await.unwrap().as_i32(), spacing, "{factory} at {fee}");
        }
    }
}

#[tokio::test]
async fn permit2_signs_for_chain_one_at_its_own_address() {
    let chain = chain().await;
    let domain = keccak256(
        (
            keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)"),
            keccak256("Permit2"),
            U256::ONE,
            at::PERMIT2,
        )
            .abi_encode(),
    );
    assert_eq!(chain.rpc().view(at::PERMIT2, &IPermit2::DOMAIN_SEPARATORCall {}).await.unwrap(), domain);
}

#[tokio::test]
async fn tokens_look_like_the_real_ones() {
    let chain = chain().await;
    for token in TOKENS {
        let decimals = chain.rpc().view(token.address, &IToken::decimalsCall {}).await.unwrap();
        assert_eq!(decimals, token.decimals, "{}", token.symbol);
        if token.symbol == "MKR" {
            continue;
        }
        assert_eq!(chain.rpc().view(token.address, &IToken::symbolCall {}).await.unwrap(), token.symbol);
        assert_eq!(chain.rpc().view(token.address, &IToken::nameCall {}).await.unwrap(), token.name);
    }
    let maker = by_symbol("MKR").address;
    let call = json!({"to": maker, "data": Bytes::from(IToken::symbolCall {}.abi_encode())});
    let raw: Bytes = chain.rpc().get("eth_call", json!([call, "latest"])).await.unwrap();
    assert_eq!(raw.as_ref(), B256::right_padding_from(b"MKR").as_slice(), "one word, no length, no offset");
}

#[tokio::test]
async fn the_taker_is_rich_and_unlocked() {
    let chain = chain().await;
    let accounts: Vec<Address> = chain.rpc().get("eth_accounts", json!([])).await.unwrap();
    assert_eq!(accounts.first(), Some(&TAKER));
    assert!(chain.ether_of(TAKER).await.unwrap() >= by_symbol("WETH").units(100_000));
    for token in TOKENS {
        let held = chain.balance_of(token.address, TAKER).await.unwrap();
        assert!(held / token.units(1) > U256::from(10_000), "{}: {held}", token.symbol);
    }
}

#[tokio::test]
async fn accounts_are_funded_by_writing_storage() {
    let chain = chain().await;
    // The balance of stETH is computed from shares, so it need not equal the amount that is set.
    for token in TOKENS.iter().filter(|token| token.symbol != "stETH") {
        let amount = token.units(12_345) + U256::ONE;
        chain.fund(token.address, OTHER, amount).await.unwrap();
        assert_eq!(chain.balance_of(token.address, OTHER).await.unwrap(), amount, "{}", token.symbol);
        let pay = IToken::transferCall { to: address!("0x00000000000000000000000000000000000000aA"), value: amount };
        chain.send(&Tx::call(OTHER, token.address, &pay)).await.unwrap();
        assert_eq!(chain.balance_of(token.address, OTHER).await.unwrap(), U256::ZERO, "{}", token.symbol);
    }
}

#[tokio::test]
async fn tether_wants_an_allowance_to_go_through_zero_and_returns_nothing() {
    let chain = chain().await;
    let usdt = by_symbol("USDT").address;
    let allow = |value: u64| {
        Tx::call(OTHER, usdt, &IToken::approveCall { spender: TAKER, value: U256::from(value) }).gas(100_000)
    };
    chain.send(&allow(5)).await.unwrap();
    assert!(chain.send(&allow(6)).await.is_err(), "from five to six");
    chain.send(&allow(0)).await.unwrap();
    chain.send(&allow(6)).await.unwrap();
    let left = chain.rpc().view(usdt, &IToken::allowanceCall { owner: OTHER, spender: TAKER }).await.unwrap();
    assert_eq!(left, U256::from(6));
    let pay = IToken::transferCall { to: OTHER, value: U256::ONE }.abi_encode();
    let call = json!({"from": TAKER, "to": usdt, "data": Bytes::from(pay)});
    let returned: Bytes = chain.rpc().get("eth_call", json!([call, "latest"])).await.unwrap();
    assert!(returned.is_empty());
}

#[tokio::test]
async fn stasis_euro_answers_false_where_others_revert() {
    let chain = chain().await;
    let pay = Bytes::from(IToken::transferCall { to: TAKER, value: U256::ONE }.abi_encode());
    let asked = |token: &Token| json!([{"from": OTHER, "to": token.address, "data": pay}, "latest"]);
    let answer: Bytes = chain.rpc().get("eth_call", asked(by_symbol("EURS"))).await.unwrap();
    assert_eq!(answer.as_ref(), [0_u8; 32]);
    assert!(chain.rpc().call("eth_call", asked(by_symbol("DAI"))).await.is_err());
}

/// Returns the two tokens of a pair in the order of their addresses.
fn tokens_of(pair: (&str, &str)) -> (&'static Token, &'static Token) {
    let (a, b) = (by_symbol(pair.0), by_symbol(pair.1));
    if a.address < b.address { (a, b) } else { (b, a) }
}

#[tokio::test]
async fn every_pool_is_where_create2_puts_it_and_has_liquidity_at_its_price() {
    let chain = chain().await;
    let mut used = BTreeSet::new();
    for spec in POOLS {
        let (token0, token1) = tokens_of(spec.pair);
        used.extend([token0.address, token1.address]);
        let (factory, fee) = (spec.venue.factory(), U24::from(spec.fee_pips));
        let (a, b) = (token0.address, token1.address);
        let (pool, price) = match spec.venue {
            Venue::UniswapV2 | Venue::SushiV2 => {
                let pool = chain.rpc().view(factory, &IFactory::getPairCall { a, b }).await.unwrap();
                if spec.venue == Venue::UniswapV2 {
                    let salt = keccak256([a.as_slice(), b.as_slice()].concat());
                    assert_eq!(pool, factory.create2(salt, at::UNISWAP_V2_INIT_CODE_HASH), "{spec:?}");
                }
                let past = chain.rpc().view(pool, &IPool::price0CumulativeLastCall {}).await.unwrap();
                assert!(!past.is_zero(), "{spec:?} has no past: its next trade costs what no trade on mainnet does");
                let held = chain.rpc().view(pool, &IPool::getReservesCall {}).await.unwrap();
                (pool, held.reserve1.to::<u128>() as f64 / held.reserve0.to::<u128>() as f64)
            }
            Venue::UniswapV3 | Venue::SushiV3 | Venue::PancakeV3 => {
                let pool = chain.rpc().view(factory, &IFactory::getPoolCall { a, b, fee }).await.unwrap();
                let salt = keccak256((a, b, fee).abi_encode());
                let (deployer, init_code_hash) = match spec.venue {
                    Venue::PancakeV3 => (at::PANCAKE_V3_POOL_DEPLOYER, at::PANCAKE_V3_INIT_CODE_HASH),
                    _ => (factory, at::UNISWAP_V3_INIT_CODE_HASH),
                };
                assert_eq!(pool, deployer.create2(salt, init_code_hash), "{spec:?}");
                assert!(chain.rpc().view(pool, &IPool::liquidityCall {}).await.unwrap() > 0, "{spec:?}");
                let sqrt = chain.rpc().view(pool, &IPool::slot0Call {}).await.unwrap().sqrtPriceX96;
                (pool, (f64::from(U256::from(sqrt)) / 2_f64.powi(96)).powi(2))
            }
        };
        let usd = |token: &Token| token.price_usd / 10_f64.powi(i32::from(token.decimals));
        let off = price / (usd(token0) / usd(token1)) - 1.0;
        assert!(off.abs() < 0.001, "{spec:?} at {pool} is off by {off}");
    }
    assert!(POOLS.len() >= 60 && used.len() >= 14);
}

#[tokio::test]
async fn the_quoter_says_what_the_router_pays() {
    let chain = chain().await;
    let (token_in, token_out, fee) = (by_symbol("USDC").address, at::WETH9, U24::from(500));
    let amount = U256::from(12_345_678_901_234_u64); // Worth millions of dollars: crosses many ticks.
    let ask = IQuoter::Ask {
        tokenIn: token_in,
        tokenOut: token_out,
        amountIn: amount,
        fee,
        sqrtPriceLimitX96: Default::default(),
    };
    let quoted = chain.rpc().view(at::QUOTER_V2, &IQuoter::quoteExactInputSingleCall { params: ask }).await.unwrap();
    approve(&chain, token_in, at::SWAP_ROUTER_02).await;
    let swap = IRouter02::Swap {
        tokenIn: token_in,
        tokenOut: token_out,
        fee,
        recipient: OTHER,
        amountIn: amount,
        amountOutMinimum: U256::ZERO,
        sqrtPriceLimitX96: Default::default(),
    };
    chain.send(&Tx::call(TAKER, at::SWAP_ROUTER_02, &IRouter02::exactInputSingleCall { params: swap })).await.unwrap();
    assert_eq!(chain.balance_of(token_out, OTHER).await.unwrap(), quoted.amountOut);
    assert!(quoted.ticks > 1, "crossed {}", quoted.ticks);
}

#[tokio::test]
async fn both_v2_routers_pay_what_they_say() {
    let chain = chain().await;
    let amount = by_symbol("WETH").units(3);
    let path = vec![at::WETH9, by_symbol("DAI").address];
    for router in [at::UNISWAP_V2_ROUTER, at::SUSHI_V2_ROUTER] {
        approve(&chain, at::WETH9, router).await;
        let before = chain.balance_of(path[1], OTHER).await.unwrap();
        let ask = IV2Router::getAmountsOutCall { amountIn: amount, path: path.clone() };
        let quoted = chain.rpc().view(router, &ask).await.unwrap();
        let swap = IV2Router::swapExactTokensForTokensCall {
            amountIn: amount,
            min: U256::ZERO,
            path: path.clone(),
            to: OTHER,
            deadline: U256::MAX,
        };
        chain.send(&Tx::call(TAKER, router, &swap)).await.unwrap();
        assert_eq!(chain.balance_of(path[1], OTHER).await.unwrap() - before, quoted[1], "{router}");
    }
}

#[tokio::test]
async fn factory_events_are_there_to_be_discovered() {
    let chain = chain().await;
    for (venue, event) in [
        (Venue::UniswapV2, "PairCreated(address,address,address,uint256)"),
        (Venue::SushiV2, "PairCreated(address,address,address,uint256)"),
        (Venue::UniswapV3, "PoolCreated(address,address,uint24,int24,address)"),
        (Venue::SushiV3, "PoolCreated(address,address,uint24,int24,address)"),
        (Venue::PancakeV3, "PoolCreated(address,address,uint24,int24,address)"),
    ] {
        let filter = json!([{"fromBlock": "0x0", "address": venue.factory(), "topics": [keccak256(event)]}]);
        let logs: Vec<Value> = chain.rpc().get("eth_getLogs", filter).await.unwrap();
        assert_eq!(logs.len(), POOLS.iter().filter(|p| p.venue == venue).count(), "{venue:?}");
    }
}

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "compares the chain's clock with the machine's")]
async fn block_times_are_near_now_and_grow() {
    let chain = chain().await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let first = chain.rpc().head_timestamp().await.unwrap();
    assert!(first.abs_diff(now) < 30, "head {first}, clock {now}");
    chain.mine(3).await.unwrap();
    let later = chain.rpc().head_timestamp().await.unwrap();
    assert!(later > first && later.abs_diff(now) < 60, "{first} then {later}, clock {now}");
}

#[tokio::test]
async fn a_deep_reorganisation_gives_other_blocks_and_the_same_world() {
    let chain = Devnet::start(Options { past_blocks: 70, ..Options::default() }).await.unwrap();
    let pay = IToken::transferCall { to: OTHER, value: U256::from(7) };
    chain.send(&Tx::call(TAKER, at::WETH9, &pay)).await.unwrap();
    let head = chain.rpc().block_number().await.unwrap();
    let hash = |block: Value| block["hash"].as_str().unwrap().to_owned();
    let number = json!([U256::from(head), false]);
    let before = hash(chain.rpc().call("eth_getBlockByNumber", number.clone()).await.unwrap());
    chain.rpc().call("anvil_reorg", json!([31, []])).await.unwrap();
    let after = hash(chain.rpc().call("eth_getBlockByNumber", number).await.unwrap());
    assert_ne!(before, after);
    assert_eq!(chain.balance_of(at::WETH9, OTHER).await.unwrap(), U256::ZERO, "the payment is undone");
    chain.send(&Tx::call(TAKER, at::WETH9, &pay)).await.unwrap();
    assert_eq!(chain.balance_of(at::WETH9, OTHER).await.unwrap(), U256::from(7));
}

#[tokio::test]
async fn a_snapshot_is_gone_back_to() {
    let chain = chain().await;
    let snapshot = chain.snapshot().await.unwrap();
    chain.fund_ether(OTHER, U256::ONE).await.unwrap();
    chain.revert(snapshot).await.unwrap();
    assert!(chain.ether_of(OTHER).await.unwrap() > U256::ONE);
    assert!(chain.revert(snapshot).await.is_err(), "only once");
}

#[tokio::test]
async fn a_node_forked_from_the_chain_serves_clients() {
    let chain = chain().await;
    let fork = chain.fork().await.unwrap();
    let pay = IToken::transferCall { to: OTHER, value: U256::from(9) };
    fork.send(&Tx::call(TAKER, by_symbol("USDC").address, &pay)).await.unwrap();
    let usdc = by_symbol("USDC").address;
    assert_eq!(fork.balance_of(usdc, OTHER).await.unwrap(), U256::from(9));
    assert_eq!(chain.balance_of(usdc, OTHER).await.unwrap(), U256::ZERO, "the first chain knows nothing of it");
}

#[tokio::test]
async fn a_taken_port_is_one_clear_sentence() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = Devnet::start(Options { port, ..Options::default() }).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("port {port} of 127.0.0.1 is in use: stop")), "{error}");
}

#[tokio::test]
async fn missing_packages_are_one_clear_sentence() {
    let empty = tempfile::tempdir().unwrap();
    let options = Options { contracts: Some(empty.path().to_owned()), ..Options::default() };
    let error = Devnet::start(options).await.unwrap_err().to_string();
    assert!(error.contains("is missing: run `npm ci --ignore-scripts` in "), "{error}");
}
