//! Synthetic blocks in which some pools traded and nothing else changed.

use std::time::Duration;

use braid_market::Market;
use braid_primitives::U256;
use braid_protocols::{After, Pool, PoolState};
use braid_routing::Prepared;
use eyre::{Result, eyre};
use std::sync::Arc;

use super::clock;

/// The number of pools that change in a block.
pub(crate) const CHANGED: usize = 300;
/// The number of successive blocks that are timed.
const BLOCKS: usize = 7;

/// Returns the market of the next block, in which [`CHANGED`] pools spread over the market are written again with the
/// same state.
pub(crate) fn rewritten(market: &Market) -> Result<Arc<Market>> {
    let changed: Vec<Pool> = spread(market, 0).map(|pool| pool.as_ref().clone()).collect();
    let mut block = *market.block();
    block.number += 1;
    Ok(Arc::new(market.next(block, Arc::clone(market.tokens()), changed)?))
}

/// Returns [`CHANGED`] pools evenly spread over the market, and different ones for each block.
fn spread(market: &Market, block: usize) -> impl Iterator<Item = &Arc<Pool>> {
    let stride = (market.pools().len() / CHANGED).max(1);
    market.pools().iter().skip(block % stride).step_by(stride).take(CHANGED)
}

/// Measures the median time of preparing a block in which [`CHANGED`] pools traded. Also returns how many pools really
/// traded, which may be fewer; `None` if none can.
pub(crate) fn time(prepared: &Prepared) -> Result<Option<(Duration, usize)>> {
    let mut market = Arc::clone(prepared.market());
    let mut prepared = prepared.clone();
    let mut times = Vec::with_capacity(BLOCKS);
    let mut most = 0;
    for block in 0..BLOCKS {
        let changed = traded(&market, block);
        if changed.is_empty() {
            return Ok(None);
        }
        most = most.max(changed.len());
        let next = market.next(*market.block(), Arc::clone(market.tokens()), changed);
        market = Arc::new(next.map_err(|error| eyre!("cannot make a block: {error}"))?);
        let started = clock::thread_time();
        prepared = prepared.next(Arc::clone(&market));
        times.push(clock::thread_time().saturating_sub(started));
    }
    times.sort_unstable();
    Ok(times.get(BLOCKS / 2).map(|median| (*median, most)))
}

/// Returns pools spread over the market, each after a swap of a ten-thousandth of the amount that it can take.
fn traded(market: &Market, block: usize) -> Vec<Pool> {
    spread(market, block).filter_map(|pool| after_a_swap(pool, market)).collect()
}

fn after_a_swap(pool: &Pool, market: &Market) -> Option<Pool> {
    let at = market.block().next();
    let held = match &pool.state {
        PoolState::UniswapV2(state) => U256::from(state.reserve0),
        PoolState::UniswapV3(state) => (U256::from(state.liquidity) << 96) / state.sqrt_price_x96.max(U256::ONE),
        _ => return None,
    };
    let swap = pool.swap(&at, 0, 1, held / U256::from(10_000)).ok()?;
    let mut next = pool.clone();
    match (&mut next.state, swap.after) {
        (PoolState::UniswapV2(state), After::UniswapV2(after)) => *state = state.with(&after),
        (PoolState::UniswapV3(state), After::UniswapV3(after)) => {
            (state.sqrt_price_x96, state.tick, state.liquidity) = (after.sqrt_price_x96, after.tick, after.liquidity);
        }
        _ => return None,
    }
    Some(next)
}
