//! The market on disk: pools, tokens, what discovery learnt, and the block that all of it is of.
//!
//! One transaction a block, made by a thread of its own, holds only what changed; so a crash at any instant leaves the
//! market of some block, whole. Every record is part of one sum that is checked when the market is read: a database that is not
//! what was written is never used, but put aside, named, and begun anew.

mod change;
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
pub use record::{JournalEntry, KnownPool, ListRecord, SourceSpan};
pub use snapshot::{Search, Snapshot, SnapshotError};
pub use store::{MARKET_FILE, MarketStore};

pub(crate) use record::{pool_key, show_sum};

#[cfg(test)]
mod tests;
