//! Gives every pool a past: a trade one way, a trade the other way, and back to where it began.
//!
//! A pool that nobody ever traded in has counters at zero — fees grown, prices accumulated, what lies outside of each tick —
//! and the first trade pays for making them something. Pools of mainnet have that long behind them, and so gas here is as there.

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

/// How far a V3 pool's price is driven to either side, as a factor.
const SWING: f64 = 1.5;
/// The part of a V2 pair's reserves that is traded.
const PART_OF_RESERVES: f64 = 0.001;
/// Time from one trade in a pool to the next.
const SECONDS_BETWEEN: u64 = 12;
/// More than any trade takes: the limit on the price ends it.
const PLENTY: U256 = U256::from_limbs([0, 1 << 63, 0, 0]);

/// The contracts that trade for the maker.
pub(super) const ROUTERS: [Address; 5] =
    [UNISWAP_V2_ROUTER, SUSHI_V2_ROUTER, SWAP_ROUTER, SUSHI_V3_ROUTER, PANCAKE_V3_ROUTER];

/// Trades in every pool: down, up, and back to the price that it was opened at.
pub(super) async fn trade(rpc: &Rpc, pools: &[OpenPool]) -> Result<(), DevnetError> {
    for leg in [Leg::Down, Leg::Up, Leg::Home] {
        // Prices accumulate over time: however fast the chain is made, some has to pass between two trades.
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
    /// Token 0 in, so that its price falls.
    Down,
    /// Token 1 in, to above where it began.
    Up,
    /// Token 0 in, to exactly where it began.
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

/// A small trade; the last leg is a second one of the first's kind.
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
