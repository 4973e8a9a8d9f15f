//! DEX T1 pools.

mod cold;
mod continuous;
pub mod gas;
mod range;
mod reader;
mod reserves;
mod snapshot;
mod state;
mod step;
mod storage;

pub use cold::DexT1;
pub use reserves::{Fees, Parts, Reserves, Side};
pub use snapshot::{Limit, Snapshot, atomic, normalised};
pub use state::{After, State};
pub use storage::{Storage, StorageAfter};

#[cfg(test)]
mod tests;
