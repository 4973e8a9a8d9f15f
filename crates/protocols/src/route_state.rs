//! Holds what a route's steps so far did to the contracts that they touched.

use alloy_primitives::{Address, U256};
use braid_primitives::ExecutionBlock;

use crate::{After, Pool, Sale, Swap, SwapError, registry::ChangeOf};

/// What the steps of one route did so far. A further step is priced after them.
///
/// Empty at first; it allocates nothing until a step is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteState {
    changes: Vec<(Address, After)>,
}

impl RouteState {
    /// Returns what a swap of `amount_in` pays after the steps so far, to the wei. Nothing is recorded.
    ///
    /// # Errors
    /// As [`Pool::swap`].
    pub fn swap(
        &self,
        pool: &Pool,
        at: &ExecutionBlock,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        pool.swap_in(at, self, Sale { coin_in, coin_out, amount_in })
    }

    /// Records what a step through `pool` changed.
    pub fn record(&mut self, pool: &Pool, after: After) {
        let place = pool.shares_state_at();
        match self.changes.iter_mut().find(|(changed, _)| *changed == place) {
            Some((_, known)) => *known = after,
            None => self.changes.push((place, after)),
        }
    }

    /// Returns what the steps so far did to what `pool` depends on.
    pub fn after(&self, pool: &Pool) -> &After {
        self.at(pool.shares_state_at()).unwrap_or(&After::Unchanged)
    }

    /// Returns what the steps so far changed at a contract, if that is a change of this kind.
    pub(crate) fn change<C: ChangeOf>(&self, place: Address) -> Option<&C> {
        self.at(place).and_then(C::of)
    }

    fn at(&self, place: Address) -> Option<&After> {
        self.changes.iter().find(|(changed, _)| *changed == place).map(|(_, after)| after)
    }
}
