//! Pools that the self-audit set aside, kept for the next start: a small JSON file, replaced whole.

use std::path::Path;

use alloy_primitives::{Address, U256};
use braid_primitives::PoolKey;
use serde::{Deserialize, Serialize};

use crate::{StoreError, json_file};

/// Name of the file in the data directory.
pub const QUARANTINE_FILE: &str = "quarantine.json";

/// A pool that no quote uses, and the swap that showed why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    /// The pool.
    pub pool: PoolKey,
    /// What was different, in words.
    pub why: String,
    /// Height of the block at which it was first seen.
    pub since_block: u64,
    /// The token that is at fault, for all its pools.
    pub token: Option<TokenAtFault>,
    /// Position of the coin in of the swap.
    pub coin_in: u8,
    /// Position of the coin out.
    pub coin_out: u8,
    /// What was sold, in atomic units.
    pub amount_in: U256,
}

/// A token that does not move as amounts say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenAtFault {
    /// The token.
    pub token: Address,
    /// What it does, in words that finish a sentence about it.
    pub does: String,
}

/// The pools that were in quarantine when it was last written; none where there is no file.
///
/// # Errors
/// [`StoreError::Unreadable`], also when the file is not what [`save`] writes.
pub fn load(dir: &Path) -> Result<Vec<Quarantined>, StoreError> {
    json_file::load(dir, QUARANTINE_FILE)
}

/// Writes the pools in quarantine, in the place of those that were written before.
///
/// # Errors
/// [`StoreError::Unwritable`] with the operating system's reason; what was written before is then still there.
pub fn save(dir: &Path, pools: &[Quarantined]) -> Result<(), StoreError> {
    json_file::save(dir, QUARANTINE_FILE, pools)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::B256;

    use super::*;

    #[test]
    fn what_was_saved_is_loaded_and_damage_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(load(dir.path()).unwrap(), []);
        let pool = Quarantined {
            pool: PoolKey::with_id(Address::repeat_byte(1), B256::repeat_byte(3)),
            why: "it pays 2, the model says 3".into(),
            since_block: 9,
            token: Some(TokenAtFault { token: Address::repeat_byte(2), does: "takes 1% of a transfer".into() }),
            coin_in: 1,
            coin_out: 0,
            amount_in: U256::MAX,
        };
        save(dir.path(), std::slice::from_ref(&pool)).unwrap();
        assert_eq!(load(dir.path()).unwrap(), [pool]);
        std::fs::write(dir.path().join(QUARANTINE_FILE), b"{").unwrap();
        assert!(matches!(load(dir.path()), Err(StoreError::Unreadable { .. })));
    }
}
