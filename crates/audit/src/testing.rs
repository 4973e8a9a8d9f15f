//! A small market for tests.

use std::sync::Arc;

use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, TokenId};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2};
use braid_routing::Prepared;

pub(crate) const ETHER: u128 = 10_u128.pow(18);

/// Returns a market of wrapped ether and a token in three pools. `reserve` is the first coin's reserve in the first
/// pool; 900 ether would agree with the other pools.
pub(crate) fn prepared(block: u64, reserve: u128) -> Prepared {
    let block = Block {
        number: block,
        hash: B256::with_last_byte(1),
        parent_hash: B256::ZERO,
        timestamp: block * 12,
        base_fee_per_gas_wei: 1,
        gas_used: 0,
        gas_limit: 30_000_000,
    };
    let pool = |address: u8, reserve0: u128| Pool {
        key: Address::repeat_byte(address).into(),
        product: Product::UniswapV2,
        coins: [TokenId(1), TokenId(2)].into_iter().collect(),
        state: PoolState::UniswapV2(uniswap_v2::State { reserve0, reserve1: 100 * ETHER, fee_bps: 30 }),
    };
    let mut tokens = Tokens::new();
    let token = braid_primitives::Token {
        address: Address::with_last_byte(9),
        symbol: "T".into(),
        name: String::new(),
        decimals: 18,
    };
    tokens.insert(token);
    let pools = [pool(1, reserve), pool(2, 900 * ETHER), pool(3, 900 * ETHER)];
    let market = Market::new(block, Arc::new(tokens), pools).unwrap();
    Prepared::new(Arc::new(market))
}
