//! What a self-audit found, as it is given to services that cannot audit.

use std::collections::BTreeSet;

use alloy_primitives::Address;
use braid_primitives::PoolKey;
use serde::{Deserialize, Serialize};

use crate::quarantine::Quarantined;

/// Everything that a self-audit knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Whether anything is audited. Where nothing is, quotes go through any token.
    pub verifies: bool,
    /// Pools in quarantine.
    pub quarantine: Vec<Quarantined>,
    /// Tokens that move as amounts say.
    pub sound: BTreeSet<Address>,
    /// Unverified vaults that the EVM agreed with, each with what it was guessed to be.
    pub proven: BTreeSet<(PoolKey, String)>,
}

/// What changes of it. What is short is told whole; tokens are many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingsChange {
    /// Whether anything is audited.
    pub verifies: bool,
    /// Pools in quarantine, all of them.
    pub quarantine: Vec<Quarantined>,
    /// Tokens that were found to be sound.
    pub sound: BTreeSet<Address>,
    /// Tokens that are no longer known to be.
    pub unsound: BTreeSet<Address>,
    /// Vaults that are proven, all of them.
    pub proven: BTreeSet<(PoolKey, String)>,
}

impl Findings {
    /// What changed since earlier findings.
    pub fn since(&self, earlier: &Self) -> FindingsChange {
        FindingsChange {
            verifies: self.verifies,
            quarantine: self.quarantine.clone(),
            sound: self.sound.difference(&earlier.sound).copied().collect(),
            unsound: earlier.sound.difference(&self.sound).copied().collect(),
            proven: self.proven.clone(),
        }
    }

    /// The findings that a change leads to.
    #[must_use]
    pub fn after(&self, change: FindingsChange) -> Self {
        let FindingsChange { verifies, quarantine, sound, unsound, proven } = change;
        let kept = self.sound.difference(&unsound).copied();
        Self { verifies, quarantine, sound: kept.chain(sound).collect(), proven }
    }
}
