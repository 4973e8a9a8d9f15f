//! DEX T1 pools.

mod range;
mod reserves;
mod snapshot;
mod storage;

pub use reserves::{Fees, Parts, Reserves, Side};
pub use snapshot::{Limit, Snapshot};
pub use storage::{Storage, StorageAfter};

#[cfg(test)]
mod tests;
