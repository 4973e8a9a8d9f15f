//! The self-audit's quarantine, stored for the next start.

use std::path::Path;

use alloy_primitives::{Address, U256};
use braid_primitives::PoolKey;
use serde::{Deserialize, Serialize};

use crate::{StoreError, files};

/// Name of the file in the data directory.
pub const QUARANTINE_FILE: &str = "quarantine.json";

/// A pool that no quote uses, and the swap that showed why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    /// The pool.
    pub pool: PoolKey,
    /// The difference, in words.
    pub why: String,
    /// Height of the block at which it was first seen.
    pub since_block: u64,
    /// The token at fault, which excludes all its pools.
    pub token: Option<TokenAtFault>,
    /// Position of the swap's input coin.
    pub coin_in: u8,
    /// Position of its output coin.
    pub coin_out: u8,
    /// Amount sold, in atomic units.
    pub amount_in: U256,
}

/// A token whose transfers do not move the amount sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenAtFault {
    /// The token.
    pub token: Address,
    /// What it does, in words that complete a sentence about it.
    pub does: String,
}

/// Loads the pools in quarantine; none if there is no file.
///
/// # Errors
/// [`StoreError::Unreadable`], also when the file is not what [`save`] writes.
pub fn load(dir: &Path) -> Result<Vec<Quarantined>, StoreError> {
    files::load_json(&dir.join(QUARANTINE_FILE))
}

/// Saves the pools in quarantine, in place of those in the file.
///
/// # Errors
/// [`StoreError::Unwritable`] with the operating system's reason; the file is then unchanged.
pub fn save(dir: &Path, pools: &[Quarantined]) -> Result<(), StoreError> {
    files::save_json(&dir.join(QUARANTINE_FILE), pools)
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
