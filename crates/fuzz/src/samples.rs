//! Small markets for the fuzz targets.

use std::sync::Arc;

use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, Token, TokenId, U256};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2, uniswap_v3};

pub(crate) fn block(number: u8) -> Block {
    Block {
        number: number.into(),
        hash: B256::with_last_byte(number),
        parent_hash: B256::with_last_byte(number.wrapping_sub(1)),
        timestamp: 1_700_000_000,
        base_fee_per_gas_wei: 1,
        gas_used: 30_000_000,
        gas_limit: 60_000_000,
    }
}

/// Returns a market with a V2 pair and a concentrated pool, both of one token and wrapped ether.
pub(crate) fn market() -> Market {
    let mut tokens = Tokens::new();
    let address = Address::with_last_byte(9);
    let dollar = tokens.insert(Token { address, symbol: "USD".into(), name: "Dollar".into(), decimals: 6 });
    let pool = |byte, product, state| {
        let coins = [dollar, TokenId(1)].into_iter().collect();
        Pool { key: Address::with_last_byte(byte).into(), product, coins, state }
    };
    let pair = uniswap_v2::State { reserve0: 3_000_000_000_000, reserve1: 1_000_000_000_000_000_000_000, fee_bps: 30 };
    let (liquidity, net) = (1_000_000_000_000_u128, 1_000_000_000_000_i128);
    let ticks = [(-60, net), (60, -net)].into_iter().filter_map(|(at, net)| uniswap_v3::Tick::new(at, net, liquidity));
    let concentrated = uniswap_v3::State {
        sqrt_price_x96: U256::from(1) << 96,
        tick: 0,
        liquidity,
        fee_pips: 3_000,
        fee_protocol: 0,
        tick_spacing: 60,
        ticks: ticks.collect::<Vec<_>>().into(),
    };
    let pools = [
        pool(0x11, Product::UniswapV2, PoolState::UniswapV2(pair)),
        pool(0x12, Product::UniswapV3, PoolState::UniswapV3(concentrated)),
    ];
    let empty = Market::empty(block(7), Arc::new(tokens.clone()));
    empty.next(block(7), Arc::new(tokens), pools).unwrap_or(empty)
}
