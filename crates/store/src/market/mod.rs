//! The market on disk: pools, tokens, what discovery knows, and the block of all this.
//!
//! A background thread makes one transaction per block, which holds only changes; a crash at any time leaves the whole
//! market of some block. Every record is part of a sum that is checked when the market is read. A database that differs
//! from what was written is never used: it is renamed, reported, and replaced by a new one.

mod change;
mod create;
mod damage;
mod disk;
mod load;
mod record;
mod shared;
mod snapshot;
mod store;
pub(crate) mod sum;
mod writer;

pub use change::Change;
pub use damage::Damage;
pub use disk::JOURNAL_BLOCKS;
pub use load::{Found, Saved};
pub use record::{Exclusion, ExclusionKind, JournalEntry, KnownPool, ListRecord, SourceSpan};
pub use snapshot::{Search, Snapshot, SnapshotError};
pub use store::{MARKET_FILE, MarketStore};

pub(crate) use record::{pool_key, show_sum};

#[cfg(test)]
mod tests;
