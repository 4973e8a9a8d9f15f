//! What arrives of an amount that the proxy pays out: all of it, unless the token counts in shares.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, TokenId, U256};
use braid_protocols::{After, Pool};

use crate::Route;

/// What a recipient that holds none of an output gains when the proxy pays it `amount` at the end of a route.
///
/// A transfer of stETH moves the shares that the amount stands for, and they are worth up to two wei less: a recipient that
/// holds some already gains that or one wei more. Every other token arrives whole.
pub fn arrives(market: &Market, route: &Route, at: &ExecutionBlock, token: TokenId, amount: U256) -> U256 {
    let in_shares = |pool: &&Pool| pool.arrives(&After::Unchanged, token, amount).is_some();
    let Some(keeper) = market.pools_of(token).iter().filter_map(|id| market.pool(*id)).find(in_shares) else {
        return amount;
    };
    let place = keeper.shares_state_at();
    let mut after = After::Unchanged;
    for step in &route.steps {
        let Some(pool) = market.pool(step.pool).filter(|pool| pool.shares_state_at() == place) else { continue };
        if let Ok(swap) = pool.swap_after(at, &after, step.coin_in, step.coin_out, step.amount_in) {
            after = swap.after;
        }
    }
    keeper.arrives(&after, token, amount).unwrap_or(amount)
}
