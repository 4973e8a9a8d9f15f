//! Checks of tokens before a quote goes through them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use braid_market::Market;
use braid_primitives::{Address, NATIVE_ETHER, PoolId, TokenId, U256, WETH};
use braid_routing::PoolFilter;
use braid_store::quarantine::TokenAtFault;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::check::Difference;
use super::conduct::{self, Conduct};
use super::{Audit, Probe};
use crate::app::App;

/// Tokens, and for each the pools to look at before others.
pub type Wanted = BTreeMap<TokenId, Vec<PoolId>>;

impl Audit {
    /// Checks the token with most pools of those that nothing is known of; `None` when there is none, or nothing to check with.
    pub async fn turn_of_token(&self, app: &Arc<App>) -> Option<TokenId> {
        let market = Arc::clone(&app.feed.current(&app.config).ok()?.head.market);
        let token = self.next_token(&market)?;
        check(Arc::clone(app), market, token, Vec::new()).await;
        Some(token)
    }

    /// Whether a token is known to move as amounts say. Ether does, and WETH is its wrapper.
    pub fn is_sound_token(&self, token: Address) -> bool {
        token == NATIVE_ETHER || token == WETH || self.tokens.is_sound(&token)
    }

    /// The token with most pools of those that are not known, but for what waits to be tried again and what is set aside.
    fn next_token(&self, market: &Market) -> Option<TokenId> {
        let block = market.block().number;
        let open = market.tokens().iter().filter(|(_, token)| {
            let token = token.address;
            !self.is_sound_token(token)
                && self.tokens.is_due(&token, block)
                && self.quarantine.fault_of(token).is_none()
        });
        let ranked = open.map(|(id, _)| (market.pools_of(id).len(), Reverse(id)));
        ranked.filter(|(pools, _)| *pools > 0).max().map(|(_, Reverse(id))| id)
    }

    /// Leaves out every pool of a token that is not known to be sound.
    pub fn leave_out_unknown_tokens(&self, market: &Market, filter: &mut PoolFilter) {
        for (id, _) in market.tokens().iter().filter(|(_, token)| !self.is_sound_token(token.address)) {
            for pool in market.pools_of(id) {
                filter.exclude_pool(*pool);
            }
        }
    }

    /// Checks tokens side by side; one whose check takes longer than until `deadline` goes on being checked behind the caller.
    pub async fn check_first(&self, app: &Arc<App>, market: &Arc<Market>, wanted: Wanted, deadline: Instant) {
        let block = market.block().number;
        let due =
            |token: TokenId| market.tokens().get(token).is_some_and(|token| self.tokens.is_due(&token.address, block));
        let mut checks = JoinSet::new();
        for (token, pools) in wanted.into_iter().filter(|(token, _)| due(*token)) {
            checks.spawn(check(Arc::clone(app), Arc::clone(market), token, pools));
        }
        let all = async { while checks.join_next().await.is_some() {} };
        if timeout_at(deadline, all).await.is_err() {
            checks.detach_all();
        }
    }
}

async fn check(app: Arc<App>, market: Arc<Market>, token: TokenId, pools: Vec<PoolId>) {
    let (Some(node), Some(known)) = (app.node.as_ref(), market.tokens().get(token)) else { return };
    let (address, block) = (known.address, *market.block());
    let fork = app.forks.of(node, &block);
    let job = {
        let (market, pools) = (Arc::clone(&market), pools.clone());
        move || conduct::of_token(&fork, &market, token, &pools)
    };
    let conduct = match app.simulating.run(job).await {
        Ok(Ok(conduct)) => conduct,
        Ok(Err(error)) => Conduct::Unknown(error.to_string()),
        Err(problem) => Conduct::Unknown(problem.detail),
    };
    match conduct {
        Conduct::Whole => {
            app.audit.tokens.is_found_sound(address);
        }
        Conduct::Unknown(why) => {
            tracing::debug!(token = %address, why, "a token could not be checked");
            app.audit.tokens.is_not_known(address, why, block.number);
        }
        conduct => {
            let Some(does) = conduct.fault() else { return };
            let Some(probe) = probe(&market, token, &pools) else { return };
            let why = format!("{address} {does}");
            let difference = Difference { why, token: Some(TokenAtFault { token: address, does }) };
            app.audit.tokens.is_found_at_fault(&address);
            app.audit.quarantine.hold(probe, &difference, block.number);
        }
    }
}

/// A swap that sells about a unit of a token, by which the quarantine knows it.
fn probe(market: &Market, token: TokenId, pools: &[PoolId]) -> Option<Probe> {
    let pool = market.pool(*pools.iter().chain(market.pools_of(token)).next()?)?;
    let coin_in = pool.coin_index(token)?;
    let decimals = market.tokens().get(token)?.decimals;
    let amount_in = U256::from(10).pow(U256::from(decimals.min(30)));
    Some(Probe { pool: pool.key.contract, coin_in, coin_out: u8::from(coin_in == 0), amount_in })
}
