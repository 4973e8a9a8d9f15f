//! Findings of a self-audit, as published for services that cannot audit.

use std::collections::BTreeSet;

use alloy_primitives::Address;
use braid_primitives::PoolKey;
use serde::{Deserialize, Serialize};

use crate::quarantine::Quarantined;

/// All findings of a self-audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Whether anything is audited. If not, quotes go through any token.
    pub verifies: bool,
    /// Pools in quarantine.
    pub quarantine: Vec<Quarantined>,
    /// Tokens whose transfers were verified.
    pub sound: BTreeSet<Address>,
    /// Unlisted vaults that the EVM agreed with, each with the form that was guessed.
    pub proven: BTreeSet<(PoolKey, String)>,
}

/// A change of findings. The short lists are whole; tokens are many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingsChange {
    /// Whether anything is audited.
    pub verifies: bool,
    /// Pools in quarantine, all of them.
    pub quarantine: Vec<Quarantined>,
    /// Tokens that were verified since.
    pub sound: BTreeSet<Address>,
    /// Tokens that are no longer verified.
    pub unsound: BTreeSet<Address>,
    /// Verified vaults, all of them.
    pub proven: BTreeSet<(PoolKey, String)>,
}

impl Findings {
    /// Returns the change from earlier findings.
    pub fn since(&self, earlier: &Self) -> FindingsChange {
        FindingsChange {
            verifies: self.verifies,
            quarantine: self.quarantine.clone(),
            sound: self.sound.difference(&earlier.sound).copied().collect(),
            unsound: earlier.sound.difference(&self.sound).copied().collect(),
            proven: self.proven.clone(),
        }
    }

    /// Applies a change.
    #[must_use]
    pub fn after(&self, change: FindingsChange) -> Self {
        let FindingsChange { verifies, quarantine, sound, unsound, proven } = change;
        let kept = self.sound.difference(&unsound).copied();
        Self { verifies, quarantine, sound: kept.chain(sound).collect(), proven }
    }
}
