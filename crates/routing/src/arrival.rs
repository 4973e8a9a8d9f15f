//! The amount that arrives when the proxy pays out an amount: all of it, unless the token counts in shares.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, TokenId, U256};
use braid_protocols::{After, Pool};

use crate::Route;

/// Computes what a recipient that holds none of an output gains when the proxy pays it `amount` (of `made`, after fees)
/// at the end of a route.
///
/// Amounts of stETH are nominal: each transfer is rounded down to shares, and the settlement pays out every share that
/// the route left at the proxy. A recipient that already holds some gains the value of these shares, or one wei more.
/// Every other token arrives whole.
pub fn arrives(
    market: &Market,
    route: &Route,
    at: &ExecutionBlock,
    token: TokenId,
    (made, amount): (U256, U256),
) -> U256 {
    let in_shares = |pool: &&Pool| pool.shares_of(&After::Unchanged, token, amount).is_some();
    let Some(keeper) = market.share_keepers().map(|(_, pool)| pool).find(in_shares) else {
        return amount;
    };
    let place = keeper.shares_state_at();
    let mut after = After::Unchanged;
    let mut shares = U256::ZERO;
    for step in &route.steps {
        let of = |after: &After, amount| keeper.shares_of(after, token, amount).unwrap_or_default();
        let Some(pool) = market.pool(step.pool) else { continue };
        if step.token_in == token {
            shares = shares.saturating_sub(of(&after, step.amount_in));
        }
        if step.token_out == token {
            let paid = pool.shares_paid(keeper, &after, token, (step.amount_in, step.amount_out));
            shares = shares.saturating_add(paid.unwrap_or_default());
        }
        if pool.shares_state_at() == place
            && let Ok(swap) = pool.swap_after(at, &after, step.coin_in, step.coin_out, step.amount_in)
        {
            after = swap.after;
        }
    }
    let fee = keeper.shares_of(&after, token, made.saturating_sub(amount)).unwrap_or_default();
    keeper.worth_of_shares(&after, token, shares.saturating_sub(fee)).unwrap_or(amount)
}
