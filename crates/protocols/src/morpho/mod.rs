//! Morpho: vaults that lend one asset on markets of Morpho Blue.
//!
//! Interest is added every second, so that an amount is for a timestamp; everything that it follows from is in the state.

mod blue;
mod cold;
mod continuous;
pub mod gas;
mod irm;
mod metamorpho;
mod reader;
pub mod vault_v2;

use alloy_primitives::U256;
use arrayvec::ArrayVec;

use crate::SwapError;

pub use blue::{Holding, MORPHO_BLUE, Market};
pub use cold::{METAMORPHO, MorphoProtocol};
pub(crate) use continuous::pair_curve;
pub use irm::{ADAPTIVE_CURVE_IRM, Irm};
pub use metamorpho::{MAX_QUEUE, MetaMorpho};
pub use vault_v2::{VAULT_V2, VaultV2};

/// The most trades with one vault in one route.
const MAX_TRADES: usize = 4;

/// What a route did to a vault so far: its trades in order. A further one is computed after them, on markets that each changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trades(ArrayVec<Trade, MAX_TRADES>);

/// A deposit or a redemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// A deposit of assets; else a redemption of shares.
    pub deposits: bool,
    /// What came in.
    pub amount_in: U256,
}

impl Trades {
    fn list(&self) -> &[Trade] {
        &self.0
    }

    fn with(&self, deposits: bool, amount_in: U256) -> Result<Self, SwapError> {
        let mut trades = self.clone();
        // a route that comes by so often is refused, not priced wrongly
        trades.0.try_push(Trade { deposits, amount_in }).map_err(|_| SwapError::Overflow { amount_in })?;
        Ok(trades)
    }
}
