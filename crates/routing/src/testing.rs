//! Small markets for tests of the crate's private parts.

use std::sync::Arc;

use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, Token, TokenId, U256, WETH};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2};

use crate::problem::Problem;
use crate::{PoolFilter, Prepared, Request};

const GWEI: u64 = 1_000_000_000;

/// Returns a token by position; 0 is wrapped ether.
pub(crate) fn token(position: u32) -> TokenId {
    TokenId(Tokens::WETH.0 + position)
}

/// Prepares a market of V2 pools: two tokens by position, with the pool's reserves of each, in atomic units.
pub(crate) fn prepared(pools: &[((u32, u32), [u128; 2])]) -> Prepared {
    let block = Block {
        number: 1,
        hash: B256::repeat_byte(1),
        parent_hash: B256::ZERO,
        timestamp: 1_700_000_000,
        base_fee_per_gas_wei: GWEI,
        gas_used: 0,
        gas_limit: 30_000_000,
    };
    let mut tokens = Tokens::new();
    let highest = pools.iter().map(|((a, b), _)| *a.max(b)).max().unwrap_or(0);
    for position in 1..=highest {
        let address = address(position);
        tokens.insert(Token { address, symbol: format!("T{position}"), name: String::new(), decimals: 18 });
    }
    let coins = [Tokens::ETHER, Tokens::WETH].into_iter().collect();
    let mut all = vec![Pool {
        key: WETH.into(),
        product: Product::WrappedEther,
        coins,
        state: PoolState::WrappedEther(braid_protocols::wrapped_ether::State),
    }];
    all.extend(pools.iter().zip(1_000_000..).map(|(((a, b), [reserve0, reserve1]), number)| Pool {
        key: address(number).into(),
        product: Product::UniswapV2,
        coins: [token(*a), token(*b)].into_iter().collect(),
        state: PoolState::UniswapV2(uniswap_v2::State { reserve0: *reserve0, reserve1: *reserve1, fee_bps: 30 }),
    }));
    let tokens = Arc::new(tokens);
    let market = Market::empty(block, Arc::clone(&tokens)).next(block, tokens, all);
    Prepared::new(Arc::new(market.unwrap()))
}

/// Returns the market of the next block, in which the same pools have other reserves; pools whose reserves did not
/// change are shared.
pub(crate) fn reserved(market: &Market, pools: &[((u32, u32), [u128; 2])]) -> Arc<Market> {
    let mut changed = Vec::new();
    for ((_, [reserve0, reserve1]), number) in pools.iter().zip(1_000_000..) {
        let pool = market.pool_id(address(number)).and_then(|id| market.pool(id)).unwrap();
        let state = PoolState::UniswapV2(uniswap_v2::State { reserve0: *reserve0, reserve1: *reserve1, fee_bps: 30 });
        if pool.state != state {
            changed.push(Pool { state, ..pool.clone() });
        }
    }
    Arc::new(market.next(*market.block(), Arc::clone(market.tokens()), changed).unwrap())
}

fn address(number: u32) -> Address {
    Address::left_padding_from(&number.to_be_bytes())
}

/// Requests a sale of one token for another at 15 gwei.
pub(crate) fn request(prepared: &Prepared, from: TokenId, amount: U256, to: TokenId) -> Request {
    Request {
        inputs: vec![(from, amount)],
        outputs: vec![(to, 10_000)],
        max_hops: 4,
        filter: PoolFilter::default(),
        gas_price_wei: 15 * GWEI,
        max_steps: 40,
        at: prepared.market().block().next(),
    }
}

/// Builds the problem of the same sale.
pub(crate) fn problem(prepared: &Prepared, from: TokenId, amount: U256, to: TokenId) -> Problem<'_> {
    Problem::new(prepared, &request(prepared, from, amount, to)).unwrap()
}
