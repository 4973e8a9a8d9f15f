//! The audit's budget.

use std::time::Duration;

/// The audit's budget.
#[derive(Clone, Copy, Debug)]
pub struct AuditConfig {
    /// Pause between two checks of one swap each; zero turns the audit off.
    pub every: Duration,
    /// Most checks at one block; zero turns the audit off.
    pub per_block: u32,
    /// Most calls of the node per block on average, without the checks that quotes wait for.
    pub calls_per_block: u32,
    /// Longest time for one check.
    pub check_time: Duration,
    /// Longest time that a quote waits for the check of tokens that no quote went through before.
    pub first_wait: Duration,
}

impl AuditConfig {
    /// Returns whether anything is checked at all.
    pub fn is_on(&self) -> bool {
        self.every != Duration::ZERO && self.per_block != 0
    }
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(1),
            per_block: 16,
            calls_per_block: 20,
            check_time: Duration::from_secs(10),
            first_wait: Duration::from_millis(1_500),
        }
    }
}
