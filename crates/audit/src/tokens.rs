//! What is known of tokens: a quote goes through none that was not found to move as amounts say.

use braid_market::Market;
use braid_primitives::{Address, NATIVE_ETHER, PoolId, TokenId, U256, WETH};
use braid_routing::PoolFilter;

use crate::ledger::Ledger;
use crate::quarantine::Quarantine;
use crate::verdict::Probe;

/// What is known of tokens.
#[derive(Debug, Default)]
pub struct Tokens(pub(crate) Ledger<Address>);

impl Tokens {
    /// Whether a token is known to move as amounts say. Ether does, and WETH is its wrapper.
    pub fn is_sound(&self, token: Address) -> bool {
        token == NATIVE_ETHER || token == WETH || self.0.is_sound(&token)
    }

    /// Why a token is not known to be sound.
    pub fn why(&self, token: Address) -> String {
        self.0.why(&token)
    }

    /// How many were found to be sound.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Leaves out every pool of a token that is not known to be sound.
    pub fn leave_out_unknown(&self, market: &Market, filter: &mut PoolFilter) {
        let is_sound = |id| market.tokens().get(id).is_some_and(|token| self.is_sound(token.address));
        for id in market.most_pools_first().iter().filter(|id| !is_sound(**id)) {
            market.pools_of(*id).iter().for_each(|pool| filter.exclude_pool(*pool));
        }
    }

    /// The token with most pools of those that are not known, but for what waits to be tried again and what is set aside.
    pub(crate) fn next(&self, market: &Market, quarantine: &Quarantine) -> Option<TokenId> {
        let block = market.block().number;
        let address = |id| market.tokens().get(id).map(|token| token.address);
        let is_open = |token: Address| token != NATIVE_ETHER && token != WETH && quarantine.fault_of(token).is_none();
        let tokens = market.most_pools_first().iter().filter_map(|id| Some((address(*id)?, *id)));
        self.0.first_open(tokens, block, is_open)
    }
}

/// A swap that sells about a unit of a token, by which the quarantine knows it.
pub(crate) fn unit_swap(market: &Market, token: TokenId, pools: &[PoolId]) -> Option<Probe> {
    let pool = market.pool(*pools.iter().chain(market.pools_of(token)).next()?)?;
    let coin_in = pool.coin_index(token)?;
    let decimals = market.tokens().get(token)?.decimals;
    let amount_in = U256::from(10).pow(U256::from(decimals.min(30)));
    Some(Probe { pool: pool.key, coin_in, coin_out: u8::from(coin_in == 0), amount_in })
}
