//! DEX T1 pools.

mod range;
mod reserves;
mod snapshot;
mod storage;

pub use reserves::{Fees, Parts, Reserves, Side};
pub use snapshot::{Limit, Snapshot, atomic, normalised};
pub use storage::{Storage, StorageAfter};

#[cfg(test)]
mod tests;
