//! Gives every pool a history: a trade in one direction, one in the other, and one back to its initial price.
//!
//! In a pool without trades, counters such as fee growth, accumulated prices and the values outside of each tick are
//! zero, and the first trade pays the higher gas of making them nonzero. Mainnet's pools have been traded in long ago.
//! With this history, gas is the same here as there.

use alloy::primitives::{
    Address, U256,
    aliases::{U24, U160},
};
use serde_json::json;

use super::{Batch, liquidity::OpenPool, pools::Venue, shape};
use crate::{
    DevnetError,
    abi::{ISwapRouter, IV2Router},
    accounts::MAKER,
    addresses::{PANCAKE_V3_ROUTER, SUSHI_V2_ROUTER, SUSHI_V3_ROUTER, SWAP_ROUTER, UNISWAP_V2_ROUTER},
    rpc::{Rpc, Tx},
};

/// The factor by which a V3 pool's price is moved to either side.
const SWING: f64 = 1.5;
/// The fraction of a V2 pair's reserves that is traded.
const PART_OF_RESERVES: f64 = 0.001;
/// The time between two trades in a pool, in seconds.
const SECONDS_BETWEEN: u64 = 12;
/// An input larger than any trade needs: the price limit ends the trade.
const PLENTY: U256 = U256::from_limbs([0, 1 << 63, 0, 0]);

/// Trades in every pool: down, up, and back to its initial price.
pub(super) async fn trade(rpc: &Rpc, pools: &[OpenPool]) -> Result<(), DevnetError> {
    for leg in [Leg::Down, Leg::Up, Leg::Home] {
        // Prices accumulate over time, so some time must pass between two trades, however fast the chain is built.
        rpc.call("evm_increaseTime", json!([SECONDS_BETWEEN])).await?;
        for chunk in pools.chunks(16) {
            let mut batch = Batch::new(rpc);
            for pool in chunk {
                let what = format!("trading {leg:?} in {:?}", pool.spec);
                match pool.spec.venue {
                    Venue::UniswapV2 => batch.send(&what, pair_swap(pool, UNISWAP_V2_ROUTER, leg)).await?,
                    Venue::SushiV2 => batch.send(&what, pair_swap(pool, SUSHI_V2_ROUTER, leg)).await?,
                    Venue::UniswapV3 => batch.send(&what, pool_swap(pool, SWAP_ROUTER, leg)).await?,
                    Venue::SushiV3 => batch.send(&what, pool_swap(pool, SUSHI_V3_ROUTER, leg)).await?,
                    Venue::PancakeV3 => batch.send(&what, pool_swap(pool, PANCAKE_V3_ROUTER, leg)).await?,
                }
            }
            batch.mine().await?;
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leg {
    /// Sells token 0, so that its price falls.
    Down,
    /// Sells token 1, until the price is above the initial one.
    Up,
    /// Sells token 0, until the price is exactly the initial one.
    Home,
}

fn pool_swap(pool: &OpenPool, router: Address, leg: Leg) -> Tx {
    let (token_in, token_out) = sides(pool, leg);
    let limit: U160 = match leg {
        Leg::Down => shape::sqrt_price_x96(pool.priced.price / SWING),
        Leg::Up => shape::sqrt_price_x96(pool.priced.price * SWING),
        Leg::Home => shape::sqrt_price_x96(pool.priced.price),
    };
    let params = ISwapRouter::ExactInputSingleParams {
        tokenIn: token_in,
        tokenOut: token_out,
        fee: U24::from(pool.spec.fee_pips),
        recipient: MAKER,
        deadline: U256::MAX,
        amountIn: PLENTY,
        amountOutMinimum: U256::ZERO,
        sqrtPriceLimitX96: limit,
    };
    Tx::call(MAKER, router, &ISwapRouter::exactInputSingleCall { params }).gas(10_000_000)
}

/// Returns a small trade in a V2 pair. The trades down and home each sell half the fraction of the reserves.
fn pair_swap(pool: &OpenPool, router: Address, leg: Leg) -> Tx {
    let (token_in, token_out) = sides(pool, leg);
    let (reserve0, reserve1) = shape::reserves(&pool.spec, &pool.priced);
    let part = match leg {
        Leg::Down | Leg::Home => reserve0 * PART_OF_RESERVES / 2.0,
        Leg::Up => reserve1 * PART_OF_RESERVES,
    };
    let call = IV2Router::swapExactTokensForTokensCall {
        amountIn: shape::whole(part).max(U256::from(1_000)),
        amountOutMin: U256::ZERO,
        path: vec![token_in, token_out],
        to: MAKER,
        deadline: U256::MAX,
    };
    Tx::call(MAKER, router, &call).gas(1_000_000)
}

fn sides(pool: &OpenPool, leg: Leg) -> (Address, Address) {
    let (token0, token1) = (pool.priced.token0.address, pool.priced.token1.address);
    if leg == Leg::Up { (token1, token0) } else { (token0, token1) }
}
