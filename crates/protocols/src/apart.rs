//! What pools stand on besides their own state, where a trade through one is not seen by another of the same route.

use alloy_primitives::Address;
use braid_primitives::TokenId;

use crate::{
    Pool, PoolState, Product,
    curve::{Model, State},
    morpho::MORPHO_BLUE,
};

impl Pool {
    /// Contracts that the pool's amounts follow from and that trades move, so far as pools that stand on one of them are priced apart: as if
    /// no other step of the route had touched it. Of two steps that share one, the second may pay some units otherwise than computed.
    ///
    /// `address` gives a token's; a vault's shares are known by it.
    pub fn stands_on(&self, address: impl Fn(TokenId) -> Option<Address>) -> Vec<Address> {
        match &self.state {
            PoolState::Erc4626(_) | PoolState::FluidFToken(_) => vec![self.address],
            PoolState::Metamorpho(_) | PoolState::VaultV2(_) => vec![self.address, MORPHO_BLUE],
            PoolState::BalancerV3Buffer(buffer) => {
                let lends = matches!(buffer.vault.product, Product::Metamorpho | Product::MorphoVaultV2);
                [Some(buffer.wrapped), lends.then_some(MORPHO_BLUE)].into_iter().flatten().collect()
            }
            PoolState::Curve(state) => {
                let asked = self.coins.iter().enumerate().filter(|(place, _)| state.asks_rate_of(*place));
                asked.filter_map(|(_, coin)| address(*coin)).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl State {
    /// Whether the pool asks somebody what a coin is worth.
    fn asks_rate_of(&self, place: usize) -> bool {
        match &self.model {
            Model::Stable(pool) => pool.rates.0.get(place).is_some_and(|rate| rate.is_asked_for()),
            _ => false,
        }
    }
}
