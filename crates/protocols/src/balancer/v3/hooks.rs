//! Whether the hook of a pool is one whose effect on swaps is modelled.

use alloy_primitives::Address;

use super::factories::STABLE_SURGE_HOOKS;

/// Phases of a swap in which a pool's hook is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct InSwaps {
    pub hook: Address,
    pub for_the_fee: bool,
    pub before: bool,
    pub after: bool,
}

impl InSwaps {
    /// Tells whether swaps call no hook, or only a modelled one.
    pub(super) fn modelled(&self) -> bool {
        let surge = STABLE_SURGE_HOOKS.contains(&self.hook);
        !self.before && !self.after && (surge || !self.for_the_fee)
    }
}
