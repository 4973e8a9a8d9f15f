//! Tokens whose transfers were verified. A quote goes through no others.

use braid_market::Market;
use braid_primitives::{Address, NATIVE_ETHER, PoolId, PoolKey, TokenId, U256, WETH};
use braid_routing::PoolFilter;

use crate::quarantine::Quarantine;
use crate::verdict::Probe;
use crate::verified::Verified;

/// Tokens whose transfers were verified.
#[derive(Debug, Default)]
pub struct Tokens(pub(crate) Verified<Address>);

impl Tokens {
    /// Returns whether a token's transfers are known to move the amount sent. Ether and WETH need no check.
    pub fn is_sound(&self, token: Address) -> bool {
        token == NATIVE_ETHER || token == WETH || self.0.contains(&token)
    }

    /// Returns why a token is not verified.
    pub fn why(&self, token: Address) -> String {
        self.0.why_not(&token)
    }

    /// Returns how many were verified.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Excludes every pool of a token that is not verified.
    pub fn exclude_unverified(&self, market: &Market, filter: &mut PoolFilter) {
        let is_sound = |id| market.tokens().get(id).is_some_and(|token| self.is_sound(token.address));
        for id in market.most_pools_first().iter().filter(|id| !is_sound(**id)) {
            market.pools_of(*id).iter().for_each(|pool| filter.exclude_pool(*pool));
        }
    }

    /// Returns the token with most pools whose check is due, without tokens at fault.
    pub(crate) fn next(&self, market: &Market, quarantine: &Quarantine) -> Option<TokenId> {
        let block = market.block().number;
        let address = |id| market.tokens().get(id).map(|token| token.address);
        let needs_check =
            |token: &Address| *token != NATIVE_ETHER && *token != WETH && quarantine.fault_of(*token).is_none();
        let tokens = market.most_pools_first().iter().filter_map(|id| Some((address(*id)?, *id)));
        self.0.first_due(tokens, block, needs_check)
    }
}

/// Returns a swap that sells about one unit of a token, in the first of its pools that passes a test: those in `first`,
/// then the others. The quarantine stores a token at fault with such a swap.
pub(crate) fn unit_swap(
    market: &Market,
    token: TokenId,
    first: &[PoolId],
    test: impl Fn(PoolKey) -> bool,
) -> Option<Probe> {
    let mut pools = first.iter().chain(market.pools_of(token)).filter_map(|id| market.pool(*id));
    let pool = pools.find(|pool| test(pool.key))?;
    let coin_in = pool.coin_index(token)?;
    let decimals = market.tokens().get(token)?.decimals;
    let amount_in = U256::from(10).pow(U256::from(decimals.min(30)));
    Some(Probe { pool: pool.key, coin_in, coin_out: u8::from(coin_in == 0), amount_in })
}
