//! A pool of a market.

use arrayvec::ArrayVec;
use braid_primitives::{PoolKey, TokenId};
use serde::{Deserialize, Serialize};

use crate::{PoolState, Product};

/// Maximum number of coins of a pool of any product.
pub const MAX_COINS: usize = 8;

/// Version of the meaning of state fields. Increment it when a field keeps its name and type but changes its meaning, or
/// when older versions may have stored wrong states: state stored by them is then read from the chain again. Added,
/// removed and retyped fields are detected without it.
pub const STATE_MEANING: u32 = 6;

/// One pool of a market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Contract, and id where the contract holds many pools.
    pub key: PoolKey,
    /// Its product.
    pub product: Product,
    /// Coins in the contract's order.
    pub coins: ArrayVec<TokenId, MAX_COINS>,
    /// State that decides the output of swaps.
    pub state: PoolState,
}

impl Pool {
    /// Returns the position of a token among the pool's coins.
    pub fn coin_index(&self, token: TokenId) -> Option<u8> {
        let index = self.coins.iter().position(|coin| *coin == token)?;
        u8::try_from(index).ok()
    }
}
