//! Blocks, tokens and pools of small markets, for tests.

use std::sync::Arc;

use braid_primitives::{Address, B256, Block, Token, TokenId};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2};

use crate::Tokens;

pub(crate) fn block(number: u64) -> Block {
    Block {
        number,
        hash: B256::with_last_byte(u8::try_from(number).unwrap()),
        parent_hash: B256::ZERO,
        timestamp: number * 12,
        base_fee_per_gas_wei: 1,
        gas_used: 0,
        gas_limit: 30_000_000,
    }
}

/// Returns tokens by the last byte of their addresses, after ether and wrapped ether.
pub(crate) fn tokens_of(bytes: impl IntoIterator<Item = u8>) -> Arc<Tokens> {
    let mut tokens = Tokens::new();
    for byte in bytes {
        let address = Address::with_last_byte(byte);
        tokens.insert(Token { address, symbol: format!("T{byte}"), name: String::new(), decimals: 18 });
    }
    Arc::new(tokens)
}

pub(crate) fn pool(address: u8, coins: [u32; 2], reserve: u128) -> Pool {
    Pool {
        key: Address::repeat_byte(address).into(),
        product: Product::UniswapV2,
        coins: coins.into_iter().map(TokenId).collect(),
        state: PoolState::UniswapV2(uniswap_v2::State { reserve0: reserve, reserve1: reserve, fee_bps: 30 }),
    }
}
