//! Snapshots: market files that also hold the state of the search for pools, so that another machine goes on from
//! there.

use std::path::Path;

use alloy_primitives::hex;
use braid_market::{FileError, Market, file};
use braid_primitives::Block;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::load::Saved;
use super::record::{KnownPool, SourceSpan};

/// State of the search for pools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// Announced pools, including excluded ones.
    pub known: Vec<KnownPool>,
    /// Progress of the search for each source's announcements.
    pub sources: Vec<SourceSpan>,
}

/// What a start takes from a snapshot: which pools exist, and the progress of their search, but none of their states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Block of the snapshot.
    pub block: Block,
    /// Pools in its market.
    pub pools: usize,
    /// The search for pools.
    pub search: Search,
    /// SHA-256 of the file, in hex digits.
    pub digest: String,
}

/// Why there is no snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file holds only a market.
    #[error("a market file without the search for pools: `braid market save --data DIR` writes one with it")]
    NoSearch,
    /// The search contradicts the block.
    #[error("the snapshot contradicts itself: {what}")]
    Impossible {
        /// The contradiction.
        what: String,
    },
}

impl Snapshot {
    /// Writes a snapshot of a data directory. The same market and search give the same bytes.
    pub fn save(saved: Saved, path: &Path) -> Result<Self, FileError> {
        let market = saved.market.canonical();
        // Pools without an announcement need no search: fixed pools, pools on lists, named vaults.
        let announced = |KnownPool { pool, announced_at, .. }: &KnownPool| {
            let can_be_proven = *announced_at > 0 || !pool.product.confirmations(pool).is_empty();
            can_be_proven && !pool.product.sources().is_empty()
        };
        let known = saved.known.into_iter().filter(announced).collect();
        let search = Search { known, sources: saved.sources };
        let bytes = market.to_bytes_with(Some(&search))?;
        file::write(path, &bytes)?;
        Ok(Self { block: *market.block(), pools: market.pools().len(), search, digest: digest(&bytes) })
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    /// [`SnapshotError`], which says what is wrong with the file.
    pub fn load(path: &Path) -> Result<Self, SnapshotError> {
        let bytes = file::read(path)?;
        let (market, search) = Market::from_bytes_with::<Search>(&bytes)?;
        let search = search.ok_or(SnapshotError::NoSearch)?;
        let (block, pools) = (*market.block(), market.pools().len());
        let late = search.known.iter().find(|known| known.announced_at > block.number);
        if let Some(late) = late {
            let what = format!("pool {} was announced after block {}", late.pool.key, block.number);
            return Err(SnapshotError::Impossible { what });
        }
        if search.sources.iter().any(|span| span.last_block > block.number) {
            return Err(SnapshotError::Impossible { what: format!("it searched beyond block {}", block.number) });
        }
        Ok(Self { block, pools, search, digest: digest(&bytes) })
    }

    /// Returns the block up to which every source was searched.
    pub fn searched_to(&self) -> u64 {
        let open = self.search.sources.iter().filter(|span| span.next_block <= span.last_block);
        open.map(|span| span.next_block.saturating_sub(1)).min().unwrap_or(self.block.number)
    }

    /// Returns the spans left to search up to `head`: blocks not searched then, and all blocks since.
    pub fn spans_to(&self, head: u64) -> Vec<SourceSpan> {
        let after = self.block.number.saturating_add(1);
        let left = |span: &SourceSpan| {
            let next_block = if span.next_block > span.last_block { after } else { span.next_block };
            SourceSpan { next_block, last_block: head, ..span.clone() }
        };
        self.search.sources.iter().map(left).collect()
    }
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
